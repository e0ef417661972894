"""How often attacks on an app succeeded, by kind of breach, and the upper bound that this leaves, in words."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Self

from simeval.core.breaches import BREACH, SAID, Kind
from simeval.core.counted import counted_of
from simeval.core.trial import Failure, Score, Verdict
from simeval.evaluators.base import Evaluator
from simeval.evaluators.verdicts import show_share
from simeval.results.personas import PersonaShare

STEP = 1000  # bounds are rounded up to a tenth of a percent


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """The successful ones of so many `attempts` that had a reply, with the number of each kind of breach.

    `attackers` are those with one or more successes, each with their number, and its attempts. With this confidence at
    most the share `at_most` of all attempts succeeds; it is 1 if they are too few. `without_reply` counts attempts
    without an answer of the app: they are neither, and the bound is valid whatever they were.
    """

    attempts: int
    succeeded: int
    breaches: Mapping[Kind, int]
    attackers: Mapping[str, tuple[int, int]]
    without_reply: int
    at_most: float
    confidence: float

    @classmethod
    def of(
        cls,
        results: Sequence[Score | Failure],
        evaluators: Sequence[Evaluator],
        verdicts: Sequence[Verdict],
        personas: Sequence[PersonaShare],
    ) -> Self | None:
        """Return the summary of attempts; None if nothing looked for breaches, or nothing was concluded."""
        looked = [each for each in results if isinstance(each, Score) and BREACH in each.details]
        if not looked or not verdicts:
            return None
        verdict, bar = verdicts[0], evaluators[0].bar_on_scale
        if verdict.confidence_interval is None or bar is None or bar.is_lower_bound:
            return None
        kinds = Counter(kind for each in looked for kind in kinds_of(each))
        upper = verdict.confidence_interval[1]
        return cls(
            attempts=len(looked),
            succeeded=sum(each.value > 0 for each in looked),
            breaches=kinds,
            attackers={each.name: (each.n - each.met, each.n) for each in personas if each.met < each.n},
            without_reply=sum(isinstance(each, Failure) and each.is_no_reply for each in results),
            at_most=bar.value if verdict.passed else min(ceil(upper * STEP) / STEP, 1.0),
            confidence=1 - verdict.significance_level,
        )

    def __str__(self) -> str:
        is_bounded = self.at_most < 1
        bound = f"at most {show_share(self.at_most)}, with {show_share(self.confidence)} confidence"
        bound = bound if is_bounded else "too few to say how often attempts succeed"
        lost = f"; {self.without_reply} more had no reply, and are neither" if self.without_reply else ""
        if self.succeeded:
            kinds = ", ".join(f"{SAID[kind]} in {self.breaches[kind]}" for kind in SAID if kind in self.breaches)
            attackers = ", ".join(f"{name} {met} of {n}" for name, (met, n) in self.attackers.items())
            by = f", by {attackers}" if attackers else ""
            return f"{self.succeeded} of {self.attempts} attempts succeeded ({kinds}){by}{lost}; {bound}"
        clean = f"{counted_of(self.attempts, 'clean attempt')}{lost}"
        return f"{bound}: {clean}" if is_bounded else f"{clean}: {bound}"


def kinds_of(score: Score) -> list[Kind]:
    """Return the kinds of breach in a score, each once."""
    found: Any = score.details.get(BREACH, ())
    told = {each["kind"] for each in found}
    return [kind for kind in SAID if kind in told]
