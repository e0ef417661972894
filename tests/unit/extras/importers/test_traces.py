"""Traces as conversations: what continues what, sessions, wrappers, retries, and the calls that failed."""

import json
from pathlib import Path
from typing import Any

import pytest

from simeval.errors import DefinitionError
from tests.support.samples import conversations, imported, messages, said


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def system(text: str) -> dict[str, Any]:
    return {"role": "system", "content": text}


def generation(second: int, asked: list[Any], answer: Any, **more: Any) -> dict[str, Any]:
    return {
        "id": f"g{second}",
        "type": "GENERATION",
        "startTime": f"2026-01-01T00:00:{second:02}Z",
        "endTime": f"2026-01-01T00:00:{second + 1:02}Z",
        "input": asked,
        "output": answer,
        "model": "m",
        "usageDetails": {"input": 10, "output": 1},
        **more,
    }


def trace(name: str, *observations: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"trace": {"id": name, **more}, "observations": list(observations)}


def talk(*texts: str) -> list[tuple[str, str]]:
    return [(("user", "assistant")[number % 2], text) for number, text in enumerate(texts)]


class TestChains:
    def test_a_request_that_repeats_the_conversation_continues_it(self, tmp_path: Path) -> None:
        first = generation(1, [user("a")], "b")
        second = generation(5, [user("a"), assistant("b"), user("c")], "d")

        log = imported(tmp_path, trace("t", second, first))

        assert said(log.dataset) == [talk("a", "b", "c", "d")]
        assert [each.started and each.started.second for each in messages(log.dataset)] == [None, 1, None, 5]
        assert [each.metadata.get("prompt_tokens") for each in messages(log.dataset)] == [None, 10, None, 10]

    def test_an_answer_that_is_given_twice_keeps_both_times(self, tmp_path: Path) -> None:
        first = generation(1, [user("a")], "ok")
        second = generation(3, [user("a"), assistant("ok"), user("b")], "ok")
        third = generation(5, [user("a"), assistant("ok"), user("b"), assistant("ok"), user("c")], "ok")

        log = imported(tmp_path, trace("t", first, second, third))

        answers = [each for each in messages(log.dataset) if each.role == "assistant"]
        assert [each.started and each.started.second for each in answers] == [1, 3, 5]

    def test_requests_that_repeat_nothing_are_conversations_of_their_own(self, tmp_path: Path) -> None:
        log = imported(tmp_path, trace("t", generation(1, [user("a")], "b"), generation(3, [user("c")], "d")))

        assert said(log.dataset) == [talk("a", "b"), talk("c", "d")]
        assert [example.example_id for example in log.dataset] == ["t-1", "t-2"]

    def test_a_request_that_is_made_again_is_a_retry(self, tmp_path: Path) -> None:
        log = imported(tmp_path, trace("t", generation(1, [user("a")], "oops"), generation(3, [user("a")], "b")))

        (example,) = log.dataset
        assert said(log.dataset) == [talk("a", "b")]
        assert example.metadata["other_calls"] == 1

    def test_other_agents_are_left_out_and_counted(self, tmp_path: Path) -> None:
        router = generation(1, [system("Name the intent."), user("a")], "billing")
        answer = generation(3, [system("Help."), user("a")], "b")
        more = generation(5, [system("Help."), user("a"), assistant("b"), user("c")], "d")

        log = imported(tmp_path, trace("t", router, answer, more))

        (example,) = log.dataset
        assert said(log.dataset) == [talk("a", "b", "c", "d")]
        assert (example.metadata["system"], example.metadata["other_calls"]) == ("Help.", 1)

    def test_what_a_call_was_made_within_is_not_counted_again(self, tmp_path: Path) -> None:
        outer = generation(1, [user("a")], "b", id="outer")
        between = {"id": "chain", "type": "SPAN", "parentObservationId": "outer"}
        inner = generation(2, [user("a")], "b", id="inner", parentObservationId="chain")

        log = imported(tmp_path, trace("t", outer, between, inner))

        (example,) = log.dataset
        assert "other_calls" not in example.metadata
        assert messages(log.dataset)[1].metadata["prompt_tokens"] == 10

    def test_spans_that_are_within_one_another_do_not_hang(self, tmp_path: Path) -> None:
        one = generation(1, [user("a")], "b", id="one", parentObservationId="two")
        two = generation(2, [user("a")], "b", id="two", parentObservationId="one")

        with pytest.raises(DefinitionError, match="it has no model call with messages"):
            imported(tmp_path, trace("t", one, two))

    def test_tools_results_alone_go_on_with_the_conversation(self, tmp_path: Path) -> None:
        call = {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]}
        result = {"role": "tool", "tool_call_id": "1", "content": "rain"}

        log = imported(tmp_path, trace("t", generation(1, [user("a")], call), generation(3, [result], "b")))

        answer = messages(log.dataset)[1]
        assert said(log.dataset) == [talk("a", "b")]
        assert answer.tool_calls == ({"id": "1", "name": "f", "arguments": {}, "result": "rain"},)
        assert (answer.seconds, answer.metadata["prompt_tokens"], answer.metadata["model_calls"]) == (3.0, 20, 2)

    def test_a_trace_without_calls_is_what_was_given_to_it_and_what_it_gave(self, tmp_path: Path) -> None:
        log = imported(tmp_path, trace("t", input='{"question": "a"}', output='"b"'))

        assert said(log.dataset) == [talk("a", "b")]


class TestSessions:
    def test_traces_of_a_session_are_one_conversation_in_order_of_time(self, tmp_path: Path) -> None:
        later = trace("t2", generation(9, [user("a"), assistant("b"), user("c")], "d"), sessionId="s")
        other = trace("t3", generation(4, [user("x")], "y"))
        early = trace("t1", generation(1, [user("a")], "b"), sessionId="s")

        log = imported(tmp_path, later, other, early)

        found = {example.example_id: example for example in log.dataset}
        assert said(log.dataset) == [talk("x", "y"), talk("a", "b", "c", "d")]
        assert found["s"].metadata["traces"] == ["t1", "t2"]
        assert [each.started and each.started.second for each in messages([found["s"]])] == [None, 1, None, 9]

    def test_what_does_not_repeat_the_conversation_is_added_to_it(self, tmp_path: Path) -> None:
        first = trace("t1", generation(1, [user("a")], "b"), sessionId="s")
        second = trace("t2", generation(3, [user("c")], "d"), sessionId="s")

        assert said(imported(tmp_path, first, second).dataset) == [talk("a", "b", "c", "d")]

    def test_a_user_who_asks_the_same_twice_has_asked_twice(self, tmp_path: Path) -> None:
        traces = [trace(f"t{n}", generation(n, [user("a")], "b"), sessionId="s") for n in (1, 3)]

        assert said(imported(tmp_path, *traces).dataset) == [talk("a", "b", "a", "b")]


class TestFailures:
    def test_a_call_without_an_answer_is_reported_and_the_others_are_there(self, tmp_path: Path) -> None:
        failed = generation(1, [user("a")], None, statusMessage="rate limit")

        log = imported(tmp_path, trace("t", failed, generation(3, [user("a")], "b")), trace("u", failed))

        assert said(log.dataset) == [talk("a", "b")]
        assert [str(problem) for problem in log.problems] == [
            "trace t, observation g1: the model call has no answer: rate limit",
            "trace u, observation g1: the model call has no answer: rate limit",
        ]

    def test_a_line_that_is_no_trace_is_reported(self, tmp_path: Path) -> None:
        log = imported(tmp_path, trace("t", generation(1, [user("a")], "b")), {"trace": {}, "observations": []}, 7)

        assert [problem.place for problem in log.problems] == ["line 2", "line 3"]

    def test_a_failed_request_is_reported_with_what_was_said_of_it(self, tmp_path: Path) -> None:
        request = {"messages": [user("a")]}
        failed = {"request": request, "status": 429, "response": {"error": {"message": "slow down"}}}
        fine = {"request": request, "response": {"choices": [{"message": assistant("b")}]}}

        log = imported(tmp_path, fine, failed, {"request": request, "response": {"sse": "data: [DONE]\n"}})

        assert [problem.reason for problem in log.problems] == [
            "the request has no answer: 429 slow down",
            "the request has no answer: it holds none",
        ]


class TestRuns:
    def run(self, run_id: str, **more: Any) -> dict[str, Any]:
        times = {"start_time": "2026-01-01T00:00:01", "end_time": "2026-01-01T00:00:03.5"}
        return {"id": run_id, "trace_id": "t", "run_type": "chain", **times, **more}

    def test_the_runs_of_an_export_make_one_conversation_of_a_thread(self, tmp_path: Path) -> None:
        metadata = {"metadata": {"thread_id": "s", "plan": "free"}}
        agent = self.run("t", name="agent", inputs={"input": "a"}, outputs={"output": "b"}, extra=metadata, tags=["eu"])
        model = self.run(
            "m",
            parent_run_id="t",
            run_type="llm",
            inputs={"messages": [[{"lc": 1, "id": ["x", "HumanMessage"], "kwargs": {"content": "a"}}]]},
            outputs={
                "generations": [[{"message": {"lc": 1, "id": ["x", "AIMessage"], "kwargs": {"content": "b"}}}]],
                "llm_output": {"token_usage": {"prompt_tokens": 7, "completion_tokens": 2}},
            },
            extra={"metadata": {"ls_model_name": "m1"}},
        )

        log = imported(tmp_path, model, agent)

        (example,) = log.dataset
        assert (log.format, example.example_id, said(log.dataset)) == ("langsmith", "s", [talk("a", "b")])
        assert {name: example.metadata[name] for name in ("plan", "tags", "name")} == {
            "plan": "free",
            "tags": ["eu"],
            "name": "agent",
        }
        answer = messages([example])[1]
        assert answer.seconds == 2.5
        assert answer.metadata == {"model": "m1", "prompt_tokens": 7, "completion_tokens": 2}

    def test_a_chain_without_a_model_is_its_own_input_and_output(self, tmp_path: Path) -> None:
        log = imported(tmp_path, self.run("t", inputs={"question": "a"}, outputs={"answer": "b"}))

        assert said(log.dataset) == [talk("a", "b")]

    def test_a_run_that_failed_is_reported(self, tmp_path: Path) -> None:
        with pytest.raises(DefinitionError, match="run t: the model call has no answer: timed out"):
            imported(tmp_path, self.run("t", run_type="llm", inputs={"messages": [user("a")]}, error="timed out"))

    def test_a_run_without_an_id_is_reported_and_the_others_of_its_batch_are_there(self, tmp_path: Path) -> None:
        model = self.run(
            "t", run_type="llm", inputs={"messages": [user("a")]}, outputs={"choices": [{"message": assistant("b")}]}
        )

        log = imported(tmp_path, {"post": [{"run_type": "llm"}, model]})

        assert said(log.dataset) == [talk("a", "b")]
        assert str(log.problems[0]) == 'line 1: a run in it has no "id"'


class TestSpans:
    def span(self, **attributes: Any) -> dict[str, Any]:
        found = [
            {"key": name.replace("__", "."), "value": {"stringValue": value}} for name, value in attributes.items()
        ]
        span = {"traceId": "t", "spanId": "s", "startTimeUnixNano": "1767225601000000000", "attributes": found}
        return {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}

    def test_one_export_a_line_and_system_instructions(self, tmp_path: Path) -> None:
        spans = self.span(
            gen_ai__operation__name="chat",
            gen_ai__system_instructions='[{"type": "text", "content": "Help."}]',
            gen_ai__input__messages='[{"role": "user", "parts": [{"type": "text", "content": "a"}]}]',
            gen_ai__output__messages='[{"role": "assistant", "parts": [{"type": "text", "content": "b"}]}]',
        )

        log = imported(tmp_path, spans, {"resourceLogs": []}, {"resource": "none"})

        (example,) = log.dataset
        assert (log.format, said(log.dataset), example.metadata["system"]) == ("otel", [talk("a", "b")], "Help.")
        assert log.problems[0].reason == 'it has neither "resourceSpans" nor "resourceLogs"'

    def test_the_attributes_of_openinference(self, tmp_path: Path) -> None:
        spans = self.span(
            openinference__span__kind="LLM",
            llm__model_name="m",
            llm__token_count__prompt="x",
            llm__input_messages__0__message__role="user",
            llm__input_messages__0__message__content="a",
            llm__output_messages__0__message__role="assistant",
            llm__output_messages__0__message__content="b",
            llm__output_messages__0__message__tool_calls__0__tool_call__function__name="f",
            llm__output_messages__0__message__tool_calls__0__tool_call__function__arguments="{}",
        )

        log = imported(tmp_path, spans)

        assert said(log.dataset) == [talk("a", "b")]
        assert messages(log.dataset)[1].tool_calls == ({"name": "f", "arguments": {}},)
        assert messages(log.dataset)[1].metadata == {"model": "m"}

    def test_spans_of_other_things_are_no_conversations(self, tmp_path: Path) -> None:
        with pytest.raises(DefinitionError, match="there is no record in it"):
            imported(tmp_path, self.span(http__method="GET"))

    def test_a_call_recorded_without_its_messages_says_how_to_record_them(self, tmp_path: Path) -> None:
        with pytest.raises(DefinitionError, match="OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"):
            imported(tmp_path, self.span(gen_ai__operation__name="chat", gen_ai__request__model="m"))


class TestTrackersAndTraces:
    def test_a_trackers_events_are_messages_with_times(self, tmp_path: Path) -> None:
        events = [
            {"event": "action", "name": "action_listen", "timestamp": 1767225600.0},
            {"event": "user", "text": "balance?", "timestamp": 1767225601.5},
            {"event": "action", "name": "action_balance", "timestamp": 1767225602.0},
            {"event": "bot", "text": "12 €", "timestamp": 1767225603.0},
        ]

        log = imported(tmp_path, {"sender_id": "ada", "events": events})

        (example,) = log.dataset
        (conversation,) = conversations(log.dataset)
        assert (log.format, example.example_id, said(log.dataset)) == ("rasa", "ada", [talk("balance?", "12 €")])
        assert conversation.messages[0].started is not None
        assert conversation.messages[1].tool_calls == ({"name": "action_balance"},)

    def test_a_trace_that_gave_no_messages_is_read_from_its_models_spans(self, tmp_path: Path) -> None:
        span = {"uuid": "m", "input": [user("a")], "output": assistant("b"), "model": "m", "inputTokenCount": 4.0}
        found = {"uuid": "t", "llmSpans": [span], "toolSpans": [], "input": "a", "output": "b"}

        log = imported(tmp_path, found)

        assert (log.format, said(log.dataset)) == ("deepeval", [talk("a", "b")])
        assert messages(log.dataset)[1].metadata == {"model": "m", "prompt_tokens": 4}

    def test_a_function_call_of_sharegpt_belongs_to_the_answer(self, tmp_path: Path) -> None:
        lines = [
            {"from": "human", "value": "rain?"},
            {"from": "function_call", "value": json.dumps({"name": "weather", "arguments": {"city": "Oslo"}})},
            {"from": "observation", "value": "no"},
            {"from": "gpt", "value": "No."},
        ]

        log = imported(tmp_path, {"id": 3, "system": "Help.", "conversations": lines, "lang": "en"})

        (example,) = log.dataset
        assert (example.example_id, example.metadata) == ("3", {"lang": "en", "system": "Help."})
        assert messages([example])[1].tool_calls == (
            {"name": "weather", "arguments": {"city": "Oslo"}, "result": "no"},
        )
