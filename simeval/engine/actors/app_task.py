"""The task that the handler's code has in one conversation.

    conversation ── work ──► [task of the app: turn 1, turn 2, ... close] ── answer or error ──► conversation

It is a task of asyncio's, and no child of the engine's scopes: a context the code enters at one turn and keeps for the
next (a client of MCP, a task group) stays its own, and if it damages its task (cancels it, raises GeneratorExit) only
that conversation ends.
"""

import asyncio
import ctypes
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import anyio
from anyio._backends._asyncio import _task_states  # anyio itself can only leave a scope that one still has

from simeval.core.capture import LeftError, interrupt_of, is_interrupt
from simeval.core.frames import OWN, rank_of
from simeval.core.logs import warn_all
from simeval.engine.actors.blocking import Stepped
from simeval.engine.actors.streaming import WHO

T = TypeVar("T")
Work = Callable[[], Awaitable[Any]]

GRACE_SECONDS = 2.0  # in which cancelled code must end, or a conversation be closed
TRIES = 4  # times that it is cancelled meanwhile


@dataclass(slots=True)
class LeftBehind:
    """Counts the tasks of one app that did not end when they were cancelled."""

    count: int = 0

    def take(self, task: asyncio.Task[None]) -> None:
        """Leave a task to itself, so that neither the run nor the event loop waits for it."""
        self.count += 1
        asyncio.tasks._unregister_task(task)
        task._log_destroy_pending = False  # type: ignore[attr-defined]
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(task))  # to free it would run its code once more, perhaps for ever
        if self.count == 1:
            warn_all(
                f"the app's code did not end within {GRACE_SECONDS:g} s of being cancelled{_place(task)}: it is left "
                "behind, and its trial given up; let it pass CancelledError on: `except Exception` for a bare `except`"
            )

    @property
    def notes(self) -> tuple[str, ...]:
        """Return how many there were, in a sentence; empty without any."""
        if not self.count:
            return ()
        return (f"the app's code did not end when it was cancelled, {self.count} times, and was left behind",)


@dataclass(slots=True)
class AppTask:
    """The task of one conversation; it begins with the first work, and ends with `close`."""

    left: LeftBehind
    is_left: bool = False
    _task: asyncio.Task[None] | None = None
    _next: "asyncio.Future[Work | None] | None" = None
    _done: "asyncio.Future[Any] | None" = None
    _is_over: bool = False

    async def do(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do work in the task. Raises the errors of the work, and LeftError if something else ended the task.

        Where this is cancelled the work is, too, and is given up if it goes on.
        """
        loop = asyncio.get_running_loop()
        self._done = loop.create_future()
        if self._task is None:
            self._task = loop.create_task(self._run(work))
        elif self._next is None or self._next.done():  # by a scope that the code has not left, or its own hand
            raise LeftError(WHO, asyncio.CancelledError("its own task, between two turns"))
        else:
            self._next.set_result(work)
        try:
            made = await self._done
        except asyncio.CancelledError:
            await self._end(self._task)
            raise
        if isinstance(made, BaseException):
            raise made
        return made  # type: ignore[no-any-return]

    async def close(self, last: Work | None) -> None:
        """Do the last work, if there is any, leave the scopes that the code has kept, and end the task."""
        if self._is_over or (self._task is None and last is None):
            return
        if last is None and self._task is not None and self._task not in _task_states:  # it has never entered a scope
            self._finish()
            return
        with anyio.CancelScope(shield=True):
            if last is not None:
                with anyio.move_on_after(GRACE_SECONDS):
                    await self.do(last)
            self._finish()
            if self._task is not None and not self._task.done() and not self.is_left:
                await self._end(self._task, is_closing=True)

    def _finish(self) -> None:
        """Let the task end by itself."""
        self._is_over = True
        if self._next is not None and not self._next.done():
            self._next.set_result(None)

    async def _run(self, work: Work | None) -> None:
        loop, made = asyncio.get_running_loop(), None
        try:
            while work is not None and not self._is_over:
                try:
                    made = await work()
                except BaseException as error:
                    if not isinstance(error, Exception):
                        raise
                    made = error
                self._next = loop.create_future()
                self._give(made)
                made, work = None, await self._next
        except BaseException as error:
            self._give(_as_left(error))
            if is_interrupt(error):
                raise interrupt_of(error) from error
        finally:
            if kept := _leave_scopes():
                await asyncio.wait(kept)

    def _give(self, made: Any) -> None:
        if self._done is not None and not self._done.done():
            self._done.set_result(made)

    async def _end(self, task: asyncio.Task[None], *, is_closing: bool = False) -> None:
        """Cancel the task, unless it ends by itself as it `is_closing`; leave it behind if it goes on.

        If this call itself is cancelled by force, it leaves the task behind at once.
        """
        self._is_over = True
        try:
            with anyio.CancelScope(shield=True):
                for attempt in range(TRIES):
                    if not is_closing or attempt:
                        task.cancel()
                    await asyncio.wait([task], timeout=GRACE_SECONDS / TRIES)
                    if task.done():
                        return
        finally:
            if not task.done():
                self.is_left = True
                self.left.take(task)


def _place(task: asyncio.Task[None]) -> str:
    """Return where in the user's own code a task waits, as " (file:line in function)"; empty if unknown."""
    found, at = "", cast("Any", task.get_coro())
    while at is not None:
        kind = next((each for each in ("cr", "gi", "ag") if hasattr(at, f"{each}_frame")), "")
        frame = getattr(at, f"{kind}_frame", None)
        if frame is not None and rank_of(frame.f_code.co_filename) == OWN:
            found = f" ({Path(frame.f_code.co_filename).name}:{frame.f_lineno} in {frame.f_code.co_name})"
        if frame is not None and frame.f_code is Stepped.__await__.__code__:
            at = frame.f_locals["self"].awaited
        else:
            at = getattr(at, "gi_yieldfrom" if kind == "gi" else f"{kind}_await", None)
    return found


def _leave_scopes() -> set[asyncio.Task[Any]]:
    """Leave the scopes of anyio that this task has entered and kept, the innermost first; return the tasks in them."""
    task = asyncio.current_task()
    state = None if task is None else _task_states.get(task)
    found: set[asyncio.Task[Any]] = set()
    while state is not None and (scope := state.cancel_scope) is not None:
        scope.cancel()
        found |= _tasks_in(scope)
        scope.__exit__(None, None, None)
    return found - {cast("asyncio.Task[Any]", task)}


def _tasks_in(scope: Any) -> set[asyncio.Task[Any]]:
    """Return the tasks in a scope of anyio, and in those within it."""
    return {*scope._tasks}.union(*map(_tasks_in, scope._child_scopes))


def _as_left(error: BaseException) -> BaseException:
    """Return the end of a task as an error of its conversation, but for an interrupt and errors that end the run."""
    if is_interrupt(error):
        return interrupt_of(error)
    return error if isinstance(error, Exception) else LeftError(WHO, error)
