"""Runs a page of the documentation as a reader does: its files are written, its commands typed, its output compared."""

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass, field
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker
from pathlib import Path

from docs.hooks.page_parts import Command, File, parts_of
from tests.support.command_line import FORKS, simeval_as_shown

PORT = "8000"  # what pages write; where they run it is one that is free
SECONDS = 120
ALONE = re.compile(r"simeval [^|&;<>$`*~]+")  # a line that needs no shell
ANSWER_SECONDS = re.compile(r"^ +[\d.]+ s\n", re.MULTILINE)  # shown of an answer that was slow


@dataclass(slots=True)
class Reader:
    """Somebody who does in a folder what a page says, from its top to its end; what was started is ended at the end."""

    folder: Path
    port: str = field(default_factory=lambda: _free_port())
    status: int = 0
    started: ExitStack = field(default_factory=ExitStack)

    def follow(self, page: str) -> None:
        """Do all that a page says; raise AssertionError where it comes out otherwise than the page shows."""
        parts = parts_of(page.replace(PORT, self.port))
        with self.started:
            for part, following in zip(parts, [*parts[1:], None], strict=True):
                if isinstance(part, File):
                    target = self.folder / part.name
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_text(part.text, encoding="utf-8")
                elif part.line.endswith(" &"):
                    self._start(part)
                else:
                    self._type(part)
                    shows_status = isinstance(following, Command) and following.line == "echo $?"
                    assert self.status == 0 or shows_status, f"{part.line}: exit status {self.status}, not shown"

    def _type(self, command: Command) -> None:
        if FORKS and ALONE.fullmatch(command.line):
            self.status, said = simeval_as_shown(self.folder, *shlex.split(command.line)[1:], **_environment())
            _compare(command, said)
            return
        done = subprocess.run(
            ["bash", "-c", f"(exit {self.status}); {command.line}"],
            cwd=self.folder,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=SECONDS,
            check=False,
        )
        self.status = done.returncode
        _compare(command, done.stdout)

    def _start(self, command: Command) -> None:
        """Start a server, which is ready when it says its first line."""
        server = subprocess.Popen(
            ["bash", "-c", command.line.removesuffix(" &")],
            cwd=self.folder,
            env=_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            start_new_session=True,
        )
        assert server.stdout is not None
        self.started.enter_context(server)
        self.started.callback(os.killpg, server.pid, signal.SIGKILL)
        _compare(command, server.stdout.readline())


def _compare(command: Command, got: str) -> None:
    flags, told = ELLIPSIS | NORMALIZE_WHITESPACE, ANSWER_SECONDS.sub("", got)
    same = not command.expected or OutputChecker().check_output(f"{command.expected}\n", told, flags)
    assert same, f"$ {command.line}\n{got}\n--- the page shows\n{command.expected}"


def _environment() -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "COLUMNS": "100", "PYTHONUNBUFFERED": "1", "PYTHONUTF8": "1"}


def _free_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])
