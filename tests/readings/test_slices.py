"""Slices of a table: the rows that fail are named by their columns, and nothing is named where rows decide."""

from itertools import product

import numpy as np
import pytest

from simeval.stats.slices import find_slices, log_tails, rank_slices

ROWS = [
    {"nights": nights, "breakfast": breakfast, "room": room}
    for nights, breakfast, room in product(range(1, 8), (True, False), ("single", "double", "suite"))
]
BAD = [int(row["nights"] >= 4 and row["breakfast"] is True) for row in ROWS]  # type: ignore[operator]


def test_values_ranges_and_pairs_are_looked_at_each_set_of_rows_once() -> None:
    slices = find_slices(ROWS)

    assert len(slices) == 113
    assert sum(len(each.conditions) == 1 for each in slices) == 22


@pytest.mark.parametrize(
    ("k", "size", "p_value"),  # R: phyper(k - 1, 12, 30, size, lower.tail = FALSE)
    [(12, 21, 2.65805e-05), (12, 24, 2.44540e-04), (12, 12, 9.04313e-11), (3, 6, 0.216023), (3, 3, 0.0191638)],
)
def test_the_tail_is_the_hypergeometric_one(k: int, size: int, p_value: float) -> None:
    assert np.exp(log_tails(np.arange(0.0, min(size, 12) + 1), size, 12, 42)[k]) == pytest.approx(p_value, rel=1e-5)


def test_equal_numbers_are_one_value_whatever_their_types() -> None:
    slices = find_slices([{"a": 2}, {"a": 2.0}, {"a": 3}, {"a": 3}])

    assert {each.rows for each in slices} == {frozenset({0, 1}), frozenset({2, 3})}


@pytest.mark.parametrize("trials", [1, 5])
def test_the_pair_of_columns_that_fails_is_the_worst_slice(trials: int) -> None:
    ranked = rank_slices(find_slices(ROWS), [bad * trials for bad in BAD], [trials] * 42, seed=1)

    assert set(ranked[0].slice.conditions) == {("nights", ">=", 4), ("breakfast", "=", True)}
    assert ranked[0].p_value < 0.001


def test_one_night_count_of_the_example_is_not_named_by_itself() -> None:
    ranked = rank_slices(find_slices(ROWS), BAD, [1] * 42, seed=1)

    (five,) = [each for each in ranked if each.slice.conditions == (("nights", "=", 5),)]
    assert five.p_value > 0.9


def test_rows_that_always_fail_for_no_reason_of_their_columns_name_a_slice_in_at_most_5_percent() -> None:
    random, slices = np.random.default_rng(7), find_slices(ROWS)
    tables = [(random.random(42) < 0.15).astype(int) * 5 for _ in range(200)]

    named = [rank_slices(slices, failed.tolist(), [5] * 42, seed=3, draws=199)[0].p_value <= 0.05 for failed in tables]

    assert sum(named) <= 17  # of 200: more has a chance of 1% at a level of 5%


def test_no_failure_names_nothing() -> None:
    ranked = rank_slices(find_slices(ROWS), [0] * 42, [1] * 42, seed=1)

    assert {each.p_value for each in ranked} == {1.0}


def test_the_same_seed_gives_the_same_p_values() -> None:
    slices, failed = find_slices(ROWS), [at % 3 for at in range(42)]

    assert rank_slices(slices, failed, [3] * 42, seed=5) == rank_slices(slices, failed, [3] * 42, seed=5)
