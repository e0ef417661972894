"""Quarantine: a scenario whose outcome is reported and does not decide, for a reason and until a day."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from simeval.core.trial import Outcome
from simeval.core.validation import require

DOES: Mapping[Outcome, str] = {
    "pass": "passes",
    "fail": "fails",
    "inconclusive": "is inconclusive",
    "error": "could not be judged",
}


@dataclass(frozen=True, slots=True)
class Quarantine:
    """Why the outcome of a scenario does not decide for now, and the first day on which it does again (UTC)."""

    reason: str
    until: date

    def __post_init__(self) -> None:
        usable = isinstance(self.reason, str) and bool(self.reason.strip())
        require(usable, "Quarantine.reason", found=self.reason, do="say why, such as a ticket")
        do = "give a day, such as 2026-12-31"
        require(type(self.until) is date, "Quarantine.until", found=self.until, do=do)

    def holds(self, day: date) -> bool:
        """Return whether it holds on a day."""
        return day < self.until

    def told(self, title: str, outcome: Outcome, *, holds: bool) -> str:
        """Describe its effect on the scenario with this title."""
        if holds:
            return f"in quarantine until {self.until} ({self.reason}): {title!r} {DOES[outcome]}, which decides nothing"
        ended = f"the quarantine of {title!r} ended on {self.until} ({self.reason}), so that it decides again"
        return ended if outcome == "pass" else f"{ended}: mend it, or give a later day and why"
