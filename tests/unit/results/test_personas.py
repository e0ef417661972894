"""How the personas of a mix fared, from the trials of a scenario."""

import pytest

from simeval.core.trial import UNNEEDED, Failure, Score, Stage
from simeval.evaluators.scores import SuccessRateEvaluator
from simeval.results.findings import PersonaShare, personas_of

RULE = (SuccessRateEvaluator(min_proportion=0.5),)
Result = Score | Failure


def fared(**results: list[Result]) -> dict[str, PersonaShare]:
    found = [(name, each) for name, listed in results.items() for each in listed]
    names, measured = [name for name, _ in found], [each for _, each in found]
    return {share.name: share for share in personas_of(names, measured, RULE)}


def good(number: int) -> list[Result]:
    return [Score(value=9.0)] * number


def bad(number: int) -> list[Result]:
    return [Score(value=2.0)] * number


def test_intervals_have_two_and_a_half_per_cent_on_each_side() -> None:
    shares = fared(all=good(28), some=good(14) + bad(18))

    assert shares["all"].interval == pytest.approx((0.025 ** (1 / 28), 1.0))
    assert shares["some"].interval == pytest.approx((0.2636, 0.6234), abs=1e-4)  # Clopper and Pearson, 14 of 32


@pytest.mark.parametrize(("stage", "counts"), [("app", True), ("check", True), ("judge", False), ("simulator", False)])
def test_what_speaks_against_the_app_counts_and_what_is_missing_does_not(stage: Stage, counts: bool) -> None:
    lost = Failure(stage=stage, error="it broke", cause="broken")

    share = fared(one=[*good(3), lost, UNNEEDED], other=good(2))["one"]

    assert (share.met, share.n) == (3, 4 if counts else 3)


def test_with_whom_an_app_does_worse_is_corrected_for_how_many_there_are() -> None:
    alone = fared(one=good(6) + bad(4), other=good(10))["one"].p_worse
    among = fared(one=good(6) + bad(4), other=good(5), more=good(3), last=good(2))["one"].p_worse

    assert alone == pytest.approx(2 * 0.043344, abs=1e-5)  # Fisher: C(10,4) / C(20,4), for one of two
    assert among == pytest.approx(4 * 0.043344, abs=1e-5)


def test_without_personas_there_are_none() -> None:
    assert personas_of([None], [Score(value=9.0)], RULE) == ()
