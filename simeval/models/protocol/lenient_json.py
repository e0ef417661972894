"""JSON as models write it: objects are found anywhere in a text, and their form is repaired, never a value.

It accepts comments, extra commas, other kinds of quotes, keys and words without any, Python's True and None, and an
object whose last braces are missing if nothing was cut. It refuses any text that may be read in two ways: a quote
within a text, a key that occurs twice, a list or a number that may have gone on.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

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
