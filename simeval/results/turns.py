"""Turns of all conversations together: a description. Conclusions rest on one value for each conversation."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan

from simeval.core.trial import Failure, Score
from simeval.stats.clusters import anova_icc, korn_graubard

ENOUGH = 50  # conversations; the interval is too narrow with fewer


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnShare:
    """The share of all turns that are good: long conversations count for more, which a verdict does not allow.

    `interval` is Korn and Graubard's for turns that are alike within their conversation, 5% on each side; `icc` is how
    alike they are (0 not, 1 wholly, None if it is undefined), and so many turns carry no more information than `turns /
    design_effect` independent ones.
    """

    share: float
    interval: tuple[float, float]
    turns: int
    conversations: int
    icc: float | None
    design_effect: float | None

    def __str__(self) -> str:
        low, high = self.interval
        alike = "" if self.icc is None else f", ICC {self.icc:.2f}"
        effect = "" if self.design_effect is None else f", design effect {self.design_effect:.2f}"
        rough = f" (rough: it wants {ENOUGH} conversations)" if self.conversations < ENOUGH else ""
        return (
            f"{self.share:.1%} of all {self.turns} turns [{low:.1%}, {high:.1%}]{rough}{alike}{effect}; a description, "
            "not what the verdict is about"
        )


def turns_of(results: Sequence[Score | Failure]) -> TurnShare | None:
    """Describe the turns of all conversations together, if the scores count good ones; else None."""
    counts = [result.turn_counts for result in results if isinstance(result, Score) and result.turn_counts]
    if not counts:
        return None
    good, sizes = [each.good for each in counts], [each.turns for each in counts]
    found, alike = korn_graubard(good, sizes, alpha=0.05), anova_icc(good, sizes)
    return TurnShare(
        share=found.ratio,
        interval=(found.low, found.high),
        turns=int(sum(sizes)),
        conversations=len(counts),
        icc=None if isnan(alike.icc) else alike.icc,
        design_effect=None if isnan(alike.design_effect) else alike.design_effect,
    )
