"""Success of tasks that are tried several times."""

from collections import Counter
from itertools import combinations
from math import isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simeval.stats.clusters import anova_icc, cluster_ratio
from simeval.stats.repeated import pass_at_k, pass_hat_k
from tests.support.golden import rows_of

TASKS = st.lists(
    st.integers(4, 8).flatmap(lambda trials: st.tuples(st.integers(0, trials), st.just(trials))),
    min_size=1,
    max_size=20,
)


def airline() -> tuple[list[int], list[int]]:
    rows = rows_of("public_tau_airline")
    trials = Counter(row["task_id"] for row in rows)
    successes = Counter(row["task_id"] for row in rows if row["reward"] == 1.0)
    return [successes[task] for task in trials], list(trials.values())


def test_tasks_of_an_airline_succeed_as_recorded() -> None:
    successes, trials = airline()

    all_of_k = [pass_hat_k(successes, trials, k, alpha=0.05) for k in (1, 2, 3, 4)]
    one_of_k = [pass_at_k(successes, trials, k, alpha=0.05) for k in (1, 2, 3, 4)]

    # public_reference_numbers.json: tau_airline
    assert [round(each.value, 4) for each in all_of_k] == [0.53, 0.3933, 0.34, 0.32]
    assert [round(each.value, 4) for each in one_of_k] == [0.53, 0.6667, 0.75, 0.8]
    assert all_of_k[0].n_tasks == 25


def test_standard_errors_and_correlation_of_an_airline_are_as_recorded() -> None:
    successes, trials = airline()

    ratio = cluster_ratio(successes, trials)

    # public_reference_numbers.json: tau_airline; naive sqrt(p(1 - p) / 100), cluster sd of task means / sqrt(25)
    assert round(ratio.independent_standard_error, 4) == 0.0499
    assert round(ratio.standard_error, 4) == 0.0782
    assert round(pass_hat_k(successes, trials, 1, alpha=0.05).standard_error, 4) == 0.0782
    assert round(anova_icc(successes, trials).icc, 4) == 0.4645


@pytest.mark.parametrize("successes", range(7))
def test_one_task_equals_the_count_over_all_choices_of_k_trials(successes: int) -> None:
    trials = [True] * successes + [False] * (6 - successes)
    chosen = list(combinations(trials, 3))

    assert pass_hat_k([successes], [6], 3, alpha=0.05).value == sum(map(all, chosen)) / len(chosen)
    assert pass_at_k([successes], [6], 3, alpha=0.05).value == pytest.approx(sum(map(any, chosen)) / len(chosen))


@given(TASKS)
def test_more_trials_are_harder_to_pass_all_and_easier_to_pass_once(tasks: list[tuple[int, int]]) -> None:
    successes, trials = [count for count, _ in tasks], [n for _, n in tasks]

    all_of_k = [pass_hat_k(successes, trials, k, alpha=0.05).value for k in (1, 2, 3, 4)]
    one_of_k = [pass_at_k(successes, trials, k, alpha=0.05).value for k in (1, 2, 3, 4)]

    assert all_of_k[0] == pytest.approx(one_of_k[0])
    assert all_of_k == sorted(all_of_k, reverse=True)
    assert np.all(np.diff(one_of_k) >= -1e-12)


@given(TASKS, st.integers(1, 4))
def test_failing_all_is_the_rest_of_passing_once(tasks: list[tuple[int, int]], k: int) -> None:
    successes, trials = [count for count, _ in tasks], [n for _, n in tasks]

    once = pass_at_k(successes, trials, k, alpha=0.05)
    all_fail = pass_hat_k([n - count for count, n in tasks], trials, k, alpha=0.05)

    assert once.value == pytest.approx(1 - all_fail.value)
    assert (once.low, once.high) == pytest.approx((1 - all_fail.high, 1 - all_fail.low), abs=1e-6)


@given(TASKS, st.integers(1, 4))
def test_the_interval_contains_the_estimate(tasks: list[tuple[int, int]], k: int) -> None:
    found = pass_hat_k([count for count, _ in tasks], [n for _, n in tasks], k, alpha=0.05)

    assert 0 <= found.low <= found.value + 1e-9
    assert found.value - 1e-9 <= found.high <= 1


def test_the_interval_is_the_t_interval_of_the_tasks() -> None:
    from scipy.stats import t

    successes = [1, 2, 3, 4, 2, 1, 3]

    found = pass_hat_k(successes, [6] * 7, 1, alpha=0.05)

    shares = np.array(successes) / 6
    expected = t.interval(0.9, df=6, loc=shares.mean(), scale=shares.std(ddof=1) / 7**0.5)
    assert (found.low, found.high) == pytest.approx(expected)


def test_tasks_that_always_pass_leave_room_for_one_that_does_not() -> None:
    found = pass_hat_k([4] * 29, [4] * 29, 4, alpha=0.05)

    assert (found.value, found.standard_error, found.high) == (1.0, 0.0, 1.0)
    assert found.low == pytest.approx(0.05 ** (1 / 29), abs=1e-5)


def test_one_task_or_none_leaves_the_chance_open() -> None:
    one, none = pass_hat_k([3], [4], 2, alpha=0.05), pass_hat_k([], [], 2, alpha=0.05)

    assert (one.value, one.low, one.high) == (0.5, 0.0, 1.0)
    assert (none.low, none.high) == (0.0, 1.0)
    assert isnan(none.value)


@pytest.mark.parametrize(
    ("successes", "trials", "k", "message"),
    [
        ([1], [3], 4, "too few for k = 4"),
        ([1], [3], 0, "k is 0"),
        ([4], [3], 1, "4 successes of 3 trials"),
        ([1, 2], [3], 1, "one of each per task"),
    ],
)
def test_counts_that_cannot_be_are_refused(successes: list[int], trials: list[int], k: int, message: str) -> None:
    for estimate in (pass_hat_k, pass_at_k):
        with pytest.raises(ValueError, match=message):
            estimate(successes, trials, k, alpha=0.05)
