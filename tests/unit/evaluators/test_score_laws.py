"""What holds of every evaluator of scores: with no values, missing ones, in any order, in clusters."""

from math import nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simeval.errors import DefinitionError
from simeval.evaluators.base import Evaluator
from simeval.evaluators.scores import MeanEvaluator, ProportionEvaluator, QuantileEvaluator

VALUES = st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1.0, nan])), max_size=60)
LEVELS = st.floats(0.001, 0.49)
SHARES = st.floats(0.02, 0.98)
EVALUATORS = st.one_of(
    st.builds(
        ProportionEvaluator,
        threshold=st.floats(0, 1),
        min_proportion=SHARES,
        at_least=st.booleans(),
        significance_level=LEVELS,
    ),
    st.builds(ProportionEvaluator, threshold=st.floats(0, 1), max_proportion=SHARES, significance_level=LEVELS),
    st.builds(QuantileEvaluator, quantile=SHARES, at_least=st.floats(0, 1), significance_level=LEVELS),
    st.builds(QuantileEvaluator, quantile=SHARES, at_most=st.floats(0, 1), significance_level=LEVELS),
    st.builds(MeanEvaluator, at_least=SHARES, significance_level=LEVELS),
    st.builds(MeanEvaluator, at_most=SHARES, significance_level=LEVELS),
)
ALL = (
    ProportionEvaluator(min_proportion=0.9),
    ProportionEvaluator(max_proportion=0.1, at_least=False, threshold=0.0),
    QuantileEvaluator(0.5, at_least=0.5),
    QuantileEvaluator(0.9, at_most=0.5),
    MeanEvaluator(at_least=0.5),
    MeanEvaluator(at_most=0.5),
)


@pytest.mark.parametrize("evaluator", ALL)
def test_no_values_prove_nothing(evaluator: Evaluator) -> None:
    verdict = evaluator.evaluate([])

    assert (verdict.outcome, verdict.n, verdict.estimate) == ("inconclusive", 0, None)
    assert verdict.p_value == verdict.p_value_fail == 1.0


@pytest.mark.parametrize("evaluator", ALL)
def test_nothing_but_missing_values_prove_nothing(evaluator: Evaluator) -> None:
    verdict = evaluator.evaluate([nan] * 50)

    assert (verdict.outcome, verdict.n, verdict.missing, verdict.estimate) == ("inconclusive", 50, 50, None)


@settings(max_examples=150)
@given(EVALUATORS, VALUES)
def test_a_verdict_follows_from_its_p_values_and_never_both_ways(evaluator: Evaluator, values: list[float]) -> None:
    verdict = evaluator.evaluate(values)

    assert verdict.p_value is not None
    assert verdict.p_value_fail is not None
    proven, disproven = verdict.p_value <= evaluator.alpha, verdict.p_value_fail <= evaluator.alpha
    assert not (proven and disproven)
    assert verdict.outcome == ("pass" if proven else "fail" if disproven else "inconclusive")
    assert bool(verdict.explanation) == bool(verdict.reason) == (verdict.outcome != "pass")
    assert 0 <= verdict.p_value <= 1
    assert 0 <= verdict.p_value_fail <= 1


@settings(max_examples=100)
@given(EVALUATORS, VALUES)
def test_a_verdict_does_not_depend_on_the_order_of_values(evaluator: Evaluator, values: list[float]) -> None:
    forward, backward = evaluator.evaluate(values), evaluator.evaluate(values[::-1])

    assert forward.outcome == backward.outcome
    assert forward.p_value == pytest.approx(backward.p_value)


@settings(max_examples=100)
@given(EVALUATORS, VALUES, st.integers(1, 5))
def test_missing_trials_never_help(evaluator: Evaluator, values: list[float], missing: int) -> None:
    before, after = evaluator.evaluate(values), evaluator.evaluate([*values, *[nan] * missing])

    assert before.p_value is not None
    assert before.p_value_fail is not None
    assert after.p_value is not None
    assert after.p_value_fail is not None
    assert after.p_value >= before.p_value - 1e-6
    assert after.p_value_fail >= before.p_value_fail - 1e-6


@given(EVALUATORS)
def test_the_smallest_sample_proves_the_requirement_when_all_is_well(evaluator: Evaluator) -> None:
    n = evaluator.minimum_trials()
    if isinstance(evaluator, MeanEvaluator):
        best = evaluator.bounds[1] if evaluator.prefers_high else evaluator.bounds[0]
        fewer, enough = (evaluator.running_test(max(1, size), stop="verdict") for size in (n - 1, n))
        for test in (fewer, enough):
            for _ in range(test.n_max):
                test.take(best)
        assert enough.passes
        assert n == 1 or not fewer.passes
    elif n < 5000:
        good = next(value for value in (0.0, 1.0, 2.0, -1.0) if evaluator.meets(value))
        assert evaluator.evaluate([good] * n).passed
        assert not evaluator.evaluate([good] * (n - 1)).passed


@pytest.mark.parametrize(
    ("evaluator", "n"),
    [
        (ProportionEvaluator(min_proportion=0.1, significance_level=0.01), 2),
        (ProportionEvaluator(max_proportion=0.95, significance_level=0.05), 1),
        (ProportionEvaluator(max_proportion=0.1, significance_level=0.05), 29),
        (QuantileEvaluator(0.9, at_least=0.5, significance_level=0.01), 2),
    ],
)
def test_rounding_of_a_share_costs_no_trial(evaluator: ProportionEvaluator | QuantileEvaluator, n: int) -> None:
    good = next(value for value in (1.0, 0.0) if evaluator.meets(value))

    assert evaluator.minimum_trials() == n
    assert evaluator.evaluate([good] * n).passed


def test_90_percent_takes_29_trials_or_more_at_any_time_and_a_mean_by_how_it_is_tested() -> None:
    assert ProportionEvaluator(min_proportion=0.9).minimum_trials() == 29
    assert QuantileEvaluator(0.5, at_least=8).minimum_trials() == 5
    assert MeanEvaluator(at_least=0.5).minimum_trials() == 6
    assert MeanEvaluator(at_least=0.5, early_stopping=False).minimum_trials() == 5
    assert MeanEvaluator(at_least=1 - 1e-12).minimum_trials() == 10_001
    assert ProportionEvaluator(min_proportion=0.9, early_stopping="anytime").minimum_trials() == 43


@pytest.mark.parametrize("values", [[True, False], [1, 0], [1.0, 0.0], [np.True_, np.False_], np.array([1.0, 0.0])])
def test_numbers_and_booleans_of_any_kind_are_values(values: Any) -> None:
    assert ProportionEvaluator(min_proportion=0.9).evaluate(values).estimate == 0.5


@pytest.mark.parametrize("value", ["1", None, [1], {"score": 1}])
def test_anything_else_among_the_values_is_refused(value: Any) -> None:
    with pytest.raises(DefinitionError, match="give numbers or booleans"):
        ProportionEvaluator(min_proportion=0.9).evaluate([value])


def test_a_cluster_is_good_when_every_value_in_it_is() -> None:
    verdict = ProportionEvaluator(0.5, min_proportion=0.9).evaluate([1, 1, 1, 0, 1], ["a", "a", "b", "b", "c"])

    assert verdict.n == 3
    assert verdict.estimate == pytest.approx(2 / 3)


def test_a_cluster_is_bad_for_a_largest_share_when_one_value_in_it_is() -> None:
    verdict = ProportionEvaluator(0.5, max_proportion=0.1).evaluate([1, 0, 0, 0], ["a", "a", "b", "b"])

    assert (verdict.n, verdict.estimate) == (2, 0.5)


def test_a_cluster_with_a_missing_value_is_missing() -> None:
    verdict = ProportionEvaluator(0.5, min_proportion=0.9).evaluate([1, nan, 1], ["a", "a", "b"])

    assert (verdict.n, verdict.missing) == (2, 1)


def test_clusters_are_reduced_to_their_quantile_and_their_mean() -> None:
    values, clusters = [1.0, 3.0, 8.0, 5.0], ["a", "a", "a", "b"]

    assert QuantileEvaluator(0.5, at_least=2).evaluate(values, clusters).estimate == 4.0
    assert MeanEvaluator(at_least=2, bounds=(0, 10)).evaluate(values, clusters).estimate == 4.5


@pytest.mark.parametrize("evaluator", ALL)
def test_a_missing_value_makes_its_cluster_missing_for_every_evaluator(evaluator: Evaluator) -> None:
    verdict = evaluator.evaluate([1.0, nan, 1.0], ["a", "a", "b"])

    assert (verdict.n, verdict.missing) == (2, 1)


@given(EVALUATORS, VALUES)
def test_clusters_of_one_value_change_nothing(evaluator: Evaluator, values: list[float]) -> None:
    assert evaluator.evaluate(values, range(len(values))) == evaluator.evaluate(values)


def test_clusters_must_be_as_many_as_values() -> None:
    with pytest.raises(DefinitionError, match=r"clusters: .*2 clusters for 3 values"):
        ProportionEvaluator(min_proportion=0.9).evaluate([1, 1, 1], ["a", "b"])
