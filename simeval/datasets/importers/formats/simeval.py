"""Datasets that simeval wrote: one example a line."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from simeval.datasets.dataset import Example, decode_example
from simeval.datasets.importers.records import Opening, Unreadable, examples_from, records

NAME = "simeval"
_KEYS = {"id", "inputs", "outputs", "metadata", "conversation", "split", "tags"}


def looks_like(opening: Opening) -> bool:
    """Return whether the first record is an example of ours."""
    found = opening.first
    if not isinstance(found, dict) or not set(found) <= _KEYS:
        return False
    conversation = found.get("conversation")
    return isinstance(found.get("inputs"), dict) or (isinstance(conversation, dict) and "turns" in conversation)


def read(path: Path) -> Iterator[Example | Unreadable]:
    """Return the examples as they were written."""
    return examples_from(records(path), _converted)


def _converted(found: Mapping[str, Any]) -> Iterator[Example]:
    if not found.get("inputs") and not found.get("conversation"):
        raise ValueError("it has neither inputs nor a conversation")
    yield decode_example(found)
