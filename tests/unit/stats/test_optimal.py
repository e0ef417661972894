"""The design with the fewest trials on average: exact level, the power of spending, inference that agrees with it."""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit

from simeval.core.arrays import Floats
from simeval.stats.optimal import FEWEST, STRICT, OptimalDesign, Promise, average_n, optimal_design
from simeval.stats.sequential import Design, design
from simeval.stats.stopping_game import UP
from tests.support.endings import chances_of_endings

ALPHA = 0.05
GRID = [
    *((p0, *size) for p0, size in product((0.5, 0.75, 0.9), ((10, 1), (30, 1), (30, 25), (60, 10)))),
    (0.6, 30, 1),
    (0.9, 100, 10),
    (0.95, 100, 10),
    (0.1, 60, 10),
    (0.001, 10, 1),
]


def chances_of_a_pass(plan: Design, rates: Floats) -> Floats:
    found = chances_of_endings(plan, rates)
    return sum((chances for end, chances in found.items() if plan.ending(*end) == "pass"), np.zeros(len(rates)))


PROMISES = [pytest.param(FEWEST, id="fewest"), pytest.param(STRICT, id="strict")]


@pytest.mark.parametrize("make", [design, optimal_design])
def test_the_boundaries_of_a_design_which_is_kept_cannot_be_changed(make: Callable[..., Design]) -> None:
    plan = make(0.75, 30, alpha=ALPHA)

    for boundary in (plan.pass_at, plan.fail_at, plan.within):
        with pytest.raises(ValueError, match="read-only"):
            boundary[0] = 1


@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize(("p0", "n_max", "min_trials"), GRID)
def test_both_error_rates_hold_over_all_sequences(p0: float, n_max: int, min_trials: int, promise: Promise) -> None:
    plan = optimal_design(p0, n_max, alpha=ALPHA, min_trials=min_trials, promise=promise)
    found = chances_of_endings(plan, p0)

    passes = sum(chance for end, chance in found.items() if plan.ending(*end) == "pass")
    fails = sum(chance for end, chance in found.items() if plan.infer(*end).p_fail <= ALPHA)

    assert sum(found.values()) == pytest.approx(1)
    assert passes <= ALPHA
    assert fails <= ALPHA * (1 + 1e-9)
    assert passes == pytest.approx(plan.type_one)
    assert fails == pytest.approx(plan.characteristics(p0).prob_fail)
    assert min(n for n, _ in found) >= min(min_trials, n_max)


@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize(("p0", "n_max", "min_trials"), GRID)
def test_at_no_rate_is_more_power_lost_than_is_said_and_fewer_trials_are_taken(
    p0: float, n_max: int, min_trials: int, promise: Promise
) -> None:
    spending = design(p0, n_max, alpha=ALPHA, min_trials=min_trials)
    plan = optimal_design(p0, n_max, alpha=ALPHA, min_trials=min_trials, promise=promise)

    rates = expit(logit(p0) + np.linspace(0.02, 7, 40))
    assert (chances_of_a_pass(plan, rates) >= chances_of_a_pass(spending, rates) - promise.loss).all()
    if promise.mean_loss is not None:
        evenly = np.linspace(p0, 1, 200, endpoint=False) + (1 - p0) / 400
        lost = chances_of_a_pass(spending, evenly) - chances_of_a_pass(plan, evenly)
        assert np.mean(lost) <= promise.mean_loss + 1e-5
    trials, before = (average_n(each, share_good=promise.good) for each in (plan, spending))
    assert trials <= before
    if isinstance(plan, OptimalDesign):
        assert plan.least_n <= trials < before
        assert plan.over_least == pytest.approx(trials / plan.least_n - 1)


@pytest.mark.parametrize(("p0", "n_max", "min_trials"), GRID)
def test_what_is_shown_after_an_ending_agrees_with_it(p0: float, n_max: int, min_trials: int) -> None:
    plan = optimal_design(p0, n_max, alpha=ALPHA, min_trials=min_trials)

    for end in chances_of_endings(plan, p0):
        found, passed = plan.infer(*end), plan.ending(*end) == "pass"
        assert (found.p_pass <= ALPHA) == passed
        assert (found.interval[0] >= p0 - 1e-12) == passed
        assert (found.interval[1] <= p0 + 1e-9) == (found.p_fail <= ALPHA + 1e-12)


@settings(max_examples=25)
@given(st.floats(0.1, 0.97), st.integers(5, 50), st.integers(1, 60), st.floats(0.01, 0.2), st.floats(0.01, 0.99))
def test_neither_side_errs_more_than_the_level_at_any_rate(
    p0: float, n_max: int, min_trials: int, alpha: float, rate: float
) -> None:
    found = optimal_design(p0, n_max, alpha=alpha, min_trials=min_trials).characteristics(rate)

    assert (found.prob_pass if rate <= p0 else found.prob_fail) <= alpha * (1 + 1e-9)


@pytest.mark.parametrize(("p0", "n_max"), [(Fraction(3, 5), 40), (Fraction(9, 10), 60)])
def test_the_level_holds_in_exact_arithmetic(p0: Fraction, n_max: int) -> None:
    plan = optimal_design(float(p0), n_max, alpha=ALPHA)
    running, passed = {0: Fraction(1)}, Fraction(0)

    for n in range(1, n_max + 1):
        moved: dict[int, Fraction] = {}
        for failures, chance in running.items():
            moved[failures] = moved.get(failures, Fraction(0)) + chance * p0
            moved[failures + 1] = moved.get(failures + 1, Fraction(0)) + chance * (1 - p0)
        passed += sum((chance for f, chance in moved.items() if plan.ending(n, f) == "pass"), Fraction(0))
        running = {f: chance for f, chance in moved.items() if plan.ending(n, f) is None}

    assert isinstance(plan, OptimalDesign)
    assert passed <= Fraction(1, 20)
    assert plan.type_one == pytest.approx(float(passed), abs=1e-12)


@pytest.mark.parametrize(
    ("promise", "p0", "n_max", "at_most"),
    [
        *((STRICT, *each) for each in ((0.9, 100, 35.0), (0.9, 200, 61.2), (0.95, 200, 51.3), (0.75, 100, 41))),
        *((FEWEST, *each) for each in ((0.9, 100, 31.5), (0.9, 200, 55.7), (0.95, 100, 26.3), (0.95, 200, 46.0))),
    ],
)
def test_it_takes_about_as_few_trials_as_any_test_can(promise: Promise, p0: float, n_max: int, at_most: float) -> None:
    plan = optimal_design(p0, n_max, alpha=ALPHA, promise=promise)

    assert isinstance(plan, OptimalDesign)
    assert plan.over_least <= 0.025
    assert average_n(plan) <= at_most


@pytest.mark.parametrize(
    ("p0", "n_max", "at_most"), [(0.9, 100, 31.4), (0.9, 200, 55.1), (0.95, 100, 28.6), (0.95, 200, 46.4)]
)
def test_over_all_whole_percents_it_takes_up_to_a_third_fewer_trials(p0: float, n_max: int, at_most: float) -> None:
    plan, spending = (make(p0, n_max, alpha=ALPHA) for make in (optimal_design, design))
    rates = [percent / 100 for percent in range(round(100 * p0) - 15, 101)]

    trials, before = (np.mean([each.characteristics(rate).expected_n for rate in rates]) for each in (plan, spending))

    assert trials <= at_most
    assert trials <= before


def test_a_suite_of_which_most_apps_are_good_takes_an_eighth_fewer_conversations() -> None:
    kept, before = (make(0.9, 100, alpha=ALPHA, min_trials=10) for make in (optimal_design, design))

    trials = [
        16 * each.characteristics(0.99).expected_n + 4 * each.characteristics(0.8).expected_n for each in (kept, before)
    ]

    assert trials[0] <= 850 < 940 < trials[1]


Ending = tuple[int, int, int, bool]  # trials, misses, the number of sequences, whether it is a pass


def endings(passes: Sequence[int], ends: Sequence[int], least: int) -> list[Ending]:
    """Return the endings of a design, which passes with at most, and ends with at least, so many misses."""
    going, found = {0: 1}, list[Ending]()
    for n in range(1, least + len(passes)):
        ways = {f: going.get(f, 0) + going.get(f - 1, 0) for f in range(n + 1)}
        look = n - least
        is_over = {f: look >= 0 and (f <= passes[look] or f >= ends[look]) for f in ways}
        found += [(n, f, count, f <= passes[look]) for f, count in ways.items() if count and is_over[f]]
        going = {f: count for f, count in ways.items() if count and not is_over[f]}
    return found


def boundaries(looks: int, most: int) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
    """Yield each pair of rising boundaries that meet at the last look and not before."""
    for passes in combinations_with_replacement(range(-1, most), looks):
        for ends in combinations_with_replacement(range(1, passes[-1] + 2), looks - 1):
            if all(end > passed for end, passed in zip(ends, passes, strict=False)):
                yield passes, (*ends, passes[-1] + 1)


@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize(
    ("p0", "n_max", "passes", "ends"),
    [
        (0.5, 10, [0, 0, 0, 0, 1, 1], [2, 2, 2, 2, 2, 2]),
        (0.6, 12, [-1, -1, 0, 0, 0, 0, 1, 1], [2, 2, 2, 2, 2, 2, 2, 2]),
    ],
)
def test_no_other_boundaries_keep_both_promises_with_fewer_trials(
    p0: float, n_max: int, passes: list[int], ends: list[int], promise: Promise
) -> None:
    spending = design(p0, n_max, alpha=ALPHA, min_trials=5)
    plan = optimal_design(p0, n_max, alpha=ALPHA, min_trials=5, promise=promise)
    rates, counted = np.linspace(0.3, 0.999, 100), np.append(np.linspace(p0 - 0.15, 1, 2001), p0 + UP * (1 - p0))
    weights = np.append(np.full(2001, (1 - promise.good) / 2000), promise.good)
    weights[[0, -2]] /= 2
    least = chances_of_a_pass(spending, rates) - promise.loss
    tested, trials = np.append(p0, rates), {}

    @cache
    def chance(n: int, f: int) -> Floats:
        made: Floats = tested ** (n - f) * (1 - tested) ** f
        return made

    for tried in boundaries(len(passes), 4):
        found = endings(*tried, least=5)
        power = sum((count * chance(n, f) for n, f, count, good in found if good), np.zeros(101))
        if power[0] <= ALPHA and (power[1:] >= least).all():
            n_at = sum(n * count * counted ** (n - f) * (1 - counted) ** f for n, f, count, _ in found)
            trials[tuple(map(tuple, tried))] = float(weights @ n_at)

    assert min(trials, key=lambda tried: trials[tried]) == (tuple(passes), tuple(ends))
    assert trials[tuple(passes), tuple(ends)] == pytest.approx(average_n(plan, share_good=promise.good), abs=1e-5)
    assert [(n, f) for n, f in enumerate(passes, 5) if f >= 0] == plan.pass_points


def test_the_average_of_trials_is_that_over_the_rates() -> None:
    plan = optimal_design(0.75, 50, alpha=ALPHA, min_trials=10)
    rates = np.linspace(0.6, 1, 4001)[:-1] + 0.00005

    found = np.mean([plan.characteristics(float(rate)).expected_n for rate in rates])

    assert average_n(plan) == pytest.approx(found, abs=1e-3)


def test_every_state_that_goes_on_can_pass_if_all_further_trials_are_good() -> None:
    plan = optimal_design(0.9, 100, alpha=ALPHA, min_trials=10)

    for n in range(100):
        failures = int(plan.within[n])
        end = plan.ending_of(n, failures, good=True)
        assert plan.ending(*end) == "pass"
        assert end[0] == plan.launch_limit(n, failures)


def test_the_chance_that_is_left_is_that_of_all_sequences() -> None:
    plan, rates = optimal_design(0.6, 16, alpha=0.1), np.linspace(0.45, 1, 2002)[1:-1]
    n, failures = 4, 2
    likely = rates ** (n - failures) * (1 - rates) ** failures

    by_rate = np.zeros(rates.size)
    running = {failures: np.ones(rates.size)}
    for after in range(n + 1, 17):
        states = {f + more for f in running for more in (0, 1)}
        chances = {f: running.get(f, 0) * rates + running.get(f - 1, 0) * (1 - rates) for f in states}
        by_rate += sum(chance for f, chance in chances.items() if f <= plan.pass_at[after])
        running = {f: chance for f, chance in chances.items() if f > plan.pass_at[after]}

    assert isinstance(plan, OptimalDesign)
    assert plan.chance_left(n, failures) == pytest.approx(np.average(by_rate, weights=likely), abs=1e-3)
    assert plan.chance_left(16, 2) == 0.0


@pytest.mark.parametrize(("p0", "n_max", "min_trials"), [(0.9, 28, 1), (0.9, 40, 40), (0.5, 1_200, 10)])
def test_where_nothing_is_to_be_won_the_spending_design_is_taken(p0: float, n_max: int, min_trials: int) -> None:
    found = optimal_design(p0, n_max, alpha=ALPHA, min_trials=min_trials)

    assert found is design(p0, n_max, alpha=ALPHA, min_trials=min_trials)
