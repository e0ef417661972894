"""The command line for tests: run as a process of its own, from a folder."""

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from io import RawIOBase
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, TextIO

ASKED = "the app was asked"  # what an app writes to standard error for `started`
PATIENCE_SECONDS = 240  # for the end of a process on a busy machine; less than `AN_HOUR`
AN_HOUR = ("--app-timeout", "3600")
FORKS = hasattr(os, "pidfd_open")  # on Linux
OF_PYTHONS_START = ("PYTHON", "LANG", "LC_")  # variables that Python reads once, when it starts
ROOT = Path(__file__).resolve().parents[2]
SHOP = """
async def good(message, state):
    return "I track orders and start returns."

async def bad(message, state):
    return "No idea."
"""
SUITE = """
sample_size: 30
scenarios:
  - title: The bot says what it does
    given: A new user
    when: The user asks what the bot can do
    then:
      expected_behavior: Bot tracks orders, starts returns
      evaluator: {type: success_rate, min_proportion: 0.9}
"""


def command(*arguments: str) -> list[str]:
    """Return the command line that runs simeval."""
    return [sys.executable, "-m", "simeval.cli", *arguments]


@dataclass(eq=False)
class CommandUnderWay:
    """A command in a fork, with what tests use of `subprocess.Popen`, which waits for children of its own only."""

    pid: int
    stdout: TextIO
    stderr: TextIO
    answer: RawIOBase  # of the process that forks: the status, once the command has ended
    returncode: int | None = None

    def poll(self) -> int | None:
        """Return the status, or None before the end."""
        return self._ended(0)

    def wait(self, timeout: float) -> int:
        """Wait for the end, and return the status."""
        status = self._ended(timeout)
        if status is None:
            raise subprocess.TimeoutExpired("simeval", timeout)
        return status

    def communicate(self, timeout: float = PATIENCE_SECONDS) -> tuple[str, str]:
        """Return the rest of both outputs, and wait for the end."""
        with self.stdout, self.stderr, self.answer, ThreadPoolExecutor(1) as thread:
            output = thread.submit(self.stdout.read)
            errors = self.stderr.read()
            self.wait(timeout)
            return output.result(), errors

    def send_signal(self, number: int) -> None:
        """Send a signal, if the command has not ended."""
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """End the command at once."""
        self.send_signal(signal.SIGKILL)

    def _ended(self, timeout: float) -> int | None:
        if self.returncode is None and select.select([self.answer], [], [], timeout)[0]:
            self.returncode = int(self.answer.readline())
        return self.returncode


Started = CommandUnderWay | subprocess.Popen[str]


def started(folder: Path, *arguments: str, lines: int = 1) -> Started:
    """Start simeval in a folder, and wait until that many lines of its standard error say that the app was asked."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = _started_in_fork(folder, arguments, variables) if FORKS else _started(folder, arguments, variables)
    assert process.stderr is not None
    while lines > 0:
        line = process.stderr.readline()
        assert line, process.communicate()
        lines -= ASKED in line
    return process


def _started(folder: Path, arguments: Sequence[str], variables: Mapping[str, str]) -> "subprocess.Popen[str]":
    streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command(*arguments), cwd=folder, env=variables, **streams)


def _started_in_fork(folder: Path, arguments: Sequence[str], variables: Mapping[str, str]) -> CommandUnderWay:
    (output, its_output), (errors, its_errors) = os.pipe(), os.pipe()
    answer = _asked_to_fork(folder, arguments, variables, its_output, its_errors)
    os.close(its_output)
    os.close(its_errors)
    return CommandUnderWay(int(answer.readline()), os.fdopen(output), os.fdopen(errors), answer)


def wait_for(said: str, process: Started) -> None:
    """Wait for a line of the standard error of a process that holds a text."""
    assert process.stderr is not None
    while said not in process.stderr.readline():
        assert process.poll() is None


def simeval(folder: Path, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run simeval in a folder and wait for it: in a fork of a process that has it imported, where that is the same."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    if forks(environment):
        return _in_fork(folder, arguments, variables)
    return subprocess.run(
        command(*arguments),
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


def simeval_as_shown(folder: Path, *arguments: str, **variables: str) -> tuple[int, str]:
    """Run simeval in a fork, and return its status and both outputs in one, as a terminal has them."""
    with TemporaryFile("w+") as shown:
        with fork(folder, arguments, variables, shown.fileno(), shown.fileno()) as (_, ended):
            status = ended()
        shown.seek(0)
        return status, shown.read()


def python(folder: Path, code: str) -> "subprocess.CompletedProcess[str]":
    """Run code in a folder as a program that takes warnings for errors, and wait for it."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    if FORKS:
        return _in_fork(folder, (), variables, code)
    program = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(program, cwd=folder, env=variables, capture_output=True, text=True, check=False)


def forks(environment: Mapping[str, str]) -> bool:
    """Return whether a fork does what a process with these further variables does."""
    return FORKS and not any(name.startswith(OF_PYTHONS_START) for name in environment.keys() - {"PYTHONIOENCODING"})


@contextmanager
def fork(
    folder: Path,
    arguments: Sequence[str],
    variables: Mapping[str, str],
    *outputs: int,
    is_terminal: bool = False,
    code: str | None = None,
) -> Iterator[tuple[int, Callable[[], int]]]:
    """Run simeval, or code, in a fork with two descriptors as its output: its number, and what waits for its status."""
    with _asked_to_fork(folder, arguments, variables, *outputs, is_terminal=is_terminal, code=code) as answer:
        yield int(answer.readline()), lambda: int(answer.readline())


def _asked_to_fork(
    folder: Path,
    arguments: Sequence[str],
    variables: Mapping[str, str],
    *outputs: int,
    is_terminal: bool = False,
    code: str | None = None,
) -> RawIOBase:
    """Ask for a fork, and return what its number, and later its status, are read from."""
    request = {
        "module": "simeval.cli",
        "code": code,
        "arguments": arguments,
        "folder": str(folder),
        "environment": variables,
        "is_terminal": is_terminal,
    }
    answer, theirs = socket.socketpair()
    with answer, theirs:
        answer.settimeout(PATIENCE_SECONDS)
        socket.send_fds(_fork_server(), [json.dumps(request).encode()], [theirs.fileno(), *outputs])
        return answer.makefile("rb", buffering=0)


def _in_fork(
    folder: Path, arguments: Sequence[str], variables: Mapping[str, str], code: str | None = None
) -> "subprocess.CompletedProcess[str]":
    with TemporaryFile("w+") as out, TemporaryFile("w+") as err:
        with fork(folder, arguments, variables, out.fileno(), err.fileno(), code=code) as (process, ended):
            try:
                status = ended()
            except TimeoutError as error:
                os.kill(process, signal.SIGKILL)
                raise subprocess.TimeoutExpired([*arguments], PATIENCE_SECONDS) from error
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(command(*arguments), status, out.read(), err.read())


@cache
def _fork_server() -> socket.socket:
    """Start the server of this process, which ends with it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        program = [sys.executable, str(ROOT / "tests" / "support" / "fork_server.py"), str(theirs.fileno())]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        process = subprocess.Popen(program, stdin=subprocess.DEVNULL, env=environment, pass_fds=[theirs.fileno()])

    def stop() -> None:
        ours.close()
        process.wait()

    atexit.register(stop)
    return ours
