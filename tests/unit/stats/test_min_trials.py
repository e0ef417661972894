"""No verdict before a smallest number of trials: the designs are made with it, and both error rates stay exact."""

from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simeval.stats.open_ended import open_design
from simeval.stats.quantile import repeated_interval
from simeval.stats.sequential import Design, StopRule, design
from tests.support.endings import chances_of_endings

ALPHA = 0.05
STOPS: tuple[StopRule, ...] = ("gate", "verdict")
SIZES = [(5, 2), (10, 2), (10, 25), (30, 1), (30, 10), (30, 25)]
GRID = [
    *((p0, *size, stop) for p0, size, stop in product((0.5, 0.9, 0.97), SIZES, STOPS)),
    *((p0, 100, 10, stop) for p0, stop in product((0.75, 0.9), STOPS)),
]


@pytest.mark.parametrize(("p0", "n_max", "min_trials", "stop"), GRID)
def test_both_error_rates_hold_over_all_sequences(p0: float, n_max: int, min_trials: int, stop: StopRule) -> None:
    plan = design(p0, n_max, alpha=ALPHA, stop=stop, min_trials=min_trials)
    found = chances_of_endings(plan, p0)

    passes = sum(chance for (n, failures), chance in found.items() if plan.ending(n, failures) == "pass")
    fails = sum(chance for end, chance in found.items() if plan.infer(*end).p_fail <= ALPHA)

    assert sum(found.values()) == pytest.approx(1)
    assert passes <= ALPHA * (1 + 1e-9)
    assert fails <= ALPHA * (1 + 1e-9)
    assert passes == pytest.approx(plan.characteristics(p0).prob_pass)
    assert fails == pytest.approx(plan.characteristics(p0).prob_fail)
    assert min(n for n, _ in found) >= min(min_trials, n_max)


@pytest.mark.parametrize(("p0", "n_max", "min_trials", "stop"), GRID)
def test_what_is_shown_after_an_ending_agrees_with_it(p0: float, n_max: int, min_trials: int, stop: StopRule) -> None:
    plan = design(p0, n_max, alpha=ALPHA, stop=stop, min_trials=min_trials)

    for end in chances_of_endings(plan, p0):
        found, passed = plan.infer(*end), plan.ending(*end) == "pass"
        assert (found.p_pass <= ALPHA) == passed
        assert (found.interval[0] >= p0 - 1e-12) == passed
        assert (found.interval[1] <= p0 + 1e-9) == (found.p_fail <= ALPHA + 1e-12)


@settings(max_examples=40)
@given(
    st.floats(0.05, 0.98),
    st.integers(1, 60),
    st.integers(1, 70),
    st.floats(0.01, 0.2),
    st.floats(0.01, 0.99),
    st.sampled_from(STOPS),
)
def test_neither_side_errs_more_than_the_level_at_any_rate(
    p0: float, n_max: int, min_trials: int, alpha: float, rate: float, stop: StopRule
) -> None:
    found = design(p0, n_max, alpha=alpha, stop=stop, min_trials=min_trials).characteristics(rate)

    assert (found.prob_pass if rate <= p0 else found.prob_fail) <= alpha * (1 + 1e-9)


@pytest.mark.parametrize("p0", [Fraction(3, 5), Fraction(3, 4)])
@pytest.mark.parametrize("min_trials", [1, 6, 12, 25, 40])
def test_the_boundary_is_what_may_be_spent_from_the_first_look_on_in_exact_arithmetic(
    p0: Fraction, min_trials: int
) -> None:
    n_max, alpha = 25, Fraction(1, 20)
    running, spent, points = {0: Fraction(1)}, Fraction(0), []
    for n in range(1, n_max + 1):
        moved: dict[int, Fraction] = {}
        for failures, chance in running.items():
            moved[failures] = moved.get(failures, Fraction(0)) + chance * p0
            moved[failures + 1] = moved.get(failures + 1, Fraction(0)) + chance * (1 - p0)
        limit = alpha * Fraction(n * n, n_max * n_max) if n >= min(min_trials, n_max) else Fraction(-1)
        crossing = [f for f in sorted(moved) if spent + sum(moved[g] for g in moved if g <= f) <= limit]
        if crossing:
            points.append((n, crossing[-1]))
            spent += sum(moved[f] for f in crossing)
        running = {f: chance for f, chance in moved.items() if f not in crossing}

    plan = design(float(p0), n_max, alpha=0.05, min_trials=min_trials)

    assert plan.pass_points == points
    assert plan.type_one == pytest.approx(float(spent), abs=1e-12)


def test_the_level_that_early_looks_would_have_used_is_used_later() -> None:
    early, late = (design(0.5, 40, alpha=ALPHA, stop="verdict", min_trials=first) for first in (1, 20))
    masked = sum(
        chance
        for (n, failures), chance in chances_of_endings(early, 0.5).items()
        if early.ending(n, failures) == "pass" and n >= 20
    )

    assert masked < 0.9 * late.type_one
    assert late.type_one <= ALPHA


def test_a_smallest_number_beyond_the_sample_is_the_sample() -> None:
    plan, fixed = design(0.9, 40, alpha=ALPHA, min_trials=200), design(0.9, 40, alpha=ALPHA, min_trials=40)

    assert plan.min_trials == 40
    assert plan.pass_points == fixed.pass_points == [(40, 0)]


def test_designs_without_a_smallest_number_are_what_they_were() -> None:
    plan = design(0.9, 100, alpha=ALPHA)

    assert plan.pass_points == [(45, 0), (60, 1), (74, 2), (86, 3), (97, 4)]
    assert plan.ending(5, 5) == "bad"
    assert design(0.9, 100, alpha=ALPHA, min_trials=10).pass_points == plan.pass_points
    assert design(0.9, 100, alpha=ALPHA, min_trials=10).ending(9, 9) is None
    assert design(0.9, 100, alpha=ALPHA, min_trials=10).ending(10, 5) == "bad"


@pytest.mark.parametrize("stop", STOPS)
def test_an_open_design_waits_too(stop: StopRule) -> None:
    plan = open_design(0.5, 60, alpha=ALPHA, stop=stop, min_trials=20)
    found = chances_of_endings(plan, 0.5)

    assert min(n for n, _ in found) == 20
    assert sum(chance for end, chance in found.items() if plan.infer(*end).p_pass <= ALPHA) <= ALPHA
    assert sum(chance for end, chance in found.items() if plan.infer(*end).p_fail <= ALPHA) <= ALPHA


def test_the_interval_of_a_quantile_knows_nothing_before() -> None:
    plan = design(0.5, 40, alpha=ALPHA, min_trials=20)
    values = np.arange(40.0)

    assert repeated_interval(values[:19], plan, bounds=(0, 100)) == (0, 100)
    assert repeated_interval(values[:20], plan, bounds=(0, 100)) != (0, 100)


@pytest.mark.parametrize("make", [design, open_design])
def test_less_than_one_trial_is_refused(make: Callable[..., Design]) -> None:
    with pytest.raises(ValueError, match="min_trials=0: use"):
        make(0.9, 30, alpha=ALPHA, min_trials=0)
