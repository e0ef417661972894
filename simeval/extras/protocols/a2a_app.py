"""An app that speaks A2A over JSON-RPC: version 1.0, or 0.3 if its card or its answer asks for that."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urljoin
from uuid import uuid4

from simeval.core.conversation import ChatMessage
from simeval.core.redaction import secrets_in
from simeval.extras.protocols.json_rpc import METHOD_NOT_FOUND, RpcFailure, call, errors_told, result_in
from simeval.suites.apps.http_request import (
    SERVER_SENT,
    AddressedApp,
    Request,
    key_headers,
    require_address,
    values_of,
    with_cookies,
)
from simeval.suites.apps.remote_app import AppFailure, Session, quoted
from simeval.suites.apps.replies import Reply

FORM = "a2a:URL, such as a2a:http://localhost:9999"
CARD = ".well-known/agent-card.json"
VERSION_NOT_SUPPORTED = -32009
_ASKS, _FAILED = ("INPUT_REQUIRED", "AUTH_REQUIRED"), ("FAILED", "CANCELED", "UNKNOWN")
_ENDED = ("COMPLETED", "REJECTED", *_ASKS)


@dataclass(frozen=True, slots=True)
class _Interface:
    """The address of the app, the version of the protocol there, and whether it streams."""

    url: str
    is_old: bool = False
    streams: bool = False
    tenant: str | None = None


@dataclass(slots=True)
class _Known:
    """The interface of an app, once it is known."""

    interface: _Interface | None = None


@dataclass(frozen=True, slots=True)
class A2aApp(AddressedApp):
    """An app behind A2A, by the address of its card or of its JSON-RPC. A context is a conversation.

    It is asked by its card, streaming if it can; without a card by 1.0 and, if it does not know that, by 0.3. If a task
    needs input, the user's next message is sent to it. Raises DefinitionError for an invalid address.
    """

    url: str
    _known: _Known = field(default_factory=_Known, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_address(self.url, FORM)

    @property
    def _named(self) -> str:
        return f"a2a:{self.url}"

    async def _turn(self, messages: Sequence[ChatMessage], kept: Session, reply: Reply) -> Session:
        if self._known.interface is None:
            self._known.interface = await self._found(kept)
        said, interface = messages[-1]["content"], self._known.interface
        try:
            return await self._sent(said, interface, kept, reply)
        except RpcFailure as failure:
            if interface.is_old or failure.code not in (METHOD_NOT_FOUND, VERSION_NOT_SUPPORTED):
                raise
        self._known.interface = replace(interface, is_old=True)
        return await self._sent(said, self._known.interface, kept, reply)

    async def _found(self, kept: Session) -> _Interface:
        """Return the interface in the app's card; its address itself without a card."""
        for address in dict.fromkeys((f"{self.url.rstrip('/')}/{CARD}", urljoin(self.url, f"/{CARD}"))):
            request = Request(url=address, method="GET", headers=key_headers(address))
            try:
                async with self._wire.sent(request, kept, Reply(), where=self.url) as answer:
                    cards = [value async for value in values_of(answer, Reply()) if isinstance(value, Mapping)]
            except AppFailure as failure:
                if failure.outcome != "failed":
                    raise
                continue
            if cards:
                return _interface_of(cards[0], self.url)
        return _Interface(self.url)

    async def _sent(self, said: str, interface: _Interface, kept: Session, reply: Reply) -> Session:
        called = _message(said, interface, kept)
        version = {} if interface.is_old else {"A2A-Version": "1.0"}
        accept = {"Accept": SERVER_SENT if interface.streams else "application/json"}
        headers = {**version, **accept, **key_headers(interface.url, for_app=self.url)}
        reply.hides = {**reply.hides, **dict.fromkeys(secrets_in(interface.url), "url")}
        task, request = _Task(reply), Request(url=interface.url, body=called, headers=headers)
        with errors_told():
            async with self._wire.sent(request, kept, reply) as answer:
                async for value in values_of(answer, reply):
                    task.take(result_in(value, called))
                after = with_cookies(kept, answer)
        task.close()
        open_task = {"task": task.id} if task.state in _ASKS else {}
        return replace(after, theirs=task.context or kept.theirs, kept=open_task)


def _interface_of(card: Mapping[str, Any], url: str) -> _Interface:
    """Return the first interface of a card that speaks JSON-RPC. Raises AppFailure if none does."""
    streams = bool((card.get("capabilities") or {}).get("streaming"))
    for each in card.get("supportedInterfaces") or []:
        if each.get("protocolBinding") == "JSONRPC":
            is_old = str(each.get("protocolVersion", "1.0")).startswith("0.")
            return _Interface(each.get("url") or url, is_old, streams, each.get("tenant") or None)
    old = [{"url": card.get("url"), "transport": card.get("preferredTransport", "JSONRPC")}]
    for each in [*old, *(card.get("additionalInterfaces") or [])]:
        if each.get("url") and each.get("transport") == "JSONRPC":
            return _Interface(each["url"], True, streams)
    raise AppFailure("its card names no interface of A2A by JSON-RPC")


def _message(said: str, interface: _Interface, kept: Session) -> dict[str, Any]:
    """Return the request with this message, in the version of the interface."""
    part = {"kind": "text", "text": said} if interface.is_old else {"text": said}
    message = {"messageId": uuid4().hex, "role": "user" if interface.is_old else "ROLE_USER", "parts": [part]}
    if interface.is_old:
        message["kind"] = "message"
    if kept.theirs is not None:
        message["contextId"] = kept.theirs
    if "task" in kept.kept:
        message["taskId"] = kept.kept["task"]
    params: dict[str, Any] = {"message": message}
    if interface.is_old:
        params["configuration"] = {"blocking": True, "acceptedOutputModes": ["text/plain"]}
        return call("message/stream" if interface.streams else "message/send", params)
    if interface.tenant:
        params["tenant"] = interface.tenant
    return call("SendStreamingMessage" if interface.streams else "SendMessage", params)


@dataclass(slots=True)
class _Task:
    """The data of an agent so far: a message, or a task with its artifacts, in either version."""

    reply: Reply
    id: str = ""
    context: str | None = None
    state: str = ""
    _is_message: bool = False
    _artifacts: set[str] = field(default_factory=set)
    _told: str = ""  # the text of the task's last status
    _history: str = ""

    def take(self, result: Any) -> None:
        """Take in a result, or an event of a stream."""
        if not isinstance(result, Mapping):
            return
        kinds = {"status-update": "statusUpdate", "artifact-update": "artifactUpdate"}
        kind, value = kinds.get(result.get("kind", ""), result.get("kind")), result
        if kind is None:
            kind, value = next(((key, each) for key, each in result.items() if isinstance(each, Mapping)), ("", {}))
        self.context = value.get("contextId") or self.context
        match kind:
            case "message":
                self._is_message = True
                self._say(value)
            case "task":
                self.id = value.get("id") or self.id
                for artifact in value.get("artifacts") or []:
                    self._say_artifact(artifact)
                spoken = [each for each in value.get("history") or [] if "agent" in str(each.get("role")).lower()]
                self._history = _text(spoken[-1]) if spoken else ""
                self._take_status(value.get("status") or {})
            case "statusUpdate":
                self.id = value.get("taskId") or self.id
                self._take_status(value.get("status") or {})
            case "artifactUpdate":
                self._say_artifact(value.get("artifact") or {})

    def close(self) -> None:
        """Add the text of the task's status if that is the answer. Raises AppFailure if there is no answer."""
        if not self._is_message:
            if self.state in _FAILED:
                said = f": {quoted(self._told)}" if self._told else ""
                raise AppFailure(f"its task ended as {self.state.lower()}{said}")
            if self.state not in _ENDED:
                said = f"is still {self.state.lower() or 'unknown'}, though it was asked to wait for its end"
                raise AppFailure(
                    f"its stream ended while its task {said}" if self.reply.is_stream else f"its task {said}"
                )
            if self.state in _ASKS or not self.reply.texts:
                self._add(self._told or ("" if self.reply.texts else self._history))
        if not self.reply.texts:
            raise AppFailure("no text is found in any message or artifact of its answer")

    def _take_status(self, status: Mapping[str, Any]) -> None:
        self.state = str(status.get("state", "")).upper().replace("-", "_").removeprefix("TASK_STATE_") or self.state
        self._told = _text(status.get("message") or {})
        self._take_calls(status.get("message") or {})

    def _say_artifact(self, artifact: Mapping[str, Any]) -> None:
        known = str(artifact.get("artifactId"))
        if known in self._artifacts:  # more of the same
            self.reply.add(_text(artifact))
            self._take_calls(artifact)
            return
        self._artifacts.add(known)
        self._say(artifact)

    def _say(self, spoken: Mapping[str, Any]) -> None:
        self._add(_text(spoken))
        self._take_calls(spoken)

    def _add(self, text: str) -> None:
        if text:
            self.reply.add(f"\n{text}" if self.reply.texts else text)

    def _take_calls(self, spoken: Mapping[str, Any]) -> None:
        """Keep the parts that describe a tool call, as Google's ADK marks them."""
        for part in spoken.get("parts") or []:
            if "function_call" in (part.get("metadata") or {}).values() and isinstance(part.get("data"), Mapping):
                self.reply.tool_calls.append(part["data"])


def _text(spoken: Mapping[str, Any]) -> str:
    return "".join(part["text"] for part in spoken.get("parts") or [] if isinstance(part.get("text"), str))
