"""An OpenAI-compatible server that plays simeval's roles, with latency and faults as asked for.

In tests it runs in a thread (`running`); for benchmarks it is a program of its own that prints its base URL
and stops on SIGTERM or when its standard input ends: python -m tests.support.llm_server --latency-seconds 0.05
"""

import argparse
import asyncio
import json
import os
import signal
import socket
import struct
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, fields
from functools import partial
from random import Random
from threading import Thread
from time import monotonic
from typing import Any, Literal, get_args
from zlib import crc32

from aiohttp import web

from tests.support.scorer_replies import embeddings, moderation, scorer_reply

Role = Literal["user", "judge", "rubric", "app", "scorer"]
Fault = Literal[
    "error_500",
    "rate_limited",
    "malformed",
    "truncated",
    "hang",
    "auth",
    "bad_request",
    "html",
    "content_filter",
    "reset",
    "huge",
]

ROLE_OF_PROMPT: Mapping[str, Role] = {
    "You play a person": "user",
    "You judge how": "judge",
    "You write rubrics": "rubric",
    "You grade ": "scorer",
    "You list the entities": "scorer",
    # SigmaEval's prompts, for the benchmark that runs it on the same endpoint
    "You are simulating a user": "user",
    "You are an expert evaluator": "judge",
    "You are an expert at creating": "rubric",
}
FAULTS: tuple[Fault, ...] = get_args(Fault)
STOPPING_SECONDS = 2.0
HUGE_BYTES = 10_000_000
LONGEST_PROMPT = 1_000_000  # characters
CANNOT = "I can not"  # by this a judge that reads knows a bad answer


@dataclass(slots=True, kw_only=True)
class Behaviour:
    """How the server answers; it may be changed while the server runs.

    Each of the numbers named as a fault is the share of requests (0 to 1) that it strikes, drawn from
    `seed`, among those of `faulty_roles`. `first_faults` strike the first such requests, before any is
    drawn; "" lets one pass. `retry_after` is the header of a 429, None leaves it out; `refusal` is the text
    of a 401. `echo_key` puts the caller's API key into the text of every error. More than `max_rps`
    requests within a second are answered with 429. None is answered before `opens_at` have been under way at once.
    With `reads` the answers depend on the prompt, and on nothing else: each of the user's messages has a number made
    from it, and the judge rates by what the app said.
    """

    latency_seconds: float = 0.0
    user_messages: int = 3
    score: float = 8
    error_500: float = 0.0
    rate_limited: float = 0.0
    malformed: float = 0.0
    truncated: float = 0.0
    hang: float = 0.0
    auth: float = 0.0
    bad_request: float = 0.0
    html: float = 0.0
    content_filter: float = 0.0
    reset: float = 0.0
    huge: float = 0.0
    first_faults: tuple[Fault | Literal[""], ...] = ()
    faulty_roles: tuple[Role, ...] = ("user", "judge", "rubric", "app", "scorer")
    retry_after: str | None = "0.05"
    refusal: str = "Incorrect API key provided"
    echo_key: bool = False
    max_rps: float | None = None
    opens_at: int = 0
    reads: bool = False
    seed: int = 0


@dataclass(slots=True)
class Stats:
    """What the server has seen. Read them when no request is under way, or take them as approximate."""

    requests: int = 0
    by_role: Counter[Role] = field(default_factory=Counter)
    faults: Counter[Fault] = field(default_factory=Counter)
    in_flight: int = 0
    peak_in_flight: int = 0
    saw_authorization: bool = False


@dataclass(slots=True)
class LanguageModelServer:
    """Answers POST /v1/chat/completions, /v1/embeddings and /v1/moderations."""

    behaviour: Behaviour
    stats: Stats = field(default_factory=Stats)
    _random: Random = field(init=False)
    _stopped: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _opened: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _tokens: float = field(default=1.0, init=False)
    _tokens_counted: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self._random = Random(self.behaviour.seed)

    @asynccontextmanager
    async def serving(self, port: int = 0) -> AsyncIterator[str]:
        """Listen on a port, by default a free one, and give the base URL; at the end, let hanging requests go."""
        server = web.Server(self._handle, handler_cancellation=True, access_log=None)
        runner = web.ServerRunner(server, shutdown_timeout=0.2)
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", port, backlog=1024)
            await site.start()
            yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        finally:
            self._stopped.set()
            await runner.cleanup()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        stats = self.stats
        stats.requests += 1
        stats.in_flight += 1
        stats.peak_in_flight = max(stats.peak_in_flight, stats.in_flight)
        if stats.peak_in_flight >= self.behaviour.opens_at:
            self._opened.set()
        try:
            await self._opened.wait()
            return await self._answer(request)
        finally:
            stats.in_flight -= 1

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.method == "POST" and request.path in ("/v1/embeddings", "/v1/moderations"):
            return await self._measured(request)
        if request.method != "POST" or request.path != "/v1/chat/completions":
            return _error(404, "no such page", "invalid_request_error")
        key = request.headers.get("Authorization", "").removeprefix("Bearer ")
        self.stats.saw_authorization |= bool(key)
        body = json.loads(await request.content.read())  # of any length; request.read() refuses more than 1 MB
        messages = body["messages"]
        role = _role(messages[0]["content"])
        self.stats.by_role[role] += 1
        if self.behaviour.latency_seconds > 0:
            await asyncio.sleep(self.behaviour.latency_seconds)
        if len(messages[-1]["content"]) > LONGEST_PROMPT:
            return _error(400, "the prompt is too long", "invalid_request_error", code="context_length_exceeded")
        fault = self._fault(role)
        reply = _reply(role, messages, self.behaviour)
        if fault is None:
            return _completion(body["model"], messages, json.dumps(reply) if isinstance(reply, dict) else reply)
        self.stats.faults[fault] += 1
        if fault == "malformed":
            text = _malformed(role, reply, self.stats.faults["malformed"])
            return _completion(body["model"], messages, text)
        if fault == "huge":
            return _completion(body["model"], messages, "x" * HUGE_BYTES)
        return await self._failed(fault, request, key)

    async def _measured(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer with embeddings or a moderation."""
        key = request.headers.get("Authorization", "").removeprefix("Bearer ")
        self.stats.saw_authorization |= bool(key)
        body = json.loads(await request.content.read())
        self.stats.by_role["scorer"] += 1
        fault = self._fault("scorer")
        asked, model = body["input"], body["model"]
        answer = embeddings(model, asked) if request.path == "/v1/embeddings" else moderation(model, asked)
        if fault is None:
            return web.json_response(answer)
        self.stats.faults[fault] += 1
        if fault == "malformed":
            return web.json_response({**answer, "data": [], "results": []})
        if fault == "huge":
            return web.json_response({**answer, "data": [], "results": [], "id": "x" * HUGE_BYTES})
        return await self._failed(fault, request, key)

    def _fault(self, role: Role) -> Fault | None:
        """Say how this request fails; None where it is answered."""
        behaviour = self.behaviour
        if behaviour.max_rps is not None and not self._has_token(behaviour.max_rps):
            return "rate_limited"
        if role not in behaviour.faulty_roles:
            return None
        if behaviour.first_faults:
            fault, *others = behaviour.first_faults
            behaviour.first_faults = tuple(others)
            return fault or None
        drawn = self._random.random()
        for kind in FAULTS:
            drawn -= getattr(behaviour, kind)
            if drawn < 0:
                return kind
        return None

    def _has_token(self, per_second: float) -> bool:
        """Take a token from a bucket that holds a second's worth of requests."""
        now = monotonic()
        self._tokens = min(max(1.0, per_second), self._tokens + (now - self._tokens_counted) * per_second)
        self._tokens_counted = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    async def _failed(self, fault: Fault, request: web.BaseRequest, key: str) -> web.StreamResponse:
        echo = f" (key {key})" if self.behaviour.echo_key else ""
        match fault:
            case "error_500":
                return _error(500, f"the server had an error{echo}", "server_error")
            case "rate_limited":
                retry_after = self.behaviour.retry_after
                headers = {"Retry-After": retry_after} if retry_after is not None else {}
                return _error(429, f"rate limit reached{echo}", "rate_limit_error", headers)
            case "auth":
                return _error(401, f"{self.behaviour.refusal}{echo}", "invalid_request_error", code="invalid_api_key")
            case "bad_request":
                return _error(400, f"an argument is wrong{echo}", "invalid_request_error")
            case "content_filter":
                return _error(
                    400, f"flagged by the filter{echo}", "invalid_request_error", code="content_policy_violation"
                )
            case "html":
                return web.Response(text=f"<html><body>Sign in{echo}</body></html>", content_type="text/html")
            case "truncated":
                return await _truncated(request)
            case "reset":
                return _reset(request)
            case _:
                await self._stopped.wait()
                return _error(503, "the server is stopping", "server_error")


def _role(system_prompt: str) -> Role:
    for opening, role in ROLE_OF_PROMPT.items():
        if system_prompt.startswith(opening):
            return role
    return "app"


def _reply(role: Role, messages: list[dict[str, str]], behaviour: Behaviour) -> dict[str, Any] | str:
    prompt = messages[-1]["content"]
    match role:
        case "scorer":
            return scorer_reply(messages[0]["content"], prompt)
        case "user":
            number = prompt.count('from="user"') + prompt.count('speaker="user"') + 1
            case = f" in case {crc32(prompt.encode())}" if behaviour.reads else ""
            return {
                "message": f"Question {number}: what can you do{case}?",
                "continue": number < behaviour.user_messages,
            }
        case "judge":
            score = _rating(prompt) if behaviour.reads else behaviour.score
            return {"reasoning": "It did what was expected.", "score": score}
        case "rubric":
            return {"levels": {str(level): f"Does {level} tenths of it." for level in range(1, 11)}}
        case "app":
            return "I answer questions, book meetings and translate texts."


def _rating(prompt: str) -> float:
    """Rate a conversation: 3 to 4 where the app could not help at some turn, else 8 to 9."""
    return (3 if CANNOT in prompt else 8) + crc32(prompt.encode()) % 1000 / 1000


def _malformed(role: Role, reply: dict[str, Any] | str, number: int) -> str:
    """Return a reply that is not what was asked for, each time in another way."""
    if isinstance(reply, str):
        return ""
    text = json.dumps(reply)
    missing = dict(list(reply.items())[:-1])
    wrong: Mapping[Role, dict[str, Any]] = {
        "user": {**reply, "continue": "yes"},
        "judge": {**reply, "score": 11},
        "rubric": {"levels": {"1": "bad", "11": "good"}},
        "scorer": {**reply, list(reply)[-1]: "perhaps"},
    }
    ways = ("I would rather not say.", text[: len(text) // 2], json.dumps(wrong[role]), json.dumps(missing))
    return ways[number % len(ways)]


def _completion(model: str, messages: list[dict[str, str]], text: str) -> web.Response:
    prompt_tokens, completion_tokens = sum(len(m["content"]) for m in messages) // 4, len(text) // 4
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    usage = {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    }
    body = {
        "id": "chatcmpl-test",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [choice],
        "usage": usage,
    }
    return web.Response(body=json.dumps(body).encode(), content_type="application/json")


def _error(
    status: int, message: str, kind: str, headers: Mapping[str, str] | None = None, *, code: str | None = None
) -> web.Response:
    body = {"error": {"message": message, "type": kind, "param": None, "code": code}}
    return web.json_response(body, status=status, headers=headers)


async def _truncated(request: web.BaseRequest) -> web.StreamResponse:
    """Promise more bytes than are sent, then hang up."""
    headers = {"Content-Type": "application/json", "Content-Length": "4096"}
    response = web.StreamResponse(headers=headers)
    await response.prepare(request)
    await response.write(b'{"id": "chatcmpl-test", "object": "chat.comp')
    if request.transport is not None:
        request.transport.close()
    return response


def _reset(request: web.BaseRequest) -> web.StreamResponse:
    """Drop the connection so that the client's end is reset."""
    transport = request.transport
    if transport is not None:
        at_once = struct.pack("ii", 1, 0)
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
        transport.abort()
    return web.Response()


@dataclass(frozen=True, slots=True)
class ServerHandle:
    """A running server, for the thread that started it."""

    base_url: str
    behaviour: Behaviour
    stats: Stats

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.base_url.removesuffix("/v1").rpartition(":")[2])


@contextmanager
def running(behaviour: Behaviour | None = None) -> Iterator[ServerHandle]:
    """Run a server in a thread of its own; it has stopped when the block is left, whatever hangs in it."""
    started: Future[tuple[ServerHandle, Callable[[], object]]] = Future()

    async def serve() -> None:
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        server = LanguageModelServer(behaviour or Behaviour())
        async with server.serving() as base_url:
            handle = ServerHandle(base_url, server.behaviour, server.stats)
            started.set_result((handle, partial(loop.call_soon_threadsafe, stop.set)))
            await stop.wait()

    def run() -> None:
        try:
            asyncio.run(serve())
        except BaseException as error:
            if started.done():
                raise
            started.set_exception(error)

    thread = Thread(target=run, name="llm server", daemon=True)
    thread.start()
    handle, stop = started.result(timeout=10)
    try:
        yield handle
    finally:
        stop()
        thread.join(STOPPING_SECONDS)
        if thread.is_alive():
            raise TimeoutError(f"the server did not stop within {STOPPING_SECONDS:g} seconds")


async def _serve_until_told(behaviour: Behaviour, port: int) -> None:
    """Print the base URL; end on SIGTERM, SIGINT, or when standard input does."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)

    def wait_for_end_of_input() -> None:
        while os.read(sys.stdin.fileno(), 4096):
            pass
        loop.call_soon_threadsafe(stop.set)

    Thread(target=wait_for_end_of_input, name="standard input", daemon=True).start()
    async with LanguageModelServer(behaviour).serving(port) as base_url:
        sys.stdout.write(f"{base_url}\n")
        sys.stdout.flush()
        await stop.wait()


def _read_arguments() -> tuple[Behaviour, int]:
    """Read the port and an option for each number of Behaviour: --latency-seconds, --error-500, --max-rps and so on."""
    parser = argparse.ArgumentParser(description="An OpenAI-compatible server for tests and benchmarks.")
    for setting in fields(Behaviour):
        if setting.name in ("first_faults", "faulty_roles"):
            continue
        option = f"--{setting.name.replace('_', '-')}"
        if isinstance(setting.default, bool):
            parser.add_argument(option, action="store_true")
        else:
            kind = float if setting.default is None else type(setting.default)
            parser.add_argument(option, type=kind, default=setting.default, metavar="X")
    parser.add_argument("--port", type=int, default=0, metavar="N")
    options = vars(parser.parse_args())
    port: int = options.pop("port")
    return Behaviour(**options), port


def main() -> None:
    """Serve with the behaviour given on the command line."""
    asyncio.run(_serve_until_told(*_read_arguments()))


if __name__ == "__main__":
    main()
