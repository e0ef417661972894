"""The summary of a composite judge: the share left to the second, and whether they agree on the rest."""

from collections.abc import Sequence
from dataclasses import dataclass

from simeval.core.escalation import ESCALATION
from simeval.core.trial import Failure, Score
from simeval.evaluators.base import Evaluator
from simeval.stats.binomial import clopper_pearson

EACH_SIDE = 0.025


@dataclass(frozen=True, slots=True, kw_only=True)
class Escalations:
    """How many of the `rated` conversations were left to the second judge; the others the first settled.

    `audited` settled ones were also rated by the second judge, without effect; on `agreed` of those both agree about
    the requirement. `interval` is of the share agreed, 95%, exact for a sample of fixed size.
    """

    rated: int
    escalated: int
    audited: int
    agreed: int
    interval: tuple[float, float] | None

    def __str__(self) -> str:
        said = f"{self.escalated} of {self.rated} conversations ({self.escalated / self.rated:.0%}) left to the second"
        if self.interval is None:
            return f"{said}; none of the others audited"
        low, high = self.interval
        return (
            f"{said}; on what the first settled both agree in {self.agreed} of {self.audited} audited "
            f"(95% interval {low:.0%} to {high:.0%})"
        )


def escalations_of(results: Sequence[Score | Failure], evaluators: Sequence[Evaluator]) -> Escalations | None:
    """Return the summary of the conversations that a composite judge rated; None without one."""
    told = [each.details[ESCALATION] for each in results if isinstance(each, Score) and ESCALATION in each.details]
    found = [each for each in told if isinstance(each, dict)]
    if not found:
        return None
    settled = [each for each in found if each["why"] == "settled"]
    audited = [(each["first"], each["second"]) for each in settled if "second" in each]
    agreed = sum(_meets(first, evaluators) == _meets(second, evaluators) for first, second in audited)
    return Escalations(
        rated=len(found),
        escalated=len(found) - len(settled),
        audited=len(audited),
        agreed=agreed,
        interval=clopper_pearson(agreed, len(audited), EACH_SIDE) if audited else None,
    )


def _meets(rating: float, evaluators: Sequence[Evaluator]) -> bool:
    return all(evaluator.meets(rating) for evaluator in evaluators)
