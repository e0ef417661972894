"""Runs of one unchanged version: whether they differ by more than chance, and how often a test passes."""

from itertools import permutations

import numpy as np
import pytest

from simeval.stats.optimal import OptimalDesign, optimal_design
from simeval.stats.run_to_run import chances_of_ends, differ_p_value
from simeval.stats.sequential import design

RATES = (0.5, 0.9, 0.95, 1.0)


def test_the_p_value_is_that_of_all_permutations_of_each_trial_over_the_runs() -> None:
    misses = [[1, 1, 0], [0, 0, 0], [0, 1, 0]]  # the totals 2, 0, 1: a spread of 2
    dealt = [np.stack(columns, axis=1) for columns in _all_deals(np.array(misses))]
    spreads = [((each.sum(axis=1) - 1) ** 2).sum() for each in dealt]
    exact = np.mean([each >= 2 for each in spreads])

    assert differ_p_value(misses) == pytest.approx(exact, abs=0.05)


def _all_deals(table: np.ndarray) -> list[tuple[np.ndarray, ...]]:
    columns = [[np.array(each) for each in permutations(column)] for column in table.T]
    return [(a, b, c) for a in columns[0] for b in columns[1] for c in columns[2]]


def test_runs_that_are_alike_have_a_p_value_of_one() -> None:
    assert differ_p_value([[0, 1, 0], [0, 1, 0]]) == 1.0
    assert differ_p_value([[0, 1, 0]]) == 1.0
    assert differ_p_value(np.zeros((4, 0), dtype=np.int64)) == 1.0


def test_a_bad_day_is_found_and_the_p_value_is_the_same_each_time() -> None:
    misses = np.zeros((10, 20), dtype=np.int64)
    misses[3, ::2] = 1

    assert differ_p_value(misses) == differ_p_value(misses) == pytest.approx(0.001)


def test_trials_that_are_worse_in_each_run_are_no_difference_of_runs() -> None:
    misses = np.tile([1] * 10 + [0] * 10, (5, 1))
    misses[2, 0] = 0

    assert differ_p_value(misses) == 1.0


def test_requirements_that_go_together_keep_the_level() -> None:
    random = np.random.default_rng(5)
    runs = [4 * (random.random((6, 20)) > 0.9).astype(np.int64) for _ in range(300)]  # four that miss together

    assert np.mean([differ_p_value(each) <= 0.05 for each in runs]) <= 0.05 + 2 * (0.05 * 0.95 / 300) ** 0.5


def test_a_table_is_needed() -> None:
    with pytest.raises(ValueError, match="the misses have 1 dimensions"):
        differ_p_value([1, 0])  # type: ignore[list-item]


def test_the_chances_of_ends_are_those_of_the_design() -> None:
    made = optimal_design(0.9, 60, alpha=0.05)
    assert isinstance(made, OptimalDesign)

    passed, failed = chances_of_ends(
        RATES, 60, pass_at=made.pass_points, fail_at=made.fail_points, end_at=made.end_points
    )

    known = [made.characteristics(rate) for rate in RATES]
    assert passed == pytest.approx([each.prob_pass for each in known], abs=1e-9)
    assert failed == pytest.approx([each.prob_fail for each in known], abs=1e-9)


def test_a_test_that_ends_at_proven_sides_alone_fails_as_often_as_its_design() -> None:
    made = design(0.8, 40, alpha=0.05, stop="verdict")

    passed, failed = chances_of_ends(RATES, 40, pass_at=made.pass_points, fail_at=made.fail_points)

    known = [made.characteristics(rate) for rate in RATES]
    assert passed == pytest.approx([each.prob_pass for each in known], abs=1e-9)
    assert failed == pytest.approx([each.prob_fail for each in known], abs=1e-9)


def test_a_fixed_sample_passes_as_often_as_a_binomial_number_of_misses_is_small_enough() -> None:
    passed, failed = chances_of_ends([0.9], 2, pass_at=[(2, 1)])

    assert passed == pytest.approx([1 - 0.1**2])
    assert failed == pytest.approx([0.0])
