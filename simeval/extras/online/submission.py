"""The app's submission: a live conversation, read when a scorer first needs it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simeval.core import seeds
from simeval.core.conversation import Conversation
from simeval.datasets.conversations import example_of
from simeval.datasets.dataset import as_answer
from simeval.datasets.messages import turns_of
from simeval.errors import DefinitionError
from simeval.scorers.base import conversation_columns

Columns = Mapping[str, Any]


@dataclass(slots=True, eq=False)
class Submission:
    """One conversation as it was submitted; it is read when the first scorer wants it."""

    said: Any
    given: Columns
    seed: int
    number: int
    _columns: Columns | None = None

    def columns(self) -> Columns:
        """Return the arguments for scorers. Raises DefinitionError if no conversation can be read."""
        if self._columns is None:
            conversation = conversation_of(self.said, self.given)
            self._columns = {
                **conversation_columns(conversation),
                **self.given,
                "conversation": conversation,
                "seed": seeds.derive(self.seed, "online", self.number),
            }
        return self._columns

    @property
    def known(self) -> Columns:
        """Return its columns, or the submitted values if no conversation could be read."""
        return self.given if self._columns is None else self._columns


def conversation_of(said: Any, given: Columns) -> Conversation:
    """Read a conversation from messages as logs have them, or from `input` and `output`; a Conversation is one.

    Raises DefinitionError for anything else.
    """
    if isinstance(said, Conversation):
        return said
    do = "give a Conversation, a list of chat messages, or input= and output="
    if said is None:
        texts = [("user", given.get("input")), ("assistant", given.get("output"))]
        said = [{"role": role, "content": _text(text)} for role, text in texts if text is not None]
    if not isinstance(said, (list, tuple)) or not said:
        raise DefinitionError("submit", found=f"found {said!r:.99}", do=do)
    try:
        example = example_of(turn for message in said for turn in turns_of(message))
    except ValueError as error:
        raise DefinitionError("submit", found=str(error), do=do) from error
    assert example.conversation is not None
    return example.conversation


def _text(value: Any) -> str:
    return value if isinstance(value, str) else as_answer(value)[0]
