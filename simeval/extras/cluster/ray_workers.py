"""Ray actors that work for a run. A trial is one call; a lost actor costs its calls in progress, and is replaced."""

import os
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread

from simeval.core.logs import log
from simeval.core.setting_field import RayExecutor
from simeval.core.settings import Settings
from simeval.engine.executors import Assignment, Delivery, TrialLost, Workers
from simeval.engine.plans.resume import shared_out
from simeval.engine.run_context import RemoteRun
from simeval.errors import DefinitionError, NoWorkers
from simeval.extras.cluster.ray_actor import LimitsActor, RayTask, TrialActor

SLOW_SECONDS = 30.0  # after which the wait for actors is reported
MOST_RESTARTS = 20  # of actors that could not be made ready, in a row


@dataclass(slots=True)
class RayAllowances:
    """The allowances that an actor gives; any number without one."""

    actor: Any = None

    async def take(self, account: str, wanted: int, *, tokens_each: float, correction: float) -> tuple[int, float]:
        """Take up to so many; return how many are granted and, if none is, after how many seconds to ask again."""
        if self.actor is None:
            return wanted, 0.0
        found: tuple[int, float] = await self.actor.take.remote(account, wanted, tokens_each, correction)
        return found


@dataclass(frozen=True, slots=True)
class RayWorkers:
    """The actors of a Ray cluster."""

    options: RayExecutor
    limits: RayAllowances = field(default_factory=RayAllowances)

    def check(self, settings: Settings) -> None:
        """Raise DefinitionError if Ray is not installed, or if a setting would not work for actors."""
        _ray()
        if settings.cache:
            raise DefinitionError("cache", found="actors keep no cache of replies", do="leave it out")

    @asynccontextmanager
    async def open(self, run: RemoteRun) -> AsyncIterator[Workers]:
        """Have actors until this is left. Raises DefinitionError if they cannot be prepared."""
        ray = _ray()
        async with self._connected(ray):
            crew = _Crew(ray, self._maker(ray, run), -(-run.shared.settings.concurrency // self.options.actors))
            try:
                async with anyio.create_task_group() as tasks:
                    crew.join = lambda: tasks.start_soon(crew.recruit)
                    for _ in range(self.options.actors):
                        crew.add()
                    tasks.start_soon(crew.tell_if_slow)
                    await crew.first_is_ready()
                    yield crew
                    tasks.cancel_scope.cancel()
            finally:
                self.limits.actor = None
                crew.dismiss()

    @asynccontextmanager
    async def _connected(self, ray: Any) -> AsyncIterator[None]:
        """Be connected until this is left, in one thread all the time.

        The system ends the processes Ray starts here as soon as their thread has ended. It is not the event loop's:
        there Ray would replace the handlers of signals.
        """
        is_there, is_over = anyio.Event(), threading.Event()

        def hold() -> None:
            is_ours = not ray.is_initialized()
            if is_ours:
                self._connect(ray)
            try:
                anyio.from_thread.run_sync(is_there.set)
                is_over.wait()
            finally:
                if is_ours:
                    ray.shutdown()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(anyio.to_thread.run_sync, hold)
            await is_there.wait()
            try:
                yield
            finally:
                is_over.set()

    def _connect(self, ray: Any) -> None:
        """Connect to the cluster, or start one here that has room for all actors. Raises DefinitionError."""
        options: dict[str, Any] = {"log_to_driver": False, "runtime_env": dict(self.options.runtime_env) or None}
        here = {"num_cpus": max(1, ceil(self.options.actors * self.options.num_cpus)), "include_dashboard": False}
        try:
            if self.options.address is None and not os.environ.get("RAY_ADDRESS"):
                ray.init(**options, **here)
            else:
                ray.init(address=self.options.address or "auto", **options)
        except (ConnectionError, RuntimeError, ValueError) as error:
            found = f"Ray cannot be reached ({str(error).splitlines()[0]})"
            raise DefinitionError("executor", found=found, do="check its address, or leave it out") from None

    def _maker(self, ray: Any, run: RemoteRun) -> Callable[[], Any]:
        """Return a maker of actors for a run."""
        shared, record = run.shared, run.record
        bounded = shared_out(shared.settings)
        if bounded.requests_per_minute is not None or bounded.tokens_per_minute is not None:
            limiter = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)(LimitsActor)
            self.limits.actor = limiter.remote(bounded.requests_per_minute, bounded.tokens_per_minute)
        task = RayTask(
            run_id=record.run_id,
            seed=record.seed,
            definition=record.definition,
            suite=list(run.suite),
            app_handler=run.app_handler,
            judges=[shared.models.given(each) for each in shared.panel],
            user=shared.models.given(shared.user),
            settings=replace(shared.settings, store=None, resume=None, shard=None, executor="local"),
        )
        each = ray.remote(
            num_cpus=self.options.num_cpus,
            num_gpus=self.options.num_gpus,
            max_concurrency=shared.settings.concurrency,
        )(TrialActor)
        try:
            packed = ray.put(task)
        except TypeError as error:
            do = "use an app and scorers that can be imported, and models by their names"
            raise DefinitionError("executor", found=f"the suite cannot be sent to actors ({error})", do=do) from error
        return lambda: each.remote(packed, RayWorkers(self.options, self.limits))


@dataclass(slots=True, eq=False)
class _Member:
    """An actor, and how many trials it has under way."""

    actor: Any
    load: int = 0


@dataclass(slots=True)
class _Crew:
    """The actors of a run: trials go to the one that has the fewest, at most `most_each`."""

    ray: Any
    make: Callable[[], Any]
    most_each: int
    join: Callable[[], object] = lambda: None
    _members: list[_Member] = field(default_factory=list)
    _changed: anyio.Event = field(default_factory=anyio.Event)
    _problem: str = ""
    _failed: int = 0
    _coming: int = 0

    async def do(self, assignment: Assignment) -> Delivery:
        member = await self._free()
        member.load += 1
        call = member.actor.do.remote(assignment)
        try:
            delivery: Delivery = await call
        except anyio.get_cancelled_exc_class():
            self.ray.cancel(call)
            raise
        except self.ray.exceptions.RayActorError as error:
            self._replace(member)
            raise TrialLost from error
        finally:
            member.load -= 1
            self._tell()
        return delivery

    def add(self) -> None:
        """Have one more actor made ready."""
        self._coming += 1
        self.join()

    async def recruit(self) -> None:
        """Prepare an actor, and add it; one that cannot take this run's trials is dropped."""
        member = _Member(self.make())
        try:
            problem = await member.actor.ready.remote()
        except self.ray.exceptions.RayActorError as error:
            self._failed += 1
            said = str(error).splitlines()[0]
            log.warning("a Ray actor ended before it was ready; another one is started", problem=said)
            if self._failed < MOST_RESTARTS:
                self.add()
            else:
                self._problem = f"no Ray actor can be started: {said}"
        else:
            if problem:
                self._problem = problem
                log.warning("a Ray actor cannot take this run's trials; the others go on without it", problem=problem)
                self.ray.kill(member.actor)
            else:
                self._failed = 0
                self._members.append(member)
        self._coming -= 1
        self._tell()

    async def first_is_ready(self) -> None:
        """Wait for the first actor. Raises DefinitionError if none can be prepared."""
        while not self._members:
            if self._problem and not self._coming:
                raise DefinitionError("executor", found=self._problem.rstrip("."), do="see the logs of Ray")
            await self._changed.wait()

    async def tell_if_slow(self) -> None:
        """Say once that no actor is there yet."""
        await anyio.sleep(SLOW_SECONDS)
        if not self._members:
            log.warning("Ray has no room for an actor yet; see `ray status`, or ask for less (num_cpus, num_gpus)")

    def dismiss(self) -> None:
        """End all actors."""
        for member in self._members:
            self.ray.kill(member.actor)

    async def _free(self) -> _Member:
        while True:
            member = min(self._members, key=lambda each: each.load, default=None)
            if member is not None and member.load < self.most_each:
                return member
            if member is None and self._problem and not self._coming:
                raise NoWorkers(self._problem)
            await self._changed.wait()

    def _replace(self, member: _Member) -> None:
        if member in self._members:
            self._members.remove(member)
            log.warning("a Ray actor is lost, and its trials under way are missing; another one is started")
            self.add()

    def _tell(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


def _ray() -> Any:
    try:
        import ray
        import ray.exceptions
    except ImportError as error:
        do = "install it: pip install ray"
        raise DefinitionError("executor", found="Ray is not installed", do=do) from error
    return ray
