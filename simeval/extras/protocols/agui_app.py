"""An app that speaks AG-UI: a run for each turn, as server-sent events."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

from simeval.core.conversation import ChatMessage
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

FORM = "agui:URL, such as agui:http://localhost:8000/agent"


def patched(value: Any, operations: Sequence[Mapping[str, Any]]) -> Any:
    """Return a value of JSON with these operations done to a copy of it. Raises AppFailure if one cannot be done."""
    root = {"": deepcopy(value)}
    for each in operations:
        try:
            _do(root, each)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise AppFailure(f"it changes its state where nothing is: {quoted(str(dict(each)))}") from error
    return root[""]


def _do(root: dict[str, Any], operation: Mapping[str, Any]) -> None:
    match operation["op"]:
        case "add" | "replace" as op:
            _put(root, operation["path"], operation["value"], is_new=op == "add")
        case "remove":
            _take(root, operation["path"])
        case "move":
            _put(root, operation["path"], _take(root, operation["from"]), is_new=True)
        case "copy":
            _put(root, operation["path"], deepcopy(_get(*_place(root, operation["from"]))), is_new=True)


def _place(root: dict[str, Any], path: str) -> tuple[Any, str]:
    """Return the container of the value at a path, and the last step to it."""
    *steps, last = (step.replace("~1", "/").replace("~0", "~") for step in path.split("/"))
    holder: Any = root
    for step in steps:
        holder = _get(holder, step)
    return holder, last


def _get(holder: Any, step: str) -> Any:
    return holder[int(step)] if isinstance(holder, list) else holder[step]


def _put(root: dict[str, Any], path: str, value: Any, *, is_new: bool) -> None:
    holder, last = _place(root, path)
    if not isinstance(holder, list):
        holder[last] = value
    elif is_new:
        holder.insert(len(holder) if last == "-" else int(last), value)
    else:
        holder[int(last)] = value


def _take(root: dict[str, Any], path: str) -> Any:
    holder, last = _place(root, path)
    return holder.pop(int(last) if isinstance(holder, list) else last)


@dataclass(frozen=True, slots=True)
class AguiApp(AddressedApp):
    """An app behind AG-UI (1.0). A thread is a conversation; the app gets all of its messages, and its own state back.

    Raises DefinitionError for an invalid address.
    """

    url: str

    def __post_init__(self) -> None:
        require_address(self.url, FORM)

    @property
    def _named(self) -> str:
        return f"agui:{self.url}"

    async def _turn(self, messages: Sequence[ChatMessage], kept: Session, reply: Reply) -> Session:
        said = messages[-1]["content"]
        body = {
            "threadId": kept.given,
            "runId": uuid4().hex,
            "state": kept.kept.get("state", {}),
            "messages": [{"id": f"{kept.given}-{place}", **each} for place, each in enumerate(messages)],
            "tools": [],
            "context": [],
            "forwardedProps": {},
        }
        if asked := kept.kept.get("interrupts"):
            body["resume"] = [{"interruptId": each, "status": "resolved", "payload": said} for each in asked]
        run = _Run(reply, body["state"])
        headers = {"Accept": SERVER_SENT, **key_headers(self.url)}
        async with self._wire.sent(Request(url=self.url, body=body, headers=headers), kept, reply) as answer:
            async for event in values_of(answer, reply):
                run.take(event)
            after = with_cookies(kept, answer)
        if not run.is_finished:
            raise AppFailure("its stream ended before the run was finished")
        run.close()
        return replace(after, kept={"state": run.state, "interrupts": run.interrupts})


@dataclass(slots=True)
class _Run:
    """The state of a run so far."""

    reply: Reply
    state: Any
    is_finished: bool = False
    interrupts: list[str] = field(default_factory=list)
    _said_by: Any = None  # the message in progress
    _calls: dict[Any, dict[str, Any]] = field(default_factory=dict)
    _call: Any = None  # the tool call in progress
    _snapshot: Sequence[Any] = ()

    def take(self, event: Any) -> None:
        """Process an event. Raises AppFailure if it is invalid, or reports that the run failed."""
        if not isinstance(event, Mapping) or "type" not in event:
            raise AppFailure(f"it answered with no event of AG-UI: {quoted(str(event))}")
        match event["type"]:
            case "TEXT_MESSAGE_START" | "TEXT_MESSAGE_CONTENT" | "TEXT_MESSAGE_CHUNK":
                self._take_text(event)
            case "TOOL_CALL_START" | "TOOL_CALL_ARGS" | "TOOL_CALL_CHUNK" | "TOOL_CALL_RESULT":
                self._take_call(event)
            case "STATE_SNAPSHOT":
                self.state = event.get("snapshot")
            case "STATE_DELTA":
                self.state = patched(self.state, event.get("delta") or [])
            case "MESSAGES_SNAPSHOT":
                self._snapshot = event.get("messages") or []
            case "RUN_ERROR":
                raise AppFailure(f"it says that it failed: {quoted(str(event.get('message')))}")
            case "RUN_FINISHED":
                self._finish(event)

    def close(self) -> None:
        """Complete the reply when the run is finished. Raises AppFailure if it has no text."""
        if not self.reply.texts:  # then it may be in the messages of a snapshot
            for message in self._snapshot:
                is_answer = message.get("role") == "assistant" and isinstance(message.get("content"), str)
                self.reply.texts = [message["content"]] if is_answer else self.reply.texts
        self.reply.tool_calls += self._calls.values()
        if self.state:
            self.reply.metadata["state"] = self.state
        if not self.reply.texts:
            raise AppFailure("its run finished without a text for the user")

    def _take_text(self, event: Mapping[str, Any]) -> None:
        if event.get("role", "assistant") != "assistant":
            return
        by = event.get("messageId") or self._said_by
        if by != self._said_by and self.reply.texts:
            self.reply.add("\n")
        self._said_by = by
        if event.get("delta"):
            self.reply.add(str(event["delta"]))

    def _take_call(self, event: Mapping[str, Any]) -> None:
        self._call = event.get("toolCallId") or self._call
        call = self._calls.setdefault(self._call, {"id": self._call, "name": "", "arguments": ""})
        if event["type"] == "TOOL_CALL_RESULT":
            call["result"] = event.get("content")
            return
        call["name"] = event.get("toolCallName") or call["name"]
        call["arguments"] += event.get("delta") or ""

    def _finish(self, event: Mapping[str, Any]) -> None:
        self.is_finished = True
        outcome = event.get("outcome") or {}
        for each in outcome.get("interrupts") or []:  # the app asks, and the user's next message is the answer
            self.interrupts.append(each.get("id"))
            self.reply.add(str(each.get("message") or each.get("reason") or ""))
        for usage in event.get("usage") or []:
            self.reply.add_usage(usage.get("inputTokens"), usage.get("outputTokens"))
        if not self.reply.texts and isinstance(event.get("result"), str):
            self.reply.add(event["result"])
