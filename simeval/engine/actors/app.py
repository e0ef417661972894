"""The app under test: the user's handler, with a task of its own for each conversation.

    conversation ── work ──► [task of the app: turn 1, turn 2, ... close] ── answer or error ──► conversation

It is a task of asyncio's, and no child of the engine's scopes: a context the code enters at one turn and keeps for the
next (a client of MCP, a task group) stays its own, and if it damages its task (cancels it, raises GeneratorExit) only
that conversation ends.
"""

import asyncio
import ctypes
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext
from copy import copy, deepcopy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar, cast

import anyio
from anyio._backends._asyncio import _task_states  # anyio itself can only leave a scope that one still has

from simeval.core.app_handler import ExampleHandler
from simeval.core.capture import (
    OWN,
    Caught,
    LeftError,
    attempt,
    capture,
    guarded,
    guarded_call,
    interrupt_of,
    is_interrupt,
    place_of,
    rank_of,
)
from simeval.core.conversation import (
    ATTACK,
    CONTEXT,
    FIRST_TEXT,
    PARTS,
    UNCHANGED,
    AppResponse,
    Beginning,
    ChatMessage,
    Message,
)
from simeval.core.logs import log, warn_all
from simeval.core.network import AnswerTooLarge, Bound
from simeval.core.serialization import opened
from simeval.core.waits import Waits, in_words
from simeval.engine.actors.app_line import AppLine, Blocking, Silence, stepped
from simeval.engine.actors.handler import NO_TOOLS, WHO, Handler, HeldHandler, Toolbox, joined, joined_in_thread
from simeval.engine.flow import TrialScope
from simeval.errors import AppError, AppNotAsked, ModelError, said_of
from simeval.models.caller import Caller
from simeval.models.protocol.prompts import ChatRequest
from simeval.scorers.base import in_thread
from simeval.suites.apps.protocol_app import ProtocolApp
from simeval.suites.apps.remote_app import AppFailure, Session, TimedResponse, of_exception

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
        self._done = None
        if isinstance(made, BaseException):
            try:
                raise made
            finally:
                del made
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
        if frame is not None and frame.f_code is stepped.__code__:
            at = frame.f_locals["awaited"]
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


def model_handler(caller: Caller, *, timeout_seconds: float | None = None) -> Callable[..., Any]:
    """Return a handler whose app is a language model that gets the whole history; its state is the trial's seed.

    Each call may take `timeout_seconds` from when it is the model's turn. Raises ModelError.
    """

    async def handle(messages: list[ChatMessage], state: int) -> TimedResponse:
        request = ChatRequest(history=messages, seed=state, timeout_seconds=timeout_seconds)
        try:
            made = await caller.completed(request)
        except ModelError as error:
            if error.kind == "timeout":
                error.problem += "; with fewer at once it may answer in time (--app-concurrency)"
            raise
        ended = "length" if made.is_cut else "content_filter" if made.is_filtered else ""
        metadata: dict[str, Any] = {"finish_reason": ended} if ended else {}
        if made.first_text_seconds is not None:
            metadata[FIRST_TEXT] = made.first_text_seconds
        return TimedResponse(made.text, metadata=metadata, seconds=made.seconds or 0.0)

    return handle


APP = "the app"  # its name in waits
Alteration = Callable[["AppSession", Message], Awaitable[Message]]  # answers a message, and may ask the app first


@dataclass(frozen=True, slots=True)
class AlteredApp:
    """An app under another name, of which every turn is answered by an alteration."""

    name: str
    app: ExampleHandler
    alter: Alteration


@dataclass(slots=True)
class Memory:
    """The handler's own state of one conversation, passed back to it at its next turn."""

    state: Any


@dataclass(frozen=True, slots=True)
class App:
    """Answers the user's messages with the handler, one conversation at a time.

    A turn waits in the `line` until the app may be asked; that is not part of the latency. A plain function runs in a
    worker thread, at most as many at once as `threads` has tokens; one that never returns is abandoned there when its
    time is up. An app that `is_model` has its time in each call, from the beginning of its turn: waiting for others
    does not count; its first state is the trial's seed, and not an empty dict. Any other is watched for its `silence`
    at the first turn, and for `blocking` the event loop at each.
    """

    handler: Handler
    line: AppLine
    threads: anyio.CapacityLimiter
    timeout_seconds: float
    is_model: bool = False
    silence: Silence | None = None
    blocking: Blocking | None = None
    waits: Waits = field(default_factory=Waits)
    left: LeftBehind = field(default_factory=LeftBehind)
    alter: Alteration | None = None

    def first_state(self, seed: int) -> Any:
        """Return the state that the handler gets at the first turn of a trial."""
        if isinstance(self.handler.function, ProtocolApp):
            return Session().state()
        return seed if self.is_model else {}

    def open(
        self, beginning: Beginning, memory: Memory, scope: TrialScope, toolbox: Toolbox | None = None
    ) -> "AppSession":
        """Return a conversation with the app that goes on from a beginning, until `scope` ends."""
        held, task = HeldHandler(self.handler), AppTask(self.left)
        return AppSession(
            self,
            memory,
            scope,
            beginning.turns,
            _as_chat(*beginning.messages, system=beginning.system),
            toolbox,
            held,
            task,
        )

    async def answer(
        self, turn: int, call: Callable[[], Any], state: Any, scope: TrialScope, task: AppTask
    ) -> tuple[Message, Any]:
        """Answer one turn by a call of the handler, in its `task`, and return the state that it wants back.

        Raises AppError, AppNotAsked, ModelError.
        """
        before = _kept(state) if self.handler.may_block else None
        return await self.line.ask(partial(self._answered, turn, call, state, before, scope, task))

    async def _answered(
        self, turn: int, call: Callable[[], Any], state: Any, before: Any, scope: TrialScope, task: AppTask
    ) -> tuple[Message, Any]:
        """Ask the app once. Where it could not be asked, its state is as it was `before`."""
        started = datetime.now(UTC)
        uninterrupted = nullcontext() if self.handler.is_async else scope.uninterrupted()
        watched = nullcontext() if self.silence is None or self.silence.is_over else self.silence.asking()
        waited_for = nullcontext() if self.is_model else self.waits.during("answer", APP, f"turn {turn}")
        limit = anyio.move_on_after(
            None if self.is_model else self.timeout_seconds
        )  # asyncio's would break its shields
        with uninterrupted, watched, waited_for, limit:
            made = await capture(partial(self._timed, call, task))
        if limit.cancelled_caught:
            went_on = ", and its code did not end when it was cancelled" if task.is_left else ""
            raise AppError(turn, f"no answer within {in_words(self.timeout_seconds)} (app_timeout_seconds){went_on}")
        if isinstance(made, Caught):
            if self.is_model and isinstance(made.error, ModelError):
                raise made.error
            failed = _failed(turn, made.error)
            if isinstance(failed, AppNotAsked):
                _restore(state, before)
            try:
                raise failed from made.error
            finally:  # errors that their own frames name would keep the app's until garbage is collected
                del failed, made
        returned, seconds = made
        if isinstance(returned, TimedResponse):
            seconds = returned.seconds
        elif seconds > self.timeout_seconds:  # it held up the event loop, so that nothing could end it in time
            raise AppError(turn, f"it took {seconds:.1f} seconds, more than {self.timeout_seconds:g}, without awaiting")
        response, state = _response(turn, returned, state, self.handler)
        if self.silence is not None:
            self.silence.has_answered = True
        answer = Message(
            role="assistant",
            content=response.response,
            started=started,
            seconds=seconds,
            tool_calls=tuple(map(opened, response.tool_calls or ())),
            metadata=opened(_metadata(response)),
        )
        return answer, state

    async def _timed(self, call: Callable[[], Any], task: AppTask) -> tuple[Any, float]:
        if self.handler.is_async:
            return await self._apart(call, task)
        timed = partial(_timed_call, call)
        returned, seconds = await in_thread(timed, self.threads)
        if inspect.isawaitable(returned) or inspect.isasyncgen(returned):
            returned, more = await self._apart(lambda: returned, task)
            seconds += more
        return returned, seconds

    def _apart(self, call: Callable[[], Any], task: AppTask) -> Awaitable[tuple[Any, float]]:
        """Return the answer to a call with its seconds; code of others is in the task of the conversation."""
        work = partial(self._timed_answer, call)
        return task.do(work) if self.handler.is_foreign and not self.is_model else work()

    async def _timed_answer(self, call: Callable[[], Any]) -> tuple[Any, float]:
        """Await or stream the answer, and return it with the seconds it took."""
        clock = perf_counter()
        answer = call()
        awaited: Awaitable[Any] = (
            joined(cast("AsyncGenerator[Any, Any]", answer)) if inspect.isasyncgen(answer) else answer
        )
        returned = await guarded(awaited if self.blocking is None else stepped(awaited, self.blocking), WHO)
        return returned, perf_counter() - clock


@dataclass(slots=True)
class AppSession:
    """One conversation with an app: its number of turns, and its messages."""

    app: App
    memory: Memory
    scope: TrialScope
    turn: int
    history: list[ChatMessage]
    toolbox: Toolbox | None
    held: HeldHandler
    task: AppTask
    _before: Any = None  # the state before the last turn of an attacker, who may take it back

    async def answer(self, message: Message) -> Message:
        """Answer a message of the user's. Raises AppError if the app fails at this turn.

        Raises ModelError if the app is a model that could not be asked.
        """
        return await (self.asked(message) if self.app.alter is None else self.app.alter(self, message))

    async def asked(self, message: Message) -> Message:
        """Answer as `answer` does, without any alteration."""
        self.turn += 1
        if ATTACK in message.metadata:
            self._take_back(message)
        self.history += _as_chat(message)
        tools = self.toolbox.tools if self.toolbox else NO_TOOLS
        call = partial(self.held.call, self.history, self.memory.state, tools)
        answer, self.memory.state = await self.app.answer(self.turn, call, self.memory.state, self.scope, self.task)
        if self.toolbox:
            answer = replace(answer, tool_calls=self.toolbox.taken(answer.tool_calls))
        self.history.append({"role": "assistant", "content": answer.content})
        return answer

    def _take_back(self, message: Message) -> None:
        """Let the app forget its last turn, if a message replaces it: as far as the app can forget."""
        if message.metadata[ATTACK] == "instead":
            del self.history[-2:]
            self.memory.state = self._before
        copied = attempt(partial(deepcopy, self.memory.state))
        self._before = self.memory.state if isinstance(copied, Caught) else copied

    def told(self, message: Message, answer: Message) -> Message:
        """Take a message and an answer that are given; the app is not asked, and finds them in the history."""
        self.turn += 1
        self.history += _as_chat(message, answer)
        return answer

    async def leave(self) -> None:
        """Let the app close its resources for this conversation, which is over; a failure costs no trial."""
        made = await capture(self._left)
        if isinstance(made, Caught):
            log.warning("an app's conversation could not be closed", error=f"{made.error!r:.200}")

    async def _left(self) -> None:
        if self.app.handler.leave is not None:
            await self.app.handler.leave(self.memory.state)
        await self.task.close(self.held.closing(self.memory.state))


def _failed(turn: int, error: Exception) -> AppError | AppNotAsked:
    """Return how a turn ended that raised an error: the app failed, or could not be asked."""
    is_told = isinstance(error, (AppFailure, LeftError, AnswerTooLarge))
    said = str(error) if is_told else said_of(error)
    said = said if isinstance(error, AppFailure) else said + place_of(error)
    failure = error if isinstance(error, AppFailure) else of_exception(error, said)
    if failure.outcome == "failed":
        return AppError(turn, said)
    return AppNotAsked(turn, said, outcome=failure.outcome, retry_after=failure.retry_after)


def _kept(state: Any) -> Any:
    """Return a copy of a state of dicts and lists, two levels deep: deep enough for a history, and cheap."""
    if isinstance(state, dict):
        return {name: copy(value) if isinstance(value, (dict, list)) else value for name, value in state.items()}
    return None


def _restore(state: Any, before: Any) -> None:
    """Put a state back as it was before a turn at which the app could not be asked."""
    if before is not None:
        state.clear()
        state.update(_kept(before))


def _timed_call(call: Callable[[], Any]) -> tuple[Any, float]:
    def called() -> Any:
        returned = call()
        return joined_in_thread(returned) if inspect.isgenerator(returned) else returned

    clock = perf_counter()
    returned = guarded_call(called, WHO)
    return returned, perf_counter() - clock


def _as_chat(*messages: Message, system: str = "") -> list[ChatMessage]:
    said: list[ChatMessage] = [
        {"role": message.role, "content": message.metadata.get(PARTS, message.content)} for message in messages
    ]
    return [{"role": "system", "content": system}, *said] if system else said


def _metadata(response: AppResponse) -> Mapping[str, Any]:
    return response.metadata if response.context is None else {**response.metadata, CONTEXT: response.context}


def _response(turn: int, returned: Any, state: Any, handler: Handler) -> tuple[AppResponse, Any]:
    """Read a handler's result, and its state for the next turn."""
    if isinstance(returned, str):
        returned = AppResponse(returned)
    else:
        returned = AppResponse(*returned) if isinstance(returned, tuple) and len(returned) == 2 else returned
        if problem := _problem_of(returned):
            raise AppError(turn, f"{handler.named} {problem}")
    try:
        Bound().passed_text(returned.response)
    except AnswerTooLarge as error:
        raise _failed(turn, error) from error
    return returned, state if returned.state is UNCHANGED else returned.state


def _problem_of(returned: Any) -> str:
    """Return the problem of a handler's result; empty if it is an answer."""
    inner = returned.response if isinstance(returned, AppResponse) else returned
    if inspect.iscoroutine(inner):
        inner.close()
        return "returned a coroutine: an `await` is missing before the call it returns"
    if not isinstance(returned, AppResponse) or not isinstance(returned.response, str):
        return f"returned {_kind(returned)}; it must return an AppResponse, a text, or (text, state)"
    calls = () if returned.tool_calls is None else returned.tool_calls
    are_listed = isinstance(calls, Sequence) and not isinstance(calls, str)
    strange = [call for call in calls if not isinstance(opened(call), Mapping)] if are_listed else [calls]
    if strange:
        where = "in" if are_listed else "for"
        do = "give mappings, such as {'name': 'find', 'arguments': {}}"
        return f"gave {type(strange[0]).__name__} {where} the list tool_calls; {do}"
    if not isinstance(returned.metadata, Mapping):
        return f"gave {type(returned.metadata).__name__} for metadata; give a mapping"
    return ""


def _kind(returned: Any) -> str:
    """Name the kind of a handler's result that is no answer."""
    if isinstance(returned, AppResponse):
        return f"{_kind(returned.response)} as its answer"
    if isinstance(returned, tuple):
        return f"a tuple of {len(returned)}"
    return "None" if returned is None else type(returned).__name__
