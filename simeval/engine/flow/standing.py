"""Where a scenario stands while its run goes on."""

from collections.abc import Callable
from dataclasses import dataclass

from simeval.core.trial import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One requirement as it stands: of one that has ended its outcome, of one that goes on the misses it still bears.

    `found` is what was observed, with its interval, and `bar` what is asked for, both in words. Before the end the
    interval is that of a fixed sample: a description, and not what the verdict will rest on.
    """

    bar: str
    found: str = ""
    outcome: Outcome | None = None
    misses: int | None = None
    allowed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A scenario: the trials concluded on, and those that its verdicts can need by what is known; 0 before it begins.

    `requirement` makes the one that shows best how it stands; None where there is none.
    """

    title: str
    trials: int
    needed: int
    sample_size: int
    is_closed: bool
    requirement: Callable[[], Requirement | None]
