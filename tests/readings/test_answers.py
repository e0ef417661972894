"""What is read of an app's answer: the text for the user and the tool calls, in the forms that real apps have."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio.to_thread
import pytest
from aiohttp import web

from simeval.core.conversation import FIRST_TEXT, ChatMessage
from simeval.engine.actors.handler import joined, joined_in_thread
from simeval.errors import DefinitionError
from simeval.suites.apps.http_app import HttpApp
from simeval.suites.apps.remote_app import AppFailure, Exchange
from simeval.suites.apps.socket_app import SocketApp
from simeval.suites.files import load_suite
from tests.support.command_line import simeval
from tests.support.recorded_answers import CALL, JSON, LATE, LINES, RECORDED, SSE, TEXT, WITH_CALL, lines, sse
from tests.support.serving import serving

HELLO: list[ChatMessage] = [{"role": "user", "content": "Where is F1001?"}]
RASA = [{"recipient_id": "u", "text": "on its way"}, {"image": "https://example.com/a.png"}, {"text": "Friday"}]
SEVERAL = sse({"kind": "alpha", "text": "Searching…"}, {"kind": "beta", "text": "Your order is late."})


@asynccontextmanager
async def app_with(kind: str, body: str, headers: dict[str, str] | None = None) -> AsyncIterator[str]:
    """Serve an app that always answers this, and return its address."""

    async def handle(_request: web.Request) -> web.StreamResponse:
        return web.Response(body=body.encode(), headers={"Content-Type": f"{kind}; charset=utf-8", **(headers or {})})

    application = web.Application()
    application.router.add_post("/chat", handle)
    async with serving(application) as address:
        yield f"{address}/chat"


async def read(kind: str, body: str, headers: dict[str, str] | None = None, **options: Any) -> Exchange:
    """Return what is read of an answer."""
    async with app_with(kind, body, headers) as url, (app := HttpApp(url=url, **options)):
        exchange: Exchange = await app.exchange(HELLO, {})
        return exchange


async def said(kind: str, body: str, **options: Any) -> str:
    """Return the text that is read of an answer, or why there is none."""
    exchange = await read(kind, body, **options)
    return str(exchange.failure) if exchange.response is None else exchange.response.response


@pytest.mark.anyio
@pytest.mark.parametrize("framework", RECORDED)
async def test_the_text_of_an_answer_is_found_by_itself(framework: str) -> None:
    assert await said(*RECORDED[framework]) == LATE


@pytest.mark.anyio
@pytest.mark.parametrize("framework", WITH_CALL)
async def test_a_tool_call_within_an_answer_is_a_call_and_no_text(framework: str) -> None:
    answer = (await read(*WITH_CALL[framework])).answer()

    assert answer.response == LATE
    assert list(answer.tool_calls or ()) == [CALL]


@pytest.mark.anyio
async def test_what_a_tool_gave_and_the_steps_around_it_are_read() -> None:
    body = (
        'f:{"messageId":"m"}\n0:"One moment."\n9:{"toolCallId":"c1","toolName":"track","args":{"order":"F1001"}}\n'
        'a:{"toolCallId":"c1","result":"late"}\ne:{"finishReason":"tool-calls","isContinued":false}\n'
        'f:{"messageId":"n"}\n0:"Your order "\n0:"is late."\nd:{"finishReason":"stop"}\n'
    )

    answer = (await read(TEXT, body, {"x-vercel-ai-data-stream": "v1"})).answer()

    assert answer.response == "One moment.\nYour order is late."
    assert list(answer.tool_calls or ()) == [{**CALL, "result": "late"}]
    assert answer.metadata[FIRST_TEXT] >= 0


@pytest.mark.anyio
async def test_parts_at_the_path_of_the_reply_are_text_and_calls() -> None:
    parts = [{"type": "text", "text": LATE}, {"type": "tool_use", "id": "c1", "name": "track", "input": {"order": 1}}]

    answer = (await read(JSON, json.dumps({"data": {"blocks": parts}}), reply="$.data.blocks")).answer()

    assert answer.response == LATE
    assert list(answer.tool_calls or ()) == [{"id": "c1", "name": "track", "arguments": {"order": 1}}]


@pytest.mark.anyio
async def test_a_refusal_in_the_place_of_the_text_is_the_reply() -> None:
    refused = {"choices": [{"message": {"content": None, "refusal": "I cannot help with that."}}]}
    pieces = [{"choices": [{"delta": {"content": None, "refusal": each}}]} for each in ("I cannot ", "help with that.")]

    assert await said(JSON, json.dumps(refused), reply="$.choices[0].message.content") == "I cannot help with that."
    assert await said(SSE, sse(*pieces)) == "I cannot help with that."
    assert await said(SSE, sse(*pieces), reply="$.choices[0].delta.content") == "I cannot help with that."


@pytest.mark.anyio
async def test_a_text_with_a_line_separator_is_one_event() -> None:
    body = "".join(json.dumps({"token": text}, ensure_ascii=False) + "\n" for text in ("one\u2028", "two"))

    assert await said(JSON, body) == "one\u2028two"


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("found", "path", "text"),
    [
        (RASA, None, "on its way\nFriday"),
        (RASA, "$[*].text", "on its way\nFriday"),
        (RASA, "[*].text", "on its way\nFriday"),
        ({"messages": RASA}, "$.messages[*].text", "on its way\nFriday"),
        (
            {"output": [{"type": "reasoning"}, {"content": [{"text": "on its way"}, {"text": "Friday"}]}]},
            "$.output[*].content[*].text",
            "on its way\nFriday",
        ),
        ({"data": ["on its way"]}, "$.data[*]", "on its way"),
        ({"messages": [{"content": [{"type": "text", "text": "Friday"}]}]}, "$.messages[*].content", "Friday"),
        ([{"n": 1}], "$[*].text", "there is nothing at $[*].text of its answer"),
        ([{"text": 1}], "$[*].text", "there is [1], which is no text, at $[*].text"),
    ],
)
async def test_all_texts_of_a_list_are_the_reply(found: Any, path: str | None, text: str) -> None:
    assert (await said(JSON, json.dumps(found), reply=path)).startswith(text)


@pytest.mark.anyio
async def test_all_of_a_list_may_be_the_context_and_the_calls() -> None:
    said = {"reply": "Hi", "docs": [{"text": "a"}, {"text": "b"}], "steps": [{"calls": [CALL]}, {}, {"calls": [CALL]}]}
    options = {"context": "$.docs[*].text", "tool_calls": "$.steps[*].calls"}

    answer = (await read(JSON, json.dumps(said), None, **options)).answer()

    assert answer.context == ["a", "b"]
    assert list(answer.tool_calls or ()) == [CALL, CALL]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("found", "perhaps"),
    [
        ({"messages": [{"image": "a.png"}, {"text": "on its way"}, {"text": "Friday"}]}, "$.messages[*].text"),
        (
            {"messages": [{"type": "human", "content": "Hi"}, {"type": "ai", "content": "Hello"}]},
            "$.messages[-1].content",
        ),
        ([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}], "$[-1].content"),
        ({"result": {"choices": [{"message": {"content": "Hello"}}]}}, "$.result.choices[0].message.content"),
        ({"data": ["Hello there"], "duration": 0.2}, "$.data[0]"),
    ],
)
async def test_a_path_that_is_proposed_can_be_written_as_the_reply(found: Any, perhaps: str) -> None:
    complaint = await said(JSON, json.dumps(found))

    assert complaint.endswith(f"say where with `reply:` (perhaps {perhaps})")
    assert await said(JSON, json.dumps(found), reply=perhaps) in ("on its way\nFriday", "Hello", "Hello there")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("body", "where", "text"),
    [
        (SEVERAL, {"kind": "beta"}, "Your order is late."),
        (SEVERAL, {"kind": ["alpha", "beta"]}, "Searching…Your order is late."),
        (SEVERAL, {"kind": "gamma"}, "no text is found in any event of its stream that counts; left out: kind: alpha"),
        (sse(("note", {"text": "Hm."}), ("say", {"text": "Yes."})), {"event": "say"}, "Yes."),
        (sse(("note", "Hm."), "Yes."), {"event": "message"}, "Yes."),
        (lines({"event": "a", "text": "Hm."}, {"event": "b", "text": "Yes."}), {"event": "b"}, "Yes."),
        (sse({"n": 1, "is": {"by": "x"}, "text": "Hm."}, {"n": 2, "text": "Yes."}), {"n": 2}, "Yes."),
        (sse({"n": 1, "is": {"by": "x"}, "text": "Hm."}, {"n": 1, "text": "Yes."}), {"n": 1, "is.by": "x"}, "Hm."),
        (sse({"type": "thinking", "text": "Hm."}, {"type": "text", "text": "Yes."}), {"type": "thinking"}, "Hm."),
    ],
)
async def test_where_says_which_events_are_text(body: str, where: dict[str, Any], text: str) -> None:
    kind = SSE if body.startswith(("data:", "event:")) else LINES

    assert (await said(kind, body, where=where)).startswith(text)


@pytest.mark.anyio
async def test_events_of_several_kinds_are_not_joined_silently() -> None:
    complaint = await said(SSE, SEVERAL, reply="$.text")
    status = await said(SSE, sse({"type": "status", "text": "Searching…"}), reply="$.text")
    untyped = await said(LINES, lines({"message": "Searching…"}, {"token": "Your order"}))
    failed = await said(SSE, sse({"type": "token", "text": "Your"}, {"type": "error", "text": "overloaded"}))

    assert complaint == (
        "its stream has texts of several kinds (kind: alpha 'Searching…'; kind: beta 'Your order is late.'); "
        "name the answer's, such as `where: {kind: beta}`"
    )
    assert "left out: type: status 'Searching…'; say with `where:` which count" in status
    assert "name the answer's, such as `reply: $.token`" in untyped
    assert failed == 'its stream ends with an error: "overloaded"'


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("texts", "answer"),
    [
        (["Your", "Your order", "Your order", "Your order is late"], "Your order is late"),
        (["Your ", "order ", "is late", "Your order is late"], "Your order is late"),
        (["", "Your", "Your order", "Your order is late"], "Your order is late"),
        (["ha", "ha", "ha"], "hahaha"),
        (["Yes", "Yes, sir"], "YesYes, sir"),
        (["Your", " order", " is late"], "Your order is late"),
    ],
)
async def test_a_stream_that_repeats_all_text_so_far_is_its_last_text(texts: list[str], answer: str) -> None:
    async def one_by_one() -> AsyncGenerator[str, None]:
        for text in texts:
            yield text

    def in_turn() -> Iterator[str]:
        yield from texts

    assert await said(SSE, sse(*({"text": text} for text in texts))) == answer
    assert (await joined(one_by_one())).response == answer
    assert joined_in_thread(in_turn()).response == answer


@pytest.mark.anyio
@pytest.mark.parametrize("kind", ["application/json", "application/problem+json"])
@pytest.mark.parametrize(
    ("body", "place"),
    [
        ('{"reply": "Zimmer", price": 80}', "column 21"),
        ('{"reply": "Zimmer",\n "price": 80', "line 2, column 13"),
        ("Internal error", "column 1"),
    ],
)
async def test_a_body_that_says_json_and_is_none_is_no_reply(kind: str, body: str, place: str) -> None:
    assert (await said(kind, body)).startswith(f"it says JSON and is none ({place}): ")
    assert await said(TEXT, body) == body


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("fail_if", "answer", "is_failure"),
    [
        ({"success": False}, {"success": False, "reply": "Sorry"}, True),
        ({"success": False}, {"success": True, "reply": "Friday"}, False),
        ({"success": False}, {"reply": "Friday"}, False),
        ({"status": ["error", "busy"]}, {"status": "busy", "reply": ""}, True),
        ("$.error", {"error": {"code": 7}, "reply": "Sorry"}, True),
        ("$.error", {"error": "", "reply": "Friday"}, False),
        ("$.error", {"error": None, "reply": "Friday"}, False),
    ],
)
async def test_an_answer_that_reports_a_failure_is_one(fail_if: Any, answer: dict[str, Any], is_failure: bool) -> None:
    whole = await read(JSON, json.dumps(answer), fail_if=fail_if)
    streamed = await read(SSE, sse({"reply": "Well"}, answer), reply="$.reply", fail_if=fail_if)

    assert bool(whole.failure) == bool(streamed.failure) == is_failure
    assert whole.failure is None or (whole.failure.outcome, "`fail_if:`" in str(whole.failure)) == ("failed", True)


def test_what_names_no_events_is_refused() -> None:
    several: list[Any] = [{}, {"type": {}}, {"type": []}, {"a..b": 1}, "token"]
    for wrong in several:
        with pytest.raises(DefinitionError, match=r"app: where"):
            HttpApp(url="http://127.0.0.1/", where=wrong)
    with pytest.raises(DefinitionError, match=r"app: until"):
        SocketApp(url="ws://127.0.0.1/", until={})
    with pytest.raises(DefinitionError, match=r"app: fail_if"):
        HttpApp(url="http://127.0.0.1/", fail_if="$..error")


SUITE = """
scenarios:
  - title: App answers
    given: A customer
    when: The user asks for an order.
    then:
      expected_behavior: App answers
      evaluator: {{type: success_rate, min_proportion: 0.5}}
app:
  url: {url}
{more}
"""


def test_a_suite_says_which_events_are_text(tmp_path: Any) -> None:
    for url, more in (("http://a/", "  where: {event: token}"), ("ws://a/", "  until: {type: done}\n  greets: true")):
        (tmp_path / "suite.yaml").write_text(SUITE.format(url=url, more=more))

        app: Any = load_suite(str(tmp_path / "suite.yaml")).cast.app

        assert (app.where or app.until) in ({"event": "token"}, {"type": "done"})


def test_an_app_keeps_its_name_where_nothing_new_is_described() -> None:
    plain, chosen = HttpApp(url="http://a/", reply="$.x"), HttpApp(url="http://a/", reply="$.x", where={"type": "t"})

    assert plain.name == "http://a/ (f5b904)"
    assert chosen.name != plain.name


@pytest.mark.anyio
async def test_probe_says_how_a_stream_was_read(tmp_path: Any) -> None:
    status = sse({"type": "status", "text": "Searching…"})
    tokens = sse(*({"type": "token", "text": each} for each in ("Your", "Your order", "Your order is late")))

    async with app_with(SSE, status + tokens) as url:
        done = await anyio.to_thread.run_sync(lambda: simeval(tmp_path, "probe", url))
    async with app_with(SSE, SEVERAL) as url:
        unclear = await anyio.to_thread.run_sync(lambda: simeval(tmp_path, "probe", url))

    assert "reply       Your order is late\n" in done.stdout
    assert "left out    type: status 'Searching…'" in done.stdout
    assert "stream      it repeats all text so far; the last is the reply" in done.stdout
    assert "`where: {kind: beta}`" in " ".join(unclear.stdout.split())


@pytest.mark.anyio
async def test_an_answer_that_breaks_off_says_what_had_come() -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"Content-Type": SSE})
        await answer.prepare(request)
        await answer.write(sse({"type": "status", "text": "Searching…"}, {"type": "token", "text": "Your"}).encode())
        assert request.transport is not None
        request.transport.close()
        return answer

    application = web.Application()
    application.router.add_post("/", handle)
    async with serving(application) as url:
        with pytest.raises(AppFailure, match=r"^its answer broke off after 'Your'$"):
            await HttpApp(url=f"{url}/")(HELLO, {})
