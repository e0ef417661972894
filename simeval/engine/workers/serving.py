"""What `simeval worker` does: takes trials from a store, does them, and delivers, until it is told to stop."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import anyio
import anyio.to_thread

from simeval.core.app_handler import ExampleHandler
from simeval.core.logs import log
from simeval.engine.executors.protocol import LEASE_SECONDS, decode_assignment, encode_delivery
from simeval.engine.flow.stop import StopSignal
from simeval.engine.run_context import EngineResources, RunContext
from simeval.engine.workers.store_workers import StoreAllowances, StoreWorkers
from simeval.engine.workers.trial_worker import TrialWorker, definition_of
from simeval.errors import DefinitionError
from simeval.store.opening import as_database
from simeval.store.owners import new_owner
from simeval.store.trial_queue import Claim, OfferedRun, TrialQueue
from simeval.suites.apps.named import name_of
from simeval.suites.scenario import ScenarioTest

T = TypeVar("T")

BEATS = 5  # signs of life in a lease
CLAIM_SECONDS = 0.03  # between claims
MOST_CLAIMED = 8  # trials at once, so that those who ask at the same time share them
LOOK_SECONDS = 0.5  # between looks for further runs


async def serve(
    context: RunContext,
    *,
    suite: Sequence[ScenarioTest],
    app_handler: ExampleHandler,
    lease_seconds: float,
    idle_seconds: float | None,
) -> None:
    """Work for the runs in a context's store. Raises DefinitionError and StoreError."""
    await context.models.check()
    database, elsewhere = as_database(context.store, "store"), context.shared.elsewhere
    if not isinstance(elsewhere, StoreWorkers):
        do = 'give "workers", by which the limits of models hold for all workers together'
        raise DefinitionError("executor", found=f"found {context.settings.executor!r}", do=do)
    elsewhere.limits.use(database)
    serving = Serving(
        shared=context.shared,
        suite=suite,
        app_handler=app_handler,
        queue=TrialQueue(database),
        limits=elsewhere.limits,
        stop=context.stop,
        lease_seconds=lease_seconds,
        idle_seconds=idle_seconds,
    )
    await serving.run()


@dataclass(slots=True, kw_only=True)
class Serving:
    """Works for every run of a queue that has this suite and this app.

    It has no more trials under way than the settings' concurrency. `idle_seconds` without one end it.
    """

    shared: EngineResources
    suite: Sequence[ScenarioTest]
    app_handler: ExampleHandler
    queue: TrialQueue
    limits: StoreAllowances
    stop: StopSignal
    lease_seconds: float = LEASE_SECONDS
    idle_seconds: float | None = None
    name: str = field(default_factory=new_owner)
    done: int = 0
    _runs: dict[str, TrialWorker | None] = field(default_factory=dict)  # None of those that it cannot work for
    _under_way: dict[int, anyio.CancelScope] = field(default_factory=dict)
    _open: ExitStack = field(default_factory=ExitStack)

    async def run(self) -> None:
        """Take trials until told to stop, then finish those under way; told to end, let go of them."""
        try:
            with self.stop.line, self._open:
                async with anyio.create_task_group() as beating:
                    beating.start_soon(self._beat)
                    async with anyio.create_task_group() as trials:
                        with self.stop.dealing:
                            await self._claim(lambda claim: trials.start_soon(self._work, claim))
                    beating.cancel_scope.cancel()
        finally:
            if self._under_way or self.stop.line.cancel_called:
                with anyio.CancelScope(shield=True), anyio.move_on_after(2):
                    await _in_thread(partial(self.queue.leave, self.name))

    async def _claim(self, begin: Callable[[Claim], object]) -> None:
        """Take trials, as many as there are places for."""
        next_look, idle_since = 0.0, anyio.current_time()
        while True:
            now = anyio.current_time()
            if now >= next_look:
                self._accept(await _in_thread(self.queue.offered_runs))
                next_look = now + LOOK_SECONDS
            free = min(MOST_CLAIMED, self.shared.settings.concurrency - len(self._under_way))
            ours = [run_id for run_id, worker in self._runs.items() if worker is not None]
            if free > 0 and ours:
                claim = partial(self.queue.claim, self.name, ours, most=free, lease_seconds=self.lease_seconds)
                for each in await _in_thread(claim):
                    self._under_way[each.token] = anyio.CancelScope()
                    self.shared.in_flight.acquire_nowait()
                    begin(each)
            if self._under_way:
                idle_since = now
            elif self.idle_seconds is not None and now - idle_since > self.idle_seconds:
                return
            await anyio.sleep(CLAIM_SECONDS)

    def _accept(self, offered: Sequence[OfferedRun]) -> None:
        """Make ready for the runs that are new."""
        app = self.app_handler if isinstance(self.app_handler, str) else name_of(self.app_handler)
        for run in offered:
            if run.run_id not in self._runs and run.app == app:
                self._runs[run.run_id] = self._worker(run)

    def _worker(self, run: OfferedRun) -> TrialWorker | None:
        try:
            worker = TrialWorker.of(
                self.shared,
                self.suite,
                self.app_handler,
                run_id=run.run_id,
                seed=run.seed,
                definition=definition_of(run.definition),
            )
        except DefinitionError as error:
            log.warning(f"this worker leaves a run alone: {error}")
            return None
        log.info("working for a run", run=run.run_id, worker=self.name)
        self.limits.look_again()
        return self._open.enter_context(worker)

    async def _work(self, claim: Claim) -> None:
        """Do a trial and deliver; nothing where it is not wanted any more."""
        worker = self._runs[claim.run_id]
        assert worker is not None
        scope = self._under_way[claim.token]
        try:
            with scope:
                delivery = encode_delivery(await worker.do(decode_assignment(claim.work)))
                deliver = partial(self.queue.deliver, self.name, claim.token, delivery)
                self.done += await _in_thread(deliver)
        finally:
            del self._under_way[claim.token]
            self.shared.in_flight.release()

    async def _beat(self) -> None:
        """Say again and again that this worker is alive; end the trials that are not wanted any more."""
        while True:
            await anyio.sleep(self.lease_seconds / BEATS)
            before = set(self._under_way)
            still = await _in_thread(partial(self.queue.renew, self.name, lease_seconds=self.lease_seconds))
            for token in before - still:
                if token in self._under_way:
                    self._under_way[token].cancel()


async def _in_thread(work: Callable[[], T]) -> T:
    return await anyio.to_thread.run_sync(work)
