"""Journals: where every finished conversation, judgement and verdict is kept, in memory or as JSON lines."""

import json
import os
from collections.abc import Sequence
from io import BufferedWriter
from pathlib import Path
from typing import Protocol

from simeval.encode import encode_entry
from simeval.errors import DefinitionError
from simeval.outcome import Held, Judgement
from simeval.results import EvaluationResult, RunRecord

Entry = RunRecord | Held | Judgement | EvaluationResult


class Journal(Protocol):
    """Keeps entries in the order given. `append` may block; entries are safe when it returns."""

    def append(self, entries: Sequence[Entry]) -> None:
        """Keep a batch of entries."""

    def close(self) -> None:
        """Release what is held open."""


class MemoryJournal:
    """Keeps entries in a list."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def append(self, entries: Sequence[Entry]) -> None:
        self.entries.extend(entries)

    def close(self) -> None:
        """Nothing is open."""


class JsonLinesJournal:
    """Appends one JSON object a line to a file, which any number of runs may share.

    A batch is handed to the operating system before `append` returns, so it survives the end of this
    process, however it ends.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file: BufferedWriter = path.open("ab")
        except OSError as error:
            raise DefinitionError(
                "store",
                found=f"cannot write {str(path)!r} ({error.strerror})",
                do="name a file that can be written",
            ) from error

    def append(self, entries: Sequence[Entry]) -> None:
        lines = [json.dumps(encode_entry(entry), ensure_ascii=False) for entry in entries]
        # half a surrogate pair, which UTF-8 cannot hold, is written as the escape JSON has for it
        self._file.write("".join(f"{line}\n" for line in lines).encode(errors="backslashreplace"))
        self._file.flush()

    def close(self) -> None:
        if not self._file.closed:
            os.fsync(self._file.fileno())
            self._file.close()
