"""Apps under test: the handlers that are taken, and what becomes of their errors."""

import asyncio
import gc
import re
import sys
import threading
import time
import weakref
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass
from typing import Any, cast
from unittest.mock import Mock

import anyio
import pytest

from simeval import (
    AppResponse,
    Expectation,
    MeanEvaluator,
    QuantileEvaluator,
    SuccessRateEvaluator,
)
from simeval.core.logs import NAMED
from simeval.core.trial import TrialConversation
from simeval.errors import DefinitionError, RunStopped
from simeval.scorers import metrics
from simeval.testing import MemoryJournal, ScriptedModel, judge_reply, user_reply
from tests.support.suites import Engine, good_app, scenario

pytestmark = pytest.mark.anyio

SEVEN: Any = 7  # no text


class TestHandlers:
    @pytest.mark.parametrize("form", ["text", "pair", "response"])
    async def test_a_handler_may_return(self, form: str) -> None:
        seen: list[Any] = []

        async def app(message: str, state: Any) -> Any:
            seen.append(state)
            new = {"turns": state.get("turns", 0) + 1}
            return {"text": "ok", "pair": ("ok", new), "response": AppResponse("ok", new)}[form]

        when = "The user asks for one. The user asks for two."
        result = await Engine(seed=1).evaluate(scenario(when=when, sample_size=1), app)

        assert result.conversations[0].responses[0].content == "ok"
        assert seen[:2] == ([{}, {}] if form == "text" else [{}, {"turns": 1}])

    async def test_a_plain_function_runs_in_a_thread(self) -> None:
        threads: set[int] = set()

        def app(message: str, state: Any) -> str:
            threads.add(threading.get_ident())
            return "ok"

        await Engine(seed=1).evaluate(scenario(), app)

        assert threads
        assert threading.get_ident() not in threads

    @pytest.mark.parametrize("way", ["at once", "in a thread", "too late"])
    async def test_what_an_app_that_fails_holds_is_free_at_once(self, way: str) -> None:
        class Held: ...

        held: list[weakref.ref[Held]] = []

        def fail(message: str) -> str:
            document = Held()
            held.append(weakref.ref(document))
            raise ValueError(f"cannot read {document}")

        async def fail_at_once(message: str) -> str:
            return fail(message)

        async def never_end(message: str) -> str:
            document = Held()
            held.append(weakref.ref(document))
            await anyio.sleep_forever()
            return str(document)

        app: Any = {"at once": fail_at_once, "in a thread": fail, "too late": never_end}[way]
        gc.disable()
        try:
            await Engine(seed=1, app_timeout_seconds=0.05 if app is never_end else 60).evaluate(
                scenario(sample_size=3), app
            )
            kept = [each for each in held if each() is not None]
        finally:
            gc.enable()

        assert held
        assert not kept

    @pytest.mark.parametrize("is_async", [True, False])
    async def test_a_handler_that_changes_the_log_context_changes_its_own_alone(self, is_async: bool) -> None:
        seen: list[Any] = []

        async def answer(message: str) -> str:
            NAMED.set({})
            return "ok"

        def answer_in_thread(message: str) -> str:
            NAMED.set({})
            return "ok"

        def write(_: Any) -> dict[str, Any]:
            seen.append(NAMED.get().get("trial"))
            return user_reply(f"And what of {len(seen)}?", goes_on=True)

        model = ScriptedModel({"user": write, "judge": [judge_reply(9)]})
        await Engine(model, seed=1).evaluate(
            scenario(sample_size=1, max_turns=3), answer if is_async else answer_in_thread
        )

        assert seen == [0, 0, 0]

    async def test_a_handler_that_names_messages_gets_the_history(self) -> None:
        seen: list[list[str]] = []

        async def app(messages: list[dict[str, str]], state: Any) -> str:
            seen.append([message["role"] for message in messages])
            return "ok"

        when = "The user asks for one. The user asks for two."
        await Engine(seed=1).evaluate(scenario(when=when, sample_size=1), app)

        assert seen[:2] == [["user"], ["user", "assistant", "user"]]

    async def test_a_handler_object_and_a_handler_without_state_are_taken(self) -> None:
        class App:
            async def __call__(self, message: str) -> str:
                return f"I track orders, start returns: {message}"

        result = await Engine(seed=1).evaluate(scenario(), App())

        assert result.passed

    @pytest.mark.parametrize("handler", [3, lambda: "x", lambda message, state, config: "x", str])
    async def test_what_is_no_handler_is_refused_before_the_run(self, handler: Any) -> None:
        with pytest.raises(DefinitionError, match="app handler"):
            await Engine().evaluate(scenario(), handler)

    @pytest.mark.parametrize(
        ("handler", "do"),
        [
            (lambda state, message: "x", r"(message, state)"),
            (lambda session, message: "x", r"(message, session)"),
            (lambda state, messages: "x", r"(messages, state)"),
        ],
    )
    async def test_a_state_before_the_message_is_refused(self, handler: Any, do: str) -> None:
        with pytest.raises(DefinitionError, match=re.escape(f"put the message first: {do}.")):
            await Engine().evaluate(scenario(), handler)

    async def test_tool_calls_stay_in_the_transcript(self) -> None:
        async def app(message: str, state: Any) -> AppResponse:
            return AppResponse("done", state, tool_calls=[{"name": "find_order", "arguments": {"id": 1}}])

        result = await Engine(seed=1).evaluate(scenario(sample_size=1), app)

        assert result.conversations[0].responses[0].tool_calls[0]["name"] == "find_order"

    async def test_the_calls_of_an_sdk_are_read(self) -> None:
        @dataclass
        class Call:
            id: str
            function: dict[str, Any]

        async def app(message: str, state: Any) -> AppResponse:
            called = Call(id=f"call-{message}", function={"name": "book", "arguments": "{}"})
            return AppResponse("done", state, tool_calls=cast("Any", [called]))

        result = await Engine(seed=1).evaluate(scenario(sample_size=1), app)

        assert result.conversations[0].responses[0].tool_calls[0]["function"]["name"] == "book"

    @pytest.mark.parametrize(
        ("calls", "said"),
        [
            (lambda: [object()], "object in the list tool_calls"),
            (lambda: (each for each in [{"name": "book"}]), "generator for the list tool_calls"),
            (lambda: "book", "str for the list tool_calls"),
        ],
    )
    async def test_calls_that_cannot_be_read_are_one_cause(self, calls: Any, said: str) -> None:
        async def app(message: str, state: Any) -> AppResponse:
            return AppResponse("done", state, tool_calls=calls())

        result = await Engine(seed=1).evaluate(scenario(sample_size=10), app)

        [told] = {failure.error for _, failure in result.failures}
        assert result.outcome == "error"
        assert f"gave {said}; give mappings, such as {{'name': 'find', 'arguments': {{}}}}" in told

    async def test_a_mock_can_be_an_app(self) -> None:
        result = await Engine(seed=1).evaluate(scenario(sample_size=1), Mock(return_value="hello"))

        assert result.conversations[0].output == "hello"

    async def test_an_answer_that_is_not_awaited_is_told(self) -> None:
        async def model(message: str) -> str:
            return message

        async def app(message: str, state: Any) -> AppResponse:
            return AppResponse(cast("Any", model(message)), state)

        result = await Engine(seed=1).evaluate(scenario(sample_size=1), app)

        assert "returned a coroutine: an `await` is missing" in result.failures[0][1].error

    async def test_the_latency_is_the_apps(self) -> None:
        own: list[float] = []

        async def app(message: str, state: Any) -> str:
            began = time.perf_counter()
            await anyio.sleep(0.02)
            own.append(time.perf_counter() - began)
            return "ok"

        latency = Expectation(scorer=metrics.response_latency, evaluator=QuantileEvaluator(at_most=1.0))
        result = await Engine(seed=1, concurrency=1).evaluate(scenario(then=latency, max_turns=1), app)

        measured = result.expectations[0].scores
        assert all(value >= took for value, took in zip(measured, own, strict=True))


class TestAppErrors:
    @staticmethod
    def failing(kind: str) -> Any:
        turns = Counter[str]()

        async def app(message: str, state: Any) -> Any:
            turns["all"] += 1
            if turns["all"] % 10:
                return "I can track orders and start returns."
            match kind:
                case "raise":
                    raise KeyError("order")
                case "hang":
                    await anyio.sleep(60)
                case "type":
                    return 42
                case _:
                    raise ExceptionGroup("several", [ValueError("inner")])
            return None

        return app

    @pytest.mark.parametrize(
        ("kind", "said"), [("raise", "KeyError"), ("hang", "0.1 seconds"), ("type", "int"), ("group", "inner")]
    )
    async def test_an_app_error_costs_only_its_trial_and_counts_as_not_met(self, kind: str, said: str) -> None:
        engine = Engine(seed=1, app_timeout_seconds=0.1)
        result = await engine.evaluate(scenario(max_turns=1, sample_size=40), self.failing(kind))

        failures = [failure for _, failure in result.failures]
        verdict = result.verdicts[0]
        assert [failure.stage for failure in failures] == ["app"] * 4
        assert all(said in failure.error for failure in failures)
        assert len(result.expectations[0].scores) == 36
        assert (verdict.n, verdict.estimate, verdict.missing) == (40, 0.9, 0)

    @pytest.mark.parametrize(
        ("answer", "kind"),
        [((None, 1), "None as its answer"), (("hi", 1, 2), "a tuple of 3"), (AppResponse(SEVEN), "int as its answer")],
    )
    async def test_what_is_no_answer_is_named(self, answer: Any, kind: str) -> None:
        result = await Engine(seed=1).evaluate(scenario(sample_size=2, max_turns=1), lambda message, state: answer)

        named = "the handler (test_handlers.py, line "
        assert {
            named in failure.error and f") returned {kind}; " in failure.error for _, failure in result.failures
        } == {True}

    @pytest.mark.parametrize("form", ["text", "async stream", "stream"])
    async def test_an_answer_of_a_function_is_bounded_too(self, form: str) -> None:
        async def text(message: str) -> str:
            return "ö" * 600

        async def async_stream(message: str) -> AsyncGenerator[str]:
            while True:
                yield "on and on"

        def stream(message: str) -> Iterator[str]:
            while True:
                yield "on and on"

        apps: dict[str, Any] = {"text": text, "async stream": async_stream, "stream": stream}
        engine = Engine(seed=1, max_answer_bytes=1_000)
        result = await engine.evaluate(scenario(sample_size=2, max_turns=1), apps[form])

        assert [failure.stage for _, failure in result.failures] == ["app", "app"]
        assert "the answer is larger than 0.001 MB (--max-answer sets that)" in result.failures[0][1].error

    async def test_an_answer_that_blocks_past_its_time_counts_as_timed_out(self) -> None:
        async def app(message: str, state: Any) -> str:
            time.sleep(0.05)  # noqa: ASYNC251  (the mistake that is shown)
            return "late"

        engine = Engine(seed=1, app_timeout_seconds=0.01)
        result = await engine.evaluate(scenario(sample_size=2, max_turns=1), app)

        assert ["without awaiting" in failure.error for _, failure in result.failures] == [True, True]

    @pytest.mark.parametrize("wrong", ["json:loads", "http://127.0.0.1:9/chat", "opnai/x"])
    async def test_an_engine_that_refused_an_app_takes_the_next_one(self, wrong: str) -> None:
        engine = Engine(seed=1)
        with pytest.raises(DefinitionError, match=wrong):
            await engine.evaluate(scenario(sample_size=1), wrong)

        result = await engine.evaluate(scenario(sample_size=1), good_app)

        assert result.conversations[0].output

    async def test_a_refusal_beside_an_evaluation_under_way_is_forgotten_too(self) -> None:
        engine = Engine(seed=1)

        async def refuses(message: str, state: Any) -> str:
            with pytest.raises(DefinitionError, match="opnai/x"):
                await engine.evaluate(scenario(sample_size=1), "opnai/x")
            return "It answers."

        await engine.evaluate(scenario(sample_size=1, max_turns=1), refuses)
        result = await engine.evaluate(scenario(sample_size=1), good_app)

        assert result.conversations[0].output

    async def test_what_was_said_before_the_error_is_kept(self) -> None:
        async def app(messages: list[dict[str, str]], state: Any) -> str:
            if len(messages) > 2:
                raise RuntimeError("lost the session")
            return "Which order?"

        result = await Engine(seed=1).evaluate(scenario(when="The user asks. The user waits.", sample_size=1), app)

        assert [m.role for m in result.conversations[0].messages] == ["user", "assistant", "user"]
        assert result.conversations[0].ended == "app_error"
        assert "lost the session" in str(result)

    @pytest.mark.parametrize("kind", ["cancelled", "exit", "exit in a thread", "calls"])
    async def test_a_handler_that_leaves_in_an_unusual_way_has_failed_its_user(self, kind: str) -> None:
        async def app(message: str, state: Any) -> AppResponse:
            match kind:
                case "cancelled":
                    task = asyncio.ensure_future(asyncio.sleep(60))
                    task.cancel()
                    await task
                case "exit":
                    sys.exit(0)
            return AppResponse("I track orders, start returns.", state, tool_calls=["no mapping"])  # type: ignore[list-item]

        def plain(message: str, state: Any) -> str:
            sys.exit(0)

        result = await Engine(seed=1).evaluate(scenario(), plain if kind == "exit in a thread" else app)

        assert {failure.stage for _, failure in result.failures} == {"app"}
        assert len(result.failures) in range(10, 30)
        assert all(conversation.messages for conversation in result.conversations)
        assert result.outcome == "error"

    async def test_failures_of_a_scenario_that_passed_are_shown_too(self) -> None:
        lenient = Expectation(expected_behavior="Bot tracks orders", evaluator=SuccessRateEvaluator(min_proportion=0.5))
        result = await Engine(seed=1).evaluate(scenario(max_turns=1, then=lenient), self.failing("raise"))

        assert result.passed
        assert "3 x the app failed at turn 1: KeyError" in str(result)

    async def test_a_secret_that_an_app_or_a_scorer_quotes_is_masked(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SHOP_SECRET_ACCESS_KEY", "correct-horse-battery")

        async def app(message: str, state: Any) -> str:
            raise ValueError("refused: correct-horse-battery")

        journal = MemoryJournal()
        result = await Engine(seed=1, store=journal).evaluate(scenario(sample_size=5), app)

        assert "[secret]" in result.failures[0][1].error
        assert "correct-horse-battery" not in f"{result!r} {result} {journal.entries!r}"

    async def test_excluded_errors_leave_the_sample(self) -> None:
        engine = Engine(seed=1, on_app_error="exclude", max_error_rate=0.5)
        result = await engine.evaluate(scenario(max_turns=1, sample_size=40), self.failing("raise"))

        assert (result.verdicts[0].n, result.verdicts[0].estimate) == (36, 1.0)

    async def test_excluded_errors_that_are_too_many_are_counted_once(self) -> None:
        engine = Engine(seed=1, on_app_error="exclude", max_error_rate=0.02)
        result = await engine.evaluate(scenario(max_turns=1, sample_size=40), self.failing("raise"))

        [verdict] = result.verdicts
        assert (verdict.outcome, verdict.left_out) == ("error", 0)
        assert verdict.missing > 0
        assert "left out" not in str(result)

    async def test_an_error_stops_the_run_where_that_is_asked_for(self) -> None:
        journal = MemoryJournal()
        with pytest.raises(RunStopped, match="KeyError"):
            await Engine(seed=1, on_app_error="stop", store=journal).evaluate(scenario(), self.failing("raise"))

        assert any(isinstance(entry, TrialConversation) and entry.failure for entry in journal.entries)

    async def test_a_mean_takes_a_crash_as_missing_and_not_as_the_lowest_score(self) -> None:
        mean = Expectation(
            expected_behavior="Bot tracks orders, starts returns", evaluator=MeanEvaluator(at_least=8, bounds=(1, 10))
        )
        result = await Engine(seed=1).evaluate(scenario(max_turns=1, then=mean), self.failing("raise"))

        assert result.verdicts[0].estimate == 10
        assert result.verdicts[0].missing == 3


async def test_a_cancelled_turn_that_cleans_up_beyond_its_time_out_is_not_left_behind(
    caplog: pytest.LogCaptureFixture,
) -> None:
    begun, has_cleaned_up = anyio.Event(), anyio.Event()

    async def handle(message: str, state: object) -> str:
        try:
            begun.set()
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(0.3)  # longer than its time-out, and within the grace
            has_cleaned_up.set()
        return "never"

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(Engine(seed=1, app_timeout_seconds=0.2).evaluate, scenario(sample_size=1), handle)
        await begun.wait()
        tasks.cancel_scope.cancel()

    assert has_cleaned_up.is_set()
    assert "did not end" not in caplog.text
