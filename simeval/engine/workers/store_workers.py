"""A run's end of the queue in its store, from which `simeval worker` takes trials on any machine."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

import anyio
import anyio.to_thread

from simeval.core.journal import Journal
from simeval.core.logs import log
from simeval.core.settings import Settings
from simeval.engine.executors.protocol import (
    Assignment,
    Delivery,
    TrialLost,
    Workers,
    decode_delivery,
    encode_assignment,
)
from simeval.engine.plans.shards import shared_out
from simeval.engine.run_context import RemoteRun
from simeval.errors import DefinitionError, StoreError
from simeval.store.allowances import AllowanceBook
from simeval.store.database import Database
from simeval.store.opening import as_database
from simeval.store.trial_queue import Exchanged, Offer, TrialQueue, clear

EXCHANGE_SECONDS = 0.03  # between looks at the queue
LONELY_SECONDS = 15.0  # after which it is told that nobody takes the trials
TOKEN_BITS = 62


@dataclass(slots=True)
class StoreAllowances:
    """The allowances of a store; any number before it is open, and where it was found that there is no limit."""

    _book: AllowanceBook | None = None
    _unlimited: set[str] = field(default_factory=set)

    def use(self, database: Database) -> AllowanceBook:
        """Take allowances from a store from now on."""
        self._book = AllowanceBook(database)
        return self._book

    def look_again(self) -> None:
        """Look again whether there are limits: a run may have brought some."""
        self._unlimited.clear()

    async def take(self, account: str, wanted: int, *, tokens_each: float, correction: float) -> tuple[int, float]:
        """Take up to so many; give how many are granted and, where none is, after how many seconds to ask again."""
        if self._book is None or account in self._unlimited:
            return wanted, 0.0
        taking = partial(self._book.take, account, wanted, tokens_each=tokens_each, correction=correction)
        found = await anyio.to_thread.run_sync(taking)
        if found is None:
            self._unlimited.add(account)
            return wanted, 0.0
        return found


@dataclass(frozen=True, slots=True)
class StoreWorkers:
    """Those who take trials from the run's own store, which is a PostgreSQL server."""

    limits: StoreAllowances = field(default_factory=StoreAllowances)

    def check(self, settings: Settings, store: Journal | None) -> None:
        """Raise DefinitionError where the store is no server, or where a setting would not hold for workers."""
        TrialQueue(as_database(store, "executor"))
        if settings.cache:
            raise DefinitionError("cache", found="workers keep no cache of replies", do="leave it out")

    @asynccontextmanager
    async def open(self, run: RemoteRun) -> AsyncIterator[Workers]:
        """Exchange trials with workers until this is left; what is in the queue then is taken back."""
        database = as_database(run.store, "executor")
        queue = _RunQueue(run.record.run_id, TrialQueue(database))
        await anyio.to_thread.run_sync(partial(self._announce, run, database))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(queue.exchange)
            try:
                yield queue
            finally:
                tasks.cancel_scope.cancel()
                with anyio.CancelScope(shield=True), anyio.move_on_after(5):
                    await queue.close()

    def _announce(self, run: RemoteRun, database: Database) -> None:
        """Say how much workers may ask of each model together."""
        bounded = shared_out(run.shared.settings)
        self.limits.use(database).announce(
            run.shared.models.accounts,
            requests_per_minute=bounded.requests_per_minute,
            tokens_per_minute=bounded.tokens_per_minute,
        )


@dataclass(slots=True)
class _Waiting:
    """Who waits for a trial."""

    came: anyio.Event = field(default_factory=anyio.Event)
    delivery: Delivery | None = None


@dataclass(slots=True)
class _RunQueue:
    """The trials of one run that are offered, by their tokens, and what is to be told at the next exchange."""

    run_id: str
    queue: TrialQueue
    _waiting: dict[int, _Waiting] = field(default_factory=dict)
    _offers: list[Offer] = field(default_factory=list)
    _withdrawn: list[int] = field(default_factory=list)
    _settled: list[int] = field(default_factory=list)
    _error: StoreError | None = None
    _lonely_since: float | None = None
    _was_taken: bool = False

    async def do(self, assignment: Assignment) -> Delivery:
        token, waiting = secrets.randbits(TOKEN_BITS), _Waiting()
        self._waiting[token] = waiting
        self._offers.append(Offer(assignment.trial, token, encode_assignment(assignment)))
        try:
            await waiting.came.wait()
        except anyio.get_cancelled_exc_class():
            self._withdrawn.append(token)
            raise
        finally:
            del self._waiting[token]
        if self._error is not None:
            raise self._error.with_traceback(None)
        if waiting.delivery is None:
            raise TrialLost
        return waiting.delivery

    async def exchange(self) -> None:
        """Look at the queue again and again, while there is anything to look for."""
        while self._error is None:
            await anyio.sleep(EXCHANGE_SECONDS)
            if not (self._waiting or self._offers or self._withdrawn or self._settled):
                continue
            try:
                self._take(await self._exchanged())
            except StoreError as error:
                self._error = error
                for waiting in self._waiting.values():
                    waiting.came.set()

    async def _exchanged(self) -> Exchanged:
        offers, self._offers = self._offers, []
        withdrawn, self._withdrawn = self._withdrawn, []
        settled, self._settled = self._settled, []
        told = partial(self.queue.exchange, self.run_id, offers=offers, withdrawn=withdrawn, settled=settled)
        return await anyio.to_thread.run_sync(told)

    def _take(self, found: Exchanged) -> None:
        for token in found.lost:
            self._tell(token, None)
        for token, text in found.delivered.items():
            self._tell(token, decode_delivery(text))
        self._tell_of_loneliness(found)

    def _tell(self, token: int, delivery: Delivery | None) -> None:
        self._settled.append(token)
        waiting = self._waiting.get(token)
        if waiting is not None and not waiting.came.is_set():
            waiting.delivery = delivery
            waiting.came.set()

    def _tell_of_loneliness(self, found: Exchanged) -> None:
        """Say once that nobody takes the trials there are."""
        now = anyio.current_time()
        if found.unclaimed < len(self._waiting):
            self._was_taken, self._lonely_since = True, None
        elif self._lonely_since is None:
            self._lonely_since = now
        elif now - self._lonely_since > LONELY_SECONDS and not self._was_taken:
            self._was_taken = True
            log.warning(
                "no worker takes this run's trials; start one by the run's command with `worker` in place of `run`"
            )

    async def close(self) -> None:
        """Take back what is in the queue."""
        if self._error is None:
            await anyio.to_thread.run_sync(clear, self.queue.database, self.run_id)
