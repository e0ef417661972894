"""Alarms on a stream of outcomes without an end."""

import json
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simeval.stats.monitor import DropDetector, detector_path, mixture_path, streams_threshold
from tests.support.golden import cases_of

BARS = st.floats(0.05, 0.98)
OUTCOMES = st.lists(st.floats(0, 1) | st.sampled_from([0.0, 1.0]), min_size=1, max_size=60)


def first_alarms(paths: Any, threshold: float) -> Any:
    """Return the number of outcomes up to the first alarm of each stream; each must have one."""
    alarms = paths >= threshold
    assert np.all(alarms.any(axis=1))
    return alarms.argmax(axis=1) + 1


@pytest.mark.parametrize("case", cases_of("shiryaev_roberts_e_detector"))
def test_paths_equal_the_reference(case: dict[str, Any]) -> None:
    given = case["inputs"]

    path = detector_path(given["outcomes"], given["p0"], given["lam"])

    assert path == pytest.approx(case["expected"]["path"], rel=case["tolerance"])


@given(OUTCOMES, BARS, st.floats(0, 1))
def test_the_detector_sums_the_wealth_of_all_starts(outcomes: list[float], p0: float, share: float) -> None:
    bet = share / (1 - p0)
    factors = 1 + bet * (p0 - np.array(outcomes))

    sums = [sum(factors[start : n + 1].prod() for start in range(n + 1)) for n in range(len(outcomes))]

    assert detector_path(outcomes, p0, bet) == pytest.approx(sums, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("p0", [0.3, 0.5, 0.9])
def test_at_the_bar_the_detector_averages_the_number_of_outcomes(p0: float) -> None:
    n = 10
    answers = np.array(list(product([0.0, 1.0], repeat=n)))

    chances = p0 ** answers.sum(axis=1) * (1 - p0) ** (n - answers.sum(axis=1))

    assert chances @ mixture_path(answers, p0) == pytest.approx(np.arange(1, n + 1), rel=1e-9)


@given(OUTCOMES, BARS, st.integers(2, 10))
def test_the_mixture_is_the_average_of_its_bets(outcomes: list[float], p0: float, n_bets: int) -> None:
    bets = [0.03 * 20 ** (place / (n_bets - 1)) / (1 - p0) for place in range(n_bets)]

    each = [detector_path(outcomes, p0, bet) for bet in bets]

    assert mixture_path(outcomes, p0, n_bets=n_bets) == pytest.approx(np.mean(each, axis=0), rel=1e-9)


@given(OUTCOMES, BARS, st.integers(2, 10))
def test_one_outcome_at_a_time_gives_the_same_path(outcomes: list[float], p0: float, n_bets: int) -> None:
    detector = DropDetector(p0, false_alarm_every=5, n_bets=n_bets)

    pushed = [(detector.push(outcome), detector.value, detector.alarmed) for outcome in outcomes]
    path = mixture_path(outcomes, p0, n_bets=n_bets)

    assert detector.n == len(outcomes)
    assert [value for _, value, _ in pushed] == pytest.approx(path, rel=1e-12)
    assert [alarm for alarm, _, _ in pushed] == [value >= 5 for _, value, _ in pushed]
    assert [alarmed for _, _, alarmed in pushed] == [any(a for a, _, _ in pushed[: n + 1]) for n in range(len(pushed))]


@given(OUTCOMES, st.integers(0, 59), BARS)
def test_a_better_outcome_never_brings_an_alarm_nearer(outcomes: list[float], place: int, p0: float) -> None:
    better = [1.0 if n == place else outcome for n, outcome in enumerate(outcomes)]

    assert np.all(mixture_path(better, p0) <= mixture_path(outcomes, p0) * (1 + 1e-12))


@given(OUTCOMES, BARS)
def test_streams_side_by_side_are_watched_one_by_one(outcomes: list[float], p0: float) -> None:
    streams = [outcomes, outcomes[::-1]]

    together = mixture_path(streams, p0)

    assert together[0] == pytest.approx(mixture_path(outcomes, p0), rel=1e-12)
    assert together[1] == pytest.approx(mixture_path(outcomes[::-1], p0), rel=1e-12)


def test_a_false_alarm_at_the_bar_comes_after_1395_outcomes_on_average() -> None:
    # STATISTICS 10; the standard error of 400 runs is 70
    outcomes = np.random.default_rng(17).random((400, 12_000)) < 0.9

    lengths = first_alarms(mixture_path(outcomes, 0.9), 1_000)

    assert lengths.mean() == pytest.approx(1_395, rel=0.15)
    assert lengths.mean() >= 1_000


@pytest.mark.parametrize(("rate", "delay"), [(0.85, 172), (0.8, 74), (0.7, 30), (0.5, 12)])
def test_the_mean_delay_after_a_drop_from_95_percent(rate: float, delay: float) -> None:
    # STATISTICS 10; the standard error of 500 runs is 3% at most
    random = np.random.default_rng(23)
    before, after = random.random((500, 200)) < 0.95, random.random((500, 1_500)) < rate

    paths = mixture_path(np.hstack([before, after]), 0.9)
    untroubled = paths[:, :200].max(axis=1) < 1_000

    assert untroubled.mean() > 0.99
    assert first_alarms(paths[untroubled, 200:], 1_000).mean() == pytest.approx(delay, rel=0.1)


def test_several_streams_together_keep_the_distance_of_false_alarms() -> None:
    threshold = streams_threshold(100, 4)
    outcomes = np.random.default_rng(29).random((300, 4, 1_500)) < 0.8

    lengths = first_alarms(mixture_path(outcomes, 0.8).max(axis=1), threshold)

    assert threshold == 400
    assert 100 <= lengths.mean() < 200


def test_scores_are_watched_like_outcomes() -> None:
    detector = DropDetector(0.7, false_alarm_every=200)

    assert not any(detector.push(0.9) for _ in range(1_000))
    assert any(detector.push(0.5) for _ in range(200))
    assert detector.alarmed


def test_an_alarm_ends_when_the_rate_has_recovered_but_is_remembered() -> None:
    detector = DropDetector(0.9)
    alarms = [detector.push(x) for x in [False] * 20 + [True] * 500]

    assert alarms[19]
    assert not alarms[-1]
    assert detector.alarmed


@given(OUTCOMES, OUTCOMES, BARS)
def test_a_restored_detector_goes_on_as_if_never_stopped(before: list[float], after: list[float], p0: float) -> None:
    unbroken = DropDetector(p0, false_alarm_every=20, n_bets=5)
    for outcome in before:
        unbroken.push(outcome)

    restored = DropDetector.from_state(json.loads(json.dumps(unbroken.state())))

    assert restored.state() == unbroken.state()
    for outcome in after:
        assert restored.push(outcome) == unbroken.push(outcome)
    assert restored.state() == unbroken.state()


def test_a_state_does_not_change_with_its_detector() -> None:
    detector = DropDetector(0.9)
    state = detector.state()

    detector.push(False)

    assert (state["n"], state["values"]) == (0, [0.0] * 8)
    assert detector.state()["n"] == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"values": [0.0] * 7},
        {"values": [float("nan")] * 8},
        {"values": [-1.0] * 8},
        {"values": [float("inf")] * 8},
        {"n": -1},
        {"p0": 1.5},
        {"false_alarm_every": 0.0},
        {"n_bets": 9},
    ],
)
def test_numbers_that_are_no_state_are_refused(changed: dict[str, Any]) -> None:
    state: Any = DropDetector(0.9).state() | changed

    with pytest.raises(ValueError):
        DropDetector.from_state(state)


@pytest.mark.parametrize("p0", [0.1, 0.9, 0.999_999])
def test_a_detector_stays_finite_and_comes_back(p0: float) -> None:
    detector = DropDetector(p0)
    for _ in range(10_000):
        detector.push(0)

    highest = detector.value
    for _ in range(20_000):
        detector.push(1)

    assert 1e248 < highest <= 1e250
    assert np.isfinite(detector_path([0] * 10_000, p0, 1 / (1 - p0))).all()
    assert detector.value < 1_000


@pytest.mark.parametrize("x", [-0.01, 1.01, 10, float("nan"), float("inf")])
def test_an_outcome_outside_0_to_1_is_refused_and_changes_nothing(x: float) -> None:
    detector = DropDetector(0.9)
    detector.push(False)
    before = detector.state()

    with pytest.raises(ValueError, match="between 0 and 1"):
        detector.push(x)
    with pytest.raises(ValueError, match="between 0 and 1"):
        detector_path([1, x], 0.9, 1.0)
    with pytest.raises(ValueError, match="between 0 and 1"):
        mixture_path([1, x], 0.9)
    assert detector.state() == before


@pytest.mark.parametrize("p0", [0.0, 1.0, 90.0, float("nan")])
def test_a_bar_at_the_edge_is_refused(p0: float) -> None:
    with pytest.raises(ValueError, match="p0"):
        DropDetector(p0)
    with pytest.raises(ValueError, match="p0"):
        mixture_path([1], p0)
    with pytest.raises(ValueError, match="p0"):
        detector_path([1], p0, 1.0)


@pytest.mark.parametrize("bet", [-0.1, 10.1, float("nan")])
def test_a_bet_that_can_lose_more_than_everything_is_refused(bet: float) -> None:
    with pytest.raises(ValueError, match="bet"):
        detector_path([1], 0.9, bet)


def test_settings_that_cannot_be_used_are_refused() -> None:
    with pytest.raises(ValueError, match="n_bets"):
        DropDetector(0.9, n_bets=1)
    with pytest.raises(ValueError, match="false_alarm_every"):
        DropDetector(0.9, false_alarm_every=float("nan"))
    with pytest.raises(ValueError, match="false_alarm_every"):
        streams_threshold(0, 3)
    with pytest.raises(ValueError, match="stream"):
        streams_threshold(1_000, 0)


def test_a_new_detector_stands_at_0_and_no_outcomes_give_no_path() -> None:
    detector = DropDetector(0.9)

    assert (detector.value, detector.n, detector.alarmed) == (0.0, 0, False)
    assert len(detector_path([], 0.9, 1.0)) == len(mixture_path([], 0.9)) == 0
