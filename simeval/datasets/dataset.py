"""Datasets: examples with inputs, references and recorded answers; checked and versioned.

Three kinds: `kv`, columns of any names; `llm`, one text in and one text out; `chat`, messages in and messages out.
"""

import hashlib
import json
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Literal, TypeGuard, get_args

from simeval.core.conversation import (
    PARTS,
    Conversation,
    decode_conversation,
    encode_conversation,
    has_parts,
    part_name,
)
from simeval.core.serialization import not_json, plain
from simeval.core.validation import require_whole
from simeval.errors import DefinitionError

Kind = Literal["kv", "llm", "chat"]
KINDS: tuple[Kind, ...] = get_args(Kind)
BASELINE = "baseline"  # the column of another version's answer
REFERENCE = "reference"  # the column of the reference output, if there is one
RETURNED = "returned"  # the metadata key of an app's answer that is no text
RESERVED = ("output", "conversation", "seed")  # columns that a dataset cannot give: they are of the trial
MOST_SHOWN = 8

_THOUGHT = ("reasoning", "thinking", "redacted_thinking")  # parts of a message
_KEY_CHARACTERS = 16
_VERSION_CHARACTERS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """Inputs for the app, with reference outputs and a recorded conversation, if there are any.

    `conversation` is the recorded one: an app's own answers, which are no reference.
    """

    inputs: Mapping[str, Any] = field(default_factory=dict)
    outputs: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    conversation: Conversation | None = None
    example_id: str = ""
    split: str = ""
    tags: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Identifies the example in every version of its dataset: its id, else a hash of its inputs."""
        return self.example_id or _digest([self.inputs, self.asked])[:_KEY_CHARACTERS]

    @property
    def asked(self) -> tuple[str, ...]:
        """Return the user's messages in the recorded conversation, in order."""
        said = self.conversation.messages if self.conversation else ()
        return tuple(message.content for message in said if message.role == "user")

    @property
    def text(self) -> str:
        """The inputs as one text: the one called "input", or the only text there is, else all of them as JSON.

        Of a chat it is the last message.
        """
        texts = [value for value in self.inputs.values() if isinstance(value, str)]
        value = self.inputs.get("input", texts[0] if texts and len(self.inputs) == 1 else None)
        if value is None:
            return _canonical(self.inputs) if self.inputs else next(iter(self.asked), "")
        if isinstance(value, str):
            return value
        return text_of(value[-1]) if is_chat(value) else _canonical(value)

    @property
    def has_media(self) -> bool:
        """Whether the user shows something that is no text, such as an image."""
        chat = self.inputs.get("input")
        if is_chat(chat) and any(has_parts(each["content"]) for each in chat if each["role"] == "user"):
            return True
        said = self.conversation.messages if self.conversation is not None and not self.inputs else ()
        return any(PARTS in message.metadata for message in said)

    def app_inputs(self) -> dict[str, Any]:
        """Return the names available to an app with columns: the inputs; the messages of a chat are "messages"."""
        found = dict(self.inputs)
        if isinstance(found.get("input"), list):
            found["messages"] = found.pop("input")
        return found

    def columns(self) -> dict[str, Any]:
        """Return the columns for scorers: inputs, reference outputs and metadata; of equal names the first wins.

        The reference output that is the only one, or is called "output", or the text of a reference message, is also
        the column "reference". The messages of a chat are the column "messages".
        """
        found = {**self.metadata, **self._reference(), **self.outputs, **self.inputs}
        if isinstance(found.get("input"), list):
            found["messages"] = found.pop("input")
        return {name: value for name, value in found.items() if name not in RESERVED}

    def _reference(self) -> dict[str, Any]:
        name = "output" if "output" in self.outputs or len(self.outputs) != 1 else next(iter(self.outputs))
        if name not in self.outputs:
            return {}
        value = self.outputs[name]
        return {REFERENCE: text_of(value[-1]) if is_chat(value) else value}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """Examples of one kind, read again in each iteration, so that none need be held in memory.

    `version` is a hash of the content of all examples in their order; `columns` are the ones every example has, so that
    scorers may name them. Made by `dataset_of`, or read from files, the store and other libraries.
    """

    name: str
    kind: Kind
    size: int
    version: str
    columns: tuple[str, ...]
    source: Callable[[], Iterable[Example]] = field(repr=False)
    recorded: bool = False  # whether every example has a recorded conversation
    doubt: str = ""  # why the recorded conversations may be no fair sample, if known

    def __iter__(self) -> Iterator[Example]:
        return iter(self.source())

    def __len__(self) -> int:
        return self.size

    def split(self, name: str) -> "Dataset":
        """Return the examples of a split. Raises DefinitionError if it has none."""
        return self._marked("split", name, lambda example: (example.split,))

    def tagged(self, tag: str) -> "Dataset":
        """Return the examples with a tag. Raises DefinitionError if it has none."""
        return self._marked("tag", tag, lambda example: example.tags)

    def first(self, number: int) -> "Dataset":
        """Return the first examples; all if there are fewer."""
        require_whole(number, f"dataset {self.name!r}, first")
        return self._of(lambda: islice(self.source(), number))

    def only(self, wanted: Callable[[Example], bool], what: str = "the filter") -> "Dataset":
        """Return the examples for which `wanted` is true; `what` names it in the error if there are none."""
        source = self.source
        if not any(wanted(example) for example in source()):
            raise DefinitionError(f"dataset {self.name!r}", found=f"no example for {what}", do="see what it has")
        return self._of(lambda: filter(wanted, source()))

    def against(self, other: "Dataset") -> "Dataset":
        """Return the examples that were recorded in `other` too, with the answer there as the column "baseline".

        That is the last answer or, if the user sent several messages, all messages. The recorded conversations of
        `other` are held in memory. Raises DefinitionError if no example is in common, or if a column "baseline" exists.
        """
        where = f"dataset {self.name!r} against {other.name!r}"
        if BASELINE in self.columns:
            raise DefinitionError(where, found='it has a column "baseline" of its own', do="rename that column")
        answered = {each.key: _answered(each.conversation) for each in other if each.conversation is not None}
        source = self.source
        if not any(each.key in answered for each in source()):
            raise DefinitionError(where, found="they have no example in common", do="give two records of one dataset")

        def paired() -> Iterator[Example]:
            for each in source():
                if each.key in answered:
                    yield replace(each, metadata={**each.metadata, BASELINE: answered[each.key]})

        return self._of(paired)

    def _of(self, source: Callable[[], Iterable[Example]]) -> "Dataset":
        """Return some of these examples as a dataset of this name."""
        return replace(check_dataset(source, name=self.name, kind=self.kind), doubt=self.doubt)

    def _marked(self, what: str, wanted: str, marks: Callable[[Example], Sequence[str]]) -> "Dataset":
        there = sorted({mark for example in self for mark in marks(example) if mark})
        if wanted not in there:
            known = _listed([repr(mark) for mark in there])
            do = f"name one there is: {known}" if there else f"its examples have no {what}"
            raise DefinitionError(f"dataset {self.name!r}", found=f"no example for {what} {wanted!r}", do=do)
        return self.only(lambda example: wanted in marks(example))


class _Ids:
    """The ids of examples while these are gone through, 8 bytes each."""

    def __init__(self) -> None:
        self._hashes = array("q")

    def add(self, example: Example) -> None:
        """Add an example's id to the hash, if it has one."""
        if example.example_id:
            self._hashes.append(hash(example.example_id))

    def require_different(self, source: Callable[[], Iterable[Example]], where: Callable[[int], str]) -> None:
        """Raise DefinitionError where two examples, gone through again, have one id."""
        if len(self._hashes) < 2:
            return
        import numpy as np

        found = np.sort(np.frombuffer(self._hashes, dtype=np.int64))
        repeated = set(found[1:][found[1:] == found[:-1]].tolist())
        places: dict[str, str] = {}
        for number, example in enumerate(source() if repeated else (), 1):
            if hash(example.example_id) not in repeated:
                continue
            if example.example_id in places:
                same = f"its id {example.example_id!r} is also that of {places[example.example_id]}"
                raise DefinitionError(where(number), found=same, do="give each example its own id, or none")
            places[example.example_id] = where(number)


class ContentHash:
    """The version of a dataset while its examples are gone through."""

    def __init__(self) -> None:
        self._hashed = hashlib.sha256()

    def add(self, example: Example) -> None:
        """Count an example in."""
        self._hashed.update(_written(encode_example(example)).encode("utf-8", "surrogatepass") + b"\n")

    @property
    def version(self) -> str:
        """The version of the examples so far."""
        return self._hashed.hexdigest()[:_VERSION_CHARACTERS]


def check_dataset(
    source: Callable[[], Iterable[Example]],
    *,
    name: str,
    kind: Kind | None = None,
    where: Callable[[int], str] | None = None,
) -> Dataset:
    """Go through all examples once, check that they are of one kind with the same columns, and give the dataset.

    Without a `kind` it is that of the first example. Raises DefinitionError naming the first example, from 1, that does
    not fit, or has another's id; `where` gives it another name, by its number, while the source is at it.
    """
    if kind is not None and kind not in KINDS:
        raise DefinitionError("dataset kind", found=f"found {kind!r}", do=f"use one of {', '.join(KINDS)}")
    place = where or (lambda number: f"dataset {name!r}, example {number}")
    content, ids, size, recorded = ContentHash(), _Ids(), 0, True
    first: Example | None = None
    columns: list[str] = []
    for size, example in enumerate(source(), 1):
        at = place(size)
        _check_form(example, at)
        if first is None or kind is None:
            first, kind, columns = example, kind or _kind_of(example), list(example.columns())
        _check_kind(example, kind, at)
        _check_columns(example, first, at)
        found = example.columns()
        columns = [column for column in columns if column in found]
        recorded = recorded and example.conversation is not None
        content.add(example)
        ids.add(example)
    ids.require_different(source, place)
    if first is None or kind is None:
        raise DefinitionError(f"dataset {name!r}", found="it has no example", do="give one or more")
    return Dataset(
        name=name,
        kind=kind,
        size=size,
        version=content.version,
        columns=tuple(columns),
        source=source,
        recorded=recorded,
    )


def encode_example(example: Example) -> dict[str, Any]:
    """Return an example in the form of dataset files, one JSON object a line, without empty fields."""
    found = {
        "id": example.example_id,
        "inputs": plain(example.inputs),
        "outputs": plain(example.outputs),
        "metadata": plain(example.metadata),
        "conversation": encode_conversation(example.conversation) if example.conversation else None,
        "split": example.split,
        "tags": list(example.tags),
    }
    return {name: value for name, value in found.items() if value}


def decode_example(found: Mapping[str, Any]) -> Example:
    """Return the example that `encode_example` wrote. Raises KeyError, TypeError or ValueError for another."""
    conversation = found.get("conversation")
    return Example(
        inputs=dict(found.get("inputs") or {}),
        outputs=dict(found.get("outputs") or {}),
        metadata=dict(found.get("metadata") or {}),
        conversation=decode_conversation(conversation) if conversation else None,
        example_id=str(found.get("id") or ""),
        split=str(found.get("split") or ""),
        tags=tuple(found.get("tags") or ()),
    )


def is_chat(value: object) -> TypeGuard[list[Mapping[str, Any]]]:
    """Return whether a value is a list of messages, each with role and content."""
    return isinstance(value, list) and bool(value) and all(_is_message(each) for each in value)


def text_of(message: Mapping[str, Any]) -> str:
    """Return the text of a chat message; of one in parts, that of all parts, without a model's thoughts.

    Parts that are no text are named, such as [image/png, 300 kB].
    """
    content = message["content"]
    parts = content if isinstance(content, list) else [content]
    parts = [part for part in parts if not (isinstance(part, Mapping) and part.get("type") in _THOUGHT)]
    texts = [(part.get("text", part_name(part)) if isinstance(part, Mapping) else part) for part in parts]
    return "\n".join(str(text) for text in texts if text is not None)


def as_answer(value: object) -> tuple[str, dict[str, Any]]:
    """Return the JSON of an answer that is no text, and the metadata that keep its value.

    One with NaN or Infinity in it, which are no JSON, is kept as its text alone: in a store they would be null.
    """
    found = plain(value, finite=False)
    try:
        return json.dumps(found, ensure_ascii=False, allow_nan=False), {RETURNED: found}
    except ValueError:
        return json.dumps(found, ensure_ascii=False), {}


def written(answer: object) -> object:
    """Return an answer as it is; an object or a list with NaN or Infinity in it as its text."""
    if not isinstance(answer, (dict, list)) or not_json(answer):
        return answer
    text, metadata = as_answer(answer)
    return answer if metadata else text


def _answered(conversation: Conversation) -> str | list[dict[str, str]]:
    """Return the last answer of a conversation or, if the user sent several messages, all messages."""
    if sum(message.role == "user" for message in conversation.messages) < 2:
        return conversation.output
    return [{"role": message.role, "content": message.content} for message in conversation.messages]


def _kind_of(example: Example) -> Kind:
    only_one = set(example.inputs) == {"input"} and set(example.outputs) <= {"output"}
    if only_one and isinstance(example.inputs["input"], str):
        return "llm"
    is_log = not example.inputs and not example.outputs
    if is_log or (only_one and is_chat(example.inputs["input"])):
        return "chat"
    return "kv"


def _check_form(example: object, where: str) -> None:
    """Raise DefinitionError if it is no example, or has nothing to start from."""
    if not isinstance(example, Example):
        do = "give Examples, or make a dataset of rows with dataset_of"
        raise DefinitionError(where, found=f"found {example!r:.80}", do=do)
    for side in ("inputs", "outputs", "metadata"):
        found = getattr(example, side)
        if not isinstance(found, Mapping) or not all(isinstance(name, str) for name in found):
            do = "give a mapping of column names, which are texts, to values"
            raise DefinitionError(f"{where}, {side}", found=f"found {found!r:.80}", do=do)
    taken = [(side, name) for side in ("inputs", "outputs") for name in RESERVED if name in getattr(example, side)]
    for side, name in taken:
        if (side, name) != ("outputs", "output"):
            found = f"the {side} have a column {name!r}, which scorers know as the trial's own"
            raise DefinitionError(where, found=found, do="give it another name, or say which columns are inputs")
    if not isinstance(example.conversation, Conversation | None):
        do = "give a Conversation(messages=(Message(...), ...))"
        raise DefinitionError(f"{where}, conversation", found=f"found {example.conversation!r:.80}", do=do)
    if isinstance(example.tags, str) or not all(isinstance(tag, str) for tag in example.tags):
        raise DefinitionError(f"{where}, tags", found=f"found {example.tags!r:.80}", do="give a tuple of texts")
    if not example.inputs and example.conversation is None:
        do = "give inputs for the app, or a recorded conversation"
        raise DefinitionError(where, found="it has neither inputs nor a conversation", do=do)


def _check_kind(example: Example, kind: Kind, where: str) -> None:
    """Raise DefinitionError where an example is not of its dataset's kind."""
    if kind == "kv":
        return
    if kind == "chat" and not example.inputs and not example.outputs and example.conversation is not None:
        return
    form, fits = ("a text", _is_text) if kind == "llm" else ("a list of messages, each with role and content", is_chat)
    for side, name, found in (("inputs", "input", example.inputs), ("outputs", "output", example.outputs)):
        if side == "outputs" and not found:
            continue
        if set(found) != {name} or not fits(found[name]):
            shown = f"{name} is {found[name]!r:.80}" if name in found else f"the {side} are {sorted(found)}"
            raise DefinitionError(where, found=shown, do=f"kind {kind} takes {name}: {form}, and nothing else there")


def _check_columns(example: Example, first: Example, where: str) -> None:
    """Raise DefinitionError if the columns of an example differ from those of the first."""
    for side in ("inputs", "outputs"):
        here, there = getattr(example, side), getattr(first, side)
        if here.keys() == there.keys():
            continue
        lacks = [repr(name) for name in there if name not in here]
        has = [repr(name) for name in here if name not in there]
        said = [f"lack {_listed(lacks)}"] * bool(lacks) + [f"also have {_listed(has)}"] * bool(has)
        do = "give every example the same columns (null where there is nothing), as the first one has"
        raise DefinitionError(where, found=f"its {side} {' and '.join(said)}", do=do)


def _listed(names: Sequence[str]) -> str:
    more = [f"{len(names) - MOST_SHOWN} more"] if len(names) > MOST_SHOWN else []
    return ", ".join([*names[:MOST_SHOWN], *more])


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_message(value: object) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("role"), str) and "content" in value


def _canonical(value: object) -> str:
    return _written(plain(value))


def _written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _digest(value: object) -> str:
    return hashlib.sha256(_canonical(value).encode("utf-8", "surrogatepass")).hexdigest()


def own_ids(examples: Iterable[Example]) -> Iterator[Example]:
    """Return examples with distinct ids: a repeated one gets a number. Holds 70 bytes an id."""
    taken: set[int] = set()  # hashes: two that are equal by chance cost a number
    times: Counter[str] = Counter()
    for example in examples:
        name = example.example_id
        while name and hash(name) in taken:
            times[example.example_id] += 1
            name = f"{example.example_id} ({times[example.example_id] + 1})"
        taken.add(hash(name))
        yield example if name == example.example_id else replace(example, example_id=name)
