"""Places such as {nights} in texts, filled with the values of a case."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Any, TypeVar

from simeval.core.validation import require
from simeval.errors import DefinitionError

T = TypeVar("T")
OF_DATES = frozenset({"today", "tomorrow", "yesterday"})  # other places, see `dates`
TYPED = ("state", "where")  # fields whose values are compared with data: a place alone becomes the value itself

_PLACE = re.compile(r"(?<!\{)\{\s*([^\W\d]\w*)\s*\}(?!\})")
_WORDS = {True: "yes", False: "no", None: ""}

_TODAY = re.compile(r"\{\s*today\s*(?:([+-])\s*(\d{1,5})\s*)?\}", re.IGNORECASE)
_MEANT: Mapping[str, str] = {"tomorrow": "{today+1}", "yesterday": "{today-1}"}
_OTHER = re.compile(rf"\{{\s*(today[^{{}}]*|{'|'.join(_MEANT)})\s*\}}", re.IGNORECASE)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def places_in(value: object) -> Iterator[str]:
    """Yield the names of the places in all texts of a value, however deep; those of dates are left out."""
    if isinstance(value, str):
        yield from (name for name in _PLACE.findall(value) if name not in OF_DATES)
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

    In records that are dataclasses too. Where `typed`, a text that is one place becomes the value, with its type.
    """
    made: Any = value
    if next(places_in(value), None) is None:
        return value
    if isinstance(value, str):
        made = _text(value, case, typed=typed)
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


def dated(text: str, today: date) -> str:
    """Return a text with each {today+3} as a date such as 2026-11-29, which every language reads.

    Raises DefinitionError for a day that is named otherwise.
    """
    if "{" not in text:
        return text
    made = _TODAY.sub(lambda found: _day(found, today).isoformat(), text)
    if other := _OTHER.search(made):
        do = f"write {_MEANT.get(other[1].lower(), '{today}, {today+3} or {today-1}')}"
        raise DefinitionError("scenario", found=f"found {other[0]} in {text[:60]!r}", do=do)
    return made


@lru_cache(maxsize=100)  # at every call of a judge
def in_words(day: date) -> str:
    """Return a date with its weekday."""
    return f"{_WEEKDAYS[day.weekday()]}, {day.isoformat()}"


def day_of(moment: datetime) -> date:
    """Return the day of a moment in this machine's time zone; without a time zone, its own day."""
    return moment.date() if moment.tzinfo is None else moment.astimezone().date()


def require_date(value: object, name: str) -> None:
    """Raise a DefinitionError unless a value is a date in ISO's form."""
    try:
        usable = isinstance(value, str) and bool(date.fromisoformat(value))
    except ValueError:
        usable = False
    require(usable, name, found=value, do="write it as 2026-11-26")


def _day(found: re.Match[str], today: date) -> date:
    days = int(found[2] or 0)
    return today + timedelta(days=-days if found[1] == "-" else days)
