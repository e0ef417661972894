"""Journals: where every finished conversation, judgement and verdict is kept; here as JSON lines."""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from io import BufferedWriter
from pathlib import Path

from simeval.core.conversation import encode_conversation, encode_message
from simeval.core.drafts import privately
from simeval.core.logs import log
from simeval.core.run_records import Cut, Heartbeat, ReplyRecord, Start
from simeval.core.run_records import Journal as Journal
from simeval.core.serialization import Json, plain
from simeval.core.trial import ControlRecord, RubricRecord, TrialConversation, TrialResult, encode_result
from simeval.core.version import __version__
from simeval.errors import DefinitionError, StoreError
from simeval.results.document import RunHead
from simeval.results.encoding import encode_expectation, encode_run
from simeval.results.experiment import ExperimentResult, encode_experiment
from simeval.results.suite import RunRecord, ScenarioResult, SuiteResult

OfATrial = Start | Cut | TrialConversation | TrialResult
OfARun = RunRecord | RubricRecord | ControlRecord | ReplyRecord | Heartbeat | SuiteResult | ExperimentResult

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


def encode_entry(entry: OfATrial | OfARun) -> list[Json]:  # noqa: C901  (one case for each)
    """Return the entry of one record in a journal of JSON lines; "type" is its kind."""
    match entry:
        case RunRecord():
            return [_encode_run(entry)]
        case Start():
            return [_encode_start(entry)]
        case Cut():
            return [{"type": "cut", **asdict(entry.trial)}]
        case TrialConversation():
            failure = asdict(entry.failure) if entry.failure else None
            conversation = encode_conversation(entry.conversation)
            return [{"type": "conversation", **asdict(entry.trial), **conversation, "failure": failure}]
        case TrialResult():
            results = [encode_result(result) for result in entry.results]
            return [{"type": "judgement", **asdict(entry.trial), "results": results}]
        case RubricRecord():
            return [{"type": "rubric", **plain(asdict(entry))}]
        case ControlRecord():
            return [{"type": "control", **asdict(entry)}]
        case ReplyRecord():
            return [{"type": "reply", **asdict(entry)}]
        case Heartbeat():
            usage = {role: asdict(each) for role, each in entry.usage.items()}
            return [{"type": "usage", "seconds": round(entry.seconds, 3), "by_role": usage}]
        case SuiteResult():
            return [*(_encode_verdicts(result) for result in entry), *encode_entry(entry.run)]
        case ExperimentResult():
            return [{"type": "experiment", **encode_experiment(entry, version=__version__)}]


def _encode_run(run: RunRecord) -> Json:
    """Return the facts of a run, and the plan of its scenarios."""
    scenarios = [{"title": t, "sample_size": n, "expectations": list(labels)} for t, n, labels in run.scenarios]
    head = RunHead(**run.head(None, "", gate_met=False))
    return {"type": "run", **encode_run(head), "suite": scenarios}


def _encode_start(start: Start) -> Json:
    if start.messages is None:
        return {"type": "start", **asdict(start.trial)}
    turns = [encode_message(message) for message in start.messages]
    return {"type": "turn", **asdict(start.trial), "turns": turns, "state": start.state}


def _encode_verdicts(result: ScenarioResult) -> Json:
    expectations = [encode_expectation(expectation.document()) for expectation in result.expectations]
    return {"type": "verdicts", "title": result.title, "outcome": result.outcome, "expectations": expectations}


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
