"""How often conversations of one scenario end alike, apart from whether that is good.

A scenario that is never met is as repeatable as one that always is; one that is met every other time is the least.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from simeval.core.trial import Failure, Score
from simeval.evaluators.base import Evaluator, ShareEvaluator

if TYPE_CHECKING:  # results say it of themselves
    from simeval.results.suite import EvaluationResult

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


def repeatability_of(results: "Iterable[EvaluationResult]") -> Repeatability | None:
    """Say how repeatable scenarios are; None where fewer than two have two conversations that meet them or do not.

    Of an app that never answered nothing is known, so such a scenario does not count.
    """
    found = [list(_met(result)) for result in results if result.outcome != "error"]
    counts = [(met.count(True), met.count(False)) for met in found]
    compared = [(good, bad) for good, bad in counts if good + bad >= LEAST]
    if len(compared) < LEAST:
        return None
    return Repeatability(
        always=sum(not bad for _, bad in compared),
        sometimes=sum(good > 0 and bad > 0 for good, bad in compared),
        never=sum(not good for good, _ in compared),
        agreement=fmean(1 - 2 * good * bad / ((good + bad) * (good + bad - 1)) for good, bad in compared),
    )


def _met(result: "EvaluationResult") -> Iterator[bool | None]:
    """Yield of each conversation whether it met all that is required of a share of them; None where some is not known.

    Where one requirement is settled before another, later conversations do not count: to count those that miss the
    other, for which one miss is enough, would count bad ones alone.
    """
    asked = [[one for one in each.evaluators if isinstance(one.rule, ShareEvaluator)] for each in result.expectations]
    for trial in zip(*(each.results for each in result.expectations), strict=True):
        if result.run.leaves_out_crashes and any(isinstance(each, Failure) and each.stage == "app" for each in trial):
            continue
        found = [_is_met(measured, required) for measured, required in zip(trial, asked, strict=True) if required]
        yield None if None in found or not found else False not in found


def _is_met(measured: Score | Failure, required: Sequence[Evaluator]) -> bool | None:
    if isinstance(measured, Failure):
        return False if measured.is_of_app and not measured.is_unneeded else None
    return all(evaluator.meets(measured.value) for evaluator in required)
