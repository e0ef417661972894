"""The turn of every app that is reached by a protocol.

exchange ──► _turn (the protocol: asks, and fills the reply) ──► Exchange      failures are named, and hide no answer
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import anyio

from simeval.core.conversation import SESSION, AppResponse, ChatMessage, content_text
from simeval.core.redaction import clean_values, secrets_in, shown_name
from simeval.suites.apps.remote_app import AppFailure, Exchange, Session
from simeval.suites.apps.replies import Reading, Reply
from simeval.suites.apps.templates import hidden, secrets_in_template

CLOSING_SECONDS = 5.0  # how long an app may take to let a conversation go


class ProtocolApp(ABC):
    """An app that is reached by a protocol; each implements in `_turn` the request and the reading of its answer."""

    __slots__ = ()
    is_foreign: ClassVar[bool] = False  # whether code of others answers in this process

    @property
    def name(self) -> str:
        """Return its name in reports: as the user gave it, without the secrets of an address or a command."""
        return shown_name(self._named)

    @property
    def secrets(self) -> list[object]:
        """The secret values of its address or command, and of the environment variables in it."""
        return [*secrets_in(self._named), *secrets_in_template(self._templates)]

    @property
    def _named(self) -> str:
        """How it is named in full."""
        return ""

    @abstractmethod
    async def _turn(self, messages: Sequence[ChatMessage], kept: Session, reply: Reply) -> Session:
        """Ask, fill the reply, and return the session to keep. Raises AppFailure."""

    @property
    def _reading(self) -> Reading:
        """Where a reply has its parts."""
        return Reading()

    @property
    def _templates(self) -> Any:
        """The places of environment variables whose values are secret."""
        return []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    async def __call__(self, messages: list[ChatMessage], state: dict[str, Any]) -> AppResponse:
        """Answer the last of these messages. Raises AppFailure."""
        return await self._answered(messages, state, self._reply_to(messages))

    async def exchange(self, messages: Sequence[ChatMessage], state: Mapping[str, Any]) -> Exchange:
        """Ask for an answer to the last of these messages, and return the exchange."""
        reply, response, failure = self._reply_to(messages), None, None
        try:
            response = await self._answered(messages, state, reply)
        except AppFailure as error:
            failure = error
        came = hidden(reply.came, self._templates, reply.hides)
        sent = partial(self._parts_sent, reply)
        return Exchange(reply.status, came, response, failure, notes=self._notes(reply), sent=sent)

    async def _answered(self, messages: Sequence[ChatMessage], state: Mapping[str, Any], reply: Reply) -> AppResponse:
        """Fill a reply, and return the answer that it has. Raises AppFailure."""
        try:
            kept = await self._turn(messages, Session.of(state), reply)
        except AppFailure as failure:
            failure.args = (hidden(str(failure), self._templates, reply.hides),)
            raise
        if session := self._session_of(kept):
            reply.metadata[SESSION] = session
            reply.hides = {value: name for value, name in reply.hides.items() if value != session}
        response = reply.response(kept)
        return _without(reply.hides, response) if reply.hides else response

    def _reply_to(self, messages: Sequence[ChatMessage]) -> Reply:
        return Reply(self._reading, content_text(messages[-1]["content"]))

    def _notes(self, reply: Reply) -> Mapping[str, str]:
        return {name: hidden(note, self._templates, reply.hides) for name, note in reply.notes.items()}

    def _parts_sent(self, reply: Reply) -> Mapping[str, str]:
        return {name: hidden(part, self._templates, reply.hides) for name, part in reply.sent().items()}

    @property
    def has_session(self) -> bool:
        """Whether a conversation has a name that both sides know."""
        return True

    @property
    def session_warning(self) -> str:
        """Warn if turns are not one conversation to the app, as far as can be known; empty if they are."""
        return ""

    @property
    def doubts(self) -> Sequence[str]:
        """Words on a wrong setup that the answers so far have shown."""
        return ()

    def session_of(self, state: Mapping[str, Any]) -> str | None:
        """Return the name of this state's conversation; None if it has no name, or none yet."""
        return self._session_of(Session.of(state))

    def _session_of(self, kept: Session) -> str | None:
        return (kept.theirs or kept.given) if self.has_session else None

    async def leave(self, state: Mapping[str, Any]) -> None:
        """Close the line of the conversation of this state, if it has one."""
        if (line := state.get("line")) is not None:
            with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSING_SECONDS):
                await line.close()


def _without(secrets: Mapping[str, str], response: AppResponse) -> AppResponse:
    """Return an answer with the names of secrets in the place of their values; its state stays as it is."""
    clean = partial(hidden, template=(), secrets=secrets)
    parts = {name: getattr(response, name) for name in ("response", "tool_calls", "metadata", "context")}
    return replace(response, **{name: clean_values(part, clean) for name, part in parts.items()})
