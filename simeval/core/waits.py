"""Waits in progress: for answers of models and apps, places in line, pauses before a further attempt."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from time import monotonic
from typing import Literal

Stage = Literal["answer", "line", "refused", "retry"]


@dataclass(slots=True, eq=False)
class Wait:
    """One call in progress, or held back, since a time of the monotonic clock.

    `who` is a model's name or an app, `role` the role it is asked in. A call in "line" waits for the limits of its
    model, one that was "refused" or is to be tried again ("retry") for `until`. Used as a context, it counts as waiting
    until the context is left.
    """

    who: str
    role: str
    stage: Stage
    since: float
    until: float | None = None
    _among: dict["Wait", None] = field(default_factory=dict, repr=False)

    def __enter__(self) -> None:
        self._among[self] = None

    def __exit__(self, *error: object) -> None:
        del self._among[self]


@dataclass(slots=True)
class Waits:
    """All that is waited for, the longest first."""

    _now: dict[Wait, None] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Wait]:
        return iter(tuple(self._now))

    def during(self, stage: Stage, who: str, role: str = "", *, seconds: float | None = None) -> Wait:
        """Report a wait until the block is left; `seconds` is how long, if known."""
        since = monotonic()
        return Wait(who, role, stage, since, None if seconds is None else since + seconds, self._now)


def in_words(seconds: float) -> str:
    """Return a number of seconds with its noun."""
    shown = f"{seconds:.3g}" if seconds < 100 else f"{seconds:,.0f}"
    return f"{shown} second{'' if shown == '1' else 's'}"


def seconds_of(retry_after: str | None) -> float | None:
    """Read a Retry-After header, seconds or an HTTP date; None if it is missing or cannot be read."""
    if retry_after is None:
        return None
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(retry_after) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None
