"""A smallest number of trials before any verdict, in the tests that run with a scenario."""

from collections.abc import Sequence
from math import nan
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simeval.core.setting_field import EarlyStopping, StopAt
from simeval.errors import DefinitionError
from simeval.evaluators.base import Evaluator
from simeval.evaluators.scores import MeanEvaluator, ProportionEvaluator, QuantileEvaluator, SuccessRateEvaluator
from simeval.evaluators.stopping import EXCLUDED, RunningTest, Taken, TrialsNeeded

RULES = [
    ProportionEvaluator(min_proportion=0.5),
    ProportionEvaluator(min_proportion=0.9),
    ProportionEvaluator(max_proportion=0.1, early_stopping="anytime"),
    QuantileEvaluator(0.5, at_least=1.0, bounds=(0, 1)),
    SuccessRateEvaluator(min_proportion=0.75),
    MeanEvaluator(at_least=0.5),
    MeanEvaluator(at_most=0.2),
]


def run(rule: Evaluator, outcomes: Sequence[Taken], *, n_max: int = 60, stop: StopAt | None = None) -> RunningTest:
    test = rule.running_test(n_max, stop=stop)
    for outcome in outcomes:
        test.take(outcome)
    return test


@settings(max_examples=200)
@given(
    st.sampled_from(RULES),
    st.lists(st.sampled_from([1.0, 1.0, 10.0, 0.0, nan, None, EXCLUDED]), min_size=1, max_size=9),
    st.sampled_from(["gate", "verdict", None]),
)
def test_before_the_tenth_trial_nothing_is_settled_and_nothing_is_proven(
    rule: Evaluator, outcomes: list[Taken], stop: StopAt | None
) -> None:
    if not isinstance(rule, SuccessRateEvaluator):
        outcomes = [1.0 if outcome == 10.0 else outcome for outcome in outcomes]
    test = run(rule, outcomes, stop=stop)

    assert not test.settled
    assert test.verdict().inconclusive
    assert test.trials_needed({}).trials >= 10


@pytest.mark.parametrize("rule", RULES)
def test_an_app_that_is_never_good_fails_at_the_tenth_trial(rule: Evaluator) -> None:
    bad = 0.0 if rule.prefers_high else 1.0

    verdict = run(rule, [bad] * 60).verdict()

    assert (verdict.outcome, verdict.n) == ("fail", 10)


@pytest.mark.parametrize(("n_max", "taken"), [(4, 4), (10, 10), (40, 10)])
def test_a_sample_that_is_smaller_is_taken_whole(n_max: int, taken: int) -> None:
    verdict = run(ProportionEvaluator(min_proportion=0.5), [0.0] * n_max, n_max=n_max).verdict()

    assert verdict.n == taken


@pytest.mark.parametrize(("min_trials", "taken"), [(1, 5), (7, 7), (25, 25)])
def test_an_evaluator_may_have_its_own(min_trials: int, taken: int) -> None:
    rule = ProportionEvaluator(min_proportion=0.9, min_trials=min_trials)

    verdict = run(rule, [0.0] * 40, n_max=100).verdict()

    assert (verdict.outcome, verdict.n) == ("fail", taken)


def test_a_gate_at_which_no_pass_is_possible_starts_no_trial_beyond_the_smallest_number() -> None:
    test = run(ProportionEvaluator(min_proportion=0.9), [0.0] * 5, n_max=100)

    needed = test.trials_needed({})

    assert (needed.trials, needed.ends, test.settled) == (10, True, False)


def test_a_sample_whose_first_miss_rules_out_a_pass_goes_on_until_a_side_is_proven() -> None:
    rule = ProportionEvaluator(min_proportion=0.9)

    verdict = run(rule, [0.0] + [1.0, 0.0] * 14, n_max=30).verdict()

    assert (verdict.outcome, verdict.n) == ("fail", 10)
    assert run(rule, [0.0] + [1.0] * 12, n_max=30).verdict().reason == "scenario_settled"


def test_a_mean_that_a_bet_has_won_waits_for_the_smallest_number() -> None:
    rule = MeanEvaluator(at_least=0.3, min_trials=30)
    test = run(rule, [1.0] * 20)

    assert test.trials_needed({}).trials == 30
    assert run(rule, [1.0] * 60).verdict().n == 30
    assert run(rule, [1.0] * 60).passes


@pytest.mark.parametrize(("min_trials", "misses"), [(1, "5 misses"), (2, "5 misses in 2 or more")])
def test_it_is_said_before_the_first_trial(min_trials: int, misses: str) -> None:
    said = ProportionEvaluator(min_proportion=0.9, min_trials=min_trials).running_test(100).acceptance()

    assert said.endswith(f"≤ 4 in 97; {misses} end it without a pass")


@pytest.mark.parametrize("min_trials", [0, -3, 2.5, True, 20_000])
@pytest.mark.parametrize("early_stopping", [True, False, "anytime"])
def test_what_is_no_number_of_trials_is_refused(min_trials: Any, early_stopping: EarlyStopping) -> None:
    with pytest.raises(DefinitionError, match=r"ProportionEvaluator\.min_trials"):
        ProportionEvaluator(min_proportion=0.9, min_trials=min_trials, early_stopping=early_stopping)


@pytest.mark.parametrize(
    "rule",
    [ProportionEvaluator(min_proportion=0.9), MeanEvaluator(at_least=0.5), MeanEvaluator(at_most=0.2)],
)
@pytest.mark.parametrize("stop", ["gate", "verdict"])
def test_trials_that_are_excluded_are_none_of_the_smallest_number(rule: Evaluator, stop: StopAt) -> None:
    bad = 0.0 if rule.prefers_high else 1.0

    early = run(rule, [EXCLUDED] * 9 + [bad] * 9, n_max=50, stop=stop)
    verdict = run(rule, [EXCLUDED] * 9 + [bad] * 10, n_max=50, stop=stop).verdict()

    assert not early.settled
    assert early.verdict().p_value_fail == 1.0
    assert (verdict.outcome, verdict.n, verdict.left_out) == ("fail", 10, 9)


def test_a_sample_that_excluded_trials_leave_smaller_is_taken_whole() -> None:
    test = run(ProportionEvaluator(min_proportion=0.9), [EXCLUDED] * 2 + [0.0] * 10, n_max=11)

    assert (test.index, test.verdict().outcome, test.verdict().n) == (11, "fail", 9)


@pytest.mark.parametrize("stop", ["gate", "verdict"])
def test_a_mean_whose_fail_is_proven_needs_no_trial_beyond_the_smallest_number(stop: StopAt) -> None:
    test = run(MeanEvaluator(at_least=0.5), [0.0] * 9, n_max=50, stop=stop)

    assert test.trials_needed({}).trials == 10
    assert test.trials_needed({9: EXCLUDED}).trials == 11
    assert test.trials_needed({12: EXCLUDED, 13: 1.0}).trials == 10


@pytest.mark.parametrize("rule", [ProportionEvaluator(min_proportion=0.9), MeanEvaluator(at_least=0.9)])
@pytest.mark.parametrize("outcomes", [[0.0] * 4, [1.0] + [EXCLUDED] * 36])
def test_a_gate_at_which_a_pass_is_ruled_out_needs_no_trial_beyond_the_smallest_number(
    rule: Evaluator, outcomes: list[Taken]
) -> None:
    test = run(rule, outcomes, n_max=60, stop="gate")
    first = 10 + outcomes.count(EXCLUDED)

    needed = test.trials_needed({})
    for _ in range(60):
        test.take(1.0)

    assert (needed.trials, needed.ends) == (first, True)
    assert (test.index, test.passes) == (first, False)


def test_an_app_that_fails_at_the_first_look_whatever_comes_needs_no_trials_beyond_it() -> None:
    test = run(ProportionEvaluator(min_proportion=0.5, min_trials=25), [0.0] * 20, stop="gate")

    assert test.trials_needed({}) == TrialsNeeded(25, ends=True)
    assert test.trials_needed({24: 1.0}) == TrialsNeeded(25, ends=True)
