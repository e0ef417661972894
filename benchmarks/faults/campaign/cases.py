"""A run that faults strike: a folder of its own, the processes that work at it, what it kept and concluded."""

import json
import os
import re
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from sqlalchemy import select

from benchmarks.faults.campaign.child import Faults, sit
from benchmarks.faults.campaign.notes import Notes, SetAside
from simeval.core.conversation import decode_conversation
from simeval.core.run_records import ResumableRun
from simeval.core.trial import Failure, Trial, TrialConversation
from simeval.store.opening import load_run, open_database
from simeval.store.schema import SET_ASIDE

PROCESSES = get_context("forkserver")  # so that one starts with everything loaded, in a twentieth of the time
PROCESSES.set_forkserver_preload(["benchmarks.faults.campaign.loaded"])
LONGEST_SECONDS = 100.0  # of one attempt; who has not ended by then does not end by itself
BEGINNING_SECONDS = 30.0
LONGEST_LINE = 160
MOST_WARNINGS = 2
CONCLUSION = re.compile(r"(PASS|FAIL|INCONCLUSIVE|ERROR)  .*")
CAUSES = re.compile(r"\d+ conversations? went wrong:")
CONCLUDED = (0, 1)  # exit statuses of a run that came to its verdicts
OF_THE_MOMENT = frozenset({"started", "seconds", "scores"})  # a conversation's scores: also those no verdict needed


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A row of the table.

    `finished` conversations and scores were acknowledged; of these `lost` are gone and `repeated` were paid for again.
    `ended` says how the process that was struck ended, `seconds` how long that took. `same` is whether the verdicts,
    in the end, are those of a run that nothing happened to; None where there is nothing to compare. Where the run was
    cut off, `missing` trials count as such and `set_aside` were finished and dealt anew, and `same` is said of what was
    dealt before that in each scenario.
    """

    finished: int = 0
    lost: int = 0
    repeated: int = 0
    ended: str = "by itself"
    seconds: float = 0.0
    same: bool | None = None
    missing: int = 0
    set_aside: int = 0
    message: str = ""
    problem: str = ""

    @property
    def is_good(self) -> bool:
        """Whether nothing was lost, nothing paid for twice, and the verdicts are those there should be."""
        return not (self.lost or self.repeated or self.same is False or self.problem)


@dataclass(slots=True)
class RunAttempt:
    """One process at a run."""

    process: ForkServerProcess
    errors: Path
    output: Path
    started: float = field(default_factory=monotonic)

    def wait(self, seconds: float = LONGEST_SECONDS) -> int | None:
        """Wait for the end and give the exit status; None where there was none in time, and it had to be killed."""
        self.process.join(timeout=seconds)
        if self.is_running:
            self.kill()
            return None
        return self.process.exitcode

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        if self.process.pid is not None and self.is_running:
            os.kill(self.process.pid, number)

    def kill(self) -> None:
        """End it at once, as kill -9 does."""
        self.process.kill()
        self.process.join()

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self.process.exitcode is None

    @property
    def seconds(self) -> float:
        """How long it has been there."""
        return monotonic() - self.started

    @property
    def message(self) -> str:
        """What its user saw: warnings, what simeval said at its end, and in short what it concluded."""
        lines, report = _lines(self.errors), _lines(self.output)
        ends = [line.removeprefix("simeval: ") for line in lines if line.startswith("simeval: ")]
        warned = [line.partition(" WARNING ")[2] for line in lines if " WARNING " in line]
        broken = [line for line in lines if line.startswith("Traceback")]
        said = [_shortened(line) for line in [*warned[:MOST_WARNINGS], *broken, *ends]]
        how = ["and the command that resumes it"] if any("--resume" in line for line in lines) else []
        concluded = [line for line in report if CONCLUSION.match(line)][:1]
        causes = [below for line, below in pairwise(report) if CAUSES.fullmatch(line)]
        return "; ".join([*said, *how, *([] if ends else [*concluded, *map(_shortened, causes)])])


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8", errors="replace").splitlines()


def _shortened(line: str) -> str:
    text = re.sub(r"postgresql://[^\s']*", "postgresql://…", line.strip())
    text = re.sub(r"(?<![\w:/.])/[^\s'\"]*/([\w.-]+)", r"…/\1", text)
    return text if len(text) <= LONGEST_LINE else f"{text[:LONGEST_LINE]}…"


@dataclass(slots=True, kw_only=True)
class Case:
    """A run: its folder, its store, its seed, the endpoint and the app it talks to."""

    folder: Path
    store: str
    seed: int
    url: str
    app: str = "handle"
    in_flight: int = 16
    app_seconds: float = 2
    executor: str = "local"
    _attempts: int = 0
    _begun: int = 0

    @property
    def notes(self) -> Notes:
        """What was acknowledged so far."""
        return Notes.read(self._notes)

    @property
    def _notes(self) -> Path:
        return self.folder / "notes.jsonl"

    def start(self, *, resume: str | None = None, json_to: str | None = "result.json", **faults: Any) -> RunAttempt:
        """Start a process that begins the run, or resumes it."""
        self._attempts, self._begun = self._attempts + 1, len(self.notes.of("run"))
        output, errors = (self.folder / f"{name}-{self._attempts}.txt" for name in ("output", "errors"))
        arguments = ["run", *self._arguments(), *(["--json", json_to] if json_to else [])]
        arguments += ["--executor", self.executor, *(["--actors", "3"] if self.executor == "ray" else [])]
        arguments += ["--resume", resume] if resume else []
        return self._started(arguments, Faults(**faults), output, errors)

    def _started(self, arguments: list[str], faults: Faults, output: Path, errors: Path) -> RunAttempt:
        process = PROCESSES.Process(
            target=sit,
            args=(arguments, faults, self.folder, self._notes, output, errors),
            daemon=self.executor != "ray",
        )
        process.start()
        return RunAttempt(process, errors, output)

    def _arguments(self) -> list[str]:
        return [
            "benchmarks.faults.campaign.work:SUITE",
            *("--app", f"benchmarks.faults.campaign.work:{self.app}"),
            *("--judge-model", "openai-compatible/judge"),
            *("--model-option", f"api_base={self.url}", "--model-option", "api_key=none"),
            *("--seed", str(self.seed), "--concurrency", str(self.in_flight), "--store", self.store),
            *("--model-timeout", "2", "--app-timeout", str(self.app_seconds)),
            *("--date", "2026-11-26"),  # which judges read, whatever the clock says
        ]

    def begun(self, attempt: RunAttempt, *, scores: int = 0) -> None:
        """Wait until the store has the run of this attempt, and so many more scores; or the attempt has ended."""
        deadline = monotonic() + BEGINNING_SECONDS
        wanted = len(self.notes.of("score")) + scores
        while monotonic() < deadline and attempt.is_running:
            notes = self.notes
            if len(notes.of("run")) > self._begun and len(notes.of("score")) >= wanted:
                return
            sleep(0.005)

    def cut(self, *, scores: int = 150) -> str:
        """Start the run, kill it after so many scores, and give its id."""
        attempt = self.start()
        self.begun(attempt, scores=scores)
        attempt.kill()
        return str(self.notes.run_id)

    def lost(self) -> int:
        """Count what was acknowledged and is not in the store."""
        notes = self.notes
        return notes.lost(*self._past(notes.run_id)) if notes.run_id else 0

    def _past(self, run_id: str) -> tuple[ResumableRun, list[SetAside]]:
        """Return what a run's store holds of it, and what it has set aside."""
        database = open_database(self.store if "://" in self.store else self.folder / self.store)
        try:
            query = select(SET_ASIDE).where(SET_ASIDE.c.run_id == run_id)
            rows = database.read(lambda connection: connection.execute(query).mappings().all())
            return load_run(database, run_id), [_set_aside(row) for row in rows]
        finally:
            database.close()

    def result(self, name: str = "result.json") -> Mapping[str, Any] | None:
        """Return the machine-readable result, if there is one."""
        path = self.folder / name
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None

    def report(self, struck: RunAttempt, *, same_as: Mapping[str, Any] | None = None, **known: Any) -> Report:
        """Report on a case whose struck attempt, and what came after it, has ended."""
        notes, result = self.notes, self.result()
        facts: dict[str, Any] = {
            "finished": notes.finished,
            "lost": self.lost() + (unaccounted(result) if result else 0),
            "repeated": notes.repeated(),
            "same": None if same_as is None else result is not None and agrees(result, same_as),
            "message": struck.message,
        }
        if notes.run_id is not None:
            past, aside = self._past(notes.run_id)
            facts |= {"missing": sum(map(len, past.cuts.values())), "set_aside": len(aside)}
            said = f"cut off in {facts['missing']} " in str(result and result["notes"])
            if facts["missing"] and not said:
                facts["problem"] = "the report does not say what is missing"
        return Report(**{**facts, **known})


def findings(result: Mapping[str, Any]) -> Any:
    """Return all that a run concluded and what it rests on, without what differs from moment to moment."""
    kept = ("title", "outcome", "passed", "sample_size", "trials", "errors", "expectations", "conversations")
    return [{name: _timeless(scenario[name]) for name in kept} for scenario in result["scenarios"]]


def agrees_but_for_lost(result: Mapping[str, Any], whole: Mapping[str, Any]) -> bool:
    """Return whether a run found what a whole one did in each trial but those that were lost with their workers.

    In scenarios without such a trial it must be the same in all.
    """
    pairs = zip(result["scenarios"], whole["scenarios"], findings(result), findings(whole), strict=True)
    for scenario, other, found, expected in pairs:
        lost = {error["index"] for each in (scenario, other) for error in each["errors"] if error["stage"] != "app"}
        kept = [{each["index"]: each for each in one["conversations"]} for one in (found, expected)]
        both = (kept[0].keys() & kept[1].keys()) - lost
        if any(kept[0][index] != kept[1][index] for index in both) or (not lost and found != expected):
            return False
    return True


def agrees(result: Mapping[str, Any], whole: Mapping[str, Any]) -> bool:
    """Return whether a run found what a whole one did.

    Where a scenario has trials that are missing, before the first.
    """
    pairs = zip(result["scenarios"], whole["scenarios"], findings(result), findings(whole), strict=True)
    for scenario, other, found, expected in pairs:
        missing = [error["index"] for each in (scenario, other) for error in each["errors"] if error["stage"] != "app"]
        if not missing:
            if found != expected:
                return False
            continue
        before = [each["conversations"][: min(missing)] for each in (found, expected)]
        length = min(map(len, before))
        if before[0][:length] != before[1][:length]:
            return False
    return True


def _set_aside(row: Mapping[Any, Any]) -> SetAside:
    found, scores = json.loads(row["conversation"]), json.loads(row["scores"])
    failure = Failure(**found["failure"]) if found["failure"] else None
    trial = Trial(row["scenario"], row["trial"], row["seed"])
    held = TrialConversation(trial, decode_conversation(found), failure)
    return held, {int(place): repr(score["score"]) for place, score in scores.items()}


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        drop = OF_THE_MOMENT if "turns" in value or "role" in value else frozenset()
        return {name: _timeless(inner) for name, inner in value.items() if name not in drop}
    return [_timeless(inner) for inner in value] if isinstance(value, list) else value


def unaccounted(result: Mapping[str, Any]) -> int:
    """Count trials up to the last that a verdict took, that have neither scores nor a cause why not."""
    count = 0
    for scenario in result["scenarios"]:
        failed = {error["index"] for error in scenario["errors"]}
        scored = {each["index"] for each in scenario["conversations"] if each["scores"]}
        count += len(set(range(scenario["trials"])) - failed - scored)
    return count


@contextmanager
def paused(process_id: int) -> Iterator[None]:
    """Let a process stand still."""
    os.kill(process_id, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process_id, signal.SIGCONT)
