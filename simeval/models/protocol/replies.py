"""The JSON objects that models reply with: found leniently, validated strictly."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError, field_validator

from simeval.core.rubric_levels import equal_levels
from simeval.errors import MalformedReply

LONGEST_REPLY = 200_000  # characters; a longer reply is refused unread
MOST_OBJECTS = 50  # JSON objects looked at in one reply
LEVELS = tuple(str(level) for level in range(1, 11))

Text = Annotated[str, StringConstraints(strict=True, min_length=1, strip_whitespace=True)]


def _says_something(reasoning: str) -> str:
    if not any(map(str.isalpha, reasoning)):
        raise ValueError("it says nothing: there is no letter in it")
    return reasoning


Reasoning = Annotated[Text, AfterValidator(_says_something)]


class Reply(BaseModel):
    """What a model must answer; `json_schema` is what it is told."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    json_schema: ClassVar[Mapping[str, Any]]


def _object(**properties: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


class UserReply(Reply):
    """The simulated user's next message, and whether the user goes on after the app's answer to it.

    An empty message is allowed only with `continue` false: the user leaves without another word.
    """

    message: Annotated[str, StringConstraints(strict=True, strip_whitespace=True)]
    goes_on: Annotated[bool, Field(alias="continue", strict=True)]
    json_schema: ClassVar[Mapping[str, Any]] = _object(message={"type": "string"}, **{"continue": {"type": "boolean"}})

    @field_validator("goes_on")
    @classmethod
    def _says_something(cls, goes_on: bool, info: Any) -> bool:
        if goes_on and not info.data.get("message", "x"):
            raise ValueError("an empty message cannot continue the conversation")
        return goes_on


class OpeningReply(UserReply):
    """The first message of a simulated user, which cannot be empty."""

    message: Text


class Grade(Reply):
    """A judge's rating of one conversation, with its reasons first so that they come before the number."""

    reasoning: Reasoning
    score: Annotated[float, Field(strict=True, ge=1, le=10, allow_inf_nan=False)]
    json_schema: ClassVar[Mapping[str, Any]] = _object(
        reasoning={"type": "string"},
        score={"type": "integer", "minimum": 1, "maximum": 10},  # llama.cpp's grammars hold bounds of integers only
    )


class RubricReply(Reply):
    """The ten levels of a rubric, from 1 (worst) to 10 (best); no two of them say the same."""

    levels: Mapping[str, Text]
    json_schema: ClassVar[Mapping[str, Any]] = _object(
        levels=_object(**{level: {"type": "string"} for level in LEVELS})
    )

    @field_validator("levels")
    @classmethod
    def _ten(cls, levels: Mapping[str, str]) -> Mapping[str, str]:
        if set(levels) != set(LEVELS):
            raise ValueError(f"levels must be exactly {', '.join(LEVELS)}")
        if same := equal_levels({level: levels[level] for level in LEVELS}):
            raise ValueError(f"levels {same[0]} and {same[1]} say the same; each must differ from the others")
        return {level: levels[level] for level in LEVELS}


R = TypeVar("R", bound=Reply)


def read_reply(text: str, kind: type[R], *, model: str, quoted_texts: Sequence[str] = ()) -> R:
    """Find the JSON object in a model's reply and validate it as `kind`.

    The object may stand in a code fence or among other text. Where several objects are valid, they must
    say the same. One that stands in `quoted_texts`, what the model was shown of an app, is a quotation and no reply.
    Raises MalformedReply otherwise: nothing is clamped, completed or guessed.
    """
    if len(text) > LONGEST_REPLY:
        raise MalformedReply(model, problem=f"a reply of {len(text)} characters", reply=text)
    quoted = [reply for each in quoted_texts for reply in _replies(each, kind)]
    valid: list[R] = []
    problem = "no JSON object"
    for found in _objects(text):
        if found is None:
            raise MalformedReply(model, problem="no JSON object that is whole", reply=text)
        try:
            reply = kind.model_validate(found)
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(str(part) for part in first["loc"])
            problem = f"field {field!r}: {first['msg']}" if field else first["msg"]
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


def _replies(text: str, kind: type[R]) -> Iterator[R]:
    for found in _objects(text):
        with suppress(ValidationError):
            yield kind.model_validate(found)


_OPENS_OBJECT = re.compile(r'\{\s*"\w*"\s*:')


def _objects(text: str) -> Iterator[object]:
    """Return the JSON objects of a text in order, up to MOST_OBJECTS attempts."""
    decoder = json.JSONDecoder(strict=False)
    position = text.find("{")
    for _ in range(MOST_OBJECTS):
        if position < 0:
            return
        try:
            found, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            if _OPENS_OBJECT.match(text, position):
                yield None  # a broken object: what it quotes is not the reply
                return
            end = position + 1
        else:
            yield found
        position = text.find("{", end)
