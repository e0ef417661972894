"""The sums by which gates of other tools are held beside ours."""

import pytest
from scipy.stats import binom

from benchmarks.statistics.peers_level import Rule, at_the_end, by_threshold, of_pairs, ours


def test_a_look_at_the_end_is_binomial() -> None:
    passed, trials = at_the_end("three misses", 20, 3).walk(0.9)

    assert passed == pytest.approx(binom.cdf(3, 20, 0.1))
    assert trials == pytest.approx(20)


def test_a_run_ends_where_it_passes_and_where_it_ends_without() -> None:
    rule = Rule(name="two in a row", n_max=5, passes=frozenset({(2, (0,))}), ends=frozenset({(1, (1,)), (2, (1,))}))

    passed, trials = rule.walk(0.6)

    assert passed == pytest.approx(0.36)
    assert trials == pytest.approx(1 + 0.6)


def test_pairs_count_those_that_are_better_and_worse() -> None:
    rule = Rule(name="one better", n_max=1, passes=frozenset({(1, (1, 0))}), outcomes=of_pairs)

    passed, _ = rule.walk(0.8)

    assert passed == pytest.approx(0.8 * 0.1)


def test_our_gate_keeps_its_level_where_thresholds_on_what_is_observed_do_not() -> None:
    _, walk = ours(100)

    assert walk(0.9)[0] <= 0.05
    assert [round(each.walk(0.9)[0], 3) for each in by_threshold()] == [0.736, 0.677, 0.9, 0.349]
