"""Log files for tests: real ones, and small ones that are written."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from simeval.core.conversation import Conversation, Message
from simeval.datasets.dataset import Dataset, Example
from simeval.datasets.records import ImportedLog
from simeval.extras.importers.registry import import_log
from tests.support.golden import DATA

SAMPLES = DATA / "formats"


def sample(name: str) -> Path:
    """Return a real log file."""
    return SAMPLES / name


def written(folder: Path, *rows: Any, name: str = "log.jsonl") -> Path:
    """Write rows as JSON lines; a text is a line as it stands."""
    path = folder / name
    lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def imported(folder: Path, *rows: Any, format: str = "auto") -> ImportedLog:
    """Import rows as a log of JSON lines."""
    return import_log(written(folder, *rows), format=format)


def conversations(dataset: Iterable[Example]) -> list[Conversation]:
    """Return the recorded conversations of examples."""
    return [example.conversation for example in dataset if example.conversation]


def messages(dataset: Iterable[Example]) -> list[Message]:
    """Return all recorded messages."""
    return [message for conversation in conversations(dataset) for message in conversation.messages]


def said(dataset: Dataset) -> list[list[tuple[str, str]]]:
    """Return who said what in each conversation."""
    return [[(each.role, each.content) for each in talk.messages] for talk in conversations(dataset)]
