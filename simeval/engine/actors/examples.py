"""Examples: the source of an experiment's answers. Each is put to the target, or answered from the recording."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any, cast

import anyio
import anyio.to_thread

from simeval.core.conversation import (
    GIVEN,
    PARTS,
    RECORDED_ANSWER,
    Beginning,
    Conversation,
    Ending,
    Message,
    Speaker,
    has_parts,
    last_exchange,
)
from simeval.core.redaction import clean_values, cleaned
from simeval.core.serialization import Json, nested
from simeval.core.terminal import counted_of
from simeval.core.trial import Failure, Trial, TrialConversation
from simeval.datasets.dataset import REFERENCE, RETURNED, Dataset, Example, text_of
from simeval.engine.actors.app import Memory
from simeval.engine.actors.dialogue import Dialogue, Exchange
from simeval.engine.actors.targets import OWN_COLUMNS
from simeval.errors import DatasetChanged, SimevalError
from simeval.results.cases import MOST_ROWS, Case, groupable
from simeval.scorers.base import REPLAYED

READ_AT_ONCE = 256  # examples, in a worker thread
RECORDED_FAILURE = Failure(stage="app", error="the app failed when this was recorded", cause="app")


class ExampleReader:
    """Reads a dataset as its trials come, which is in its order, and holds only the examples in flight.

    `keys` are those of all its examples, without secrets; empty for one that has not been taken yet. Of a dataset that
    is not too large, `cases` has by their places the values of examples by which these can be grouped.
    """

    def __init__(self, dataset: Dataset, repetitions: int, clean: Callable[[str], str]) -> None:
        self._dataset, self._repetitions, self._clean = dataset, repetitions, clean
        self.keys = [""] * dataset.size
        self.cases: dict[int, Case] = {}
        self._source: Iterator[Example] | None = None
        self._read = 0
        self._waiting: dict[int, tuple[Example, int]] = {}  # with how many trials have still to take it
        self._turn = anyio.Lock()

    async def take(self, index: int) -> Example:
        """Return the example of the trial with this index; each is taken once."""
        place = index // self._repetitions
        if place >= self._read:
            async with self._turn:
                while place >= self._read:
                    await self._read_on()
        example, left = self._waiting.pop(place)
        if not self.keys[place]:
            self.keys[place] = self._clean(example.key)
            if len(self.keys) <= MOST_ROWS:
                values = groupable({**example.metadata, **example.outputs, **example.inputs})
                self.cases[place] = clean_values(values, self._clean)
        if left > 1:
            self._waiting[place] = (example, left - 1)
        return example

    async def _read_on(self) -> None:
        if self._source is None:
            self._source = iter(self._dataset)
        try:
            found = await anyio.to_thread.run_sync(lambda source: list(islice(source, READ_AT_ONCE)), self._source)
        except (SimevalError, OSError) as error:
            raise DatasetChanged(self._dataset.name, problem=str(error)) from error
        if not found:
            now = counted_of(self._read, "example")
            problem = f"it has only {now} now, and had {self._dataset.size} when it was read before"
            raise DatasetChanged(self._dataset.name, problem=problem)
        for place, example in enumerate(found, self._read):
            self._waiting[place] = (example, self._repetitions)
        self._read += len(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Examples:
    """Answers the trials of a dataset.

    With a `dialogue`, its app gets the user's side of each example, and the inputs as its state if it `takes_columns`;
    without one, the recording is the answer.
    """

    reader: ExampleReader
    title: str
    clean: Callable[[str], str]
    dialogue: Dialogue | None = None
    takes_columns: bool = False
    _masked: set[int] = field(default_factory=set, init=False)  # the answers that contained a secret

    @property
    def notes(self) -> list[str]:
        """Return how many answers were measured with secrets taken out, and the notes on the app."""
        masked, of_app = len(self._masked), self.dialogue.notes if self.dialogue else ()
        said = [f"secrets were masked in {counted_of(masked, 'answer')} before the scorers measured"] if masked else []
        return [*said, *of_app]

    async def hold(self, trial: Trial) -> TrialConversation:
        """Return the answer to the example of a trial, with the example's columns."""
        example = await self.reader.take(trial.index)
        if self.dialogue is None:
            recorded = example.conversation or Conversation(ended="recorded")
            failure = RECORDED_FAILURE if recorded.ended == "app_error" else None
            held = TrialConversation(trial, cleaned(recorded, self.clean), failure)
            if any(map(_differ, held.conversation.messages, recorded.messages)):
                self._masked.add(trial.index)
            return self._with_columns(held, example)
        return self._with_columns(await self._answered(self.dialogue, trial, example), example)

    async def recall(self, held: TrialConversation) -> TrialConversation:
        """Return an answer that was held before with the columns of its example."""
        return self._with_columns(held, await self.reader.take(held.trial.index))

    def _with_columns(self, held: TrialConversation, example: Example) -> TrialConversation:
        """Add the columns of an example, and the output if that is no text."""
        columns: dict[str, Any] = {name: _own(value, self.clean) for name, value in example.columns().items()}
        columns.setdefault("inputs", {name: _own(value, self.clean) for name, value in example.inputs.items()})
        columns.setdefault("reference_outputs", {n: _own(value, self.clean) for n, value in example.outputs.items()})
        columns.setdefault("input", held.conversation.input or self.clean(example.text))
        last = last_exchange(held.conversation)
        answer = None if last is None else held.conversation.messages[last.place]
        said = answer.content if answer else ""
        if answer and RETURNED in answer.metadata:
            columns["output"] = said = answer.metadata[RETURNED]
        columns.setdefault("outputs", said if isinstance(said, Mapping) else {"output": said})
        return replace(held, columns=columns)

    def _recorded(self, example: Example, asked: Sequence[Message]) -> Sequence[Json]:
        """Return the recorded answers to the last of the `asked` messages; empty if references are known."""
        if example.conversation is None or REFERENCE in example.columns():
            return ()
        found = recorded_answers(example.conversation)
        return cast("Sequence[Json]", found[-len(asked) :]) if len(found) >= len(asked) else ()

    async def _answered(self, dialogue: Dialogue, trial: Trial, example: Example) -> TrialConversation:
        state: Any = dialogue.app.first_state(trial.seed)
        if self.takes_columns:
            own = dict(zip(OWN_COLUMNS, (dict(example.inputs), trial.seed), strict=True))
            state = _own({**own, **example.app_inputs()}, str)  # secrets too: the app needs them
        beginning, messages = _beginning(example, takes_history=dialogue.app.handler.takes_history)
        if not messages:
            failure = Failure(stage="engine", error="no message of a user to put to the app", cause="no_input")
            return TrialConversation(trial, Conversation(messages=beginning.messages, ended="settled"), failure)
        replay = Replay(messages, self._recorded(example, messages))
        return await dialogue.hold(trial, replay, title=self.title, memory=Memory(state), beginning=beginning)


@dataclass(frozen=True, slots=True)
class Replay:
    """The user's side of an example: sends one message after the other, whatever the answers.

    The recorded answer to a message is in its metadata, where scorers find it as the reference.
    """

    said: Sequence[Message]
    recorded: Sequence[Json] = ()

    async def run(self, exchange: Exchange) -> Ending:
        for place, message in enumerate(self.said):
            metadata = {name: value for name, value in message.metadata.items() if name == PARTS}
            if self.recorded:
                metadata[RECORDED_ANSWER] = self.recorded[place]
            now = datetime.now(UTC)
            await exchange(Message(role="user", content=message.content, started=now, seconds=0.0, metadata=metadata))
        return "recorded"


def recorded_answers(conversation: Conversation) -> list[Json]:
    """Return for each message of the user its recorded answer: the texts as one, and the tool calls.

    Either is null if there was none.
    """
    found: list[Json] = []
    for message in conversation.messages:
        if message.role == "user":
            found.append(dict.fromkeys(REPLAYED))
        elif found:
            text, calls = (found[-1][name] for name in REPLAYED)
            said = "\n".join(filter(None, [text, message.content])) or None
            found[-1] = dict(zip(REPLAYED, (said, [*(calls or []), *message.tool_calls]), strict=True))
    return found


def _beginning(example: Example, *, takes_history: bool) -> tuple[Beginning, Sequence[Message]]:
    """Return the messages before an app's first answer, and the user's messages.

    The user repeats its side of a recorded conversation. All messages of a chat but the last precede the answer if the
    app takes the history; else the user sends its own one after the other.
    """
    if example.conversation is not None and not example.inputs:
        asked = [message for message in example.conversation.messages if message.role == "user"]
        return Beginning(system=str(example.metadata.get("system") or "")), asked
    chat = example.inputs.get("input")
    if not isinstance(chat, list):
        return Beginning(), [Message(role="user", content=example.text)]
    system = "\n\n".join(text_of(each) for each in chat if each["role"] in ("system", "developer"))
    said = [_message(each) for each in chat if each["role"] in ("user", "assistant")]
    if takes_history and said and said[-1].role == "user":
        return Beginning(tuple(said[:-1]), system), said[-1:]
    return Beginning(system=system), [message for message in said if message.role == "user"]


def _message(found: Mapping[str, Any]) -> Message:
    role: Speaker = "assistant" if found["role"] == "assistant" else "user"
    metadata = {PARTS: found["content"]} if has_parts(found["content"]) else {}
    given = {GIVEN: True} if role == "assistant" else {}
    return Message(role=role, content=text_of(found), metadata={**metadata, **given})


def _differ(first: Message, second: Message) -> bool:
    return first.content != second.content


def _own(value: Any, clean: Callable[[str], str]) -> Any:
    """Return a trial's own copy of a column's value, clean of secrets as answers are."""
    return nested(value, lambda leaf: clean(leaf) if isinstance(leaf, str) else leaf)
