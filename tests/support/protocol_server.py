"""A server on this machine that speaks every protocol an app may be reached by, well or badly.

Its address is /PROTOCOL/MANNER: "good" says how many turns the conversation has had and calls the tool `menu`; "error",
"page", "hanging" and "broken" are the ways in which servers fail.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSMsgType, web

from tests.support.serving import serving

CALL = {"name": "menu", "arguments": {"day": "today"}}
FAILURES = ("error", "page", "hanging", "broken")
Events = list[dict[str, Any]]
Handle = Callable[[web.Request], Coroutine[Any, Any, web.StreamResponse]]


def rpc(body: Any, result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": body.get("id"), "result": result}


def rpc_error(body: Any, code: int, said: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": body.get("id"), "error": {"code": code, "message": said}}


@dataclass(slots=True)
class ProtocolServer:
    """It keeps what it was sent: the bodies, and the headers with each of them."""

    url: str = ""
    bodies: list[Any] = field(default_factory=list)
    asked: int = 0  # how often, for an answer that it fails to give
    headers: list[dict[str, str]] = field(default_factory=list)
    turns: Counter[str] = field(default_factory=Counter)  # by session
    left: list[str] = field(default_factory=list)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    def said(self, session: str, message: str) -> str:
        """Return the next answer in a session."""
        self.turns[session] += 1
        return f"{self.turns[session]}: {message}"

    def responses(self, body: Any) -> Events:
        """OpenAI's Responses: a response names the one before it."""
        known = body.get("previous_response_id") or f"resp-{len(self.turns)}"
        asked = body["input"] if isinstance(body["input"], str) else body["input"][-1]["content"]
        call = {"type": "function_call", **CALL, "arguments": json.dumps(CALL["arguments"])}
        text = self.said(known, asked)
        message = {"type": "message", "content": [{"type": "output_text", "text": text}]}
        response = {
            "id": known,
            "status": "completed",
            "output": [{"type": "reasoning"}, call, message],
            "usage": {"input_tokens": 7, "output_tokens": 3},
        }
        deltas = [{"type": "response.output_text.delta", "delta": each} for each in (text[:2], text[2:])]
        return [{"type": "response.created"}, *deltas, {"type": "response.completed", "response": response}]

    def agui(self, body: Any) -> Events:
        """AG-UI: a thread."""
        text = self.said(body["threadId"], body["messages"][-1]["content"])
        seen = body["state"].get("seen", 0)
        return [
            {"type": "RUN_STARTED", "threadId": body["threadId"], "runId": body["runId"]},
            {"type": "STATE_SNAPSHOT", "snapshot": {"seen": seen}},
            {"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": "menu"},
            {"type": "TOOL_CALL_ARGS", "toolCallId": "c1", "delta": '{"day": '},
            {"type": "TOOL_CALL_ARGS", "toolCallId": "c1", "delta": '"today"}'},
            {"type": "TOOL_CALL_END", "toolCallId": "c1"},
            {"type": "TOOL_CALL_RESULT", "messageId": "t1", "toolCallId": "c1", "content": "soup"},
            {"type": "TEXT_MESSAGE_START", "messageId": "m1", "role": "assistant"},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m1", "delta": text[:2]},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m1", "delta": text[2:]},
            {"type": "TEXT_MESSAGE_END", "messageId": "m1"},
            {"type": "STATE_DELTA", "delta": [{"op": "replace", "path": "/seen", "value": seen + 1}]},
            {"type": "RUN_FINISHED", "threadId": body["threadId"], "runId": body["runId"]},
        ]

    def a2a(self, body: Any) -> Events:
        """A2A 1.0, streaming: a context."""
        if body["method"] != "SendStreamingMessage":
            return [rpc_error(body, -32601, "Method not found")]
        message = body["params"]["message"]
        context = message.get("contextId") or f"context-{len(self.turns)}"
        parts = [
            {"data": CALL, "metadata": {"adk_type": "function_call"}},
            {"text": self.said(context, message["parts"][0]["text"])},
        ]
        of = {"taskId": "t1", "contextId": context}
        return [
            rpc(body, {"task": {"id": "t1", "contextId": context, "status": {"state": "TASK_STATE_SUBMITTED"}}}),
            rpc(body, {"artifactUpdate": {**of, "artifact": {"artifactId": "a", "parts": parts}}}),
            rpc(body, {"statusUpdate": {**of, "status": {"state": "TASK_STATE_COMPLETED"}}}),
        ]

    def a2a_old(self, body: Any) -> Events:
        """A2A 0.3, which knows nothing of 1.0: the task asks for more, and goes on."""
        if body["method"] != "message/send":
            return [rpc_error(body, -32601, "Method not found")]
        message = body["params"]["message"]
        context = message.get("contextId") or f"context-{len(self.turns)}"
        assert message.get("taskId") == ("t1" if "contextId" in message else None)
        spoken = {
            "kind": "message",
            "role": "agent",
            "parts": [
                {"kind": "data", "data": CALL, "metadata": {"adk_type": "function_call"}},
                {"kind": "text", "text": self.said(context, message["parts"][0]["text"])},
            ],
        }
        status = {"state": "input-required", "message": spoken}
        return [rpc(body, {"kind": "task", "id": "t1", "contextId": context, "status": status})]

    def mcp(self, body: Any, session: str) -> Events:
        """MCP with a handshake: a session."""
        known = ("initialize", "tools/list", "tools/call", "notifications/initialized")
        if body["method"] not in known or (not session and body["method"] != "initialize"):
            return [rpc_error(body, -32602, "Invalid request")]
        if body["method"] == "initialize":
            return [rpc(body, {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "s"}})]
        return self._tools(body, session)

    def mcp_modern(self, body: Any) -> Events:
        """MCP without a handshake: the session is an argument of the tool."""
        if body["method"] == "server/discover":
            return [rpc(body, {"resultType": "complete", "supportedVersions": ["2026-07-28"]})]
        assert body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
        return self._tools(body, body["params"].get("arguments", {}).get("session_id", ""))

    def _tools(self, body: Any, session: str) -> Events:
        if body["method"] == "tools/list":
            texts = {"type": "object", "properties": {"question": {"type": "string"}, "session_id": {"type": "string"}}}
            return [rpc(body, {"tools": [{"name": "ask", "inputSchema": {**texts, "required": ["question"]}}]})]
        said = {"reply": self.said(session, body["params"]["arguments"]["question"]), "tool_calls": [CALL]}
        progress = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {}}
        return [progress, rpc(body, {"content": [{"type": "text", "text": json.dumps(said)}]})]

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer over HTTP."""
        protocol, manner = request.match_info["protocol"], request.match_info["manner"]
        if manner != "good":
            return await self._failed(request, protocol, manner)
        body = await request.json()
        self.bodies.append(body)
        self.headers.append(dict(request.headers))
        if protocol == "completions":
            text = self.said(request.headers["traceparent"].split("-")[1], body["messages"][-1]["content"])
            message = {"role": "assistant", "content": text, "tool_calls": [{"id": "1", "function": CALL}]}
            return web.json_response({"choices": [{"message": message}]})
        if protocol == "mcp":
            return await self._mcp_session(request, body)
        events = getattr(self, protocol)(body)
        return web.json_response(events[-1]) if len(events) == 1 else await _streamed(request, events)

    async def _mcp_session(self, request: web.Request, body: Any) -> web.StreamResponse:
        if "id" not in body:
            return web.Response(status=202)
        session = request.headers.get("Mcp-Session-Id", "")
        events = self.mcp(body, session)
        if "error" in events[0]:
            return web.json_response(events[0], status=400)
        given = {"Mcp-Session-Id": session or f"session-{len(self.bodies)}"}
        if len(events) == 1:
            return web.json_response(events[0], headers=given)
        return await _streamed(request, events, given)

    async def leave(self, request: web.Request) -> web.StreamResponse:
        """End a session of MCP."""
        self.left.append(request.headers["Mcp-Session-Id"])
        return web.Response()

    async def card(self, request: web.Request) -> web.StreamResponse:
        """Describe an agent of A2A; that of 0.3 has no card here."""
        protocol, manner = request.match_info["protocol"], request.match_info["manner"]
        if protocol != "a2a":
            return web.Response(status=404)
        at = [{"url": f"{self.url}/a2a/{manner}", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]
        other = [{"url": "grpc://elsewhere", "protocolBinding": "GRPC", "protocolVersion": "1.0"}]
        return web.json_response({"supportedInterfaces": other + at, "capabilities": {"streaming": True}})

    async def socket(self, request: web.Request) -> web.StreamResponse:
        """Answer over a WebSocket, whose connection is the session."""
        manner = request.match_info["manner"]
        if manner in ("error", "page"):
            return await self._failed(request, "ws", manner)
        self.headers.append(dict(request.headers))
        socket, session = web.WebSocketResponse(), f"socket-{len(self.headers)}"
        await socket.prepare(request)
        async for frame in socket:
            if frame.type is not WSMsgType.TEXT or manner == "hanging":
                continue
            body = json.loads(frame.data)
            self.bodies.append(body)
            text = "Hello" if manner == "broken" else self.said(session, body["message"])
            await socket.send_str(json.dumps({"text": text[:3]}))
            if manner == "broken":
                break
            await socket.send_bytes(json.dumps({"text": text[3:], "tool_calls": [CALL], "done": True}).encode())
        self.left.append(session)
        return socket

    async def _failed(self, request: web.Request, protocol: str, manner: str) -> web.StreamResponse:
        self.asked += 1
        match manner:
            case "error":
                return web.json_response({"error": "the database is away"}, status=500)
            case "page":
                return web.Response(text="<html><title>Oops</title></html>", content_type="text/html")
            case "hanging":
                await self.ended.wait()
                return web.Response()
        return await _broken(request, protocol)


BROKEN: dict[str, dict[str, Any]] = {
    "responses": {"type": "response.output_text.delta", "delta": "Hel"},
    "agui": {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "Hel"},
    "a2a": {"result": {"artifactUpdate": {"artifact": {"artifactId": "a", "parts": [{"text": "Hel"}]}}}},
}


async def _broken(request: web.Request, protocol: str) -> web.StreamResponse:
    """Break off in the middle of a stream, or of a text."""
    body = await request.json()
    if protocol in BROKEN:
        event = {"id": body.get("id"), **BROKEN[protocol]}
        answer = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await answer.prepare(request)
        await answer.write(f"data: {json.dumps(event)}\n\n".encode())
    else:
        answer = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": "1000"})
        await answer.prepare(request)
        await answer.write(b'{"reply": "Hel')
    assert request.transport is not None
    request.transport.close()
    return answer


async def _streamed(request: web.Request, events: Events, headers: dict[str, str] | None = None) -> web.StreamResponse:
    answer = web.StreamResponse(headers={"Content-Type": "text/event-stream", **(headers or {})})
    await answer.prepare(request)
    for event in events:
        await answer.write(f"event: message\r\ndata: {json.dumps(event)}\r\n\r\n".encode())
    return answer


@asynccontextmanager
async def protocol_server() -> AsyncIterator[ProtocolServer]:
    """Serve it while it is needed."""
    served = ProtocolServer()
    application = web.Application()
    application.router.add_get("/ws/{manner}", served.socket)
    application.router.add_get("/{protocol}/{manner}/.well-known/agent-card.json", served.card)
    application.router.add_post("/{protocol}/{manner}", served.answer)
    application.router.add_post("/{protocol}/{manner}/responses", served.answer)
    application.router.add_post("/{protocol}/{manner}/chat/completions", served.answer)
    application.router.add_delete("/{protocol}/{manner}", served.leave)
    async with serving(application) as served.url:
        try:
            yield served
        finally:
            served.ended.set()
