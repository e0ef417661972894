"""What all apps that are reached by a protocol do at a turn.

exchange ──► _turn (the protocol: asks, and fills the reply) ──► Exchange      failures are named, and hide no answer
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Self

import anyio

from simeval.core.conversation import AppResponse, ChatMessage
from simeval.suites.apps.outcomes import AppFailure
from simeval.suites.apps.remote_app import Exchange, Session
from simeval.suites.apps.replies import Reading, Reply
from simeval.suites.apps.templates import hidden

CLOSING_SECONDS = 5.0  # how long an app may take to let a conversation go


class ProtocolApp(ABC):
    """An app that is reached by a protocol; each says in `_turn` how it is asked and what its answer means."""

    __slots__ = ()

    @property
    @abstractmethod
    def name(self) -> str:
        """What reports call it."""

    @abstractmethod
    async def _turn(self, messages: Sequence[ChatMessage], kept: Session, reply: Reply) -> Session:
        """Ask, fill the reply, and return what is to be kept. Raises AppFailure."""

    @property
    def _reading(self) -> Reading:
        """Where a reply has what is wanted of it."""
        return Reading()

    @property
    def _templates(self) -> Any:
        """Where environment variables stand whose values nobody is to see."""
        return []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    async def __call__(self, messages: list[ChatMessage], state: dict[str, Any]) -> AppResponse:
        """Answer the last of these messages. Raises AppFailure."""
        return (await self.exchange(messages, state)).answer()

    async def exchange(self, messages: Sequence[ChatMessage], state: Mapping[str, Any]) -> Exchange:
        """Ask for an answer to the last of these messages, and return what came back."""
        kept, reply = Session.of(state), Reply(self._reading)
        try:
            kept = await self._turn(messages, kept, reply)
        except AppFailure as failure:
            failure.args = (hidden(str(failure), self._templates),)
            came = hidden(reply.came, self._templates)
            return Exchange(reply.status, came, failure=failure, notes=self._notes(reply))
        came = hidden(reply.came, self._templates)
        return Exchange(reply.status, came, response=reply.response(kept), notes=self._notes(reply))

    def _notes(self, reply: Reply) -> Mapping[str, str]:
        return {name: hidden(note, self._templates) for name, note in reply.notes.items()}

    async def leave(self, state: Mapping[str, Any]) -> None:
        """Close the line of the conversation of this state, where it has one."""
        if (line := state.get("line")) is not None:
            with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSING_SECONDS):
                await line.close()
