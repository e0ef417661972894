"""A bookmark: the place in a conversation from which it can go on after an interruption.

It exists only while the app is not answering: an interrupted answer may not be asked for again, because slow ones,
which are interrupted more often, tend to be bad. So it is removed, safely, before the app is asked. An interrupted
message of the simulated user is written again, as after a failed call.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import anyio

from simeval.core.conversation import Conversation, Message
from simeval.core.redaction import clean_values, cleaned
from simeval.core.run_records import Start
from simeval.core.serialization import survives_json
from simeval.core.trial import Trial
from simeval.engine.actors.app import Memory
from simeval.engine.actors.recorder import Recorder

YOUNG_SECONDS = 1.0  # a younger conversation keeps no bookmark: there is little to lose, and each costs two records


@dataclass(slots=True)
class Bookmark:
    """The bookmark of one trial; `is_in` is whether it exists, `memory` is that of its app.

    It never exists if the app `hides` its memory, in neither its state nor the history it is given.
    """

    trial: Trial
    recorder: Recorder
    clean: Callable[[str], str]
    hides: bool
    memory: Memory
    is_in: bool = False
    _since: float = field(default_factory=anyio.current_time)
    _read: int = 0  # messages that were looked at for secrets
    _has_secret: bool = False
    _state: str = ""  # that was looked at last
    _has_secret_state: bool = False

    async def take_out(self) -> None:
        """Let nothing go on from here any more; safe when this returns."""
        if self.is_in:
            await self.recorder.record(Start(self.trial))
            self.is_in = False

    async def put_in(self, messages: Sequence[Message]) -> None:
        """Let the conversation go on from here, if it has lasted and can be stored.

        It can if the app's state is plain JSON, and neither that nor a message holds a secret: a store has none.
        """
        is_young = anyio.current_time() - self._since < YOUNG_SECONDS
        if is_young or self.hides or not survives_json(self.memory.state):
            return
        new, state = Conversation(messages=tuple(messages[self._read :])), self.memory.state
        self._read = len(messages)
        self._has_secret = self._has_secret or cleaned(new, self.clean) != new
        if (encoded := json.dumps(state)) != self._state:
            self._state, self._has_secret_state = encoded, clean_values(state, self.clean) != state
        if not self._has_secret and not self._has_secret_state:
            await self.recorder.note(Start(self.trial, tuple(messages), encoded))
            self.is_in = True
