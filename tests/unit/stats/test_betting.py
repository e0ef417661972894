"""Inference on the mean of a bounded score by betting."""

from collections.abc import Callable
from functools import partial
from itertools import product
from math import log, prod, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simeval.stats.betting import Betting, betting_path, bounded_mean_evalue, lower_bound, p_values, upper_bound
from tests.support.golden import cases_of

UNIT = (0.0, 1.0)
SCORES = (1.0, 10.0)
VALUES = st.lists(st.floats(1, 10) | st.sampled_from([1.0, 5.5, 9.0, 10.0]), min_size=1, max_size=40)
MEANS = st.floats(1.1, 9.9)
TUNED = st.fixed_dictionaries({"alpha": st.floats(0.01, 0.3), "n_max": st.integers(1, 200)})
RATINGS = [10, 9, 10, 8, 10, 10, 7, 9, 10, 10, 10, 9, 8, 10, 10, 9, 10, 10, 6, 10, 9, 10, 10, 8, 10, 10, 9, 10, 10, 10]


def looped_e_value(values: list[float], mean: float, *, alpha: float, n_max: int, truncation: float) -> float:
    """Follow the definition with plain loops, each sum taken anew."""
    wealth = 1.0
    for t in range(1, len(values) + 1):
        centres = [(0.5 + sum(values[: i + 1])) / (i + 2) for i in range(t - 1)]
        variance = (0.25 + sum((values[i] - centres[i]) ** 2 for i in range(t - 1))) / t
        bet = min(sqrt(2 * log(1 / alpha) / (variance * n_max)), truncation / mean)
        wealth *= 1 + bet * (values[t - 1] - mean)
    return wealth


@pytest.mark.parametrize("case", cases_of("bounded_mean_evalue"))
def test_e_values_of_a_fixed_bet_equal_the_reference(case: dict[str, Any]) -> None:
    given, tolerance = case["inputs"], case["tolerance"]
    bounds = given["score_min"], given["score_max"]
    mean = bounds[0] + given["mean0_scaled"] * (bounds[1] - bounds[0])

    e_value = bounded_mean_evalue(given["scores"], mean, given["lam"], bounds=bounds)

    assert e_value == pytest.approx(case["expected"]["e_value"], rel=tolerance)


@pytest.mark.parametrize("case", cases_of("bounded_mean_betting_prpl"))
def test_e_values_and_p_values_equal_the_reference(case: dict[str, Any]) -> None:
    given, expected = case["inputs"], case["expected"]
    close = partial(pytest.approx, rel=case["tolerance"])
    tuned = {key: given[key] for key in ("alpha", "n_max", "truncation")}
    bounds = given["score_min"], given["score_max"]

    path = betting_path(given["scores"], given["mean0"], bounds=bounds, **tuned)
    above, _ = p_values(given["scores"], given["mean0"], bounds=bounds, **tuned)

    assert (path[-1], path.max()) == close((expected["final_e"], expected["max_e"]))
    assert above[-1] == close(expected["anytime_p"])


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=15),
    st.floats(0.05, 0.95),
    TUNED,
    st.sampled_from([0.25, 0.5, 0.75]),
)
def test_paths_equal_plain_loops(values: list[float], mean: float, tuned: Any, truncation: float) -> None:
    path = betting_path(values, mean, bounds=UNIT, truncation=truncation, **tuned)

    looped = [looped_e_value(values[:n], mean, truncation=truncation, **tuned) for n in range(1, len(values) + 1)]

    assert path == pytest.approx(looped, rel=1e-9)


@pytest.mark.parametrize("mean", [0.2, 0.5, 0.9])
def test_the_e_values_of_all_answers_average_to_1_at_the_bar(mean: float) -> None:
    n = 10
    answers = list(product([0.0, 1.0], repeat=n))

    chances = [mean ** sum(answer) * (1 - mean) ** (n - sum(answer)) for answer in answers]
    e_values = [betting_path(answer, mean, bounds=UNIT, alpha=0.05, n_max=n)[-1] for answer in answers]

    assert np.dot(chances, e_values) == pytest.approx(1.0, rel=1e-9)


@given(VALUES, MEANS, MEANS, TUNED)
def test_a_higher_bar_never_raises_the_e_value(values: list[float], one: float, other: float, tuned: Any) -> None:
    lower, higher = (betting_path(values, mean, bounds=SCORES, **tuned) for mean in sorted((one, other)))

    assert np.all(higher <= lower * (1 + 1e-9))


@given(VALUES, MEANS, TUNED)
def test_scaling_changes_nothing(values: list[float], mean: float, tuned: Any) -> None:
    scaled = [(value - 1) / 9 for value in values]

    path = betting_path(values, mean, bounds=SCORES, **tuned)

    assert path == pytest.approx(betting_path(scaled, (mean - 1) / 9, bounds=UNIT, **tuned), rel=1e-9)


@given(VALUES, MEANS, TUNED)
def test_mirroring_the_scale_swaps_the_two_sides(values: list[float], mean: float, tuned: Any) -> None:
    above, below = p_values(values, mean, bounds=SCORES, **tuned)
    mirrored_above, mirrored_below = p_values([11 - value for value in values], 11 - mean, bounds=SCORES, **tuned)

    assert mirrored_below == pytest.approx(above, rel=1e-9)
    assert mirrored_above == pytest.approx(below, rel=1e-9)
    assert upper_bound(values, tuned["alpha"], bounds=SCORES, n_max=tuned["n_max"]) == pytest.approx(
        11 - lower_bound([11 - value for value in values], tuned["alpha"], bounds=SCORES, n_max=tuned["n_max"])
    )


@given(VALUES, MEANS, TUNED)
def test_p_values_are_probabilities_that_never_rise(values: list[float], mean: float, tuned: Any) -> None:
    for path in p_values(values, mean, bounds=SCORES, **tuned):
        assert len(path) == len(values)
        assert np.all((path >= 0) & (path <= 1))
        assert np.all(np.diff(path) <= 0)


@given(VALUES, st.integers(1, 40), MEANS, TUNED)
def test_a_bet_knows_nothing_of_the_values_after_it(values: list[float], n: int, mean: float, tuned: Any) -> None:
    whole = betting_path(values, mean, bounds=SCORES, **tuned)

    assert whole[:n] == pytest.approx(betting_path(values[:n], mean, bounds=SCORES, **tuned), rel=1e-12)


@given(VALUES, MEANS, TUNED)
def test_the_bounds_have_reached_the_bar_exactly_when_a_side_is_proven(
    values: list[float], mean: float, tuned: Any
) -> None:
    above, below = p_values(values, mean, bounds=SCORES, **tuned)
    low = lower_bound(values, tuned["alpha"], bounds=SCORES, n_max=tuned["n_max"])
    high = upper_bound(values, tuned["alpha"], bounds=SCORES, n_max=tuned["n_max"])

    if abs(low - mean) > 1e-9:
        assert (low > mean) == (above[-1] <= tuned["alpha"])
    if abs(high - mean) > 1e-9:
        assert (high < mean) == (below[-1] <= tuned["alpha"])


@pytest.mark.parametrize("seed", range(5))
def test_no_mean_below_the_lower_bound_is_left_unrejected(seed: int) -> None:
    values = np.random.default_rng(seed).choice([1, 4, 8, 9, 10], size=60, p=[0.03, 0.02, 0.2, 0.25, 0.5]).tolist()
    low = lower_bound(values, 0.05, bounds=SCORES, n_max=60)

    grid = np.linspace(1.0, 10.0, 301)[1:]
    proven = [p_values(values, mean, bounds=SCORES, alpha=0.05, n_max=60)[0][-1] <= 0.05 for mean in grid]

    assert 1 < low < 10
    assert np.array_equal(proven, grid <= low)


@given(VALUES, TUNED)
def test_more_values_never_widen_the_bounds(values: list[float], tuned: Any) -> None:
    settings = {"bounds": SCORES, "n_max": tuned["n_max"]}
    before = values[: len(values) // 2]

    assert lower_bound(values, tuned["alpha"], **settings) >= lower_bound(before, tuned["alpha"], **settings)
    assert upper_bound(values, tuned["alpha"], **settings) <= upper_bound(before, tuned["alpha"], **settings)


@given(VALUES, MEANS, TUNED)
def test_one_value_at_a_time_gives_the_same_path(values: list[float], mean: float, tuned: Any) -> None:
    betting = Betting(mean, bounds=SCORES, **tuned)

    pushed = [(betting.push(value), betting.p_value) for value in values]

    assert betting.n == len(values)
    assert betting.e_value == pushed[-1][0]
    assert [e for e, _ in pushed] == pytest.approx(betting_path(values, mean, bounds=SCORES, **tuned), rel=1e-12)
    assert [p for _, p in pushed] == pytest.approx(p_values(values, mean, bounds=SCORES, **tuned)[0], rel=1e-12)


def test_a_run_of_good_ratings_may_stop_early() -> None:
    betting = Betting(7.5, bounds=SCORES, alpha=0.05, n_max=30)

    stopped_at = next(n for n, rating in enumerate(RATINGS, 1) if betting.push(rating) >= 20)

    assert stopped_at == betting.n < 30
    assert betting.p_value <= 0.05
    assert lower_bound(RATINGS[:stopped_at], 0.05, bounds=SCORES, n_max=30) >= 7.5
    assert lower_bound(RATINGS[: stopped_at - 1], 0.05, bounds=SCORES, n_max=30) < 7.5


def test_below_is_fed_with_everything_negated() -> None:
    betting = Betting(-9.5, bounds=(-10.0, -1.0), alpha=0.05, n_max=30)
    for rating in RATINGS:
        betting.push(-rating)

    _, below = p_values(RATINGS, 9.5, bounds=SCORES, alpha=0.05, n_max=30)

    assert betting.p_value == pytest.approx(below[-1], rel=1e-12)


@pytest.mark.parametrize(("n_max", "rate", "power"), [(100, 0.95, 0.315), (300, 0.9, 0.030), (300, 0.99, 1.0)])
def test_the_chance_to_prove_a_rate_above_90_percent(n_max: int, rate: float, power: float) -> None:
    # STATISTICS 5.1, row "WSR predictable plug-in c=.5"; the standard error of 2,000 runs is 0.011 at most
    random = np.random.default_rng(3)
    paths = [
        betting_path(random.random(n_max) < rate, 0.9, bounds=UNIT, alpha=0.05, n_max=n_max, truncation=0.5)
        for _ in range(2_000)
    ]

    assert np.mean([path.max() >= 20 for path in paths]) == pytest.approx(power, abs=0.04)


def test_false_proofs_at_any_time_are_rarer_than_the_level() -> None:
    random = np.random.default_rng(5)
    levels, chances = np.array([1.0, 7.0, 9.0, 10.0]), [0.05, 0.1, 0.35, 0.5]
    mean = float(levels @ chances)

    ends = [
        [path[-1] for path in p_values(drawn, mean, bounds=SCORES, alpha=0.05, n_max=100)]
        for drawn in random.choice(levels, size=(2_000, 200), p=chances)
    ]

    assert np.all(np.mean(np.array(ends) <= 0.05, axis=0) <= 0.05)
    assert np.all(np.mean(np.array(ends) <= 0.05, axis=0) > 0.002)


@given(st.lists(st.floats(0, 1), max_size=20), st.floats(0.05, 0.95), st.floats(-1, 1))
def test_a_fixed_bet_multiplies_its_factors(values: list[float], mean: float, share: float) -> None:
    bet = share / mean if share > 0 else share / (1 - mean)

    e_value = bounded_mean_evalue(values, mean, bet, bounds=UNIT)

    assert e_value == pytest.approx(prod(1 + bet * (value - mean) for value in values), rel=1e-9, abs=1e-12)


def test_a_bet_of_everything_is_lost_by_one_worst_value() -> None:
    assert bounded_mean_evalue([1.0, 0.0, 1.0], 0.5, 2.0, bounds=UNIT) == 0.0


@pytest.mark.parametrize("bet", [2.1, -2.1, float("nan"), float("inf")])
def test_a_bet_that_can_lose_more_than_everything_is_refused(bet: float) -> None:
    with pytest.raises(ValueError, match="more than everything"):
        bounded_mean_evalue([1.0], 0.5, bet, bounds=UNIT)


def test_e_values_stay_finite() -> None:
    ones = [1.0] * 5_000
    betting = Betting(0.1, bounds=UNIT, alpha=0.05, n_max=10)
    for one in ones:
        betting.push(one)

    e_values = [
        bounded_mean_evalue(ones, 0.1, 5.0, bounds=UNIT),
        float(betting_path(ones, 0.1, bounds=UNIT, alpha=0.05, n_max=10)[-1]),
        betting.e_value,
    ]

    assert all(1e303 < e_value < float("inf") for e_value in e_values)
    assert p_values(ones, 0.1, bounds=UNIT, alpha=0.05, n_max=10)[0][-1] == betting.p_value == 0.0


def test_no_values_prove_nothing() -> None:
    assert bounded_mean_evalue([], 5.0, 0.5, bounds=SCORES) == 1.0
    assert len(betting_path([], 5.0, bounds=SCORES, alpha=0.05, n_max=10)) == 0
    assert [len(path) for path in p_values([], 5.0, bounds=SCORES, alpha=0.05, n_max=10)] == [0, 0]
    assert lower_bound([], 0.05, bounds=SCORES, n_max=10) == 1.0
    assert upper_bound([], 0.05, bounds=SCORES, n_max=10) == 10.0
    assert Betting(5.0, bounds=SCORES, alpha=0.05, n_max=10).e_value == 1.0
    assert Betting(5.0, bounds=SCORES, alpha=0.05, n_max=10).p_value == 1.0


@pytest.mark.parametrize("value", [1.0, 5.5, 8.2, 10.0])
def test_values_that_all_equal_the_bar_prove_nothing(value: float) -> None:
    above, below = p_values([value] * 50, value, bounds=SCORES, alpha=0.05, n_max=50)

    assert np.all(above == 1.0)
    assert np.all(below == 1.0)


def test_a_bar_at_the_end_of_the_scale_is_disproven_from_the_other_side() -> None:
    above, _ = p_values([10.0] * 30, 1.0, bounds=SCORES, alpha=0.05, n_max=30)
    at_most, below = p_values([9.0] * 200, 10.0, bounds=SCORES, alpha=0.05, n_max=200)

    assert above[-1] <= 0.05
    assert at_most[-1] == 1.0
    assert below[-1] <= 0.05


@pytest.mark.parametrize("value", [0.9, 10.1, float("nan"), float("inf")])
def test_values_outside_the_scale_are_refused(value: float) -> None:
    tuned: dict[str, Any] = {"bounds": SCORES, "n_max": 10, "alpha": 0.05}
    refusing: list[Callable[[], object]] = [
        lambda: bounded_mean_evalue([value], 5.0, 0.5, bounds=SCORES),
        lambda: betting_path([value], 5.0, **tuned),
        lambda: p_values([value], 5.0, **tuned),
        lambda: lower_bound([value], **tuned),
        lambda: upper_bound([value], **tuned),
        lambda: Betting(5.0, **tuned).push(value),
    ]

    for refuses in refusing:
        with pytest.raises(ValueError, match=r"outside the scale from 1\.0 to 10\.0"):
            refuses()


def test_a_table_of_values_is_refused() -> None:
    with pytest.raises(ValueError, match="one list"):
        betting_path([[5.0, 6.0]], 5.0, bounds=SCORES, alpha=0.05, n_max=10)


@pytest.mark.parametrize("mean", [0.9, 10.1, float("nan")])
def test_a_bar_outside_the_scale_is_refused(mean: float) -> None:
    with pytest.raises(ValueError, match="outside the scale"):
        betting_path([5.0], mean, bounds=SCORES, alpha=0.05, n_max=10)
    with pytest.raises(ValueError, match="outside the scale"):
        Betting(mean, bounds=SCORES, alpha=0.05, n_max=10)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"alpha": 0.0}, "alpha"),
        ({"alpha": 1.0}, "alpha"),
        ({"truncation": 1.0}, "truncation"),
        ({"truncation": 0.0}, "truncation"),
        ({"n_max": 0}, "n_max"),
        ({"bounds": (10.0, 1.0)}, "bounds"),
        ({"bounds": (0.0, float("inf"))}, "bounds"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(changed: dict[str, Any], told: str) -> None:
    arguments: dict[str, Any] = {"bounds": SCORES, "alpha": 0.05, "n_max": 10} | changed

    with pytest.raises(ValueError, match=told):
        betting_path([5.0], 5.0, **arguments)
    with pytest.raises(ValueError, match=told):
        Betting(5.0, **arguments)
