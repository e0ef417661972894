"""simeval in a terminal of its own, of which tests read the screen and in which they type."""

import fcntl
import os
import pty
import select
import struct
import termios
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

import pyte

from tests.support.command_line import ROOT, command, fork, forks

PATIENCE_SECONDS = 60.0  # no test counts on it: it ends those that would wait for ever


@dataclass(slots=True)
class TerminalSession:
    """A program in a terminal; `raw` is all that it wrote, `screen` what is to be seen."""

    process: int
    descriptor: int
    screen: pyte.Screen
    wait: Callable[[], int]
    raw: bytes = b""
    status: int | None = None
    _stream: pyte.ByteStream = field(init=False)

    def __post_init__(self) -> None:
        self._stream = pyte.ByteStream(self.screen)

    @property
    def lines(self) -> list[str]:
        """The lines of the screen, without the blanks behind them."""
        return [line.rstrip() for line in self.screen.display]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def until(self, happened: Callable[[], bool] | str) -> None:
        """Read until a text is to be seen, or something else is the case. Raises AssertionError at the end of it."""

        def seen() -> bool:
            return happened in self.text if isinstance(happened, str) else happened()

        deadline = monotonic() + PATIENCE_SECONDS
        while not seen():
            assert self._read(deadline), self.text

    def ended(self) -> int:
        """Read to the end, and return the exit status."""
        deadline = monotonic() + PATIENCE_SECONDS
        while self._read(deadline):
            pass
        if self.status is None:
            self.status = self.wait()
        return self.status

    def type(self, keys: str) -> None:
        os.write(self.descriptor, keys.encode())

    def resize(self, rows: int, columns: int) -> None:
        self.screen.resize(rows, columns)
        fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def _read(self, deadline: float) -> bool:
        """Read what there is; return whether there may be more."""
        ready, _, _ = select.select([self.descriptor], [], [], max(0.0, deadline - monotonic()))
        assert ready, f"nothing was written for {PATIENCE_SECONDS:.0f} s:\n{self.text}"
        try:
            found = os.read(self.descriptor, 65_536)
        except OSError:  # the program has ended
            return False
        self.raw += found
        self._stream.feed(found)
        return bool(found)


@contextmanager
def in_terminal(
    folder: Path, *arguments: str, rows: int = 24, columns: int = 80, **environment: str
) -> Iterator[TerminalSession]:
    """Run simeval in a folder, in a terminal of this size; it is ended when the block is left."""
    found = {name: value for name, value in os.environ.items() if name not in ("CI", "NO_COLOR", "COLUMNS", "LINES")}
    found |= {"TERM": "xterm-256color", "PYTHONPATH": str(ROOT), **environment}
    descriptor, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    with _running(folder, arguments, found, theirs, environment) as (process, wait):
        os.close(theirs)
        session = TerminalSession(process, descriptor, pyte.Screen(columns, rows), wait)
        try:
            yield session
        finally:
            if session.status is None:
                os.kill(process, 9)
                wait()
            os.close(descriptor)


@contextmanager
def _running(
    folder: Path, arguments: Sequence[str], variables: Mapping[str, str], terminal: int, further: Mapping[str, str]
) -> Iterator[tuple[int, Callable[[], int]]]:
    """Run simeval in a fork, where that is the same as in a process of its own."""
    if forks(further):
        with fork(folder, arguments, variables, terminal, terminal, is_terminal=True) as found:
            yield found
        return
    process = os.fork()
    if process == 0:
        os.login_tty(terminal)
        os.chdir(folder)
        argv = command(*arguments)
        os.execve(argv[0], argv, variables)
    yield process, lambda: os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
