"""Bodies without end, bombs, odd charsets and redirections, from an app and from a model."""

import asyncio
import gzip
import json
import sys
from collections.abc import Callable
from functools import cache, partial
from traceback import walk_tb

import pytest
from aiohttp import web

from simeval.core.conversation import ChatMessage
from simeval.core.network import AnswerTooLarge, allow_bytes, read_whole
from simeval.errors import DefinitionError, ModelError, ModelUnusable
from simeval.models.protocol.model import Model
from simeval.models.protocol.prompts import ChatRequest
from simeval.models.providers.litellm_model import LiteLLMModel, load_litellm
from simeval.models.providers.moderation import LiteLLMModeration, ModerationRequest
from simeval.models.providers.openai_compatible import CompatibleModel
from simeval.suites.apps.command_app import CommandApp
from simeval.suites.apps.http_app import HttpApp
from simeval.suites.apps.remote_app import AppFailure, Exchange
from simeval.suites.apps.replies import Reply
from simeval.suites.apps.socket_app import SocketApp
from tests.support.serving import serving

pytestmark = pytest.mark.anyio
PIECE = b"".join(
    b'data: {"text": "and %d", "choices": [{"delta": {"content": "and %d"}}]}\n\n' % (n, n) for n in range(1000)
)
DEEP = '{"choices":' * 100_000
ASKED: list[ChatMessage] = [{"role": "user", "content": "hello"}]


@cache
def packed_spaces() -> bytes:
    """Return 200 MB of spaces, packed into 200 kB."""
    return gzip.compress(b" " * 200_000_000, compresslevel=9)


async def endless(request: web.Request) -> web.StreamResponse:
    return await _endless(request, "application/json")


async def endless_stream(request: web.Request) -> web.StreamResponse:
    return await _endless(request, "text/event-stream")


async def _endless(request: web.Request, kind: str) -> web.StreamResponse:
    answer = web.StreamResponse(headers={"Content-Type": kind})
    await answer.prepare(request)
    while True:
        await answer.write(PIECE)


async def bomb(request: web.Request) -> web.Response:
    return web.Response(body=packed_spaces(), headers={"Content-Encoding": "gzip", "Content-Type": "application/json"})


async def socket(request: web.Request) -> web.WebSocketResponse:
    answer = web.WebSocketResponse()
    await answer.prepare(request)
    await answer.receive()
    await answer.send_str(json.dumps({"reply": "on " * 1_000_000}))
    return answer


async def packed(request: web.Request, packing: str) -> web.Response:
    """Answer as a model does, packed in a way."""
    said = json.dumps(
        {"choices": [{"message": {"role": "assistant", "content": "hello " * 1000}, "index": 0}]}
    ).encode()
    body = gzip.compress(said) if packing == "gzip" else said
    return web.Response(body=body, headers={"Content-Encoding": packing, "Content-Type": "application/json"})


async def streamed(request: web.Request, text: str) -> web.Response:
    return web.Response(text=text, content_type="text/event-stream")


async def deep(request: web.Request) -> web.Response:
    return web.Response(text=DEEP, content_type="application/json")


async def odd_charset(request: web.Request) -> web.Response:
    return web.Response(body=b'{"reply": "hello"}', headers={"Content-Type": "application/json; charset=klingon"})


async def elsewhere(request: web.Request) -> web.Response:
    return web.Response(status=307, headers={"Location": "http://127.0.0.1:9/v1?key=abcdefgh"})


def served(handler: Callable[..., object]) -> web.Application:
    application = web.Application()
    application.router.add_route("*", "/{rest:.*}", handler)  # type: ignore[arg-type]
    return application


async def answer_of(app: HttpApp | SocketApp | CommandApp) -> Exchange:
    allow_bytes(2_000_000)
    async with app:
        return await app.exchange(ASKED, {})


MODELS: list[Callable[..., Model]] = [
    partial(CompatibleModel, "openai-compatible/x"),
    partial(LiteLLMModel, "openai/x"),
    partial(LiteLLMModel, "anthropic/claude-haiku-4-5"),
    partial(LiteLLMModel, "gemini/gemini-2.5-flash"),
    partial(LiteLLMModel, "amazon_nova/nova-micro"),
    partial(LiteLLMModeration, "openai/omni-moderation-latest"),
]
each_road = pytest.mark.parametrize(
    "made", MODELS, ids=["openai-compatible", "openai", "anthropic", "gemini", "amazon_nova", "moderation"]
)


async def failure_of_model(
    made: Callable[..., Model], url: str, *, most_bytes: int = 2_000_000, **options: object
) -> ModelError:
    allow_bytes(most_bytes)
    model = made({"api_base": url, "api_key": "key-of-the-test", **options})
    chat = ChatRequest(history=ASKED, seed=3)
    try:
        with pytest.raises(ModelError) as raised:
            await model.complete(ModerationRequest(text="hi", seed=3) if isinstance(model, LiteLLMModeration) else chat)
    finally:
        await model.close()
    return raised.value


@pytest.mark.parametrize("handler", [endless, endless_stream, bomb])
async def test_an_answer_of_an_app_without_end_is_its_failure_at_that_turn(handler: Callable[..., object]) -> None:
    async with serving(served(handler)) as url:
        exchange = await answer_of(HttpApp(url=f"{url}/chat"))

    assert str(exchange.failure) == "the answer is larger than 2 MB (--max-answer sets that)"


async def test_the_error_of_an_answer_that_is_too_large_does_not_hold_the_answer() -> None:
    allow_bytes(100_000)
    stream = asyncio.StreamReader()
    stream.feed_data(b"on " * 100_000)

    with pytest.raises(AnswerTooLarge) as raised:
        await read_whole(stream)

    held = [value for frame, _ in walk_tb(raised.tb) for value in frame.f_locals.values() if isinstance(value, list)]
    assert held == [[]]


async def test_events_of_a_stream_count_with_the_memory_that_they_take() -> None:
    allow_bytes(10_000)
    reply = Reply()
    for _ in range(99):
        reply.keep("x")

    with pytest.raises(AppFailure, match=r"larger than 0\.01 MB"):
        reply.keep("x" * 100)

    assert reply.came == "x"


async def test_a_line_of_a_stream_may_be_as_long_as_an_answer() -> None:
    long = json.dumps({"reply": "on " * 3_000_000})

    async with serving(served(partial(streamed, text=f"data: {long}\n\n"))) as url:
        allow_bytes(10_000_000)
        async with HttpApp(url=url) as app:
            exchange = await app.exchange(ASKED, {})

    assert exchange.answer().response == "on " * 3_000_000


@pytest.mark.timeout(30)
async def test_an_answer_in_very_many_pieces_takes_a_time_that_grows_with_their_number() -> None:
    allow_bytes(50_000_000)
    reply = Reply()

    for _ in range(400_000):
        reply.keep('{"token": "and on "}\n')

    assert reply.came.startswith('{"token": "and on "}\n' * 8_000)


async def test_of_a_long_stream_its_text_is_kept_whole_and_the_beginning_as_it_came() -> None:
    piece = "on " * 10_000
    stream = "".join(f"data: {json.dumps({'token': piece})}\n\n" for _ in range(100))

    async with serving(served(partial(streamed, text=stream))) as url:
        allow_bytes(10_000_000)
        async with HttpApp(url=url) as app:
            exchange = await app.exchange(ASKED, {})

    assert exchange.answer().response == piece * 100
    assert 900_000 < len(exchange.body) < 1_100_000


async def test_a_frame_of_a_socket_and_the_output_of_a_program_are_bounded_too() -> None:
    async with serving(served(socket)) as url:
        by_socket = await answer_of(SocketApp(url=url.replace("http", "ws")))
    by_program = await answer_of(CommandApp(f"{sys.executable} -c \"while True: print('on ' * 10_000)\""))

    assert "larger than 2 MB" in str(by_socket.failure)
    assert "larger than 2 MB" in str(by_program.failure)


@each_road
@pytest.mark.parametrize("handler", [endless, bomb])
async def test_an_answer_of_a_model_without_end_is_malformed(
    made: Callable[..., Model], handler: Callable[..., object]
) -> None:
    async with serving(served(handler)) as url:
        error = await failure_of_model(made, url)

    assert (error.kind, error.retryable) == ("malformed", True)
    assert "larger than 2 MB" in error.problem


@pytest.mark.parametrize(("made", "asks"), [(MODELS[0], False), (MODELS[1], True)])
async def test_a_stream_of_a_model_without_end_is_malformed(made: Callable[..., Model], asks: bool) -> None:
    async with serving(served(endless_stream)) as url:
        error = await failure_of_model(made, url, most_bytes=200_000, **({"stream": True} if asks else {}))

    assert (error.kind, error.retryable) == ("malformed", True)
    assert "larger than 0.2 MB" in error.problem


@pytest.mark.parametrize("made", [MODELS[0], MODELS[1], MODELS[-1]])
@pytest.mark.parametrize("handler", [deep, odd_charset])
async def test_json_that_is_too_deep_or_in_an_unknown_charset_is_asked_for_again(
    made: Callable[..., Model], handler: Callable[..., object]
) -> None:
    async with serving(served(handler)) as url:
        error = await failure_of_model(made, url)

    assert error.retryable
    assert error.kind == "malformed" or made is MODELS[1]


async def test_an_app_may_name_a_charset_that_nobody_knows_and_send_json_that_nobody_can_read() -> None:
    async with serving(served(odd_charset)) as url:
        odd = await answer_of(HttpApp(url=url))
    async with serving(served(deep)) as url:
        unread = await answer_of(HttpApp(url=url))

    assert odd.answer().response == "hello"
    assert "too deep" in str(unread.failure)


@each_road
async def test_a_model_that_redirects_is_not_followed_and_the_error_names_both_addresses(
    made: Callable[..., Model],
) -> None:
    async with serving(served(elsewhere)) as url:
        error = await failure_of_model(made, url)

    assert isinstance(error, ModelUnusable)
    assert "redirects to http://127.0.0.1:9/v1?key=[secret]" in error.problem
    assert "api_base" in error.problem


async def test_a_provider_whose_answers_cannot_be_bounded_is_refused() -> None:
    with pytest.raises(DefinitionError, match=r"reads answers without a bound .* write openai/"):
        LiteLLMModel("aiohttp_openai/x").check()


@pytest.mark.parametrize("packing", ["gzip", "identity", "br"])
@pytest.mark.parametrize("name", ["openai/x", "amazon_nova/x"])
async def test_an_answer_through_litellm_is_unpacked_as_it_was_asked_for(name: str, packing: str) -> None:
    async with serving(served(partial(packed, packing=packing))) as url:
        model = LiteLLMModel(name, {"api_base": url, "api_key": "none"})
        try:
            if packing == "br":
                with pytest.raises(ModelError, match="packed as 'br', which nobody asked for"):
                    await model.complete(ChatRequest(history=ASKED, seed=3))
            else:
                assert (await model.complete(ChatRequest(history=ASKED, seed=3))).text == "hello " * 1000
        finally:
            await model.close()


async def test_calls_that_an_app_makes_through_litellm_in_the_same_process_are_its_own() -> None:
    async with serving(served(partial(packed, packing="br"))) as url:
        litellm = load_litellm()
        answer = await litellm.acompletion(model="openai/y", messages=ASKED, api_base=url, api_key="none", timeout=5)

    assert answer.choices[0].message.content == "hello " * 1000
