"""A body with status 200 that says it failed is no answer; a body that only might is counted in the report."""

import json
from collections.abc import Mapping
from typing import Any

import anyio.to_thread
import pytest
from aiohttp import web

from simeval import Engine, HttpApp, dataset_of, scorer
from simeval.core.conversation import ChatMessage
from tests.support.command_line import simeval
from tests.support.recorded_answers import SSE, sse
from tests.support.serving import serving

pytestmark = pytest.mark.anyio
HELLO: list[ChatMessage] = [{"role": "user", "content": "Where is F1001?"}]


@scorer
def length(output: str) -> int:
    return len(output)


def answering(body: object, status: int = 200, kind: str = "application/json") -> web.Application:
    async def handle(_request: web.Request) -> web.Response:
        text = body if isinstance(body, str) else json.dumps(body)
        return web.Response(text=text, content_type=kind, status=status)

    application = web.Application()
    application.router.add_post("/", handle)
    return application


async def read(body: object, status: int = 200, kind: str = "application/json", **options: Any) -> tuple[str, str]:
    """Return the text or the failure that is read of an answer, and the doubts about it."""
    async with serving(answering(body, status, kind)) as url, (app := HttpApp(url=f"{url}/", **options)):
        exchange = await app.exchange(HELLO, {})
        return str(exchange.failure or exchange.answer().response), " ".join(app.doubts)


@pytest.mark.parametrize(
    ("body", "sign"),
    [
        ({"status": "error", "message": "Internal error"}, "$.status"),
        ({"success": False, "message": "Model overloaded"}, "$.success"),
        ({"ok": False, "reply": "Something failed", "error_code": "E12"}, "$.ok"),
        ({"type": "error", "content": "quota exceeded"}, "$.type"),
        ({"reply": "", "error": "timeout"}, "$.error"),
        ({"error": {"reason": "timeout"}, "message": "Try later"}, "$.error"),
        ({"IsSuccess": "false", "answer": "Sorry"}, "$.IsSuccess"),
        ({"status": "Failed", "text": "Sorry"}, "$.status"),
        ({"has_error": True, "text": "Sorry"}, "$.has_error"),
        ({"status": 500, "reply": "Sorry"}, "$.status"),
    ],
)
async def test_a_body_that_says_it_failed_is_a_failure(body: Mapping[str, Any], sign: str) -> None:
    streamed, _ = await read(sse(body), kind=SSE)

    assert (await read(body))[0].startswith(f"it reports a failure ({sign} is ")
    assert "failure" in streamed or "error" in streamed


@pytest.mark.parametrize(
    "body",
    [
        {"reply": "Friday", "error": None, "errors": []},
        {"reply": "Friday", "status": "ok", "success": True},
        {"reply": "Friday", "status": "error_resolved", "error": False},
        {"reply": "Friday", "error": "none", "error_code": 0, "type": "message"},
        {"message": "Friday", "status": 200, "ok": 1},
        {"reply": "Friday", "event": {"type": "error"}, "topic": "failed"},
    ],
)
async def test_a_body_that_says_it_succeeded_is_an_answer(body: Mapping[str, Any]) -> None:
    assert await read(body) == ("Friday", "")


@pytest.mark.parametrize(
    ("body", "status", "doubt"),
    [
        ({"error": "timeout", "answer": "Sorry!"}, 200, "write `fail_if: $.error`"),
        ({"errorCode": "E12", "text": "Sorry!"}, 200, "write `fail_if: $.errorCode`"),
        ({"reply": "Sorry!"}, 202, "HTTP 202"),
    ],
)
async def test_a_body_that_may_be_a_failure_is_told_in_the_report_and_by_the_probe(
    body: Mapping[str, Any], status: int, doubt: str, tmp_path: Any
) -> None:
    async with serving(answering(body, status)) as url:
        examples = dataset_of([{"input": f"Where is F100{n}?"} for n in range(3)])
        app = HttpApp(url=f"{url}/")
        for _ in range(2):  # each run counts its own
            result = await Engine(store=None, seed=1).experiment(examples, app, scorers=[length])
        shown = await anyio.to_thread.run_sync(lambda: simeval(tmp_path, "try", "--probe", f"{url}/"))

    assert any(note.startswith("3 of 3 answers may be failures: ") and doubt in note for note in result.run.notes)
    assert doubt in " ".join(shown.stdout.split())


async def test_a_request_that_was_only_accepted_has_no_answer() -> None:
    text, _ = await read({"job": 17, "message": "Your request is being processed"}, 202)

    assert text.startswith("HTTP 202: it has only accepted the request: Your request is being processed")


async def test_fail_if_decides_alone() -> None:
    body = {"success": False, "error": "slow", "message": "Friday"}

    assert await read(body, fail_if={"status": "busy"}) == ("Friday", "")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"message": "Hello", "error": {"code": 0, "message": ""}}, "Hello"),
        ({"message": "Hello", "error": "n/a"}, "Hello"),
        ({"message": "Hello", "error_code": 200}, "Hello"),
        ({"message": "Hello", "errors": {"count": 0}}, "Hello"),
        ({"reply": "The payment failed.", "result": "failed"}, "The payment failed."),
        ({"reply": "The payment failed.", "outcome": "error"}, "The payment failed."),
    ],
)
async def test_an_ordinary_answer_is_none(body: Mapping[str, Any], said: str) -> None:
    assert await read(body) == (said, "")
