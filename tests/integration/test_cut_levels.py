"""Error rates of runs that are cut off and resumed, through the real engine on a clock that jumps."""

import pytest

from benchmarks.statistics.cuts import Setting, Way, measure

SCENARIOS = 12
MOST_WRONG = 3  # where each is wrong with a chance of 5%: more in one of 450 such tests, which have seeds


def test_trials_under_way_that_are_run_again_pass_apps_that_should_not() -> None:
    found = measure(Setting(way="again", cuts=3), SCENARIOS)

    assert found.passes > SCENARIOS / 2


@pytest.mark.parametrize(
    ("way", "early_stopping"),
    [("missing", True), ("missing", False), ("continued", True)],
    ids=["sequential", "fixed sample", "continued"],
)
def test_a_run_that_is_cut_off_three_times_passes_as_few_apps_as_a_whole_one(way: Way, early_stopping: bool) -> None:
    found = measure(Setting(way=way, cuts=3, early_stopping=early_stopping), SCENARIOS)

    assert found.passes <= MOST_WRONG
    assert found.fails <= MOST_WRONG
    assert found.missing >= SCENARIOS / 2  # the cuts did hit trials
    assert (found.continued > 0) == (way == "continued")


def test_failures_that_take_less_time_prove_no_app_to_be_below_its_bar() -> None:
    found = measure(Setting(way="missing", cuts=3, slower=1 / 8), SCENARIOS)

    assert found.passes <= MOST_WRONG
    assert found.fails <= MOST_WRONG
