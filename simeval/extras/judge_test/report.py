"""The result of a judge's test, as records, as text and as JSON."""

import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from simeval.stats.binomial import clopper_pearson
from simeval.suites.scenario import shorten

ALLOWED = 0.2  # the share of a check's cases that a judge may get wrong
ALPHA = 0.05  # error on each side of the intervals
WIDTH = 80
HEAD = f"{'check':<14}{'verdict':<14}{'wrong':>7}{'share':>8}   90% interval"

Outcome = Literal["pass", "fail", "inconclusive"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """How often a judge was wrong in one check; a question without an answer, `missing`, counts as wrong.

    It passes if the share is proven to be below the allowed one, and fails if it is proven to be above.
    """

    name: str
    asks: str
    n: int
    wrong: int
    missing: int = 0
    allowed: float = ALLOWED
    example: str = ""

    @property
    def share(self) -> float:
        """The share of wrong cases."""
        return self.wrong / self.n

    @property
    def interval(self) -> tuple[float, float]:
        """The exact interval of that share."""
        return clopper_pearson(self.wrong, self.n, ALPHA)

    @property
    def outcome(self) -> Outcome:
        """Whether the judge is proven to be wrong seldom enough, or too often."""
        low, high = self.interval
        return "pass" if high <= self.allowed else "fail" if low > self.allowed else "inconclusive"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeTestResult:
    """A judge's results on conversations with known right verdicts."""

    judge: str
    checks: Sequence[CheckResult]
    calls: int
    tokens: int

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return all(each.outcome == "pass" for each in self.checks)

    def __str__(self) -> str:
        table = [HEAD, "-" * len(HEAD), *map(_row, self.checks)]
        examples = [f"{each.name}: {each.example}" for each in self.checks if each.outcome != "pass" and each.example]
        allowed, verdict = self.checks[0].allowed, "PASS" if self.passed else "NOT PASSED"
        notes = [
            f"A check passes where the judge is proven to be wrong in at most {allowed:.0%} of its cases, and fails "
            f"where it is proven to be wrong in more (exact intervals, {ALPHA:.0%} error on each side).",
            f"{verdict}: judge {self.judge}, {self.calls} calls, {self.tokens:,} tokens",
        ]
        parts = ["\n".join(table), "\n".join(map(_filled, examples)), *map(_filled, notes)]
        return "\n\n".join(part for part in parts if part)

    def encoded(self) -> dict[str, Any]:
        """Return the result in the form JSON has."""
        checks = [
            {**asdict(each), "share": each.share, "interval": list(each.interval), "outcome": each.outcome}
            for each in self.checks
        ]
        return {
            "judge": self.judge,
            "passed": self.passed,
            "checks": checks,
            "calls": self.calls,
            "tokens": self.tokens,
        }


def _row(each: CheckResult) -> str:
    low, high = each.interval
    counted = f"{each.wrong}/{each.n}"
    missing = f" ({each.missing} missing)" if each.missing else ""
    interval = f"[{low:.0%}, {high:.0%}]"
    return f"{each.name:<14}{each.outcome.upper():<14}{counted:>7}{each.share:>8.0%}   {interval}{missing}"


def _filled(text: str) -> str:
    return textwrap.fill(text, WIDTH, subsequent_indent="  ")


def shown(answer: str, rating: float) -> str:
    """Return an answer that was rated wrongly, in a line."""
    return f"rated {rating:g}: {shorten(answer, 90)!r}" if answer else f"rated {rating:g}: an empty answer"
