"""ShareGPT: conversations of `{"from": "human", "value": "..."}`, a list of them or one a line."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from simeval.datasets.conversations import example_of
from simeval.datasets.dataset import Example
from simeval.datasets.messages import Turn, call_of, first, identity, mapping, turns_of
from simeval.datasets.records import Opening, Unreadable, examples_from, records

NAME = "sharegpt"
_LISTS = ("conversations", "conversation", "items")
_IDS = ("id", "conversation_id")
_LEFT_OUT = {*_LISTS, *_IDS, "system", "tools"}


def looks_like(opening: Opening) -> bool:
    """Return whether the first record has messages that name their speakers."""
    found = opening.first
    said = first(found, *_LISTS) if isinstance(found, dict) else None
    return isinstance(said, list) and all(isinstance(each, dict) and "from" in each for each in said)


def read(path: Path) -> Iterator[Example | Unreadable]:
    """Return the conversations."""
    return examples_from(records(path), _converted)


def _converted(found: Mapping[str, Any]) -> Iterator[Example]:
    said = first(found, *_LISTS)
    if not isinstance(said, list):
        raise ValueError('it has no list "conversations"')
    system = [Turn(role="system", text=str(found["system"]))] if found.get("system") else []
    turns = [turn for message in said for turn in _turns(message)]
    metadata = {name: value for name, value in found.items() if name not in _LEFT_OUT}
    yield example_of([*system, *turns], example_id=identity(found, *_IDS), metadata=metadata)


def _turns(message: Mapping[str, Any]) -> list[Turn]:
    """Return the turns of a message; a function's call is a message of its own, from "function_call"."""
    if message.get("from") != "function_call":
        return turns_of(message)
    call = mapping(message.get("value")) or {"name": str(message.get("value"))}
    return [Turn(role="assistant", calls=(call_of(call),))]
