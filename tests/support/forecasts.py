"""Forecasts for tests: of small scenarios, with models that nobody asks."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from simeval.core.setting_field import WritingStyleConfig
from simeval.core.settings import Settings
from simeval.engine.plans.cost_forecast import CostForecast, forecast
from simeval.engine.plans.scenario_plan import ScenarioPlan, make_plans
from simeval.evaluators.scores import SuccessRateEvaluator
from simeval.models.protocol.prompt_texts import all_prompts
from simeval.models.registry import Price
from simeval.scorers.llm.judge import RubricScorer
from simeval.suites.scenario import Expectation, ScenarioTest
from tests.support.doubles import no_caller

PLAIN = Settings(writing_style_config=WritingStyleConfig(enabled=False), early_stopping=False)
TOKEN = "x" * 4
BAR = SuccessRateEvaluator(min_proportion=0.9)


def scenario(title: str = "One", *, behaviours: Sequence[str] = ("it greets",), **fields: Any) -> ScenarioTest:
    then = [Expectation(expected_behavior=each, evaluator=BAR) for each in behaviours]
    base = ScenarioTest(title=title, given="A new user", when="They ask for help", then=then, sample_size=40)
    return replace(base, **fields)


def plans(*scenarios: ScenarioTest, settings: Settings = PLAIN) -> tuple[ScenarioPlan, ...]:
    def scorer(expectation: Expectation) -> RubricScorer:
        return RubricScorer((), None, expectation.expected_behavior or "")  # type: ignore[arg-type]

    return make_plans(scenarios, settings=settings, seed=1, judge_scorer=scorer, callers=no_caller)


def forecast_of(
    *scenarios: ScenarioTest,
    settings: Settings = PLAIN,
    judges: Sequence[str] = ("judge/a",),
    app_model: str | None = None,
    prices: Callable[[str], Price | None] = lambda _: None,
) -> CostForecast:
    made = plans(*scenarios, settings=settings)
    return forecast(
        made,
        settings,
        prompts=all_prompts(),
        judges=judges,
        user_model="user/u",
        app_models=[app_model],
        prices=prices,
    )
