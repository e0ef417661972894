"""Datasets: examples with inputs, what is known to be right, and what was recorded; checked and versioned.

Three kinds: `kv`, columns of any names; `llm`, one text in and one text out; `chat`, messages in and messages out.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal, get_args

from simeval.conversation import Conversation
from simeval.errors import DefinitionError
from simeval.transcripts import decode_conversation, encode_conversation, plain

Kind = Literal["kv", "llm", "chat"]
KINDS: tuple[Kind, ...] = get_args(Kind)
REFERENCE = "reference"  # the column of the reference output, where there is one
RESERVED = ("output", "conversation", "seed")  # columns that a dataset cannot give: they are of the trial
MOST_SHOWN = 8

_KEY_CHARACTERS = 16
_VERSION_CHARACTERS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """Inputs for the app, the outputs that are known to be right, and what was recorded, where there is any.

    `conversation` is what was said when it was recorded: an app's own answers, which are no reference.
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
        """What tells the example from others, in every version of its dataset: its id, else a hash of its inputs."""
        return self.example_id or _digest([self.inputs, self.asked])[:_KEY_CHARACTERS]

    @property
    def asked(self) -> tuple[str, ...]:
        """What the user said in the recorded conversation, in order."""
        said = self.conversation.messages if self.conversation else ()
        return tuple(message.content for message in said if message.role == "user")

    @property
    def text(self) -> str:
        """The inputs as one text: the only text there is, the last message of a chat, else all of them as JSON."""
        values = list(self.inputs.values())
        if len(values) == 1 and isinstance(values[0], str):
            return values[0]
        messages = self.inputs.get("input")
        if isinstance(messages, Sequence) and messages and all(_is_message(each) for each in messages):
            return str(messages[-1]["content"])
        return _canonical(self.inputs) if self.inputs else next(iter(self.asked), "")

    def columns(self) -> dict[str, Any]:
        """Give what scorers may name: inputs, reference outputs and metadata, in this order where names are equal.

        The only reference output, or the text of a reference message, is also the column "reference". The messages of
        a chat are the column "messages".
        """
        found = {**self.metadata, **self.outputs, **self.inputs}
        if len(self.outputs) == 1:
            found.setdefault(REFERENCE, _reference(next(iter(self.outputs.values()))))
        if isinstance(found.get("input"), list):
            found["messages"] = found.pop("input")
        return {name: value for name, value in found.items() if name not in RESERVED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """Examples of one kind, read anew each time they are gone through, so that none need be held in memory.

    `version` is a hash of the content of all examples in their order; `columns` are those that scorers may name.
    Made by `dataset_of`, or read from files, the store and other libraries.
    """

    name: str
    kind: Kind
    size: int
    version: str
    columns: tuple[str, ...]
    source: Callable[[], Iterable[Example]] = field(repr=False)
    recorded: bool = False  # whether every example has a recorded conversation

    def __iter__(self) -> Iterator[Example]:
        return iter(self.source())

    def __len__(self) -> int:
        return self.size

    def split(self, name: str) -> "Dataset":
        """Give the examples of a split. Raises DefinitionError where there is none."""
        return self.only(lambda example: example.split == name, f"split {name!r}")

    def tagged(self, tag: str) -> "Dataset":
        """Give the examples with a tag. Raises DefinitionError where there is none."""
        return self.only(lambda example: tag in example.tags, f"tag {tag!r}")

    def first(self, number: int) -> "Dataset":
        """Give the first examples."""
        return check_dataset(lambda: islice(self.source(), number), name=self.name, kind=self.kind)

    def only(self, wanted: Callable[[Example], bool], what: str = "the filter") -> "Dataset":
        """Give the examples that `wanted` holds for; `what` names it in the error where there is none."""
        source = self.source
        if not any(wanted(example) for example in source()):
            raise DefinitionError(f"dataset {self.name!r}", found=f"no example for {what}", do="see what it has")
        return check_dataset(lambda: filter(wanted, source()), name=self.name, kind=self.kind)


def check_dataset(source: Callable[[], Iterable[Example]], *, name: str, kind: Kind | None = None) -> Dataset:
    """Go through all examples once, check that they are of one kind with the same columns, and give the dataset.

    Without a `kind` it is that of the first example. Raises DefinitionError naming the first example, from 1, that
    does not fit.
    """
    if kind is not None and kind not in KINDS:
        raise DefinitionError("dataset kind", found=f"found {kind!r}", do=f"use one of {', '.join(KINDS)}")
    hashed, size, recorded = hashlib.sha256(), 0, True
    first: Example | None = None
    for size, example in enumerate(source(), 1):
        first, kind = first or example, kind or _kind_of(example)
        where = f"dataset {name!r}, example {size}"
        _check_kind(example, kind, where)
        _check_columns(example, first, where)
        recorded = recorded and example.conversation is not None
        hashed.update(_canonical(encode_example(example)).encode("utf-8", "surrogatepass") + b"\n")
    if first is None or kind is None:
        raise DefinitionError(f"dataset {name!r}", found="it has no example", do="give one or more")
    return Dataset(
        name=name,
        kind=kind,
        size=size,
        version=hashed.hexdigest()[:_VERSION_CHARACTERS],
        columns=tuple(first.columns()),
        source=source,
        recorded=recorded,
    )


def encode_example(example: Example) -> dict[str, Any]:
    """Give an example in the form that datasets are written in, one JSON object a line; what is empty is left out."""
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
    """Give the example that `encode_example` wrote. Raises KeyError, TypeError or ValueError for another."""
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


def _kind_of(example: Example) -> Kind:
    only_one = set(example.inputs) == {"input"} and set(example.outputs) <= {"output"}
    if only_one and isinstance(example.inputs["input"], str):
        return "llm"
    if (only_one and isinstance(example.inputs["input"], list)) or (not example.inputs and example.conversation):
        return "chat"
    return "kv"


def _check_kind(example: Example, kind: Kind, where: str) -> None:
    """Raise DefinitionError where an example is not of its dataset's kind."""
    if kind == "kv":
        return
    if kind == "chat" and not example.inputs and not example.outputs and example.conversation is not None:
        return
    form, fits = ("a text", _is_text) if kind == "llm" else ("a list of messages, each with role and content", _is_chat)
    for side, name, found in (("inputs", "input", example.inputs), ("outputs", "output", example.outputs)):
        if side == "outputs" and not found:
            continue
        if set(found) != {name} or not fits(found[name]):
            shown = f"{name} is {found[name]!r:.80}" if name in found else f"the {side} are {sorted(found)}"
            raise DefinitionError(where, found=shown, do=f"kind {kind} takes {name}: {form}, and nothing else there")


def _check_columns(example: Example, first: Example, where: str) -> None:
    """Raise DefinitionError where the columns of an example differ from those of the first."""
    for side in ("inputs", "outputs"):
        here, there = getattr(example, side), getattr(first, side)
        if here.keys() == there.keys():
            continue
        lacks = [repr(name) for name in there if name not in here]
        has = [repr(name) for name in here if name not in there]
        said = [f"lacks {_listed(lacks)}"] * bool(lacks) + [f"also has {_listed(has)}"] * bool(has)
        do = "give every example the same columns (null where there is nothing), as the first one has"
        raise DefinitionError(where, found=f"its {side} {' and '.join(said)}", do=do)


def _listed(names: Sequence[str]) -> str:
    more = [f"{len(names) - MOST_SHOWN} more"] if len(names) > MOST_SHOWN else []
    return ", ".join([*names[:MOST_SHOWN], *more])


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_chat(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(_is_message(each) for each in value)


def _is_message(value: object) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("role"), str) and "content" in value


def _reference(value: object) -> object:
    """Give a reference output; of a chat, the text of its last message."""
    return value[-1]["content"] if isinstance(value, list) and _is_chat(value) else value


def _canonical(value: object) -> str:
    return json.dumps(plain(value), ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _digest(value: object) -> str:
    return hashlib.sha256(_canonical(value).encode("utf-8", "surrogatepass")).hexdigest()
