"""How often conversations of one scenario end alike, apart from whether that is good.

A scenario that is never met is as repeatable as one that always is; one that is met every other time is the least.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from simeval.core.trial import Failure, Score

if TYPE_CHECKING:
    from simeval.evaluators.base import Evaluator

LEAST = 2  # conversations, to be compared, and scenarios, to be counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeatability:
    """How many scenarios all of their conversations met, some, or none; those with two conversations or more count.

    `agreement` is the chance that two conversations of one scenario end alike (both meet it, or neither), on
    average over scenarios. It describes the conversations there were: a scenario that ended early shows fewer.
    """

    always: int
    sometimes: int
    never: int
    agreement: float

    def __str__(self) -> str:
        return (
            f"repeatability: {self.always} of {self.always + self.sometimes + self.never} scenarios met in every "
            f"conversation, {self.sometimes} in some, {self.never} in none; two conversations of one scenario end "
            f"alike in {self.agreement:.0%} of cases"
        )


def repeatability_of(scenarios: Iterable[Iterable[bool | None]]) -> Repeatability | None:
    """Say how repeatable scenarios are, by the conversations that met each; None if fewer than two can be compared."""
    counts = [(met.count(True), met.count(False)) for met in map(list, scenarios)]
    compared = [(good, bad) for good, bad in counts if good + bad >= LEAST]
    if len(compared) < LEAST:
        return None
    return Repeatability(
        always=sum(not bad for _, bad in compared),
        sometimes=sum(good > 0 and bad > 0 for good, bad in compared),
        never=sum(not good for good, _ in compared),
        agreement=fmean(1 - 2 * good * bad / ((good + bad) * (good + bad - 1)) for good, bad in compared),
    )


def met_in(
    expectations: "Sequence[tuple[Sequence[Evaluator], Sequence[Score | Failure]]]", *, leaves_out_crashes: bool
) -> Iterator[bool | None]:
    """Yield of each conversation whether it met all that is required of a share of them; None where some is not known.

    If one requirement is settled before another, later conversations do not count: one miss is enough for the other, so
    counting them would count bad ones alone.
    """
    from simeval.evaluators.base import ShareEvaluator  # a result that is read back does without

    asked = [[one for one in evaluators if isinstance(one.rule, ShareEvaluator)] for evaluators, _ in expectations]
    for trial in zip(*(results for _, results in expectations), strict=True):
        if leaves_out_crashes and any(isinstance(each, Failure) and each.stage == "app" for each in trial):
            continue
        found = [_is_met(measured, required) for measured, required in zip(trial, asked, strict=True) if required]
        yield None if None in found or not found else False not in found


def _is_met(measured: Score | Failure, required: "Sequence[Evaluator]") -> bool | None:
    if isinstance(measured, Failure):
        return False if measured.is_of_app and not measured.is_unneeded else None
    return all(evaluator.meets(measured.value) for evaluator in required)
