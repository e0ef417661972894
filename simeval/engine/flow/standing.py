"""The status of a scenario while its run goes on."""

from collections.abc import Callable
from dataclasses import dataclass

from simeval.core.trial import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """The status of one requirement: its outcome if it has ended, else the misses it still tolerates.

    `found` is the observed value, with its interval, and `bar` the required one, both in words. Before the end the
    interval is that of a fixed sample: a description, and not the basis of the verdict.
    """

    bar: str
    found: str = ""
    outcome: Outcome | None = None
    misses: int | None = None
    allowed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A scenario: the trials concluded on, and those its verdicts can need by present knowledge; 0 at first.

    `requirement` makes the one that shows its status best; None without one.
    """

    title: str
    trials: int
    needed: int
    sample_size: int
    is_closed: bool
    requirement: Callable[[], Requirement | None]
