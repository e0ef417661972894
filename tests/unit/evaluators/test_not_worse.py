"""The evaluator of a comparison, and its way through the trials of a run."""

from collections.abc import Sequence
from math import nan
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simeval import ProportionEvaluator
from simeval.core.setting_field import EarlyStopping
from simeval.errors import DefinitionError
from simeval.evaluators import NotWorseEvaluator, RunningTest
from simeval.evaluators.stopping import EXCLUDED, Counted, Taken, TrialsNeeded

BAR = ProportionEvaluator(min_proportion=0.5)


def not_worse(before: str, **fields: Any) -> NotWorseEvaluator:
    given: dict[str, Any] = {"requirement": BAR, "run_id": "one", "seed": 7, "margin": 0.1, "min_trials": 1, **fields}
    return NotWorseEvaluator(before=before, **given)


def after(evaluator: NotWorseEvaluator, outcomes: Sequence[Taken]) -> RunningTest:
    """Return the test with as many of the outcomes as it takes."""
    test = evaluator.running_test(len(evaluator.before))
    for outcome in outcomes:
        test.take(outcome)
    return test


def test_it_ends_with_a_pass_where_nothing_changes() -> None:
    verdict = after(not_worse("+" * 60), [1.0] * 60).verdict()

    assert (verdict.outcome, verdict.n, verdict.against, verdict.margin) == ("pass", 40, "one", 0.1)
    assert verdict.estimate == 0
    assert verdict.p_value is not None
    assert verdict.p_value <= 0.05
    assert verdict.explanation == "of 40 pairs 0 got worse and 0 better"


def test_it_ends_with_a_fail_as_soon_as_a_loss_is_proven() -> None:
    verdict = after(not_worse("+" * 60), [0.0] * 60).verdict()

    assert (verdict.outcome, verdict.n, verdict.estimate) == ("fail", 10, -1)
    assert verdict.p_value_fail is not None
    assert verdict.p_value_fail <= 0.05
    assert "of 10 pairs 10 got worse and 0 better: an app that is no worse gives so bad a result" in verdict.explanation


def test_an_app_that_is_bad_in_both_runs_is_not_worse() -> None:
    assert after(not_worse("-" * 60), [0.0] * 60).verdict().passed


def test_pairs_that_are_missing_count_against_both_findings() -> None:
    lost_before = after(not_worse("?" * 60), [0.0] * 60).verdict()
    lost_now = after(not_worse("+" * 60), [nan] * 60).verdict()

    assert {lost_before.outcome, lost_now.outcome} == {"inconclusive"}
    assert (lost_before.missing, lost_now.missing) == (lost_before.n, lost_now.n)
    assert f"{lost_now.n} lack a side" in lost_now.explanation


def test_an_app_that_is_always_good_is_not_worse_than_what_is_missing() -> None:
    assert after(not_worse("?" * 60), [1.0] * 60).verdict().passed


def test_a_crash_of_the_new_app_is_a_loss() -> None:
    assert after(not_worse("+" * 60), [None] * 60).verdict().failed


def test_trials_that_do_not_count_take_their_pair_with_them() -> None:
    before = "+-" * 30
    outcomes: list[Taken] = [EXCLUDED if index % 2 else 1.0 for index in range(60)]

    verdict = after(not_worse(before, early_stopping=False), outcomes).verdict()

    assert (verdict.n, verdict.estimate, verdict.left_out) == (30, 0, 30)


@pytest.mark.parametrize(("now", "outcome"), [(1.0, "pass"), (0.0, "fail")])
@pytest.mark.parametrize("left_out", [(3,), (0, 59)])
def test_a_whole_sample_without_trials_that_do_not_count_is_tested(
    left_out: tuple[int, ...], now: float, outcome: str
) -> None:
    counted = 60 - len(left_out)
    outcomes: list[Taken] = [EXCLUDED if index in left_out else now for index in range(60)]
    evaluator = not_worse("+" * 60, early_stopping=False)

    test = after(evaluator, outcomes)

    verdict, alone = test.verdict(), evaluator.evaluate([now] * counted)
    assert (verdict.outcome, test.passes) == (outcome, outcome == "pass")
    assert (verdict.n, verdict.p_value, verdict.p_value_fail) == (counted, alone.p_value, alone.p_value_fail)
    assert verdict.chart is not None
    assert (verdict.chart.n_max, verdict.chart.excluded) == (60, left_out)


def test_no_more_trials_are_needed_than_one_of_the_findings_can_take() -> None:
    test = not_worse("+" * 60).running_test(60)

    asked = []
    while not test.settled:
        asked.append(test.trials_needed({}).trials)
        test.take(1.0)

    assert asked[0] == 10  # so many losses would be proven there
    assert asked == sorted(asked)
    assert asked[-1] == test.index


def test_known_outcomes_to_come_say_how_many_trials_are_needed() -> None:
    test = not_worse("+" * 60).running_test(60)

    assert test.trials_needed({0: 1.0, 1: 1.0, 2: 1.0}).trials > 10


def test_it_ends_where_neither_finding_can_be_proven_any_more() -> None:
    test = after(not_worse("+" * 12, margin=0.3), [1.0] * 9 + [0.0])

    assert test.settled
    assert test.verdict().reason == "pass_unreachable"


def test_whole_samples_are_one_look() -> None:
    test = after(not_worse("+" * 60, early_stopping=False), [1.0] * 45)

    assert not test.settled
    assert test.needs_full_sample
    assert test.trials_needed({}).trials == 60
    assert test.verdict().inconclusive
    assert after(not_worse("+" * 60, early_stopping=False), [1.0] * 60).verdict().passed


def test_a_run_that_is_cut_short_counts_what_is_left_against_both_findings() -> None:
    verdict = after(not_worse("+" * 60), [1.0] * 34).verdict()

    assert (verdict.outcome, verdict.reason) == ("inconclusive", "scenario_settled")


def test_there_are_no_more_pairs_than_trials_of_the_other_run() -> None:
    assert not_worse("+" * 40).running_test(100).n_max == 40


def test_it_says_what_the_other_run_lacks() -> None:
    rule = not_worse("+?" * 20, stopped_early=True, margin=0.05)
    said = " ".join(rule.warnings(100))

    assert rule.shortfall(100) == (40, 59)
    assert "run one has 40 of 100 trials, so there are at most 40 pairs" in said
    assert "20 of its trials in run one are missing" in said
    assert "stopped early on its data" in said
    assert not_worse("+" * 100).warnings(100) == []


def test_a_fixed_sample_is_tested_in_its_order() -> None:
    evaluator = not_worse("+-" * 20)

    assert evaluator.evaluate([1.0, 0.0] * 20).passed
    assert evaluator.evaluate([0.0, 1.0] * 20).estimate == 0
    assert evaluator.evaluate([1.0, nan] * 20).missing == 20
    assert evaluator.evaluate([1.0] * 20, misses=20).estimate == pytest.approx((10 - 10) / 40)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"before": ""}, "before"),
        ({"before": "+x"}, "before"),
        ({"before": "+", "margin": 1.5}, "margin"),
    ],
)
def test_what_cannot_be_used_is_refused(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(DefinitionError, match=said):
        not_worse(**fields)


def test_so_many_pairs_that_no_design_can_be_worked_out_are_refused() -> None:
    assert not_worse("+" * 601).running_test(30).n_max == 30
    with pytest.raises(DefinitionError, match="use at most 600 samples"):
        not_worse("+" * 601).running_test(601)


class TestAtAnyTime:
    """By betting, which may be looked at and gone on with whenever one likes."""

    def test_it_ends_with_a_pass_where_nothing_changes_as_soon_as_its_bets_have_won(self) -> None:
        verdict = after(not_worse("+" * 200, early_stopping="anytime"), [1.0] * 200).verdict()

        assert verdict.passed
        assert 29 < verdict.n == not_worse("+" * 200, early_stopping="anytime").minimum_trials() < 40
        assert "betting" in verdict.method

    def test_it_fails_where_a_loss_is_proven(self) -> None:
        verdict = after(not_worse("+" * 60, early_stopping="anytime"), [0.0] * 60).verdict()

        assert (verdict.outcome, verdict.n) == ("fail", 6)

    def test_how_many_pairs_there_may_be_changes_nothing_of_what_was_found(self) -> None:
        outcomes = [1.0, 1.0, 0.0, 1.0] * 15
        short, long = (after(not_worse("+" * most, early_stopping="anytime"), outcomes).verdict() for most in (60, 600))

        assert (short.p_value, short.p_value_fail) == (long.p_value, long.p_value_fail)
        assert short.confidence_interval == long.confidence_interval

    def test_more_pairs_than_a_design_can_have_are_no_matter(self) -> None:
        assert not_worse("+" * 2000, early_stopping="anytime").running_test(2000).n_max == 2000

    def test_missing_pairs_count_against_both_findings(self) -> None:
        verdict = after(not_worse("+" * 60, early_stopping="anytime"), [nan] * 60).verdict()

        assert verdict.inconclusive
        assert verdict.missing == verdict.n


def test_where_nothing_can_be_proven_any_more_it_ends_at_the_first_look_whatever_has_come_early() -> None:
    test = after(not_worse("++++" + "?" * 56, min_trials=10), [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0])

    assert not test.settled
    assert test.trials_needed({}) == TrialsNeeded(10, ends=True)
    assert test.trials_needed({20: 0.0}) == TrialsNeeded(10, ends=True)


def test_where_what_has_come_early_leaves_nothing_to_prove_it_ends_by_then() -> None:
    test = after(not_worse("+" * 20 + "?" * 20, min_trials=10), [1.0] * 12)
    early: dict[int, Taken] = dict.fromkeys(range(20, 39), 0.0)

    assert not test.trials_needed({}).ends
    assert test.trials_needed({**dict.fromkeys(range(12, 20), 1.0), **early}).ends


@settings(max_examples=200)
@given(
    st.text("+-?", min_size=30, max_size=30),
    st.lists(st.sampled_from([1.0, 1.0, 0.0, nan]), min_size=30, max_size=30),
    st.sampled_from([True, "anytime"]),
    st.integers(0, 12),
    st.sets(st.integers(13, 29)),
)
def test_a_sure_end_is_final(
    before: str, outcomes: list[Counted], early_stopping: EarlyStopping, taken: int, early: set[int]
) -> None:
    evaluator = not_worse(before, min_trials=10, early_stopping=early_stopping)
    test = after(evaluator, outcomes[:taken])
    if test.settled or not (sure := test.trials_needed({index: outcomes[index] for index in early})).ends:
        return

    for index in range(taken, sure.trials):
        known = {each: outcomes[each] for each in early if each >= index}
        assert test.settled or test.trials_needed(known).trials <= sure.trials
        test.take(outcomes[index])

    assert test.settled
    assert not test.passes
