"""An app that is a tool of an MCP server, at a URL or a program: the user's message is an argument of the tool."""

import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import anyio

from simeval.core.conversation import ChatMessage
from simeval.core.validation import require
from simeval.extras.protocols.json_rpc import RpcFailure
from simeval.extras.protocols.mcp_lines import HttpLine, McpLine, ProcessLine
from simeval.suites.apps.command_app import PROGRAM, require_program
from simeval.suites.apps.http_request import AddressedApp, require_address
from simeval.suites.apps.remote_app import AppFailure, Session, quoted
from simeval.suites.apps.replies import USUAL, Reading, Reply
from simeval.suites.apps.streams import value_of

FORM = "mcp:URL#TOOL or mcp:PROGRAM ARGUMENTS#TOOL, such as mcp:http://localhost:8000/mcp#ask"
MODERN, LEGACY = "2026-07-28", "2025-11-25"  # without a handshake, and the last one with it
_META, _UNSUPPORTED = "io.modelcontextprotocol", -32022
MESSAGE = ("message", "prompt", "query", "question", "input", "text", "content")  # names of the argument it may be
SESSION = ("session", "session_id", "sessionId", "thread_id", "threadId", "conversation_id", "conversationId")
HISTORY = ("messages", "history")


@dataclass(slots=True)
class _Known:
    """Facts about a server once it was asked: whether it needs no handshake, and the arguments of the tool."""

    is_modern: bool | None = None
    message: str = ""
    session: str | None = None
    history: str | None = None


@dataclass(frozen=True, slots=True)
class McpApp(AddressedApp):
    """An app that is the tool of an MCP server, which is a URL or a command.

    Each conversation has a session of its own: with a program a process, at a URL one the server gives. The user's
    message is passed as the one text that the tool requires, or has, or as one with a usual name; an argument named
    session_id, thread_id or the like gets an id of the conversation, one named messages or history all messages. The
    tool's text is the answer, or JSON with "reply" and perhaps "tool_calls", "context" and "session". Raises
    DefinitionError if it is neither an address nor a program that exists.
    """

    server: str
    tool: str
    _known: _Known = field(default_factory=_Known, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require(bool(self.tool), "app mcp", found=self.server, do=f"write {FORM}")
        if self._is_url:
            require_address(self.server, FORM)
        else:
            require_program(self.server, "mcp:PROGRAM ARGUMENTS#TOOL")

    @property
    def _named(self) -> str:
        return f"mcp:{self.server}#{self.tool}"

    @property
    def _is_url(self) -> bool:
        return re.match(r"https?://", self.server) is not None

    @property
    def _reading(self) -> Reading:
        return PROGRAM

    async def _turn(self, messages: Sequence[ChatMessage], kept: Session, reply: Reply) -> Session:
        line: McpLine | None = kept.line
        if line is None:
            line = HttpLine(self._wire, self.server, kept) if self._is_url else await ProcessLine.of(self.server)
        line.reply = reply
        try:
            if kept.line is None:
                await self._begin(line, kept)
            if not self._known.message:
                await self._learn(line, kept)
            called = {"name": self.tool, "arguments": self._arguments(messages, kept)}
            reply.forget()  # an earlier question is no answer
            _take(await self._asked(line, kept, "tools/call", called), reply)
        except BaseException:  # also when cancelled: nobody else knows of the line yet
            await self.leave({"line": line})
            raise
        return replace(kept, theirs=reply.session or kept.theirs, line=line)

    async def _asked(self, line: McpLine, kept: Session, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the result of a request, with the metadata that the protocol requires."""
        meta: dict[str, Any] = {"traceparent": kept.new_traceparent()}
        if line.version == MODERN:
            meta[f"{_META}/protocolVersion"] = MODERN
            meta[f"{_META}/clientInfo"] = _client()
            meta[f"{_META}/clientCapabilities"] = {}
        found = await line.ask(method, {**params, "_meta": meta})
        return found if isinstance(found, Mapping) else {}

    async def _begin(self, line: McpLine, kept: Session) -> None:
        """Find out, once, whether the server needs a handshake, and shake hands if it does. Raises AppFailure."""
        line.version = MODERN
        if self._known.is_modern is None:
            self._known.is_modern = await self._is_modern(line, kept)
        if self._known.is_modern:
            return
        line.version = None
        offered = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": _client()}
        try:
            answered = await line.ask("initialize", offered)
        except RpcFailure:  # a server that took long to start may need none, and report that late
            line.version = MODERN
            if not await self._is_modern(line, kept, waits=True):
                raise
            self._known.is_modern = True
            return
        agreed = answered.get("protocolVersion") if isinstance(answered, Mapping) else None
        line.version = str(agreed or LEGACY)
        await line.tell("notifications/initialized")

    async def _is_modern(self, line: McpLine, kept: Session, *, waits: bool = False) -> bool:
        """Ask a question that only servers without a handshake know; any other answer means one with it.

        With `waits` the server is known to answer.
        """
        try:
            with nullcontext(anyio.CancelScope()) if waits else line.probing() as limit:
                found = await self._asked(line, kept, "server/discover", {})
        except RpcFailure as failure:
            versions = failure.data.get("supported", []) if isinstance(failure.data, Mapping) else []
            if failure.code == _UNSUPPORTED and versions and all(str(each) > LEGACY for each in versions):
                raise
            return False
        except AppFailure as failure:
            if failure.outcome != "failed" or not failure.body:  # there is no server, no answer, or no access
                raise
            return False
        return not limit.cancelled_caught and MODERN in (found.get("supportedVersions") or [])

    async def _learn(self, line: McpLine, kept: Session) -> None:
        """Read the arguments of the tool. Raises AppFailure if there is no such tool, or no argument is a message."""
        listed: list[Mapping[str, Any]] = []
        cursor: Mapping[str, Any] = {}
        while True:
            page = await self._asked(line, kept, "tools/list", cursor)
            listed += page.get("tools") or []
            if not page.get("nextCursor") or page["nextCursor"] == cursor.get("cursor"):
                break
            cursor = {"cursor": page["nextCursor"]}
        found = next((each for each in listed if each.get("name") == self.tool), None)
        if found is None:
            names = ", ".join(str(each.get("name")) for each in listed)
            raise AppFailure(f"it has no tool {self.tool!r}; it has {names or 'none'}")
        schema = found.get("inputSchema") or {}
        properties, required = schema.get("properties") or {}, schema.get("required") or []
        self._known.session = next((name for name in SESSION if name in properties), None)
        self._known.history = next((name for name in HISTORY if name in properties), None)
        self._known.message = _message_in(properties, required, self.tool)

    def _arguments(self, messages: Sequence[ChatMessage], kept: Session) -> dict[str, Any]:
        found: dict[str, Any] = {self._known.message: messages[-1]["content"]}
        if self._known.session:
            found[self._known.session] = kept.theirs or kept.given
        if self._known.history:
            found[self._known.history] = list(messages)
        return found


def _client() -> dict[str, str]:
    from simeval.core.version import __version__

    return {"name": "simeval", "version": __version__}


def _message_in(properties: Mapping[str, Any], required: Sequence[str], tool: str) -> str:
    """Return which argument of a tool is the message. Raises AppFailure if that is unclear."""
    texts = [name for name, each in properties.items() if name not in SESSION and _is_text(each)]
    needed = [name for name in texts if name in required]
    for names in (needed, texts):
        if len(names) == 1:
            return names[0]
    usual = [name for name in MESSAGE if name in texts]
    if not usual:
        raise AppFailure(
            f"which argument of its tool {tool!r} is the message cannot be told from "
            f"{', '.join(properties) or 'none'}; name one of them {MESSAGE[0]!r}"
        )
    return usual[0]


def _is_text(schema: Any) -> bool:
    kinds = schema.get("type", "string") if isinstance(schema, Mapping) else ()
    return kinds == "string" or (isinstance(kinds, list) and "string" in kinds)


def _take(result: Mapping[str, Any], reply: Reply) -> None:
    """Add the result of a tool. Raises AppFailure if it failed, or asks for something other than a message."""
    text = "\n".join(part["text"] for part in result.get("content") or [] if isinstance(part.get("text"), str))
    if result.get("isError"):
        raise AppFailure(f"its tool failed: {quoted(text)}")
    if result.get("resultType", "complete") != "complete":
        raise AppFailure(f"its tool wants more than a message: {quoted(str(result.get('inputRequests')))}")
    structured, said = result.get("structuredContent"), value_of(text)
    for value in (structured, said):
        if isinstance(value, Mapping) and any(isinstance(value.get(name), str) for name in USUAL):
            reply.take(value)
            return
    if not text:
        raise AppFailure("no text is found in what its tool gave")
    reply.add(text)


def tool_at(named: str) -> McpApp:
    """Return the app of a name such as URL#TOOL or PROGRAM#TOOL. Raises DefinitionError."""
    server, mark, tool = named.rpartition("#")
    return McpApp(server, tool) if mark else McpApp(tool, "")
