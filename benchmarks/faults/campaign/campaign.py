"""What the rows of the campaign share: where they work, whom they talk to, the runs that nothing happened to."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.faults.campaign.cases import CONCLUDED, Case, Report, RunAttempt
from simeval.testing import Behaviour, FakeEndpoint
from tests.support.postgres import PostgresHandle

Json = Mapping[str, Any]

SEED = 1
LATENCY_SECONDS = 0.015


class NotRun(Exception):
    """A row needs something that is not here."""


@dataclass(slots=True, kw_only=True)
class Campaign:
    """A folder for all cases, a healthy endpoint, the databases, and how many kills are wanted.

    `postgres` is the URL of a PostgreSQL database, `server` its server where that is the campaign's own.
    """

    folder: Path
    endpoint: FakeEndpoint
    kills: int = 50
    postgres: str | None = None
    server: PostgresHandle | None = None
    random: Random = field(default_factory=lambda: Random(SEED))
    _wholes: dict[tuple[int, str], tuple[Case, RunAttempt]] = field(default_factory=dict)
    _numbers: Any = field(default_factory=lambda: count(1))

    def case(
        self,
        *,
        store: str = "runs.db",
        seed: int = SEED,
        url: str | None = None,
        app: str = "handle",
        in_flight: int = 16,
        executor: str = "local",
    ) -> Case:
        """Make a case with a folder of its own."""
        folder = self.folder / f"case-{next(self._numbers)}"
        folder.mkdir()
        return Case(
            folder=folder,
            store=store,
            seed=seed,
            url=url or self.endpoint.base_url,
            app=app,
            in_flight=in_flight,
            executor=executor,
        )

    def begin_whole(self, seed: int = SEED, app: str = "handle") -> None:
        """Start a run that nothing happens to, beside what goes on."""
        if (seed, app) not in self._wholes:
            case = self.case(store="none", seed=seed, app=app, in_flight=32)
            self._wholes[seed, app] = case, case.start()

    def whole(self, seed: int = SEED, app: str = "handle") -> Json:
        """Return the result of a run that nothing happens to."""
        self.begin_whole(seed, app)
        case, attempt = self._wholes[seed, app]
        status, result = attempt.wait(), case.result()
        if status not in CONCLUDED or result is None:
            raise RuntimeError(f"an undisturbed run ended with status {status}: {attempt.message}")
        return result

    def close(self) -> None:
        """End what was started beside."""
        for _, attempt in self._wholes.values():
            attempt.kill()

    def own_server(self) -> tuple[PostgresHandle, str]:
        """Return the PostgreSQL server that may be killed, and its URL. Raises NotRun."""
        if self.server is None or self.postgres is None:
            raise NotRun("needs a PostgreSQL server of its own")
        return self.server, self.postgres

    def resumed(self, case: Case, struck: RunAttempt, **known: Any) -> Report:
        """Resume a case whose attempt has ended, if it did not come to its verdicts, and report on it."""
        status = struck.process.exitcode
        last = struck
        if not _is_complete(case, status):
            last = case.start(resume=case.notes.run_id)
            last.wait()
        report = case.report(struck, same_as=self.whole(case.seed, case.app), **known)
        return report if last.process.exitcode in CONCLUDED else _failed(report, last)


def _is_complete(case: Case, status: int | None) -> bool:
    result = case.result()
    failed = result is not None and any(each["stage"] != "app" for s in result["scenarios"] for each in s["errors"])
    return status in CONCLUDED and not failed


def _failed(report: Report, last: RunAttempt) -> Report:
    return replace(report, problem=f"the resumed run ended with status {last.process.exitcode}: {last.message}")


def ending(status: int | None) -> str:
    """Say how an attempt ended."""
    if status is None:
        return "NOT by itself"
    return f"by itself, status {status}" if status >= 0 else f"killed by signal {-status}"


Row = Callable[[Campaign], Report]


def healthy() -> Behaviour:
    """Return the behaviour of an endpoint that nothing is wrong with."""
    return Behaviour(reads=True, latency_seconds=LATENCY_SECONDS)
