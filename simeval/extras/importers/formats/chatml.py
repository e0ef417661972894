"""Langfuse's ChatML: the messages of each observation of one trace, `{id: {"input": ..., "output": ...}}`.

A file is one trace without times or an order, so its conversation is the observation that holds the most; observations
that Langfuse could not normalise are passed over.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from simeval.datasets.conversations import example_of
from simeval.datasets.dataset import Example
from simeval.datasets.messages import Turn, is_message, mapping, turns_of
from simeval.datasets.records import Opening, Unreadable, examples_from, records

NAME = "chatml"
_SIDES = ("input", "output")


def looks_like(opening: Opening) -> bool:
    """Return whether the first record holds observations that record for each side if it could be normalised."""
    found = opening.first
    return isinstance(found, dict) and bool(found) and all(_is_observation(each) for each in found.values())


def read(path: Path) -> Iterator[Example | Unreadable]:
    """Return the conversation of each trace."""
    return examples_from(records(path), _converted)


def _is_observation(found: Any) -> bool:
    if not isinstance(found, Mapping) or not found or not set(found) <= set(_SIDES):
        return False
    return all("success" in mapping(side) for side in found.values())


def _converted(found: Mapping[str, Any]) -> Iterator[Example]:
    observations = [
        (name, [turn for side in _SIDES for turn in _turns(mapping(each.get(side)))]) for name, each in found.items()
    ]
    said = [(name, turns) for name, turns in observations if any(turn.role != "system" for turn in turns)]
    if not said:
        raise ValueError("no observation of it has messages")
    name, turns = max(said, key=lambda observation: len(observation[1]))
    yield example_of(turns, example_id=name)


def _turns(side: Mapping[str, Any]) -> list[Turn]:
    messages = side.get("data") if side.get("success") else None
    return [turn for each in messages or [] if is_message(each) for turn in turns_of(each)]
