"""A real PostgreSQL server for tests: made in a folder of its own, stopped by its own process."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from tempfile import mkdtemp
from time import monotonic, sleep
from typing import Any

import pytest

USER = "test"
STARTING_SECONDS = 30.0
OPTIONS = ("listen_addresses=", "fsync=off", "full_page_writes=off", "shared_buffers=16MB", "max_connections=50")


@dataclass(slots=True)
class PostgresHandle:
    """A server that listens on a socket in its folder, where it keeps its data, too."""

    binaries: Path
    folder: Path
    process: "subprocess.Popen[bytes] | None" = None
    _names: Iterator[int] = field(default_factory=count)

    def fresh(self) -> str:
        """Return the URL of an empty schema."""
        name = f"store_{next(self._names)}"
        self.execute(f"CREATE SCHEMA {name}")
        return f"postgresql://{USER}@/postgres?host={self.folder}&options=-csearch_path%3D{name}"

    def execute(self, statement: str) -> None:
        """Execute a statement on a connection of its own."""
        import psycopg

        with psycopg.connect(host=str(self.folder), user=USER, dbname="postgres", autocommit=True) as connection:
            connection.execute(statement)

    def start(self) -> None:
        """Start the server and wait until it answers."""
        options = [part for option in (*OPTIONS, f"unix_socket_directories={self.folder}") for part in ("-c", option)]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [self.binaries / "postgres", "-D", self.folder / "data", *options], stdout=log, stderr=log, **_nobody()
            )
        _wait_until_it_answers(self)

    def stop(self, *, kill: bool = False) -> None:
        """Stop the server: at once and without its leave with `kill`, else in order."""
        if self.process is not None:
            self.process.send_signal(signal.SIGQUIT if kill else signal.SIGINT)
            self.process.wait(timeout=STARTING_SECONDS)
            self.process = None


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresHandle]:
    """A server for all tests; skips where its binaries are not, unless SIMEVAL_REQUIRE_POSTGRES is 1."""
    binaries = installed()
    if binaries is None:
        missing = "no PostgreSQL server is installed"
        if os.environ.get("SIMEVAL_REQUIRE_POSTGRES") == "1":
            pytest.fail(missing)
        pytest.skip(missing)
    with serving(binaries) as handle:
        yield handle


@contextmanager
def serving(binaries: Path) -> Iterator[PostgresHandle]:
    """Run a server; in the end it is stopped, and its folder is removed."""
    folder = Path(mkdtemp(prefix="simeval-pg-"))
    try:
        if os.geteuid() == 0:  # the server refuses to be root's
            shutil.chown(folder, **_owner())
        making: list[str | Path] = [binaries / "initdb", "-D", folder / "data", "-U", USER, "-A", "trust", "-E", "UTF8"]
        subprocess.run([*making, "--no-locale", "--no-sync"], check=True, capture_output=True, timeout=60, **_nobody())
        handle = PostgresHandle(binaries, folder)
        try:
            handle.start()
            yield handle
        finally:
            handle.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def installed() -> Path | None:
    """Return the folder of PostgreSQL's programs; None where it is not installed."""
    found = [Path(path).parent for path in [shutil.which("initdb")] if path]
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in found if (folder / "postgres").exists()), None)


def _owner() -> Any:
    return {"user": "nobody", "group": "nogroup"}


def _nobody() -> Any:
    """Return what runs a program as a user without rights, where that is needed."""
    return {**_owner(), "extra_groups": []} if os.geteuid() == 0 else {}


def _wait_until_it_answers(handle: PostgresHandle) -> None:
    import psycopg

    deadline = monotonic() + STARTING_SECONDS
    while True:
        try:
            handle.execute("SELECT 1")
        except psycopg.OperationalError:
            if monotonic() > deadline:
                raise
            sleep(0.02)
        else:
            return
