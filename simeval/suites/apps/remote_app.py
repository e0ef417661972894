"""What apps that are reached by a protocol have in common.

messages, state ──► request ──► exchange ──► response, state      state: the session, what is to be sent back
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable
from uuid import uuid4

from simeval.core.conversation import AppResponse, ChatMessage
from simeval.core.trace_context import new_traceparent
from simeval.suites.apps.outcomes import AppFailure

SHOWN = 200  # characters of what an app said that is quoted


@dataclass(frozen=True, slots=True)
class TimedResponse(AppResponse):
    """An answer whose seconds are known better than by the time of its whole exchange."""

    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Exchange:
    """What was sent to an app and what came back: as it came, and as it was understood.

    Of `response` and `failure` one is None. `notes` say how it was read, where that is worth a word. `sent` gives the
    parts of the last request by their names, without secrets that were taken from the environment or a login.
    """

    status: str
    body: str
    response: AppResponse | None = None
    failure: AppFailure | None = None
    notes: Mapping[str, str] = field(default_factory=dict)
    sent: Callable[[], Mapping[str, str]] = field(default=dict, repr=False)

    def answer(self) -> AppResponse:
        """Return what was understood. Raises AppFailure where that is no answer."""
        if self.response is None:
            raise self.failure or AppFailure("no answer")
        return self.response


@runtime_checkable
class RemoteApp(Protocol):
    """An app that is reached by a protocol. It is held open, as an async context manager, while it is evaluated."""

    @property
    def name(self) -> str:
        """What reports call it."""

    async def exchange(self, messages: Sequence[ChatMessage], state: Mapping[str, Any]) -> Exchange:
        """Send the messages of a conversation, of which the last is new, and return what came back."""

    async def __call__(self, messages: list[ChatMessage], state: dict[str, Any]) -> AppResponse:
        """Answer. Raises AppFailure."""

    async def leave(self, state: Mapping[str, Any]) -> None:
        """Close what is open for the conversation of this state, which is over."""

    async def __aenter__(self) -> "RemoteApp":
        """Open it; several may."""

    async def __aexit__(self, *_: object) -> None:
        """Close it, when the last has."""


class Line(Protocol):
    """What is open for one conversation: a socket, a process, a session of the app's."""

    async def close(self) -> None:
        """Close it."""


@dataclass(frozen=True, slots=True)
class Session:
    """What is kept of a conversation from turn to turn, in the form JSON has but for `line`.

    `given` is an id of ours, `theirs` what the app names the conversation by, where it does; `kept` is what its
    protocol wants back at the next turn. A `line` that is open for it cannot be stored: such a conversation does not
    go on where a run was cut off.
    """

    given: str = field(default_factory=lambda: uuid4().hex)
    theirs: str | None = None
    cookies: Mapping[str, str] = field(default_factory=dict)
    kept: Mapping[str, Any] = field(default_factory=dict)
    line: Any = None

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> "Session":
        """Return the one that a state holds, or a new one."""
        return cls(**state["session"], line=state.get("line")) if "session" in state else cls()

    def state(self) -> dict[str, Any]:
        """Return the state that holds it."""
        names = {"given": self.given, "theirs": self.theirs, "cookies": dict(self.cookies), "kept": dict(self.kept)}
        return {"session": names} if self.line is None else {"session": names, "line": self.line}

    def new_traceparent(self) -> str:
        """Return the trace of a new request of this conversation: all of them are one trace."""
        return new_traceparent(self.given)


def quoted(text: str) -> str:
    """Return the beginning of what an app said, in one line."""
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else f"{line[:SHOWN]}…"
