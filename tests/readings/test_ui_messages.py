"""The AI SDK: messages of its user interface, of versions 4 and 5, and its spans."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from simeval import dataset_of
from simeval.core.conversation import Message
from simeval.extras.importers.registry import import_log
from tests.support.samples import imported, messages, said

ASKED_5 = {"id": "1", "role": "user", "parts": [{"type": "text", "text": "Weather in Oslo?"}]}
CALL = {"id": "c1", "name": "getWeather", "arguments": {"city": "Oslo"}, "result": {"degrees": 12}}
TALK = [("user", "Weather in Oslo?"), ("assistant", "12 degrees.")]
STEPS = {"type": "step-start"}
TEXT = {"type": "text", "text": "12 degrees.", "state": "done"}


def tool_part(kind: str = "tool-getWeather", **more: Any) -> dict[str, Any]:
    known = {"type": kind, "toolCallId": "c1", "state": "output-available", "input": {"city": "Oslo"}}
    return {**known, "output": {"degrees": 12}, **more}


def answer(*parts: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": "2", "role": "assistant", "parts": list(parts), **more}


def invocation(**more: Any) -> dict[str, Any]:
    known = {"state": "result", "toolCallId": "c1", "toolName": "getWeather", "args": {"city": "Oslo"}}
    return {**known, "result": {"degrees": 12}, **more}


def of_log(folder: Path, *said_here: Mapping[str, Any]) -> Message:
    (example,) = (log := imported(folder, {"messages": list(said_here)})).dataset
    assert log.problems == ()
    assert example.conversation is not None
    return example.conversation.messages[-1]


@pytest.mark.parametrize(
    "parts",
    [
        [STEPS, tool_part(), STEPS, TEXT],
        [STEPS, tool_part("dynamic-tool", toolName="getWeather"), TEXT],
        [STEPS, {"type": "reasoning", "text": "Look it up."}, tool_part(), STEPS, TEXT],
        [
            tool_part(),
            {"type": "source-url", "sourceId": "s", "url": "https://yr.no"},
            {"type": "data-sun", "data": 1},
            TEXT,
        ],
        [{"type": "tool-invocation", "toolInvocation": invocation()}, TEXT],
    ],
)
def test_parts_of_an_answer_are_its_text_and_its_calls(parts: list[Any], tmp_path: Path) -> None:
    message = of_log(tmp_path, ASKED_5, answer(*parts))

    assert message.content == "12 degrees."
    assert message.tool_calls == (CALL,)


def test_calls_of_version_4_are_kept_once_whether_beside_the_text_or_in_its_parts(tmp_path: Path) -> None:
    asked = {"role": "user", "content": "Weather in Oslo?"}
    beside = {"role": "assistant", "content": "12 degrees.", "toolInvocations": [invocation()]}
    both = {**beside, "parts": [STEPS, {"type": "tool-invocation", "toolInvocation": invocation()}, TEXT]}

    found = [of_log(tmp_path, asked, each) for each in (beside, both)]

    assert [each.content for each in found] == ["12 degrees."] * 2
    assert [each.tool_calls for each in found] == [(CALL,)] * 2


def test_a_tool_that_failed_and_one_that_has_not_ended_are_calls_too(tmp_path: Path) -> None:
    failed = {"type": "tool-book", "toolCallId": "c2", "state": "output-error", "input": {}, "errorText": "no room"}
    waiting = {"type": "tool-pay", "toolCallId": "c3", "state": "input-available", "input": {"eur": 5}}

    message = of_log(tmp_path, ASKED_5, answer(failed, waiting, TEXT))

    assert message.tool_calls == (
        {"id": "c2", "name": "book", "arguments": {}, "error": "no room"},
        {"id": "c3", "name": "pay", "arguments": {"eur": 5}},
    )


def test_a_file_is_named_and_a_file_of_messages_is_one_conversation(tmp_path: Path) -> None:
    picture = {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AAAA"}
    path = tmp_path / "chat.json"
    path.write_text(json.dumps([{**ASKED_5, "parts": [*ASKED_5["parts"], picture]}, answer(tool_part(), TEXT)]))

    log = import_log(path)

    assert said(log.dataset) == [[("user", "Weather in Oslo?\n[image]"), ("assistant", "12 degrees.")]]


def test_a_row_of_a_dataset_may_be_such_a_chat() -> None:
    (example,) = dataset_of([{"messages": [ASKED_5, answer(STEPS, tool_part(), TEXT)]}])

    assert (example.text, example.columns()["reference"]) == ("Weather in Oslo?", "12 degrees.")


def attributes(**found: Any) -> list[dict[str, Any]]:
    return [{"key": key.replace("__", "."), "value": {"stringValue": value}} for key, value in found.items()]


def span(name: str, second: int, parent: str = "", **found: Any) -> dict[str, Any]:
    times = {"startTimeUnixNano": str(second * 10**9), "endTimeUnixNano": str((second + 1) * 10**9)}
    return {"traceId": "t", "spanId": f"{name}-{second}", "parentSpanId": parent, "name": name, **times} | {
        "attributes": attributes(**found)
    }


def exported(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


@pytest.mark.parametrize(("function", "arguments"), [("generateText", "args"), ("streamText", "input")])
def test_its_spans_are_a_conversation_with_the_tools_that_ran(function: str, arguments: str, tmp_path: Path) -> None:
    step = f"ai.{function}.do{function.removesuffix('Text').capitalize()}"
    question = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": [ASKED_5["parts"][0]]}]
    call = {"type": "tool-call", "toolCallId": "c1", "toolName": "getWeather", arguments: '{"city":"Oslo"}'}
    asked_again = [*question, {"role": "assistant", "content": [call]}]
    outer = span(
        f"ai.{function}",
        1,
        ai__prompt=json.dumps({"system": "Be kind.", "prompt": "Weather in Oslo?"}),
        ai__response__text="12 degrees.",
        ai__telemetry__metadata__threadId="chat-7",
    )
    first = span(
        step,
        2,
        "outer",
        ai__prompt__messages=json.dumps(question),
        ai__response__toolCalls=json.dumps([call]),
        ai__model__id="m",
    )
    ran = span(
        "ai.toolCall",
        3,
        "outer",
        ai__toolCall__name="getWeather",
        ai__toolCall__id="c1",
        ai__toolCall__args='{"city":"Oslo"}',
        ai__toolCall__result='{"degrees":12}',
    )
    last = span(step, 4, "outer", ai__prompt__messages=json.dumps(asked_again), ai__response__text="12 degrees.")
    for each in (first, ran, last):
        each["parentSpanId"] = outer["spanId"]

    log = imported(tmp_path, exported(outer, first, ran, last))

    (example,) = log.dataset
    assert (log.format, log.problems, said(log.dataset)) == ("otel", (), [TALK])
    assert messages(log.dataset)[1].tool_calls == (CALL,)
    assert (example.example_id, example.metadata["system"]) == ("chat-7", "Be kind.")


def test_the_outermost_span_alone_is_what_was_asked_and_answered(tmp_path: Path) -> None:
    prompt = json.dumps({"messages": [{"role": "user", "content": "Weather in Oslo?"}]})
    log = imported(tmp_path, exported(span("ai.generateText", 1, ai__prompt=prompt, ai__response__text="12 degrees.")))

    assert said(log.dataset) == [TALK]
