"""Sample sizes before the first trial is paid for."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simeval
from simeval.cli.starter_apps import SUITE
from simeval.core.settings import Settings
from simeval.errors import DefinitionError
from simeval.evaluators.scores import MeanEvaluator, ProportionEvaluator, RatingAverageEvaluator, SuccessRateEvaluator
from simeval.stats import planning
from simeval.stats.binomial import most_misses, power
from simeval.stats.optimal import optimal_design
from simeval.suites.files import load_suite
from simeval.suites.planning import plan_suite, show_chance
from simeval.suites.scenario import Expectation, ScenarioTest
from tests.support.golden import cases_of


@pytest.mark.parametrize("case", cases_of("plan_fixed_n"))
def test_fixed_sizes_equal_the_reference(case: dict[str, Any]) -> None:
    given, expected = case["inputs"], case["expected"]

    found = planning.fixed_sample(given["p0"], given["p1"], alpha=given["alpha"], power=given["power"])

    assert found == planning.FixedSample(expected["n_first"], expected["n_safe"])


@pytest.mark.parametrize("bar", [0.5, 0.75, 0.8, 0.9])
@pytest.mark.parametrize("early_stopping", [True, False])
def test_the_size_that_is_named_passes_with_80_percent(bar: float, early_stopping: bool) -> None:
    rule = SuccessRateEvaluator(min_proportion=bar)
    short = ScenarioTest(
        title="t", given="g", when="w", sample_size=12, then=Expectation(expected_behavior="b", evaluator=[rule, rule])
    )
    given = Settings(early_stopping=early_stopping)

    plan = plan_suite([short], given)
    size = plan.sufficient_size()
    enough = plan_suite([replace(short, sample_size=size)], given)

    assert f"sample_size: {size} (up to {size} conversations)" in str(plan)
    assert 0.8 <= (enough.prob_pass or 0) < 0.97
    assert enough.sufficient_size() is None
    assert "to pass with" not in str(enough)


def test_the_starter_suite_passes_an_app_of_95_percent_with_80_percent(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text(SUITE.read_text(), encoding="utf-8")
    suite = load_suite(str(tmp_path / "suite.yaml"))

    assert (plan_suite(suite, suite.settings, true_rate=0.95).prob_pass or 0) >= 0.8


@pytest.mark.parametrize("case", cases_of("power_fixed_n"))
def test_the_power_of_a_fixed_sample_equals_the_reference(case: dict[str, Any]) -> None:
    given, expected = case["inputs"], case["expected"]

    found = planning.fixed_test(given["n"], given["p0"], given["p1"], alpha=given["alpha"])

    assert found.critical_successes == expected["critical_successes"]
    assert (found.size, found.power) == pytest.approx((expected["size"], expected["power"]), abs=case["tolerance"])


@pytest.mark.parametrize(
    ("p0", "p1", "wanted", "n_max", "at_p1", "at_p0"),
    [
        (0.5, 0.7, 0.8, 41, 27, 29),
        (0.75, 0.9, 0.8, 47, 32, 27),
        (0.9, 0.97, 0.9, 110, 72, 58),
        (0.9, 0.95, 0.8, 203, 135, 127),
    ],
)
def test_sequential_sizes_at_known_points(
    p0: float, p1: float, wanted: float, n_max: int, at_p1: int, at_p0: int
) -> None:
    found = planning.sequential_sample(p0, p1, alpha=0.05, power=wanted)

    assert found
    assert found.n_max == n_max
    assert round(found.characteristics(p1).expected_n) == at_p1
    assert round(found.characteristics(p0).expected_n) == at_p0


@settings(max_examples=30)
@given(st.floats(0.3, 0.93), st.floats(0.03, 0.06), st.sampled_from([0.01, 0.05, 0.1]))
def test_sizes_reach_the_power_that_is_wanted(p0: float, gap: float, alpha: float) -> None:
    fixed = planning.fixed_sample(p0, p0 + gap, alpha=alpha, power=0.8)

    assert fixed
    assert power(fixed.first, p0, p0 + gap, alpha=alpha) >= 0.8 > power(fixed.first - 1, p0, p0 + gap, alpha=alpha)
    assert (power(np.arange(fixed.safe, fixed.safe + 200), p0, p0 + gap, alpha=alpha) >= 0.8).all()


@given(st.floats(0.1, 0.99), st.sampled_from([0.01, 0.05, 0.1]))
def test_cheap_sizes_are_the_smallest_that_allow_their_misses(p0: float, alpha: float) -> None:
    for n, misses in planning.cheap_sizes(p0, alpha=alpha, count=4):
        assert most_misses(n, p0, alpha) >= misses > most_misses(n - 1, p0, alpha)


def test_cheap_sizes_at_ninety_per_cent() -> None:
    assert planning.cheap_sizes(0.9, alpha=0.05, count=6) == [(29, 0), (46, 1), (61, 2), (76, 3), (89, 4), (103, 5)]


def test_nothing_proves_a_rate_that_is_not_above_the_bar() -> None:
    assert planning.fixed_sample(0.9, 0.9, alpha=0.05, power=0.8) is None
    assert planning.sequential_sample(0.9, 0.8, alpha=0.05, power=0.8) is None
    assert "must lie above the bar" in str(simeval.plan(0.9, 0.85))
    assert "must lie above the bar" in str(simeval.plan(0.9, 0.9))


def test_a_rate_too_close_to_the_bar_is_told_from_one_below_it() -> None:
    said = str(simeval.plan(0.9, 0.905))

    assert "more than 10,000 trials would be needed: too close to the bar" in said
    assert "must lie above" not in said


def test_twenty_requirements_need_more_power_each() -> None:
    assert planning.suite_power(0.9, 20) == pytest.approx(0.9947, abs=1e-4)


def test_the_power_of_mcnemars_test_is_that_of_a_simulation() -> None:
    random = np.random.default_rng(2)
    draws = random.multinomial(60, [0.25, 0.08, 0.67], size=20_000)
    from simeval.stats.paired import mcnemar

    table = {pair: mcnemar(*pair).p_new_better <= 0.05 for pair in {(int(a), int(b)) for a, b, _ in draws}}
    simulated = np.mean([table[int(a), int(b)] for a, b, _ in draws])

    assert planning.mcnemar_power(60, 0.25, 0.08, alpha=0.05) == pytest.approx(simulated, abs=0.012)
    assert planning.mcnemar_power(60, 0.0, 0.0, alpha=0.05) == 0.0


def test_the_power_of_a_mean_comes_from_a_pilot() -> None:
    sure, taken = planning.mean_power([9, 10, 10, 8, 9], 5, bounds=(1, 10), n_max=60, alpha=0.05, n_draws=50)
    never, all_of_them = planning.mean_power([5], 5, bounds=(1, 10), n_max=20, alpha=0.05, n_draws=10)

    assert sure == 1.0
    assert taken < 30
    assert (never, all_of_them) == (0.0, 20.0)


def test_a_plan_says_what_to_write_into_the_suite() -> None:
    said = str(simeval.plan(0.9, 0.97))

    assert "sample_size 95; on average 67 trials" in said
    assert "ends without a pass at 3 misses in 22, 4 in 40, 5 in 90, 6 at any time (from trial 10 on)\n" in said
    assert "trials by true rate  14 at 75%, 23 at 85%, 39 at 90%" in said
    assert "; 3% over the least possible\n" in said
    assert "at 75%: in 98% of runs with --stop verdict, after 40 trials on average; in 22% without, after 14\n" in said
    assert "sample_size 76 (from 89 on, every size is enough)" in said
    assert "29 trials, all of them good" in said


@pytest.mark.parametrize("room", [40, 60, 80, 120])
def test_a_plan_fits_its_room(room: int) -> None:
    found = simeval.plan(0.9, 0.97)

    lines = found.text(room).splitlines()

    assert max(map(len, lines)) <= room
    assert " ".join(found.text(room).split()) == " ".join(str(found).split())


def test_a_size_from_which_on_every_size_is_enough_is_said_once() -> None:
    found = simeval.plan(0.5, 1.0)

    assert found.fixed == planning.FixedSample(5, 5)
    assert "sample_size 5\n" in str(found)


def test_a_joint_claim_is_planned_at_its_share_of_the_level() -> None:
    found = simeval.plan(0.9, 0.97, requirements=10, joint=True)

    assert found.level == pytest.approx(0.005)
    assert found.design
    assert found.design.type_one <= 0.005


@pytest.mark.parametrize(
    "arguments",
    [{"bar": 1.0, "true_rate": 0.9}, {"bar": 0.9, "true_rate": 1.1}, {"bar": 0.9, "true_rate": 0.95, "power": 1.0}],
)
def test_a_plan_of_impossible_shares_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(DefinitionError, match="plan: "):
        simeval.plan(**arguments)


def scenario(*evaluators: Any, sample_size: int = 100) -> ScenarioTest:
    return ScenarioTest(
        title="s",
        given="someone",
        when="asks",
        sample_size=sample_size,
        then=Expectation(expected_behavior="it answers", label="answers", evaluator=evaluators),
    )


def test_a_suite_is_forecast_requirement_by_requirement() -> None:
    suite = [scenario(SuccessRateEvaluator(min_proportion=0.9), RatingAverageEvaluator(8))]

    found = plan_suite(suite, Settings(), true_rate=0.95)

    at_90 = optimal_design(0.9, 100, alpha=0.05, min_trials=10).characteristics(0.95)
    assert found.forecasts[0].prob_pass == pytest.approx(at_90.prob_pass)
    assert found.forecasts[0].expected_trials == pytest.approx(at_90.expected_n)
    assert found.forecasts[0].acceptance.startswith("0 misses in 39, ≤ 1 in 60, ≤ 2 in 78, ≤ 3 in 90, ≤ 4 in 99")
    assert found.prob_pass
    assert found.prob_pass <= at_90.prob_pass
    taken = [forecast.expected_trials or 0.0 for forecast in found.forecasts]
    assert found.expected_trials == max(taken) > min(taken)
    assert (
        f"\n1 scenario, at most 100 trials (expected: {max(taken):.0f}); "
        f"all pass with a chance of {found.prob_pass:.0%}, if requirements are independent"
    ) in str(found)


def test_scenarios_take_their_expected_trials_together() -> None:
    one, other = scenario(SuccessRateEvaluator(min_proportion=0.9)), scenario(SuccessRateEvaluator(min_proportion=0.5))
    alone = [plan_suite([each], Settings(), true_rate=0.95).expected_trials or 0.0 for each in (one, other)]

    found = plan_suite([one, replace(other, title="t")], Settings(), true_rate=0.95)

    assert found.expected_trials == pytest.approx(sum(alone))
    assert f"\n2 scenarios, at most 200 trials (expected: {sum(alone):.0f})" in str(found)


def test_a_requirement_that_cannot_pass_is_shown_before_it_is_paid_for() -> None:
    found = plan_suite([scenario(SuccessRateEvaluator(min_proportion=0.9), sample_size=20)], Settings())

    assert not found.forecasts[0].can_pass
    assert found.prob_pass == 0
    assert "nothing; 29 are needed" in str(found)


def test_a_mean_has_no_forecast_without_a_pilot() -> None:
    found = plan_suite([scenario(MeanEvaluator(at_least=7, bounds=(1, 10)))], Settings())

    assert found.prob_pass is None
    assert found.forecasts[0].expected_trials is None
    assert str(found).endswith("\n1 scenario, at most 100 trials (expected: -)")


def test_a_forecast_without_early_stopping_takes_the_whole_sample() -> None:
    rule = ProportionEvaluator(6, min_proportion=0.9, early_stopping=False)

    [forecast] = plan_suite([scenario(rule)], Settings(), true_rate=0.95).forecasts

    assert forecast.expected_trials == 100
    assert forecast.prob_pass == pytest.approx(0.43598130)
    assert forecast.acceptance == "≤ 4 in 100"


@pytest.mark.parametrize(
    ("chance", "said"), [(0.0, "0%"), (0.003, "under 1%"), (0.514, "51%"), (0.999, "over 99%"), (1.0, "100%")]
)
def test_only_what_is_certain_has_a_chance_of_0_or_of_100_percent(chance: float, said: str) -> None:
    assert show_chance(chance) == said


def test_a_plan_knows_of_the_smallest_number_of_trials() -> None:
    usual = simeval.plan(0.5, 0.8)
    at_once, late = (simeval.plan(0.5, 0.8, min_trials=first) for first in (1, 15))

    assert usual.design
    assert usual.design.min_trials == 10
    assert " in 10 or more end it without a pass\n" in str(usual)
    assert "in 1 or more" not in str(at_once)
    assert late.design
    assert late.design.pass_points[0][0] == 15
    with pytest.raises(DefinitionError, match="plan: min_trials"):
        simeval.plan(0.5, 0.8, min_trials=0)


def test_a_forecast_is_made_with_the_smallest_number_of_trials() -> None:
    suite = [scenario(ProportionEvaluator(6, min_proportion=0.5))]
    at_once, late = (plan_suite(suite, Settings(min_trials=first), true_rate=0.1).forecasts[0] for first in (1, 40))

    assert at_once.expected_trials
    assert at_once.expected_trials < 30
    assert late.expected_trials == pytest.approx(40, abs=0.01)
    assert late.acceptance.endswith("42 at any time (from trial 40 on)")
