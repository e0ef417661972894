"""Runs planned from runs before: sizes and designs come from what was seen, verdicts from their own trials alone."""

from pathlib import Path
from typing import Any

import pytest

from simeval import ProportionEvaluator, ScenarioTest
from simeval.analysis import planned_from
from simeval.core.settings import Settings
from simeval.errors import DefinitionError
from simeval.stats.optimal import average_n, optimal_design
from tests.support.command_line import simeval
from tests.support.early_stopping import SeededApp, engine, scenario

pytestmark = pytest.mark.anyio
BY_DEFAULT: dict[str, Any] = {"min_trials": 10, "stop": None}
SETTINGS = Settings(min_trials=10)
ON_PATH = """
settings: {sample_size: 100}
scenarios:
  - title: It answers
    given: A user
    when: The user asks
    then:
      scorer: turn_count
      label: short
      evaluator: {type: proportion, threshold: 20, at_least: false, min_proportion: 0.9}
"""
APP = "async def good(message, state):\n    return 'yes'\n"


async def planned(quality: float, **options: Any) -> ScenarioTest:
    """Return a scenario as it is planned from a run of an app of this quality."""
    past = await engine(**BY_DEFAULT).evaluate([scenario()], SeededApp(quality))
    [found] = planned_from([scenario()], past, SETTINGS, **options)
    return found


def rate_of(test: ScenarioTest) -> float | None:
    return test.expectations[0].evaluators[0].expected_rate


async def test_a_good_app_is_given_as_many_trials_as_it_takes() -> None:
    usual, surer = await planned(0.99), await planned(0.99, power=0.95)

    assert usual.sample_size is not None
    assert surer.sample_size is not None
    assert usual.sample_size < surer.sample_size
    rule = ProportionEvaluator(min_proportion=0.9, expected_rate=rate_of(usual))
    made = rule.plan(usual.sample_size, stop="fewest")
    assert made.characteristics(rate_of(usual) or 0).prob_pass >= 0.8 - 0.001


async def test_an_app_that_was_not_above_its_bar_keeps_its_size() -> None:
    found = await planned(0.75)

    assert found.sample_size == 100
    assert rate_of(found) == pytest.approx(0.75, abs=0.2)


async def test_what_was_not_measured_there_is_as_it_was() -> None:
    past = await engine(**BY_DEFAULT).evaluate([scenario()], SeededApp(1.0))

    [other] = planned_from([scenario(title="new")], past, SETTINGS)

    assert (other.sample_size, rate_of(other)) == (100, None)


async def test_outcomes_of_the_past_are_not_counted() -> None:
    test = await planned(1.0)

    result = await engine(**BY_DEFAULT).evaluate([test], SeededApp(0.6))

    assert not result.passed
    assert result[0].verdicts[0].n == result[0].trials >= 10


async def test_a_planned_run_is_resumed_by_its_own_design_only(tmp_path: Path) -> None:
    test, options = await planned(0.99), {**BY_DEFAULT, "store": tmp_path / "runs.db"}
    whole = await engine(**BY_DEFAULT).evaluate([test], SeededApp(0.97))

    await engine(**options, max_calls=24).evaluate([test], SeededApp(0.97))
    with pytest.raises(DefinitionError, match="expected_rate"):
        await engine(**options, resume="last").evaluate([scenario()], SeededApp(0.97))
    resumed = await engine(**options, resume="last").evaluate([test], SeededApp(0.97))

    assert resumed[0].verdicts == whole[0].verdicts


@pytest.mark.parametrize("rate", [0.85, 0.93, 0.97, 0.995])
@pytest.mark.parametrize(("bar", "n_max"), [(0.5, 30), (0.75, 60), (0.9, 120)])
def test_an_expected_rate_keeps_level_and_power_and_saves_trials_near_it(bar: float, n_max: int, rate: float) -> None:
    plain = optimal_design(bar, n_max, alpha=0.05, min_trials=10)
    found = optimal_design(bar, n_max, alpha=0.05, min_trials=10, expected=rate)

    assert found.characteristics(bar).prob_pass <= 0.05
    assert found.characteristics(bar).prob_fail <= 0.05
    for true in (bar + share * (1 - bar) for share in (0.2, 0.5, 0.8)):
        assert found.characteristics(true).prob_pass >= plain.characteristics(true).prob_pass - 0.03
    assert average_n(found, rate) <= average_n(plain, rate) * 1.012


def test_the_command_line_plans_from_a_run_and_runs_by_it(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text(ON_PATH, encoding="utf-8")
    (tmp_path / "app.py").write_text(APP, encoding="utf-8")
    run = ("run", "suite.yaml", "--app", "app:good", "--seed", "1")

    first = simeval(tmp_path, *run)
    plan = simeval(tmp_path, "plan", "suite.yaml", "--from", "last")
    second = simeval(tmp_path, *run, "--plan-from", "last")
    both = simeval(tmp_path, *run, "--plan-from", "last", "--samples", "50")
    again = simeval(tmp_path, *run, "--plan-from", "last", "--resume", "last")

    assert (first.returncode, plan.returncode, second.returncode) == (0, 0, 0)
    assert "if 98" in plan.stdout
    assert (both.returncode, again.returncode) == (2, 2)
