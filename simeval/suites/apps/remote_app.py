"""The base of apps that are reached by a protocol.

messages, state ──► request ──► exchange ──► response, state      state: the session, values to send back
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable
from uuid import uuid4

from simeval.core.conversation import AppResponse, ChatMessage
from simeval.core.trace_context import new_traceparent
from simeval.suites.apps.outcomes import AppFailure

SHOWN = 200  # characters of a quoted text of an app


@dataclass(frozen=True, slots=True)
class TimedResponse(AppResponse):
    """An answer whose seconds are known better than by the time of its whole exchange."""

    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request to an app and the response: as it came, and as it was understood.

    One of `response` and `failure` is None. `notes` describe how it was read, if that is of interest. `sent` gives the
    parts of the last request by their names, without secrets from the environment or a login.
    """

    status: str
    body: str
    response: AppResponse | None = None
    failure: AppFailure | None = None
    notes: Mapping[str, str] = field(default_factory=dict)
    sent: Callable[[], Mapping[str, str]] = field(default=dict, repr=False)

    def answer(self) -> AppResponse:
        """Return the response. Raises AppFailure if there is no answer."""
        if self.response is None:
            raise self.failure or AppFailure("no answer")
        return self.response


@runtime_checkable
class RemoteApp(Protocol):
    """An app that is reached by a protocol. It is held open, as an async context manager, while it is evaluated."""

    @property
    def name(self) -> str:
        """The name in reports."""

    async def exchange(self, messages: Sequence[ChatMessage], state: Mapping[str, Any]) -> Exchange:
        """Send the messages of a conversation, the last of them new, and return the exchange."""

    async def __call__(self, messages: list[ChatMessage], state: dict[str, Any]) -> AppResponse:
        """Answer. Raises AppFailure."""

    async def leave(self, state: Mapping[str, Any]) -> None:
        """Close the open line of this state's conversation, which is over."""

    async def __aenter__(self) -> "RemoteApp":
        """Open it; several may."""

    async def __aexit__(self, *_: object) -> None:
        """Close it, when the last has."""


class Line(Protocol):
    """An open connection of one conversation: a socket, a process, a session of the app's."""

    async def close(self) -> None:
        """Close it."""


@dataclass(frozen=True, slots=True)
class Session:
    """The state of a conversation from turn to turn, in the form JSON has but for `line`.

    `given` is an id of ours, `theirs` the app's own name of the conversation, if it has one; `kept` is data the
    protocol needs back at the next turn. A `line` that is open for it cannot be stored: such a conversation cannot
    continue after an interrupted run.
    """

    given: str = field(default_factory=lambda: uuid4().hex)
    theirs: str | None = None
    cookies: Mapping[str, str] = field(default_factory=dict)
    kept: Mapping[str, Any] = field(default_factory=dict)
    line: Any = None

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> "Session":
        """Return the session in a state, or a new one."""
        return cls(**state["session"], line=state.get("line")) if "session" in state else cls()

    def state(self) -> dict[str, Any]:
        """Return the state that holds it."""
        names = {"given": self.given, "theirs": self.theirs, "cookies": dict(self.cookies), "kept": dict(self.kept)}
        return {"session": names} if self.line is None else {"session": names, "line": self.line}

    def new_traceparent(self) -> str:
        """Return the trace of a new request of this conversation: all of them are one trace."""
        return new_traceparent(self.given)


def quoted(text: str) -> str:
    """Return the beginning of an app's text, in one line."""
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else f"{line[:SHOWN]}…"
