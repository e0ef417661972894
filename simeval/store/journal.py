"""Journals: where every finished conversation, judgement and verdict is kept; here as JSON lines."""

import json
import os
from collections.abc import Sequence
from io import BufferedWriter
from pathlib import Path

from simeval.core.drafts import privately
from simeval.core.logs import log
from simeval.core.run_records import ControlRecord, Cut, Heartbeat, ReplyRecord, RubricRecord, Start
from simeval.core.run_records import Journal as Journal
from simeval.core.trial import TrialConversation, TrialResult
from simeval.errors import DefinitionError, StoreError
from simeval.results.entries import encode_entry
from simeval.results.experiment import ExperimentResult
from simeval.results.suite import RunRecord, SuiteResult

RunResult = SuiteResult | ExperimentResult
Entry = (
    RunRecord
    | Start
    | Cut
    | TrialConversation
    | TrialResult
    | RubricRecord
    | ControlRecord
    | ReplyRecord
    | Heartbeat
    | RunResult
)


class JsonLinesJournal:
    """Appends one JSON object a line to a file, which any number of runs may share, each line with its run.

    A batch is handed to the operating system before `append` returns, so it survives the end of this
    process, however it ends; a power cut may cost the last seconds.
    """

    def __init__(self, path: Path) -> None:
        self.path = path = path.absolute()  # an app may change the folder
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            torn = path.exists() and path.stat().st_size > 0 and _last_byte(path) != b"\n"
            self._file: BufferedWriter = open(path, "ab", opener=privately)  # noqa: SIM115
            self._file.write(b"\n" if torn else b"")  # a line that a kill cut off must not swallow the next
        except OSError as error:
            raise DefinitionError(
                "store",
                found=f"cannot write {str(path)!r} ({error.strerror})",
                do="check the path, or its permissions",
            ) from error

    def append(self, run_id: str, entries: Sequence[Entry]) -> None:
        found = (encoded for entry in entries for encoded in encode_entry(entry))
        lines = [json.dumps({"run_id": run_id, **each}, ensure_ascii=False) for each in found]
        # half a surrogate pair, which UTF-8 cannot hold, is written as the escape JSON has for it
        batch = "".join(f"{line}\n" for line in lines).encode(errors="backslashreplace")
        try:
            self._file.write(batch)
            self._file.flush()
        except OSError as error:
            raise StoreError(str(self.path), problem=str(error.strerror)) from error

    def close(self) -> None:
        if self._file.closed:
            return
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError:
            log.warning("the store may lack its last lines", path=str(self.path))
        finally:
            self._file.raw.close()


def _last_byte(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1)
