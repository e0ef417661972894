"""Runs that stop early for tests: their engine, their scenario, and an app of a known quality."""

import json
from random import Random
from typing import Any

import anyio
import anyio.lowlevel

from simeval import (
    Engine,
    Expectation,
    ProportionEvaluator,
    ScenarioTest,
    scorer,
)
from simeval.core.setting_field import WritingStyleConfig
from simeval.engine.plans.scenario_plan import make_plans
from simeval.models.protocol.model import Request
from simeval.scorers.base import as_scorer
from simeval.testing import ScriptedModel
from tests.support.doubles import no_caller

AT_90 = ProportionEvaluator(min_proportion=0.9)


async def _speak_seed(request: Request) -> str:
    return json.dumps({"message": str(request.seed), "status": "satisfied"})


def engine(**options: Any) -> Engine:
    """Return an engine whose user says the trial's seed and leaves; from the first trial on a verdict may end it.

    It ends where no pass can be reached any more: by tables that are known by heart, such as 0 misses in 45 of 100.
    """
    defaults: dict[str, Any] = {"seed": 3, "store": None, "writing_style_config": WritingStyleConfig(enabled=False)}
    defaults |= {"min_trials": 1, "stop": "reachable"}
    return Engine("offline/judge", ScriptedModel(_speak_seed), **{**defaults, **options})


class SeededApp:
    """Meets its user with a fixed chance that depends on the trial alone; a failure takes longer."""

    def __init__(self, quality: float) -> None:
        self.quality, self.started = quality, 0

    async def __call__(self, message: str, state: dict[str, Any]) -> str:
        self.started += 1
        good = Random(message).random() < self.quality
        await anyio.sleep(0.001 if good else 0.004)
        return "good" if good else "bad"


@scorer
async def is_good(output: str) -> bool:  # in no thread: a third of the CPU of these runs
    return output == "good"


@scorer
async def is_said(output: str) -> bool:
    return bool(output)


def scenario(*expectations: Expectation, title: str = "s", sample_size: int = 100) -> ScenarioTest:
    """Return a scenario; without expectations, that 90% of the answers are good."""
    return ScenarioTest(
        title=title,
        given="someone",
        when="asks",
        then=list(expectations) or Expectation(scorer=is_good, evaluator=AT_90),
        sample_size=sample_size,
    )


def trial_seeds(made: Engine, test: ScenarioTest) -> list[int]:
    """Return the seeds of a scenario's trials, in the order dealt."""
    seed = made.settings.seed
    assert seed is not None
    [plan] = make_plans([test], settings=made.settings, seed=seed, judge_scorer=as_scorer, callers=no_caller)
    return [plan.trial(index).seed for index in range(plan.sample_size)]
