"""Replies as models write them: JSON is found anywhere in a text, and its form is repaired, never a value.

It accepts comments, extra commas, other kinds of quotes, keys and words without any, Python's True and None, and an
object whose last braces are missing if nothing was cut. It refuses any text that may be read in two ways: a quote
within a text, a key that occurs twice, a list or a number that may have gone on.

A model's thoughts before its answer, if its server leaves them in the reply: they are no part of the answer.

    <think> … </think> the answer
             … </think> the answer      the opening tag was in the template of the prompt
    <think> …                           no answer: it was cut, or never came

A tag within a JSON object, or in quotes, is only mentioned.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar, cast

from pydantic import ValidationError

from simeval.errors import MalformedReply
from simeval.models.protocol.model import PlainReply, Reply

MOST_TAGS = 50  # looked at in one reply

_NAMES = ("think", "thinking", "thought", "thoughts", "reason", "reasoning", "reflection", "scratchpad", "analysis")
_TAGS = (  # that begin a thought, and that end it
    *((rf"<(?:\w+[:_])?{name}(?:\s[^<>]*)?>", rf"</(?:\w+[:_])?{name}\s*>") for name in _NAMES),  # DeepSeek, Qwen, GLM
    (r"\[think\]", r"\[/think\]"),  # Magistral
    (r"◁think▷", r"◁/think▷"),  # Kimi-VL
    (r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>"),  # Sky-T1
    (r"<\|start_thinking\|>", r"<\|end_thinking\|>"),  # Command A
    (r"<\|channel\|>(?:analysis|commentary)[^<>]*<\|message\|>", r"<\|channel\|>final[^<>]*<\|message\|>"),  # gpt-oss
    (r"<unused94>", r"<unused95>"),  # MedGemma
)
_TAG = re.compile("|".join(f"(?P<b{n}>{b})|(?P<e{n}>{e})" for n, (b, e) in enumerate(_TAGS)), re.IGNORECASE)
_MENTIONED = "`'\"“‘"  # before a tag
_ANSWER = re.compile(r"\A\s*<(answer|response|final_answer)>(.*?)(?:</\1>\s*)?\Z", re.DOTALL | re.IGNORECASE)
_TOKENS = re.compile(r"\A\s*(?:<\|\w+\|>\s*)+|(?:<\|\w+\|>\s*)+\Z")


MOST_OBJECTS = 50  # looked at in one text
DEEPEST = 100  # levels of objects and lists

_STRICT = json.JSONDecoder(strict=False, object_pairs_hook=lambda pairs: _object_of(pairs))
_OPENS_OBJECT = re.compile(r"""\{\s*(?:"\w*"|'\w*'|“\w*”|\w+)\s*:""")
_SKIPPED = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/|(?<=\s)#[^\n]*)*", re.DOTALL)
_TEXT = re.compile(
    r'''"(?:[^"\\]|\\.)*"'''
    r"""|'(?:[^'\\]|\\.|(?<=\w)'(?=\w))*'"""  # it isn't the end between two letters
    r"""|“[^”]*”""",
    re.DOTALL,
)
_WORD = re.compile(r"""(?:[^\s{}\[\]:,"'“”/`]|/(?![/*])|[ \t]+(?![ \t]|//|/\*|\#|$))+""", re.MULTILINE)
_ESCAPE = re.compile(r"""\\(?:(["\\/bfnrt]|u[0-9a-fA-F]{4})|('))?|\"""")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?")
_WORDS: Mapping[str, bool | None] = {"true": True, "false": False, "null": None, "none": None}
_FENCE = "```"
_SENTENCE_END = re.compile(r"[.!?…؟]+[\"'”’»)\]]*(?=\s)|[。！？]+[」』）]*|[.!?…؟]+[\"'”’»)\]]*\Z|\S(?=[ \t]*\n)")
LONGEST_REPLY = 200_000  # characters; a longer reply is refused unread
R = TypeVar("R", bound=Reply)
_FLAGS: Mapping[str, bool] = {"true": True, "yes": True, "false": False, "no": False}
_SHARE = re.compile(r"\+?(\d+(?:\.\d+)?)(?:\s*(?:/|out\s+of|of)\s*(\d+(?:\.0+)?))?", re.IGNORECASE)
_BETWEEN = re.compile(r"[\s_-]+")


class Found(NamedTuple):
    """An object in a text, with its beginning and end; None for one that is broken."""

    value: dict[str, Any] | None
    start: int
    end: int


class Unended(str):
    """A number at the very end of a text: another digit may have been meant to come."""

    __slots__ = ()


def objects_in(text: str, start: int = 0, *, was_cut: bool = False) -> Iterator[Found]:
    """Return the objects of a text in order, from `start` on; of a text that `was_cut`, only the closed ones."""
    position = text.find("{", start)
    for _ in range(MOST_OBJECTS):
        if position < 0:
            return
        end = position + 1
        if (found := _object_at(text, position, was_cut=was_cut)) is not None:
            yield found
            end = found.end
        elif _OPENS_OBJECT.match(text, position):
            yield Found(None, position, end)
        position = text.find("{", end)


def _object_at(text: str, start: int, *, was_cut: bool) -> Found | None:
    try:
        value, end = _STRICT.raw_decode(text, start)
    except (ValueError, RecursionError):
        reader = _Reader(text, start, was_cut=was_cut)
        try:
            value, end = reader.value(0), reader.position
        except ValueError:
            return None
    return Found(value, start, end)


class _Reader:
    """Reads one value from a place in a text. Raises ValueError if it can be none, or several."""

    def __init__(self, text: str, position: int, *, was_cut: bool) -> None:
        self.text, self.position, self.was_cut = text, position, was_cut

    def value(self, depth: int) -> Any:
        if depth > DEEPEST:
            raise ValueError("too deep")
        if self._takes("{"):
            return self._object(depth)
        if self._takes("["):
            return self._list(depth)
        return self._scalar()

    def _object(self, depth: int) -> dict[str, Any]:
        pairs: list[tuple[str, Any]] = []
        while not self._takes("}"):
            if pairs and self._is_over():
                break
            if pairs and not self._takes(",") and not self._is_on_a_new_line():
                raise ValueError("no comma")
            if pairs and self._takes("}"):
                break
            key = self._text() or self._word()
            if not self._takes(":"):
                raise ValueError("no colon")
            pairs.append((key, self.value(depth + 1)))
        return _object_of(pairs)

    def _list(self, depth: int) -> list[Any]:
        items: list[Any] = []
        while not self._takes("]"):
            if items and not self._takes(","):
                raise ValueError("no comma")
            if items and self._takes("]"):
                break
            items.append(self.value(depth + 1))
        return items

    def _scalar(self) -> Any:
        if (said := self._text()) is not None:
            return said
        word = self._word()
        if word.lower() in _WORDS:
            return _WORDS[word.lower()]
        if not _NUMBER.fullmatch(word):
            return word
        if self.position == len(self.text):
            return Unended(word)
        return float(word) if set(word) & set(".eE") else int(word)

    def _text(self) -> str | None:
        self._skip()
        if (found := _TEXT.match(self.text, self.position)) is None:
            return None
        self.position = found.end()
        return str(json.loads(f'"{_ESCAPE.sub(_escaped, found[0][1:-1])}"', strict=False))

    def _word(self) -> str:
        self._skip()
        found = _WORD.match(self.text, self.position)
        if found is None:
            raise ValueError("no word")
        self.position = found.end()
        return found[0].strip()

    def _is_over(self) -> bool:
        """Return whether the text ends here, or the fence around the object does."""
        self._skip()
        return not self.was_cut and (self.position == len(self.text) or self.text.startswith(_FENCE, self.position))

    def _is_on_a_new_line(self) -> bool:
        """Return whether a key in quotes follows that begins a line: then only the comma before it is missing."""
        before = self.text[: self.position].rstrip(" \t")
        return before.endswith("\n") and self.text[self.position : self.position + 1] in ('"', "'", "“")

    def _takes(self, mark: str) -> bool:
        self._skip()
        if self.text.startswith(mark, self.position):
            self.position += len(mark)
            return True
        return False

    def _skip(self) -> None:
        found = _SKIPPED.match(self.text, self.position)
        self.position = found.end() if found else self.position


def _escaped(found: re.Match[str]) -> str:
    """Return an escape as JSON has it: of an apostrophe the mark alone, and any other backslash or quote as itself."""
    return found[0] if found[1] else found[2] or f"\\{found[0]}"


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object. Raises ValueError if it has two values for one key."""
    made = dict(pairs)
    if len(made) < len(pairs) and any(made[key] != value for key, value in pairs):
        raise ValueError("a key is there twice")
    return made


def answer_in(text: str, model: str, *, is_prose: bool = False) -> str:
    """Return a reply without the thoughts before the answer.

    In `prose`, such as an app's answer, an opening tag counts only at the beginning of a line. Raises MalformedReply if
    there are only thoughts.
    """
    may_have_tags = "<" in text or "[" in text or "◁" in text  # quicker than the search alone
    if not may_have_tags or _TAG.search(text) is None:
        return text
    begins = 0  # of the answer, as far as is known
    for _ in range(MOST_TAGS):
        tag = _next_tag(text, begins, is_prose=is_prose)
        if tag is None:
            return text if begins == 0 else _unwrapped(text[begins:])
        end = tag if _ends(tag) else _end_of(text, tag)
        if end is None:
            break
        begins = end.end()
    raise MalformedReply(model, problem="it has only thoughts, and no answer after them", reply=text)


def _next_tag(text: str, start: int, *, is_prose: bool) -> re.Match[str] | None:
    """Return the first tag from a place on that isn't only mentioned."""
    objects_end, mentioned = start, set[str]()
    for tag in _TAG.finditer(text, start):
        if tag.start() < objects_end:
            continue
        around = [each for each in objects_in(text, objects_end) if each.value and each.start < tag.start() < each.end]
        if around:
            objects_end = around[0].end
            continue
        line = text[: tag.start()].rpartition("\n")[2]
        is_within = is_prose and not _ends(tag) and line.strip()
        if is_within or line.endswith(tuple(_MENTIONED)) or (_ends(tag) and _kind(tag) in mentioned):
            mentioned.add(_kind(tag))
            continue
        return tag
    return None


def _end_of(text: str, opening: re.Match[str]) -> re.Match[str] | None:
    """Return the tag that ends a thought."""
    later = _TAG.finditer(text, opening.end())
    return next((tag for tag in later if _ends(tag) and _kind(tag) == _kind(opening)), None)


def _ends(tag: re.Match[str]) -> bool:
    return str(tag.lastgroup).startswith("e")


def _kind(tag: re.Match[str]) -> str:
    return str(tag.lastgroup)[1:]


def _unwrapped(answer: str) -> str:
    """Return an answer without the tokens or the tag around it."""
    answer = _TOKENS.sub("", answer)
    found = _ANSWER.match(answer)
    return (found[2] if found else answer).strip()


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
        return kind.model_validate(_formed(_inner(found, schema), schema))
    if found and not found.keys() <= kind.__pydantic_fields__.keys():
        _named(found, schema.get("properties", {}))  # refuses one with a doubled key
    return reply


def _inner(found: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
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
