"""The JSON objects that models reply with: found leniently, validated strictly."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, cast, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    field_validator,
    model_validator,
)

from simeval.core.conversation import UserFaultKind
from simeval.core.judging import equal_levels
from simeval.core.trial import MEETS_FROM
from simeval.errors import MalformedReply
from simeval.models.protocol.lenient_json import Unended, answer_in, objects_in

LONGEST_REPLY = 200_000  # characters; a longer reply is refused unread
LEVELS = tuple(str(level) for level in range(1, 11))

Text = Annotated[str, StringConstraints(strict=True, min_length=1, strip_whitespace=True)]


def _says_something(reasoning: str) -> str:
    if not any(map(str.isalpha, reasoning)):
        raise ValueError("it says nothing: there is no letter in it")
    return reasoning


Reasoning = Annotated[Text, AfterValidator(_says_something)]


class Reply(BaseModel):
    """A form that a model must answer in; it is shown the `json_schema`."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)
    json_schema: ClassVar[Mapping[str, Any]]


def json_object(**properties: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of an object that has exactly these fields."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


Status = Literal["open", "no_progress", "satisfied", "handed_off", "gave_up", "not_known"]
STAYING: tuple[Status, ...] = ("open", "no_progress")
NOT_KNOWN: Status = "not_known"


class UserReply(Reply):
    """A simulated user's opinion of the app's answer, and its next message.

    The message may be empty if the user leaves: satisfied, handed over to somebody else, because it gives up, or
    because it is asked for something that it does not know.
    """

    status: Status
    message: Annotated[str, StringConstraints(strict=True, strip_whitespace=True)]
    json_schema: ClassVar[Mapping[str, Any]] = json_object(
        status={"type": "string", "enum": list(get_args(Status))}, message={"type": "string"}
    )
    staying: ClassVar[Collection[Status]] = STAYING  # statuses that require a message

    @field_validator("message")
    @classmethod
    def _says_something(cls, message: str, info: Any) -> str:
        if not message and info.data.get("status", "open") in cls.staying:
            raise ValueError("an empty message cannot continue the conversation")
        return message


class StayingReply(UserReply):
    """The same of a user who cannot leave now, as the app waits for an answer: in any case it writes something."""

    staying: ClassVar[Collection[Status]] = get_args(Status)


class StuckReply(StayingReply):
    """The same of a user who was asked before: it may leave because of something that it does not know."""

    staying: ClassVar[Collection[Status]] = tuple(each for each in get_args(Status) if each != NOT_KNOWN)


class OpeningReply(StayingReply):
    """The first message of a simulated user; there is nothing yet to find good or bad."""

    status: Status = "open"


class AttackReply(OpeningReply):
    """A simulated attacker's next message."""

    json_schema: ClassVar[Mapping[str, Any]] = json_object(message={"type": "string", "minLength": 1})


class PlainReply(UserReply):
    """A simulated user's next message as plain text, with a mark if the user leaves; nothing else can be wrong."""

    marks: ClassVar[Mapping[str, Status]] = {
        "[END]": "satisfied",
        "[GIVE UP]": "gave_up",
        "[HANDED OVER]": "handed_off",
        "[NOT KNOWN]": NOT_KNOWN,
    }

    @classmethod
    def read(cls, text: str) -> Self:
        """Return a model's text up to the first mark, or until it goes on to speak for the other side."""
        found = _MARK.search(text)
        said = _FENCE_MARK.sub("", _OTHER_SIDE.split(text[: found.start()] if found else text)[0])
        said = _OWN_LABEL.sub("", said.strip()).strip()
        if len(said) > 1 and said[0] + said[-1] in ('""', "“”"):
            said = said[1:-1]
        mark = f"[{' '.join(found[1].upper().split())}]" if found else ""
        return cls.model_validate({"status": cls.marks.get(mark, "open"), "message": said})

    @classmethod
    def is_whole(cls, text: str) -> bool:
        """Return whether the message ends before the text does: by a mark, or with words of the other side."""
        return bool(_MARK.search(text) or _OTHER_SIDE.search(text))


class PlainStayingReply(PlainReply):
    """The same of a user who cannot leave now: marks are ignored."""

    marks: ClassVar[Mapping[str, Status]] = {}


class PlainStuckReply(PlainReply):
    """The same of a user who was asked before: one of the marks counts."""

    marks: ClassVar[Mapping[str, Status]] = {"[NOT KNOWN]": NOT_KNOWN}


_MARK = re.compile(r"\[\s*(END|GIVE\s+UP|HANDED\s+OVER|NOT\s+KNOWN)\s*\]", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?…؟]+[\"'”’»)\]]*(?=\s)|[。！？]+[」』）]*|[.!?…؟]+[\"'”’»)\]]*\Z|\S(?=[ \t]*\n)")
_FENCE_MARK = re.compile(r"\[/?[0-9a-f]{8}\]")  # which a weak model repeats
_OTHER_SIDE = re.compile(r"(?im)^\s*(?:assistant|chatbot|bot|ai)\s*:")
_OWN_LABEL = re.compile(r"(?i)\A(?:user|customer|me|person)\s*:")


class Grade(Reply):
    """A judge's rating of one conversation, with its reasons first so that they come before the number.

    None means that the conversation does not show whether the expectation is met. `message` is the number of the
    assistant's message that the rating rests on; a prompt in place of simeval's need not ask for it.
    """

    reasoning: Reasoning
    message: int | None = None
    score: Annotated[float, Field(strict=True, ge=1, le=10, allow_inf_nan=False)] | None
    numbers: ClassVar[Collection[int] | None] = None  # of the assistant's messages; None if nobody looks them up
    json_schema: ClassVar[Mapping[str, Any]] = json_object(
        reasoning={"type": "string"},
        message={"type": "integer", "minimum": 1},
        # llama.cpp's grammars hold bounds of integers only
        score={"anyOf": [{"type": "integer", "minimum": 1, "maximum": 10}, {"type": "null"}]},
    )

    @model_validator(mode="after")
    def _rests_on_a_message(self) -> Self:
        if self.numbers is None or "message" not in self.model_fields_set or self.message in self.numbers:
            return self
        if self.message is None and (self.score is None or self.score < MEETS_FROM):
            return self
        raise ValueError(f"message {self.message} is none of the assistant's")


@lru_cache(maxsize=1_000)  # conversations of one length are looked up alike
def grade_on(assistants: tuple[int, ...]) -> type[Grade]:
    """Return the rating of a conversation whose messages with these numbers are the assistant's."""

    class GradeOnConversation(Grade):
        numbers: ClassVar[Collection[int] | None] = frozenset(assistants)

    return GradeOnConversation


class RubricReply(Reply):
    """The ten levels of a rubric, from 1 (worst) to 10 (best), no two with the same meaning; and two near misses.

    A rubric without usable near misses is a rubric all the same.
    """

    levels: Mapping[str, Text]
    near_misses: tuple[str, ...] = ()
    json_schema: ClassVar[Mapping[str, Any]] = json_object(
        levels=json_object(**{level: {"type": "string"} for level in LEVELS}),
        near_misses=json_object(**{number: {"type": "string"} for number in ("1", "2")}),
    )

    @field_validator("near_misses", mode="before")
    @classmethod
    def _texts(cls, found: object) -> tuple[str, ...]:
        listed = [*found.values()] if isinstance(found, Mapping) else found
        return tuple(each for each in listed if isinstance(each, str)) if isinstance(listed, list) else ()

    @field_validator("levels")
    @classmethod
    def _ten(cls, levels: Mapping[str, str]) -> Mapping[str, str]:
        if set(levels) != set(LEVELS):
            raise ValueError(f"levels must be exactly {', '.join(LEVELS)}")
        if same := equal_levels({level: levels[level] for level in LEVELS}):
            raise ValueError(f"levels {same[0]} and {same[1]} say the same; each must differ from the others")
        return {level: levels[level] for level in LEVELS}


class AuditReply(Reply):
    """An auditor's findings on a simulated user: its reasons first, then the faults, none if it did its part."""

    reasoning: Text
    faults: tuple[UserFaultKind, ...]
    json_schema: ClassVar[Mapping[str, Any]] = json_object(
        reasoning={"type": "string"},
        faults={"type": "array", "items": {"type": "string", "enum": list(get_args(UserFaultKind))}},
    )


R = TypeVar("R", bound=Reply)


def read_reply(
    text: str,
    kind: type[R],
    *,
    model: str,
    quoted_texts: Sequence[str] = (),
    was_cut: bool = False,
    was_filtered: bool = False,
) -> R:
    """Find the JSON object in a model's reply and validate it as `kind`.

    The object may be in a code fence or among other text; the model's thoughts before it are ignored. Its form may be
    repaired, never a value. If several objects are valid, they must be equal. One that occurs in `quoted_texts`, the
    app's texts shown to the model, is a quotation and no reply. Plain text that was cut before its end looks like a
    whole one, so `was_cut` marks it: it counts up to its last sentence. A text that a filter has withheld in part
    counts for nothing. Raises MalformedReply otherwise: nothing is clamped, completed or guessed.
    """
    if len(text) > LONGEST_REPLY:
        raise MalformedReply(model, problem=f"a reply of {len(text)} characters", reply=text)
    said = answer_in(text, model)
    if issubclass(kind, PlainReply):
        return cast("R", _read_plain(said, kind, model, was_cut=was_cut, was_filtered=was_filtered))
    quoted = [reply for each in quoted_texts if "{" in each for reply in _replies(each, kind)]
    valid: list[R] = []
    problem = "no JSON object"
    for found in objects_in(_unquoted(said), was_cut=was_cut or was_filtered):
        if found.value is None:  # a quotation of a broken object is not the reply
            raise MalformedReply(model, problem="no JSON object that is whole", reply=text)
        try:
            reply = _validated(found.value, kind)
        except ValueError as error:
            problem = _problem_of(error)
            continue
        if reply in quoted:
            problem = "no JSON object of its own, only one that it was shown"
        elif reply not in valid:
            valid.append(reply)
    if len(valid) == 1:
        return valid[0]
    if valid:
        problem = f"{len(valid)} JSON objects that contradict one another"
    raise MalformedReply(model, problem=problem, reply=text)


def _read_plain(text: str, kind: type[PlainReply], model: str, *, was_cut: bool, was_filtered: bool) -> PlainReply:
    whole = text
    if (was_cut or was_filtered) and not kind.is_whole(text):
        ends = [] if was_filtered else [found.end() for found in _SENTENCE_END.finditer(text)]
        if not ends:
            raise MalformedReply(model, problem="a message that was cut", reply=text)
        whole = text[: ends[-1]]
    try:
        return kind.read(whole)
    except ValidationError:
        raise MalformedReply(model, problem="an empty reply", reply=text) from None


def _replies(text: str, kind: type[R]) -> Iterator[R]:
    for found in objects_in(text):
        with suppress(ValueError):
            yield _validated(found.value, kind)


def _unquoted(text: str) -> str:
    """Return a text that is itself a JSON string of an object as that object."""
    if not (text.lstrip().startswith('"') and "{" in text):
        return text
    try:
        inner = json.loads(text)
    except ValueError:
        return text
    return inner if isinstance(inner, str) else text


def _problem_of(error: ValueError) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors()[0]
    field = ".".join(str(part) for part in first["loc"])
    return f"field {field!r}: {first['msg']}" if field else first["msg"]


def _validated(found: dict[str, Any] | None, kind: type[R]) -> R:
    """Return an object as `kind`: as it is, else in the form that the schema asks for. Raises ValueError."""
    schema = getattr(kind, "json_schema", {})
    try:
        reply = kind.model_validate(found)
    except ValidationError:
        if not (found and schema):
            raise
        return kind.model_validate(_formed(_unwrapped(found, schema), schema))
    if found and not found.keys() <= kind.__pydantic_fields__.keys():
        _named(found, schema.get("properties", {}))  # refuses one with a doubled key
    return reply


def _unwrapped(found: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object that is all there is in another, which has a name that is not asked for."""
    [(name, inner), *others] = found.items()
    asked = {_folded(each) for each in schema.get("properties", ())}
    return found if others or not isinstance(inner, dict) or _folded(name) in asked else inner


def _formed(value: Any, schema: Mapping[str, Any]) -> Any:
    """Return a value in the form of a schema, if it means the same in another: "9/10", "Yes", {"Score": 9}."""
    if options := schema.get("anyOf"):
        may_be_null = any(option.get("type") == "null" for option in options)
        is_null = may_be_null and isinstance(value, str) and value.strip().lower() in ("null", "none")
        return None if is_null else _formed(value, options[0])
    if isinstance(value, dict):
        return _named(value, schema.get("properties", {}))
    if isinstance(value, list):
        return [_formed(each, schema.get("items", {})) for each in value]
    if not isinstance(value, str):
        return value
    if schema.get("type") in ("number", "integer"):
        return _number(value, schema.get("maximum"))
    if schema.get("type") == "boolean":
        return _FLAGS.get(value.strip().lower(), value)
    return next((each for each in schema.get("enum", ()) if _folded(each) == _folded(value)), value)


def _named(found: Mapping[str, Any], properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object with its keys as they are asked for. Raises ValueError where two of them are one."""
    names = {_folded(name): name for name in properties}
    made: dict[str, Any] = {}
    for key, value in found.items():
        name = names.get(_folded(key), key)
        if name in made:
            raise ValueError(f"field {name!r} is there twice")
        made[name] = _formed(value, properties.get(name, {}))
    return made


def _number(text: str, most: float | None) -> Any:
    """Return the number that a text is, such as "9" or "9 out of 10" on a scale to 10; else the text."""
    found = _SHARE.fullmatch(text.strip())
    if found is None or (found[2] and float(found[2]) != most):
        return text
    if isinstance(text, Unended) and (most is None or float(text) * 10 <= most):
        return text  # 1 may be the beginning of 10
    return float(found[1]) if "." in found[1] else int(found[1])


def _folded(name: str) -> str:
    return _BETWEEN.sub("_", name.strip().casefold())


_FLAGS: Mapping[str, bool] = {"true": True, "yes": True, "false": False, "no": False}
_SHARE = re.compile(r"\+?(\d+(?:\.\d+)?)(?:\s*(?:/|out\s+of|of)\s*(\d+(?:\.0+)?))?", re.IGNORECASE)
_BETWEEN = re.compile(r"[\s_-]+")
