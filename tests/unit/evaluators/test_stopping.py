"""Courses: when a verdict is settled, how far ahead trials are needed, and what missing trials count for."""

from math import nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simeval.core.setting_field import StopAt
from simeval.core.trial import Verdict
from simeval.errors import DefinitionError
from simeval.evaluators.base import Evaluator
from simeval.evaluators.scores import (
    MeanEvaluator,
    ProportionEvaluator,
    QuantileEvaluator,
    RatingAverageEvaluator,
    SuccessRateEvaluator,
)
from simeval.evaluators.stopping import EXCLUDED, Counted, RunningTest, Taken

RULE = ProportionEvaluator(min_proportion=0.9, min_trials=1)
LENIENT = ProportionEvaluator(min_proportion=0.6, significance_level=0.1, min_trials=1)
OUTCOMES: st.SearchStrategy[Taken] = st.sampled_from([1.0, 1.0, 1.0, 0.0, nan, None, EXCLUDED])


def run(
    evaluator: Evaluator, outcomes: list[Any], *, n_max: int | None = None, stop: StopAt | None = None
) -> RunningTest:
    test = evaluator.running_test(n_max or len(outcomes), stop=stop)
    for outcome in outcomes:
        test.take(outcome)
    return test


def test_a_share_passes_at_its_first_pass_point() -> None:
    test = run(RULE, [1.0] * 45, n_max=100)

    verdict = test.verdict()
    assert (test.settled, test.passes) == (True, True)
    assert (verdict.outcome, verdict.n) == ("pass", 45)
    assert verdict.p_value == pytest.approx(0.9**45)
    assert verdict.confidence_interval == pytest.approx((0.05 ** (1 / 45), 1.0))
    assert verdict.chart
    assert verdict.chart.pass_at == ((45, 0), (60, 1), (74, 2), (86, 3), (97, 4))


def test_what_comes_after_the_verdict_changes_nothing() -> None:
    settled = run(RULE, [1.0] * 45, n_max=100).verdict()

    assert run(RULE, [1.0] * 45 + [0.0] * 20, n_max=100).verdict() == settled


def test_a_gate_ends_where_no_pass_can_be_reached_and_says_so() -> None:
    verdict = run(RULE, [1.0] * 25 + [0.0] * 5, n_max=100).verdict()

    assert (verdict.outcome, verdict.reason, verdict.n) == ("inconclusive", "pass_unreachable", 30)
    assert "can no longer be proven" in verdict.explanation


def test_with_stop_verdict_only_a_proven_side_ends_it() -> None:
    outcomes = [1.0] * 25 + [0.0] * 5

    assert not run(RULE, outcomes, n_max=100, stop="verdict").settled
    assert run(RULE, [*outcomes, *[0.0] * 10], n_max=100, stop="verdict").verdict().failed


@pytest.mark.parametrize("n_max", [5, 20, 28, 29, 30, 40])
def test_an_app_that_always_fails_is_failed_soon_however_small_the_sample(n_max: int) -> None:
    test = run(RULE, [0.0] * n_max)

    assert test.verdict().failed
    assert test.verdict().n <= 5


def test_a_sample_that_can_never_pass_is_taken_whole_and_says_what_is_needed() -> None:
    verdict = run(RULE, [1.0] * 20).verdict()

    assert (verdict.outcome, verdict.reason, verdict.n) == ("inconclusive", "never_possible", 20)
    assert "at least 29 are needed" in verdict.explanation


def test_a_crash_of_the_app_is_a_miss_and_a_missing_trial_counts_against_both_sides() -> None:
    crashed = run(RULE, [None] * 10, n_max=100).verdict()
    missing = run(RULE, [nan] * 10, n_max=100).verdict()

    assert crashed.failed
    assert (missing.outcome, missing.missing) == ("inconclusive", 5)
    assert missing.p_value_fail == 1.0


def test_excluded_trials_leave_the_sample_and_are_named_in_the_chart() -> None:
    test = run(RULE, [EXCLUDED, *[1.0] * 44, EXCLUDED, 1.0], n_max=100)

    verdict = test.verdict()
    assert (verdict.passed, verdict.n, test.index) == (True, 45, 47)
    assert verdict.chart
    assert verdict.chart.excluded == (0, 45)


def test_a_course_that_is_cut_short_concludes_nothing() -> None:
    verdict = run(RULE, [1.0] * 44, n_max=100).verdict()

    assert (verdict.outcome, verdict.reason) == ("inconclusive", "scenario_settled")


def test_without_early_stopping_the_whole_sample_is_needed() -> None:
    fixed = ProportionEvaluator(min_proportion=0.9, early_stopping=False)
    test = run(fixed, [0.0] * 49, n_max=50)

    assert not test.settled
    assert (test.misses, test.allowed) == (49, 1)
    assert test.trials_needed({}).trials == 50
    test.take(1.0)
    assert test.verdict().n == 50
    assert test.verdict().chart is not None
    assert test.verdict().p_value == fixed.evaluate([0.0] * 49 + [1.0]).p_value


def test_without_early_stopping_a_mean_needs_the_whole_sample_too() -> None:
    test = run(MeanEvaluator(at_least=0.9, early_stopping=False), [0.0] * 49, n_max=50)

    assert (test.settled, test.trials_needed({}).trials, test.allowed) == (False, 50, None)


def test_what_a_fixed_sample_did_not_get_is_missing() -> None:
    fixed = ProportionEvaluator(min_proportion=0.5, early_stopping=False)

    assert run(fixed, [1.0] * 10, n_max=12).verdict().passed
    assert run(fixed, [1.0] * 10, n_max=30).verdict().inconclusive


@settings(max_examples=300)
@given(st.lists(OUTCOMES, min_size=1, max_size=30), st.sampled_from(["unlikely", "gate", "verdict"]))
def test_missing_trials_can_only_hide_a_verdict_never_make_one(outcomes: list[Taken], stop: StopAt) -> None:
    def taken_as(value: float) -> Verdict:
        filled = [value if isinstance(each, float) and each != each else each for each in outcomes]
        return run(LENIENT, filled, n_max=30, stop=stop).verdict()

    verdict = run(LENIENT, outcomes, n_max=30, stop=stop).verdict()

    if verdict.passed:
        assert taken_as(0.0).passed
    if verdict.failed:
        assert taken_as(1.0).failed


@settings(max_examples=75)
@given(st.lists(st.sampled_from([1.0, 1.0, 0.0, nan]), min_size=24, max_size=24), st.data())
def test_no_trial_beyond_the_outlook_can_be_needed(outcomes: list[Counted], data: st.DataObject) -> None:
    taken = data.draw(st.integers(0, 20))
    stop: StopAt = data.draw(st.sampled_from(["gate", "unlikely"]))
    test = run(LENIENT, outcomes[:taken], n_max=24, stop=stop)
    if test.settled:
        return
    early = data.draw(st.sets(st.integers(taken + 1, 23)))

    trials_needed = test.trials_needed({index: outcomes[index] for index in early})

    for _ in range(5):
        guessed = [data.draw(st.sampled_from([1.0, 0.0])) for _ in outcomes]
        completed = run(
            LENIENT,
            [outcomes[i] if i < taken or i in early else guessed[i] for i in range(24)],
            n_max=24,
            stop=stop,
        )
        if trials_needed.ends:  # whatever the others are, it ends by then without a pass
            assert not completed.passes
            assert completed.verdict().n <= trials_needed.trials
        elif completed.passes:  # a pass may take longer, but never comes sooner
            assert completed.verdict().n >= trials_needed.trials
    best = run(LENIENT, [outcomes[i] if i < taken or i in early else 1.0 for i in range(24)], n_max=24, stop=stop)
    assert best.passes == (not trials_needed.ends)
    assert best.verdict().n == trials_needed.trials


@settings(max_examples=100)
@given(
    st.lists(st.integers(1, 10), min_size=1, max_size=60),
    st.sampled_from([True, "anytime"]),
    st.sampled_from(["verdict", "unlikely"]),
)
def test_the_interval_of_a_quantile_agrees_with_its_verdict(
    ratings: list[int], early_stopping: Any, stop: StopAt
) -> None:
    rule = RatingAverageEvaluator(7, early_stopping=early_stopping)

    verdict = run(rule, [float(r) for r in ratings], n_max=60, stop=stop).verdict()

    assert verdict.confidence_interval
    low, high = verdict.confidence_interval
    assert (low >= 7) == verdict.passed
    assert (high < 7) <= verdict.failed
    assert (high <= 7) >= verdict.failed


def test_the_interval_of_a_quantile_covers_however_a_run_is_stopped() -> None:
    random = np.random.default_rng(11)
    rule = QuantileEvaluator(0.9, at_most=1.0, bounds=(0, 10))
    wrong = np.zeros(2)
    median_of_all = float(np.quantile(random.exponential(0.45, 200_000), 0.9))

    for _ in range(400):
        verdict = run(rule, random.exponential(0.45, 60).tolist(), n_max=60).verdict()
        assert verdict.confidence_interval
        wrong += (verdict.confidence_interval[0] > median_of_all, verdict.confidence_interval[1] < median_of_all)

    assert (wrong / 400 <= 0.05 + 0.03).all()


def test_a_mean_is_settled_by_a_bet_that_has_won() -> None:
    rule = MeanEvaluator(at_least=0.5)
    test = run(rule, [1.0] * 100)

    verdict = test.verdict()
    assert verdict.passed
    assert verdict.n < 30
    assert "betting" in verdict.method
    assert verdict.confidence_interval
    assert verdict.confidence_interval[0] >= 0.5
    assert test.trials_needed({}).trials >= verdict.n


@pytest.mark.parametrize("rule", [MeanEvaluator(at_least=7, bounds=(1, 10)), MeanEvaluator(at_most=4, bounds=(1, 10))])
def test_a_mean_on_the_wrong_side_is_failed(rule: MeanEvaluator) -> None:
    wrong = 1.0 if rule.prefers_high else 10.0

    assert run(rule, [wrong] * 60).verdict().failed


def test_a_mean_that_can_pass_no_more_ends_at_a_gate() -> None:
    outcomes = [0.0, 1.0] * 30

    at_gate = run(MeanEvaluator(at_least=0.5), outcomes).verdict()
    to_the_end = run(MeanEvaluator(at_least=0.5), outcomes, stop="verdict").verdict()

    assert (at_gate.reason, to_the_end.reason) == ("pass_unreachable", "budget_exhausted")
    assert at_gate.n < to_the_end.n == 60


def test_missing_trials_count_against_both_sides_of_a_mean() -> None:
    rule = MeanEvaluator(at_least=0.5, early_stopping=True)

    assert run(rule, [nan, None] * 30).verdict().inconclusive


def test_a_rating_names_itself_and_not_the_rule_it_is_made_of() -> None:
    verdict = run(SuccessRateEvaluator(min_proportion=0.9), [10.0] * 30).verdict()

    assert verdict.evaluator == "success (rating ≥ 6) in at least 90% of conversations"


def test_anytime_uses_no_largest_n() -> None:
    rule = ProportionEvaluator(min_proportion=0.9, early_stopping="anytime")

    few, many = run(rule, [1.0] * 60, n_max=60).verdict(), run(rule, [1.0] * 60, n_max=500).verdict()

    assert few.passed
    assert (few.n, few.p_value) == (many.n, many.p_value)


def test_the_acceptance_table_is_said_in_words() -> None:
    assert RULE.running_test(100).acceptance() == (
        "passes with 0 misses in 45, ≤ 1 in 60, ≤ 2 in 74, ≤ 3 in 86, ≤ 4 in 97; 5 misses end it without a pass"
    )
    assert (
        ProportionEvaluator(min_proportion=0.9, early_stopping=False).running_test(50).acceptance()
        == "passes with ≤ 1 in 50"
    )
    assert RULE.running_test(20).acceptance() == ""
    assert RULE.running_test(400).acceptance().count(",") == 7


def test_at_most_is_the_mirror_image_of_at_least() -> None:
    least = run(ProportionEvaluator(0.5, min_proportion=0.9), [1.0] * 40 + [0.0], n_max=100)
    most = run(ProportionEvaluator(0.5, max_proportion=0.1), [0.0] * 40 + [1.0], n_max=100)

    assert least.verdict().p_value == most.verdict().p_value
    assert least.trials_needed({}) == most.trials_needed({})


def test_excluded_trials_that_leave_too_few_for_a_pass_end_a_gate() -> None:
    share = run(RULE, [EXCLUDED] * 60, n_max=100)
    rare = run(RULE, [EXCLUDED] * 54 + [1.0] * 2, n_max=100)
    mean = run(MeanEvaluator(at_least=0.6), [EXCLUDED] * 40, n_max=40)

    assert (share.settled, share.index) == (True, 56)
    assert not rare.settled
    assert mean.settled
    assert mean.index < 40


@given(st.lists(OUTCOMES, max_size=40), st.sampled_from([RULE, LENIENT, MeanEvaluator(at_least=0.3, min_trials=1)]))
def test_a_course_never_wants_trials_that_there_are_not_and_always_one_more(
    outcomes: list[Taken], rule: Evaluator
) -> None:
    test = rule.running_test(40)
    for outcome in outcomes:
        test.take(outcome)
        if test.settled:
            return
        trials_needed = test.trials_needed({})
        assert test.index < trials_needed.trials <= 40
        assert not trials_needed.ends


def test_a_mean_that_can_never_pass_is_taken_whole_and_says_how_many_it_needs() -> None:
    rule = MeanEvaluator(at_least=0.9)
    good, bad = run(rule, [1.0] * 10), run(rule, [0.0] * 10)

    assert good.verdict().n == 10
    assert rule.minimum_trials() > 10
    assert bad.verdict().failed


def test_anytime_says_its_own_minimum_and_no_number_of_the_fixed_test() -> None:
    rule = ProportionEvaluator(min_proportion=0.9, early_stopping="anytime")

    small, enough = (
        run(rule, [1.0] * 30).verdict(),
        run(rule, [1.0] * 40 + [0.0] * 4, n_max=44, stop="verdict").verdict(),
    )

    assert (small.reason, "at least 43 are needed" in small.explanation) == ("never_possible", True)
    assert enough.explanation.endswith("more trials may still prove it")
    assert rule.running_test(200).acceptance().startswith("passes with 0 misses in 43, ≤ 1 in 66, ")


def test_an_anytime_course_that_is_cut_short_says_what_it_knows() -> None:
    verdict = run(ProportionEvaluator(min_proportion=0.9, early_stopping="anytime"), [1.0] * 40, n_max=100).verdict()

    assert verdict.p_value == pytest.approx(0.0605, abs=1e-3)
    assert verdict.confidence_interval
    assert verdict.confidence_interval[0] > 0.89


def test_missing_trials_are_named_as_the_cause_where_they_are() -> None:
    fixed = ProportionEvaluator(min_proportion=0.9).evaluate([1.0] * 40 + [nan] * 20)

    assert fixed.explanation.endswith("the missing trials count against both sides, so neither is proven")


@pytest.mark.parametrize("arguments", [{"n_max": 0}, {"n_max": 20_000}, {"n_max": 30, "stop": "soon"}])
def test_a_test_that_cannot_be_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(DefinitionError, match=r"ProportionEvaluator\.running_test"):
        RULE.running_test(**arguments)
