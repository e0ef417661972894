"""The date of a conversation, and texts that name days by it: {today}, {today+3}, {today-1}."""

import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from functools import lru_cache

from simeval.core.validation import require
from simeval.errors import DefinitionError

_PLACE = re.compile(r"\{\s*today\s*(?:([+-])\s*(\d{1,5})\s*)?\}", re.IGNORECASE)
_MEANT: Mapping[str, str] = {"tomorrow": "{today+1}", "yesterday": "{today-1}"}
_OTHER = re.compile(rf"\{{\s*(today[^{{}}]*|{'|'.join(_MEANT)})\s*\}}", re.IGNORECASE)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def dated(text: str, today: date) -> str:
    """Return a text with each {today+3} as a date such as 2026-11-29, which every language reads.

    Raises DefinitionError for a day that is named otherwise.
    """
    if "{" not in text:
        return text
    made = _PLACE.sub(lambda found: _day(found, today).isoformat(), text)
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
