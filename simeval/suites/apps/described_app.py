"""Apps that a suite describes: a request made of a template, and where the answer has what."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Self

from simeval.core.conversation import ChatMessage
from simeval.core.media import content_text
from simeval.core.validation import require
from simeval.suites.apps.addressed_app import AddressedApp
from simeval.suites.apps.remote_app import Session
from simeval.suites.apps.replies import Reading
from simeval.suites.apps.templates import filled, places_in, require_variables, steps_of, written

USUAL_REQUEST = {"message": "{message}", "session": "{session}"}
_USUAL_CALLS = ("tool_calls",)  # where tool calls are looked for, unless a path says where they are
_ELSEWHERE = ("header:", "cookie:")


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedApp(AddressedApp):
    """An app at a URL, with what is sent to it and where its answer is."""

    url: str
    request: Any = field(default_factory=lambda: dict(USUAL_REQUEST))
    headers: Mapping[str, str] = field(default_factory=dict)
    reply: str | None = None
    tool_calls: str | None = None
    context: str | None = None
    session: str | None = None
    title: str | None = None
    _read: Reading = field(init=False, repr=False, compare=False)

    @property
    def name(self) -> str:
        """Its title, or its address with a mark that tells apart what else is described."""
        if self.title or self._described == type(self)(url=self.url)._described:
            return self.title or self.url
        return f"{self.url} ({sha256(json.dumps(self._described).encode()).hexdigest()[:6]})"

    @property
    def takes_parts(self) -> bool:
        """Whether it is given all parts of a message, such as images: where its request has the whole conversation."""
        return "messages" in places_in(self.request)

    @property
    def _described(self) -> list[Any]:
        return [self.request, sorted(self.headers), self.reply, self.tool_calls, self.context, self.session]

    @property
    def _reading(self) -> Reading:
        return self._read

    @property
    def _templates(self) -> list[Any]:
        return [self.url, self.request, self.headers]

    def _check(self, template: Any) -> None:
        """Read the paths. Raises DefinitionError, also where a template has no place for what the user says."""
        do = "put {message}, or {messages} for the whole conversation, where it wants what the user says"
        require(bool(places_in(template) & {"message", "messages"}), "app: request", found=self.request, do=do)
        by_path = self.session if self.session and not self.session.startswith(_ELSEWHERE) else None
        paths = {
            "reply": self.reply,
            "tool_calls": self.tool_calls,
            "context": self.context,
            "session": by_path,
        }
        steps = {name: steps_of(path, f"app: {name}") if path else () for name, path in paths.items()}
        calls = steps.pop("tool_calls")
        read = Reading(tool_calls=calls or _USUAL_CALLS, all_calls=bool(calls), **steps)
        object.__setattr__(self, "_read", read)

    def check(self) -> None:
        """Raise DefinitionError for an environment variable that is not set."""
        for name in ("url", "request", "headers"):
            require_variables(getattr(self, name), f"app.{name}")

    async def __aenter__(self) -> Self:
        """Keep connections open, until as many have left as entered. Raises DefinitionError for a variable not set."""
        self.check()
        await self._wire.__aenter__()
        return self

    def _values(self, messages: Sequence[ChatMessage], kept: Session) -> Mapping[str, Any]:
        """Return what stands at the places of the templates."""
        return {
            "message": content_text(messages[-1]["content"]),
            "messages": list(messages),
            "session": kept.theirs if self.session else kept.given,
        }

    def _content(self, values: Mapping[str, Any]) -> Any:
        return filled(self.request, values)

    def _sent_headers(self, values: Mapping[str, Any]) -> dict[str, str]:
        return {name: written(value, values) for name, value in self.headers.items()}
