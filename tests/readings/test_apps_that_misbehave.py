"""An app in the same process that does to its task what it should not: its conversation fails, and no other."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import anyio.lowlevel
import pytest

from simeval.engine.actors import app
from simeval.results.suite import ScenarioResult
from tests.support.command_line import simeval
from tests.support.suites import Engine, scenario

pytestmark = pytest.mark.anyio

SAID = "I can track orders and start returns."
THREE = "The user asks for one. The user asks for two. The user asks for three."
TRIALS = 12

Handle = Callable[[str, dict[str, Any]], Awaitable[str]]


async def evaluated(handler: Any, **settings: Any) -> ScenarioResult:
    engine = Engine(seed=1, on_user_fault="count", max_error_rate=1, **settings)
    return await engine.evaluate(scenario(when=THREE, sample_size=TRIALS), handler)


class Client:
    """A client in the manner of MCP's: a task in the background answers, from when it is entered until it is left."""

    open = 0

    def __init__(self) -> None:
        self._asked: asyncio.Queue[anyio.Event] = asyncio.Queue()

    @asynccontextmanager
    async def connected(self) -> AsyncIterator["Client"]:
        async with anyio.create_task_group() as group:
            group.start_soon(self._serve)
            Client.open += 1
            try:
                yield self
            finally:
                Client.open -= 1
                group.cancel_scope.cancel()

    async def _serve(self) -> None:
        while True:
            (await self._asked.get()).set()

    async def ask(self, message: str) -> str:
        answered = anyio.Event()
        self._asked.put_nowait(answered)
        with anyio.fail_after(5):
            await answered.wait()
        return SAID


@pytest.fixture(autouse=True)
def _none_open() -> None:
    Client.open = 0


class TestWhatIsKeptFromTurnToTurn:
    async def test_a_client_that_is_entered_at_turn_1_answers_at_the_others_and_is_left_with_its_conversation(
        self,
    ) -> None:
        async def handle(message: str, state: dict[str, Any]) -> str:
            if not state:
                state["stack"] = AsyncExitStack()
                state["client"] = await state["stack"].enter_async_context(Client().connected())
            said: str = await state["client"].ask(message)
            return said

        result = await evaluated(handle)

        assert not result.failures
        assert len(result.conversations) == TRIALS
        assert max(len(each.responses) for each in result.conversations) > 2
        assert Client.open == 0

    async def test_an_object_of_a_class_closes_its_own(self) -> None:
        class Bot:
            def __init__(self) -> None:
                self.stack = AsyncExitStack()
                self.client: Client | None = None

            async def __call__(self, message: str) -> str:
                if self.client is None:
                    self.client = await self.stack.enter_async_context(Client().connected())
                return await self.client.ask(message)

            async def aclose(self) -> None:
                await self.stack.aclose()

        result = await evaluated(Bot)

        assert not result.failures
        assert Client.open == 0

    async def test_a_task_group_that_nobody_leaves_ends_with_its_conversation(self) -> None:
        ended: list[str] = []
        groups: list[anyio.abc.TaskGroup] = []

        async def background() -> None:
            try:
                await anyio.sleep_forever()
            finally:
                ended.append("background")

        async def handle(message: str, state: dict[str, Any]) -> str:
            if not state:
                group = anyio.create_task_group()
                await group.__aenter__()
                group.start_soon(background)
                groups.append(group)
                state["begun"] = True
                await anyio.lowlevel.checkpoint()
            return SAID

        result = await evaluated(handle)

        assert not result.failures
        assert len(ended) == len(groups) == TRIALS

    async def test_scopes_and_shields_that_nobody_leaves_do_no_harm(self) -> None:
        async def handle(message: str, state: dict[str, Any]) -> str:
            anyio.CancelScope(shield=bool(state)).__enter__()
            state["turns"] = state.get("turns", 0) + 1
            await anyio.lowlevel.checkpoint()
            return SAID

        result = await evaluated(handle)

        assert not result.failures

    async def test_what_is_set_in_the_context_at_one_turn_is_there_at_the_next(self) -> None:
        names: set[str] = set()

        async def handle(message: str, state: dict[str, Any]) -> str:
            task = asyncio.current_task()
            assert task is not None
            assert state.setdefault("task", task) is task
            names.add(task.get_name())
            return SAID

        result = await evaluated(handle)

        assert not result.failures
        assert len(names) == TRIALS


async def cancels_itself(message: str, state: dict[str, Any]) -> str:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(0)
    return SAID


async def cancels_itself_and_answers(message: str, state: dict[str, Any]) -> str:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    return SAID


async def is_left_in_a_scope_that_ends(message: str, state: dict[str, Any]) -> str:
    if not state:
        anyio.move_on_after(0.001).__enter__()
        state["entered"] = True
    await anyio.sleep(0.01)
    return SAID


async def raises_a_generator_exit(message: str, state: dict[str, Any]) -> str:
    raise GeneratorExit


async def raises_a_group(message: str, state: dict[str, Any]) -> str:
    raise BaseExceptionGroup("several", [asyncio.CancelledError(), GeneratorExit()])


async def raises_a_system_exit(message: str, state: dict[str, Any]) -> str:
    raise SystemExit(2)


async def leaves_a_scope_that_is_not_its_last(message: str, state: dict[str, Any]) -> str:
    outer, inner = anyio.CancelScope(), anyio.CancelScope()
    outer.__enter__()
    inner.__enter__()
    outer.__exit__(None, None, None)
    return SAID


def exits_in_a_thread(message: str, state: dict[str, Any]) -> str:
    raise GeneratorExit


def groups_in_a_thread(message: str, state: dict[str, Any]) -> str:
    raise BaseExceptionGroup("several", [SystemExit(), GeneratorExit()])


def cancels_in_a_thread(message: str, state: dict[str, Any]) -> str:
    raise asyncio.CancelledError


MISBEHAVING = [
    cancels_itself,
    cancels_itself_and_answers,
    is_left_in_a_scope_that_ends,
    raises_a_generator_exit,
    raises_a_group,
    raises_a_system_exit,
    leaves_a_scope_that_is_not_its_last,
    exits_in_a_thread,
    groups_in_a_thread,
    cancels_in_a_thread,
]


@pytest.mark.parametrize("wrong", MISBEHAVING, ids=lambda each: each.__name__)
async def test_what_an_app_does_to_its_task_costs_its_own_conversation_alone(wrong: Callable[..., Any]) -> None:
    begun: list[int] = []

    def handle(message: str, state: dict[str, Any]) -> Any:
        if "number" not in state:
            state["number"] = len(begun)
            begun.append(0)
        if state["number"] != 3:
            return SAID
        state = {key: value for key, value in state.items() if key != "number"}
        return wrong(message, state)

    async def handle_async(message: str, state: dict[str, Any]) -> str:
        said: str = await handle(message, state) if state.get("number", len(begun)) == 3 else handle(message, state)
        return said

    handler = handle_async if asyncio.iscoroutinefunction(wrong) else handle
    with anyio.fail_after(30):
        result = await evaluated(handler)

    assert len(result.judgements) == TRIALS
    failed = [failure for _, failure in result.failures]
    assert len(failed) == 1
    assert failed[0].stage == "app"


async def test_code_that_swallows_its_cancellation_is_given_up_and_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(app, "GRACE_SECONDS", 0.2)
    begun: list[int] = []
    is_over = False

    async def call() -> str:
        await asyncio.sleep(0.01)
        raise ConnectionError

    async def handle(message: str, state: dict[str, Any]) -> str:
        if not state:
            state["number"] = len(begun)
            begun.append(0)
        while state["number"] in (3, 5) and not is_over:
            try:
                return await call()
            except:  # noqa: E722
                pass
        return SAID

    with anyio.fail_after(30):
        result = await evaluated(handle, app_timeout_seconds=1)
    is_over = True

    failed = [failure.error for _, failure in result.failures]
    assert len(failed) == 2
    assert all("no answer within 1 second" in each and "did not end when it was cancelled" in each for each in failed)
    assert [note for note in result.run.notes if "2 times, and was left behind" in note]
    [told] = [each.message for each in caplog.records if "it is left behind" in each.message]
    assert re.search(r"cancelled \(test_apps_that_misbehave\.py:\d+ in call\)", told)


INTERRUPTED = """
from itertools import count

turns = count(1)

def raised():
    raise BaseExceptionGroup("of a task group", [KeyboardInterrupt(), ValueError("no")])

async def in_a_task(message):
    return raised() if next(turns) == 8 else "I track orders."

def in_a_thread(message):
    return raised() if next(turns) == 8 else "I track orders."
"""
SUITE = """
sample_size: 30
settings: {early_stopping: false}
scenarios:
  - title: Orders
    given: A new user
    when: The user asks what the bot can do
    then:
      scorer: {type: contains, texts: [orders]}
      evaluator: {type: proportion, min_proportion: 0.5}
"""


@pytest.mark.parametrize("handler", ["in_a_task", "in_a_thread"])
def test_an_interrupt_within_a_group_ends_the_run_as_ctrl_c_does(handler: str, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(INTERRUPTED, encoding="utf-8")
    (tmp_path / "suite.yaml").write_text(SUITE, encoding="utf-8")

    done = simeval(tmp_path, "run", "suite.yaml", "--app", f"app:{handler}")

    assert done.returncode == 130, done.stderr
    assert "simeval: interrupted" in done.stderr
    assert "`simeval runs` lists what is kept" in done.stderr
    assert "Traceback" not in done.stderr
