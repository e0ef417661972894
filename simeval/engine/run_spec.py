"""The specification of a run: the source of its conversations, its conclusions, and their cost."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from simeval.engine.actors.targets import Target
from simeval.engine.executors.executor import Executor
from simeval.engine.flow.demand import Demand
from simeval.engine.pipeline import Conclusion
from simeval.engine.plans.cost_forecast import CostForecast, ExperimentForecast
from simeval.engine.plans.resume import RestoredTrials
from simeval.engine.plans.scenario_plan import RunPlan
from simeval.engine.plans.shards import ShardPlan
from simeval.results.suite import RunRecord
from simeval.store.journal import RunResult

R = TypeVar("R", bound=RunResult)


Forecast = CostForecast | ExperimentForecast


OpenExecutor = Callable[  # of the run, the demand on it, and the known results
    [RunRecord, Demand, RestoredTrials], AbstractAsyncContextManager[Executor]
]


RECORDED = "what was recorded"  # the name of the app if there is none


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec(Generic[R]):
    """The specification of a run: the source of its conversations, its conclusions, and their cost.

    Without a `target` the answers are the recorded ones. `roles` are those that models play besides the app, each with
    its model's name; `fields` are further ones of the run's record. `part` is the shard of a suite that the plans are.
    `kind`, `summary`, `preview` and `requirements`, each with a description of a pass, are for the log. If `quick`,
    scores cost nothing and are counted before they are stored. `ranks` order the trials; `warnings` are added to those
    of the plans.
    """

    kind: str
    summary: Mapping[str, Any]
    plans: Sequence[RunPlan]
    ranks: Sequence[int]
    target: Target | None
    roles: Sequence[tuple[str, str]]
    forecast: Callable[..., Forecast]  # of `canaries`
    executor: OpenExecutor
    conclusion: Callable[..., Conclusion[R]]  # of `demand`, `on_trial` and `known`
    preview: Callable[[Any], str] = str  # of the forecast
    requirements: Mapping[tuple[str, str], int] = field(default_factory=dict)
    user: str = ""
    part: ShardPlan | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    quick: bool = False
    warnings: Sequence[str] = ()
