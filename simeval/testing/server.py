"""The server of a fake endpoint: it answers, or fails, by its behaviour."""

import asyncio
import json
import socket
import struct
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from time import monotonic
from typing import Any

from aiohttp import web

from simeval.testing.replies import (
    FAULTS,
    Behaviour,
    EndpointStats,
    Fault,
    Role,
    embeddings,
    malformed,
    moderation,
    reply_of,
    role_of,
)

HUGE_BYTES = 10_000_000
LONGEST_PROMPT = 1_000_000  # characters
_CHAT, _EMBEDDINGS, _MODERATIONS = "/v1/chat/completions", "/v1/embeddings", "/v1/moderations"


@dataclass(slots=True)
class EndpointServer:
    """Answers POST /v1/chat/completions, /v1/embeddings and /v1/moderations."""

    behaviour: Behaviour
    stats: EndpointStats = field(default_factory=EndpointStats)
    _random: Random = field(init=False)
    _stopped: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _tokens: float = field(default=1.0, init=False)
    _tokens_counted: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self._random = Random(self.behaviour.seed)

    @asynccontextmanager
    async def serving(self, port: int = 0) -> AsyncIterator[str]:
        """Listen on a port, by default a free one, and yield the base URL; at the end, let hanging requests go."""
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
        if request.method == "GET":  # not a model's request: somebody looks at the list of models
            return _error(404, "no such page", "invalid_request_error")
        stats = self.stats
        stats.requests += 1
        stats.in_flight += 1
        stats.peak_in_flight = max(stats.peak_in_flight, stats.in_flight)
        try:
            return await self._answer(request)
        finally:
            stats.in_flight -= 1

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.method != "POST" or request.path not in (_CHAT, _EMBEDDINGS, _MODERATIONS):
            return _error(404, "no such page", "invalid_request_error")
        self.stats.saw_authorization |= bool(_key(request))
        body = json.loads(await request.content.read())  # of any length; request.read() refuses more than 1 MB
        if request.path == _CHAT:
            return await self._chat(request, body["model"], body["messages"])
        answer = embeddings if request.path == _EMBEDDINGS else moderation
        return await self._measured(request, answer(body["model"], body["input"]))

    async def _chat(self, request: web.BaseRequest, model: str, messages: list[dict[str, str]]) -> web.StreamResponse:
        role = role_of(messages[0]["content"], messages[-1]["content"], self.behaviour.prompts)
        self.stats.by_role[role] += 1
        if self.behaviour.latency_seconds > 0:
            await asyncio.sleep(self.behaviour.latency_seconds)
        if len(messages[-1]["content"]) > LONGEST_PROMPT:
            return _error(400, "the prompt is too long", "invalid_request_error", code="context_length_exceeded")
        reply = reply_of(role, messages, self.behaviour)
        match fault := self._fault(role):
            case None:
                return _completion(model, messages, json.dumps(reply) if isinstance(reply, dict) else reply)
            case "malformed":
                return _completion(model, messages, malformed(role, reply, self.stats.faults["malformed"]))
            case "huge":
                return _completion(model, messages, "x" * HUGE_BYTES)
        return await self._failed(fault, request)

    async def _measured(self, request: web.BaseRequest, answer: dict[str, Any]) -> web.StreamResponse:
        """Answer with embeddings or a moderation."""
        self.stats.by_role["scorer"] += 1
        match fault := self._fault("scorer"):
            case None:
                return web.json_response(answer)
            case "malformed":
                return web.json_response({**answer, "data": [], "results": []})
            case "huge":
                return web.json_response({**answer, "data": [], "results": [], "id": "x" * HUGE_BYTES})
        return await self._failed(fault, request)

    def _fault(self, role: Role) -> Fault | None:
        """Return how this request fails, and count it; None if it is answered."""
        fault = self._drawn(role)
        if fault:
            self.stats.faults[fault] += 1
        return fault

    def _drawn(self, role: Role) -> Fault | None:
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

    async def _failed(self, fault: Fault, request: web.BaseRequest) -> web.StreamResponse:
        echo = f" (key {_key(request)})" if self.behaviour.echo_key else ""
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


def _key(request: web.BaseRequest) -> str:
    return request.headers.get("Authorization", "").removeprefix("Bearer ")


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
