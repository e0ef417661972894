"""Designs whose trials have cases in balanced blocks: the chances of a pass and of a fail, worked out exactly."""

import pytest

from benchmarks.statistics.cases import walk
from simeval.stats.optimal import optimal_design

PLAN = optimal_design(0.9, 100, alpha=0.05)


@pytest.mark.parametrize(
    ("kinds", "passes", "trials", "fails"),
    [  # by another program: dynamic programming over the place in a block
        ([(8, 1.0), (2, 0.5)], 0.016306, 32.109145, 0.016667),
        ([(5, 1.0), (5, 0.8)], 0.040790, 33.883623, 0.025333),
        ([(8, 1.0), (2, 0.75)], 0.512621, 65.094128, 0.004167),
        ([(19, 1.0), (1, 0.0)], 0.700000, 94.85, 0),
        ([(95, 1.0), (5, 0.0)], 0.496297, 70.187866, 0.005937),
    ],
)
def test_cases_in_blocks_have_the_chances_that_another_program_found(
    kinds: list[tuple[int, float]], passes: float, trials: float, fails: float
) -> None:
    found = walk(PLAN, kinds)

    assert (found.passes, found.trials, found.fails) == pytest.approx((passes, trials, fails), abs=1e-6)


def test_cases_that_are_all_alike_are_as_trials_without_cases() -> None:
    found, one_rate = walk(PLAN, [(10, 0.9)]), PLAN.characteristics(0.9)

    assert found.passes == pytest.approx(one_rate.prob_pass, abs=1e-9)
    assert (found.fails, found.trials) == pytest.approx((one_rate.prob_fail, one_rate.expected_n), abs=1e-9)


@pytest.mark.parametrize(
    "kinds", [[(8, 1.0), (2, 0.5)], [(5, 1.0), (5, 0.8)], [(90, 1.0), (10, 0.0)], [(9, 1.0), (1, 0.0)]]
)
def test_cases_with_their_mean_at_the_bar_pass_less_often_than_an_app_at_the_bar(
    kinds: list[tuple[int, float]],
) -> None:
    found, one_rate = walk(PLAN, kinds), PLAN.characteristics(0.9)

    assert found.passes <= one_rate.prob_pass
    assert found.fails <= one_rate.prob_fail
