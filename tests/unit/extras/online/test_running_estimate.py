"""Running estimates: sums that say as much as all values would."""

from collections.abc import Sequence
from math import inf, nan
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simeval.extras.online.running_estimate import Bounds, MetricTally
from simeval.stats.evalues import anytime_interval
from simeval.stats.monitor import DropDetector

LOOKS = (10, 30, 100, 300)
STREAMS = 50


def fed(values: Sequence[float | None], *, bounds: Bounds | None = None, window: int = 5) -> MetricTally:
    tally = MetricTally(window, bounds)
    for value in values:
        tally.add(value)
    return tally


def share_that_ever_misses(mean: float, streams: Sequence[Sequence[float]], bounds: Bounds | None) -> float:
    """Return the share of streams of which an interval, at any of the looks, leaves the mean out."""
    missed = 0
    for stream in streams:
        tally, misses = MetricTally(1, bounds), False
        for n, value in enumerate(stream, 1):
            tally.add(value)
            low, high = tally.estimate(0.05).interval or (inf, -inf) if n in LOOKS else (-inf, inf)
            misses = misses or not low <= mean <= high
        missed += misses
    return missed / len(streams)


def test_a_mean_is_over_the_values_there_are_and_says_how_many_are_missing() -> None:
    found = fed([True, None, False, True, None, True]).estimate(0.05)

    assert (found.n, found.missing, found.mean) == (4, 2, 0.75)


def test_the_recent_mean_is_of_the_last_values_alone() -> None:
    assert fed([False] * 50 + [True] * 3, window=4).estimate(0.05).recent == 0.75


def test_nothing_is_known_without_values() -> None:
    found = fed([]).estimate(0.05)

    assert (found.n, found.mean, found.recent, found.interval) == (0, None, None, None)


@pytest.mark.parametrize("value", [nan, inf, -inf, 1.5, -0.001])
def test_a_value_that_is_no_number_within_its_bounds_is_missing(value: float) -> None:
    found = fed([0.5, value], bounds=(0, 1)).estimate(0.05)

    assert (found.n, found.missing, found.mean) == (1, 1, 0.5)


@given(st.integers(0, 300), st.integers(0, 300), st.sampled_from([0.01, 0.05, 0.2]))
def test_booleans_have_the_anytime_interval_of_a_proportion(hits: int, misses: int, alpha: float) -> None:
    tally = fed([True] * hits + [False] * misses)

    expected = anytime_interval(hits, misses, alpha) if hits + misses else None

    assert tally.estimate(alpha).interval == (expected and pytest.approx(expected, abs=1e-9))


@given(st.lists(st.floats(-2, 6) | st.none(), min_size=1, max_size=40))
def test_an_interval_holds_the_mean_and_lies_within_the_bounds(values: list[float | None]) -> None:
    found = fed(values, bounds=(-2, 6)).estimate(0.05)

    assert found.interval is not None
    low, high = found.interval
    assert -2 <= low <= (0 if found.mean is None else found.mean) + 1e-9
    assert (0 if found.mean is None else found.mean) - 1e-9 <= high <= 6


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_an_interval_moves_with_its_scale(values: list[float]) -> None:
    unit = fed(values, bounds=(0, 1)).estimate(0.05).interval
    scaled = fed([10 * value - 5 for value in values], bounds=(-5, 5)).estimate(0.05).interval

    assert unit is not None
    assert scaled == pytest.approx([10 * end - 5 for end in unit], abs=1e-6)


def test_numbers_without_bounds_have_no_interval() -> None:
    assert fed([1.0, 0.0, 1.0]).estimate(0.05).interval is None
    assert fed([True, 0.5]).estimate(0.05).interval is None


def test_missing_values_count_against_both_ends_of_an_interval() -> None:
    found = fed([True] * 40 + [False] * 10 + [None] * 20).estimate(0.05)

    assert found.interval is not None
    assert found.interval[0] == pytest.approx(anytime_interval(40, 30, 0.05)[0], abs=1e-9)
    assert found.interval[1] == pytest.approx(anytime_interval(60, 10, 0.05)[1], abs=1e-9)


@pytest.mark.parametrize("rate", [0.02, 0.5, 0.9])
def test_intervals_that_are_looked_at_again_and_again_hold_the_rate(rate: float) -> None:
    random = Random(5)
    streams: Sequence[Sequence[float]] = [[random.random() < rate for _ in range(LOOKS[-1])] for _ in range(STREAMS)]

    assert share_that_ever_misses(rate, streams, None) <= 0.1


@pytest.mark.parametrize(("a", "b"), [(2, 2), (0.2, 0.8), (9, 1)])
def test_intervals_of_bounded_numbers_hold_the_mean(a: float, b: float) -> None:
    drawn = 1 + 9 * np.random.default_rng(5).beta(a, b, size=(STREAMS, LOOKS[-1]))

    assert share_that_ever_misses(1 + 9 * a / (a + b), drawn.tolist(), (1, 10)) <= 0.1


def test_a_drop_raises_one_alarm() -> None:
    tally = MetricTally(10, (0, 1), DropDetector(0.9, false_alarm_every=100))

    alarms = [tally.add(value) for value in [True] * 50 + [False] * 50]

    assert sum(alarms) == 1
    assert alarms.index(True) > 50
    assert tally.estimate(0.05).alarmed


def test_missing_values_prove_no_drop() -> None:
    tally = MetricTally(10, (0, 1), DropDetector(0.5, false_alarm_every=100))

    assert not any(tally.add(value) for value in [None, nan, 7.0] * 100)
