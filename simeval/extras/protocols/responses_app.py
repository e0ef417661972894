"""An app that speaks OpenAI's Responses: one response a turn, which names the one before it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from simeval.core.conversation import ChatMessage
from simeval.core.validation import require
from simeval.suites.apps.http_request import (
    AddressedApp,
    Request,
    key_headers,
    require_address,
    values_of,
    with_cookies,
)
from simeval.suites.apps.remote_app import AppFailure, Session, quoted
from simeval.suites.apps.replies import Reply

FORM = "openai-responses:URL#MODEL, such as openai-responses:http://localhost:8000/v1#support"
_DELTAS = ("response.output_text.delta", "response.refusal.delta")
_ENDS = ("response.completed", "response.incomplete")
_TALK = ("message", "reasoning")  # kinds of output that are no call of a tool


@dataclass(frozen=True, slots=True)
class ResponsesApp(AddressedApp):
    """An app behind OpenAI's Responses; it remembers the conversation by the id of its last response.

    Raises DefinitionError for an invalid address, or without a model.
    """

    url: str
    model: str

    def __post_init__(self) -> None:
        require_address(self.url, FORM)
        require(bool(self.model), "app openai-responses", found=self.url, do=f"write {FORM}")

    @property
    def _named(self) -> str:
        return f"openai-responses:{self.url}#{self.model}"

    async def _turn(self, messages: Sequence[ChatMessage], kept: Session, reply: Reply) -> Session:
        body = {"model": self.model, "input": messages[-1]["content"], "stream": True}
        if kept.theirs is None:  # it does not remember messages before the conversation
            body["input"] = list(messages)
        else:
            body["previous_response_id"] = kept.theirs
        asked = Request(url=f"{self.url.rstrip('/')}/responses", body=body, headers=key_headers(self.url))
        ended: Mapping[str, Any] | None = None
        async with self._wire.sent(asked, kept, reply) as answer:
            async for value in values_of(answer, reply):
                ended = found if (found := _taken(value, reply)) is not None else ended
            after = with_cookies(kept, answer)
        if ended is None:
            raise AppFailure("its stream ended before the response was complete")
        _add(ended, reply)
        return replace(after, theirs=str(ended["id"]) if ended.get("id") else None)


def _taken(value: Any, reply: Reply) -> Mapping[str, Any] | None:
    """Read an event, or a whole response; return the response if it is complete. Raises AppFailure."""
    if not isinstance(value, Mapping):
        raise AppFailure(f"it answered with no response: {quoted(str(value))}")
    kind = value.get("type")
    if kind in _DELTAS:
        reply.add(str(value.get("delta", "")))
        return None
    found = value.get("response") if isinstance(value.get("response"), Mapping) else value
    assert isinstance(found, Mapping)
    if kind in ("error", "response.failed") or found.get("status") == "failed" or found.get("error"):
        error = found.get("error")
        told: Mapping[str, Any] = error if isinstance(error, Mapping) else found
        raise AppFailure(f"it says that it failed: {quoted(str(told.get('message', told)))}")
    return found if kind in _ENDS or "output" in value else None


def _add(response: Mapping[str, Any], reply: Reply) -> None:
    """Add the output of a response, whose texts may have been streamed. Raises AppFailure if it has none."""
    said = []
    for item in response.get("output") or []:
        if item.get("type") == "message":
            said += [part.get("text") or part.get("refusal") or "" for part in item.get("content") or []]
        elif item.get("type") not in _TALK:
            reply.tool_calls.append({"name": item.get("type"), **item})
    if not reply.texts and not any(said):
        is_filtered = (response.get("incomplete_details") or {}).get("reason") == "content_filter"
        why = "its answer was withheld by the content filter" if is_filtered else "no text is found in its response"
        raise AppFailure(why)
    if not reply.texts:
        reply.add("".join(said))
    usage = response.get("usage") or {}
    reply.add_usage(usage.get("input_tokens"), usage.get("output_tokens"))


def at(named: str) -> ResponsesApp:
    """Return the app of a name such as URL#MODEL. Raises DefinitionError."""
    url, _, model = named.partition("#")
    return ResponsesApp(url, model)
