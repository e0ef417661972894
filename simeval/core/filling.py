"""Places such as {nights} in texts, filled with the values of a case."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

T = TypeVar("T")
OF_DATES = frozenset({"today", "tomorrow", "yesterday"})  # other places, see `dated`
TYPED = ("state", "where")  # fields whose values are compared with data: a place alone becomes the value itself

_PLACE = re.compile(r"(?<!\{)\{\s*([^\W\d]\w*)\s*\}(?!\})")
_WORDS = {True: "yes", False: "no", None: ""}


def places_in(value: object) -> Iterator[str]:
    """Yield the names of the places in all texts of a value, however deep; those of dates are left out."""
    if isinstance(value, str):
        yield from (name for name in _PLACE.findall(value) if name not in OF_DATES)
    elif isinstance(value, re.Pattern):
        yield from places_in(value.pattern)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from places_in(key)
            yield from places_in(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from places_in(inner)
    elif is_dataclass(value) and not isinstance(value, type):
        for each in fields(value):
            yield from places_in(getattr(value, each.name))


def filled(value: T, case: Mapping[str, Any], *, typed: bool = False) -> T:
    """Return a value with the places in all of its texts filled; a place that the case does not have stays.

    In records that are dataclasses too, and in regular expressions, which then match the text of the value as it is.
    Where `typed`, a text that is one place becomes the value, with its type.
    """
    made: Any = value
    if next(places_in(value), None) is None:
        return value
    if isinstance(value, str):
        made = _text(value, case, typed=typed)
    elif isinstance(value, re.Pattern):
        texts = {name: re.escape(as_text(each)) for name, each in case.items()}
        made = re.compile(_text(value.pattern, texts), value.flags)
    elif isinstance(value, Mapping):
        made = {_text(key, case): filled(inner, case, typed=typed or key in TYPED) for key, inner in value.items()}
    elif isinstance(value, (list, tuple)):
        made = type(value)([filled(inner, case, typed=typed) for inner in value])
    elif is_dataclass(value) and not isinstance(value, type):
        own = {each.name: getattr(value, each.name) for each in fields(value) if each.init}
        new = {name: filled(inner, case, typed=typed or name in TYPED) for name, inner in own.items()}
        changed = {name: inner for name, inner in new.items() if inner is not own[name]}
        made = replace(value, **changed) if changed else value
    return made  # type: ignore[no-any-return]  # of the same type, or what a place of such a value stands for


def as_text(value: object) -> str:
    """Return a value of a case as a text has it: true is yes, 270.0 is 270."""
    if value is None or isinstance(value, bool):
        return _WORDS[value]
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(as_text, value))
    return str(value)


def _text(text: Any, case: Mapping[str, Any], *, typed: bool = False) -> Any:
    if not isinstance(text, str) or "{" not in text:
        return text
    alone = _PLACE.fullmatch(text.strip())
    if typed and alone and alone[1] in case:
        return case[alone[1]]
    return _PLACE.sub(lambda found: as_text(case[found[1]]) if found[1] in case else found[0], text)
