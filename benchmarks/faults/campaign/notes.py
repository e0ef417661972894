"""What the store of a run acknowledged, noted line by line in a file beside it, and held against the store."""

import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from simeval.core.run_records import ResumableRun
from simeval.core.trial import Score, Trial, TrialConversation, TrialResult
from simeval.results.suite import RunRecord
from simeval.store.journal import Entry

Note = tuple[Any, ...]
SetAside = tuple[
    TrialConversation, dict[int, str]
]  # with the values of its scores, by the position of their expectation


class NoteBook:
    """Writes down what has been acknowledged, each batch by one call of the operating system."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def add(self, run_id: str, entries: Sequence[Entry]) -> None:
        """Write down the entries of a run that are safe now."""
        notes = [note for entry in entries for note in _notes(run_id, entry)]
        os.write(self._file, "".join(f"{json.dumps(note)}\n" for note in notes).encode())

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def _notes(run_id: str, entry: Entry) -> list[Note]:
    match entry:
        case RunRecord():
            return [("run", run_id)]
        case TrialConversation() if entry.failure is None or entry.failure.stage == "app":
            return [("held", entry.trial.scenario, entry.trial.index, _digest(entry), entry.trial.seed)]
        case TrialResult():
            trial = entry.trial
            return [
                ("score", trial.scenario, trial.index, position, repr(result.value), trial.seed)
                for position, result in enumerate(entry.results)
                if isinstance(result, Score)
            ]
        case _:
            return []


def _digest(held: TrialConversation) -> str:
    said = [(message.role, message.content) for message in held.conversation.messages]
    error = held.failure.error if held.failure else None
    return sha256(repr((said, held.conversation.ended, error)).encode(errors="backslashreplace")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Notes:
    """All that was noted of a run, in order."""

    notes: tuple[Note, ...]

    @classmethod
    def read(cls, path: Path) -> "Notes":
        """Read the file; a last line that a kill cut off is left out."""
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        return cls(tuple(tuple(json.loads(line)) for line in text.splitlines(keepends=True) if line.endswith("\n")))

    def of(self, kind: str) -> list[Note]:
        """Return the notes of a kind."""
        return [note for note in self.notes if note[0] == kind]

    @property
    def run_id(self) -> str | None:
        """The run, if one was begun."""
        runs = self.of("run")
        return str(runs[-1][1]) if runs else None

    @property
    def finished(self) -> int:
        """How many conversations and scores were acknowledged."""
        held = {(scenario, index, seed) for _, scenario, index, _, seed in self.of("held")}
        return len(held) + len({(*note[1:4], note[5]) for note in self.of("score")})

    def lost(self, past: ResumableRun, aside: Sequence[SetAside] = ()) -> int:
        """Count what was acknowledged and is not in the store, or is something else there.

        What was set aside because the run was cut off is there.
        """
        kept = {held.trial: _digest(held) for held in past.held.values()}
        found = {
            (past.held[key].trial, place): repr(each.value)
            for key, by in past.scores.items()
            if key in past.held
            for place, each in by.items()
        }
        for held, values in aside:
            kept[held.trial] = _digest(held)
            found.update({(held.trial, place): value for place, value in values.items()})
        held_then = {Trial(scenario, index, seed): digest for _, scenario, index, digest, seed in self.of("held")}
        scored = {(Trial(note[1], note[2], note[5]), note[3]): note[4] for note in self.of("score")}
        gone = [trial for trial, digest in held_then.items() if kept.get(trial) != digest]
        return len(gone) + len([key for key, value in scored.items() if found.get(key) != value])

    def repeated(self) -> int:
        """Count finished conversations that were held again, and finished measurements that were made again.

        Those that are dealt anew after a cut are others: their seeds differ.
        """
        held = Counter((*note[1:3], note[4]) for note in self.of("held"))
        again, scored = 0, set[int]()
        for note in self.notes:
            if note[0] == "score" and note[3] == 1:
                scored.add(note[5])
            again += note[0] == "measured" and note[1] in scored
        return again + sum(times - 1 for times in held.values())
