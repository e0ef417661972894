"""A Ray actor: a worker of one run, and the one place that all take their calls from. Neither keeps results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from simeval.core.app_handler import ExampleHandler
from simeval.core.settings import Settings
from simeval.engine.executors import Assignment, Delivery
from simeval.engine.run_context import EngineResources, RemoteWorkers
from simeval.errors import DefinitionError
from simeval.extras.cluster.trial_worker import TrialWorker
from simeval.models.limits.buckets import Bucket, Buckets
from simeval.models.protocol.model import Model
from simeval.suites.scenario import ScenarioTest


@dataclass(frozen=True, slots=True, kw_only=True)
class RayTask:
    """All that an actor needs to work for a run."""

    run_id: str
    seed: int
    definition: Mapping[str, Any]
    suite: Sequence[ScenarioTest]
    app_handler: ExampleHandler
    judges: Sequence[str | Model]
    user: str | Model
    settings: Settings


class TrialActor:
    """A worker as an async actor: any number of calls at once, each of which is one trial."""

    def __init__(self, task: RayTask, elsewhere: RemoteWorkers) -> None:
        self._task, self._elsewhere = task, elsewhere
        self._worker: TrialWorker | None = None

    async def ready(self) -> str:
        """Prepare; return the reason if that is impossible."""
        task = self._task
        try:
            shared = EngineResources.of(task.judges, task.user, task.settings, self._elsewhere)
            self._worker = TrialWorker.of(
                shared,
                task.suite,
                task.app_handler,
                run_id=task.run_id,
                seed=task.seed,
                definition=task.definition,
            )
            await shared.models.check()
        except DefinitionError as error:
            return str(error)
        shared.models.open()
        return ""

    async def do(self, assignment: Assignment) -> Delivery:
        """Hold the conversation of a trial, and measure it."""
        assert self._worker is not None
        return await self._worker.do(assignment)


@dataclass(slots=True)
class LimitsActor:
    """The limits of models, which all actors of a run take from."""

    requests_per_minute: float | None
    tokens_per_minute: float | None
    _there: dict[str, tuple[Buckets, float]] = field(default_factory=dict)

    def take(self, account: str, wanted: int, tokens_each: float, correction: float) -> tuple[int, float]:
        """Take up to so many; return how many are granted and, if none is, after how many seconds to ask again."""
        now = monotonic()
        first = Buckets(Bucket(self.requests_per_minute, 1.0), Bucket(self.tokens_per_minute, 1.0))
        buckets, then = self._there.get(account, (first, now))
        granted, wait, left = buckets.take(wanted, tokens_each=tokens_each, correction=correction, after=now - then)
        self._there[account] = left, now
        return granted, wait
