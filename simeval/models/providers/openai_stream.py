"""An answer that comes as server-sent events, put together as if it had come in one piece."""

import json
from collections.abc import AsyncIterable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

STREAMED = "text/event-stream"
_DATA = b"data:"
_END = b"[DONE]"


@dataclass(slots=True)
class StreamedAnswer:
    """The pieces of an answer, and the seconds until the first that has a text; `body` is the whole, in JSON."""

    clock: float = field(default_factory=perf_counter)  # when it was asked for
    texts: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    finish_reason: str | None = None
    usage: dict[str, Any] = field(default_factory=dict)
    error: Any = None
    first_seconds: float | None = None

    @property
    def status(self) -> int:
        """The status of an answer of this kind that comes in one piece; one that breaks off is a server's failure."""
        if self.error is None:
            return 200 if self.finish_reason else 502
        code = self.error.get("code") if isinstance(self.error, dict) else None
        return int(str(code)) if str(code).isdecimal() else 500

    @property
    def body(self) -> str:
        """The answer as an endpoint gives it that does not stream."""
        if self.error is not None:
            return json.dumps({"error": self.error})
        if not self.finish_reason:
            return json.dumps({"error": {"message": "the stream ended before the answer did"}})
        message = {"content": "".join(self.texts), "refusal": "".join(self.refusals)}
        choice = {"message": message, "finish_reason": self.finish_reason}
        return json.dumps({"choices": [choice], "usage": self.usage})

    async def read(self, lines: AsyncIterable[bytes]) -> None:
        """Read events up to their end. Raises ValueError for one that is no JSON."""
        async for line in lines:
            data = line.strip().removeprefix(_DATA).strip() if line.startswith(_DATA) else b""
            if data and data != _END:
                self._take(json.loads(data))

    def _take(self, event: dict[str, Any]) -> None:
        self.usage = event.get("usage") or self.usage
        self.error = event.get("error", self.error)
        for choice in event.get("choices", ())[:1]:
            self.finish_reason = choice.get("finish_reason") or self.finish_reason
            delta = choice.get("delta") or {}
            text = delta.get("content") or ""
            if text and self.first_seconds is None:
                self.first_seconds = perf_counter() - self.clock
            self.texts.append(text)
            self.refusals.append(delta.get("refusal") or "")
