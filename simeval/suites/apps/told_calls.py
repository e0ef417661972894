"""Tool calls streamed in pieces: by the AI SDK, Anthropic's Messages, OpenAI's Chat Completions."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from simeval.suites.apps.streams import mistake_in

_AI_SDK = ("tool-input-start", "tool-input-available", "tool-output-available", "tool-output-error")
_ANTHROPIC = ("content_block_start", "content_block_delta")


@dataclass(slots=True)
class ToldCalls:
    """The calls so far, by their ids or places in the stream."""

    _calls: dict[Any, dict[str, Any]] = field(default_factory=dict)

    def take(self, event: Any) -> None:
        """Read an event, which may be part of a call."""
        if not isinstance(event, dict):
            return
        kind, choices = event.get("type"), event.get("choices")
        if kind in _AI_SDK:
            self._take_ai_sdk(event)
        elif kind in _ANTHROPIC:
            self._take_anthropic(event)
        elif isinstance(choices, list) and choices and isinstance(choices[0], dict):
            self._take_openai(choices[0].get("delta"))

    def all(self) -> list[dict[str, Any]]:
        """Return the calls, with JSON arguments parsed."""
        for call in self._calls.values():
            written = call.get("arguments")
            if isinstance(written, str) and mistake_in(written) is None:
                call["arguments"] = json.loads(written)
        return list(self._calls.values())

    def _take_ai_sdk(self, event: Mapping[str, Any]) -> None:
        call = self._calls.setdefault(event.get("toolCallId"), {"id": event.get("toolCallId")})
        named = {"toolName": "name", "input": "arguments", "output": "result", "errorText": "error"}
        call |= {name: event[key] for key, name in named.items() if key in event}

    def _take_anthropic(self, event: Mapping[str, Any]) -> None:
        block, delta, place = event.get("content_block"), event.get("delta"), event.get("index")
        if isinstance(block, Mapping) and block.get("type") == "tool_use":
            self._calls[place] = {"id": block.get("id"), "name": block.get("name"), "arguments": ""}
        elif isinstance(delta, Mapping) and place in self._calls and isinstance(delta.get("partial_json"), str):
            self._calls[place]["arguments"] += delta["partial_json"]

    def _take_openai(self, delta: Any) -> None:
        calls = delta.get("tool_calls") if isinstance(delta, dict) else None
        for told in calls if isinstance(calls, list) else ():
            function = told.get("function") if isinstance(told, Mapping) else None
            if isinstance(function, Mapping):
                call = self._calls.setdefault(told.get("index", 0), {"id": told.get("id"), "name": "", "arguments": ""})
                call["name"] += function.get("name") or ""
                call["arguments"] += function.get("arguments") or ""
