"""The process that faults strike: `simeval run`, whose store notes what it has acknowledged."""

import os
import resource
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from itertools import count
from pathlib import Path
from threading import RLock
from typing import Any, Self

from tqdm import tqdm

from benchmarks.faults.campaign.notes import NoteBook
from benchmarks.faults.campaign.work import MEASURED, STUCK
from simeval.cli.main import main as simeval
from simeval.store.database import Database
from simeval.store.journal import Entry

JUMP_EVERY = 50  # readings of the clock
JUMPS = (timedelta(), timedelta(days=1), timedelta(), timedelta(days=-1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """What is different in a process.

    `largest_file` is how many bytes a file may have, `clock_jumps` whether the time of day jumps, `reconnect_seconds`
    for how long a lost store is looked for, `is_stuck` whether the app swallows its end.
    """

    largest_file: int | None = None
    is_stuck: bool = False
    clock_jumps: bool = False
    reconnect_seconds: float | None = None


def sit(arguments: Sequence[str], faults: Faults, folder: Path, notes: Path, output: Path, errors: Path) -> None:
    """Run simeval with these arguments in a folder, with what it prints in files."""
    os.chdir(folder)
    os.environ[MEASURED] = str(notes)
    for path, stream in ((output, sys.stdout), (errors, sys.stderr)):
        with path.open("wb") as file:
            os.dup2(file.fileno(), stream.fileno())
    tqdm.set_lock(RLock())  # its own, between processes, outlives one that is killed
    _note_what_is_kept(NoteBook(notes))
    if faults.largest_file is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (faults.largest_file, resource.RLIM_INFINITY))
    if faults.is_stuck:
        os.environ[STUCK] = "1"
    if faults.reconnect_seconds is not None:
        _default(Database.__init__, "reconnect_seconds", faults.reconnect_seconds)
    if faults.clock_jumps:
        _let_the_clock_jump()
    sys.argv = ["simeval", *arguments]
    simeval()


def _note_what_is_kept(book: NoteBook) -> None:
    append = Database.append

    def noting(self: Database, run_id: str, entries: Sequence[Entry]) -> None:
        append(self, run_id, entries)
        book.add(run_id, entries)

    Database.append = noting  # type: ignore[method-assign]


def _default(function: Any, name: str, value: object) -> None:
    function.__kwdefaults__[name] = value


def _let_the_clock_jump() -> None:
    readings = count()

    class Jumping(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return super().now(tz) + JUMPS[next(readings) // JUMP_EVERY % len(JUMPS)]

    for name, module in list(sys.modules.items()):
        if name.startswith("simeval.") and getattr(module, "datetime", None) is datetime:
            module.datetime = Jumping  # type: ignore[attr-defined]
