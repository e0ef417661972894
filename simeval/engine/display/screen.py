"""The live screen: a terminal's other screen, painted again with each frame, and left as if it had never been there."""

import logging
import os
import sys
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from threading import Lock
from typing import Any, Self, TextIO

from simeval.core.terminal import terminal_of
from simeval.engine.display.frame import MOST_MESSAGES, View, frame

ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"  # the other screen, no cursor, no line goes on in the next
LEAVE = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"
BEGIN, END = "\x1b[?2026h\x1b[0m\x1b(B\x1b[H", "\x1b[J\x1b[?2026l"  # shown at once, by terminals that can
MOST_KEPT = 1_000_000  # characters of output printed meanwhile


class Screen:
    """Paints frames on a terminal while it is entered.

    Output printed meanwhile is held back, its last lines are `messages` of the frame, and it is printed when the screen
    is left: it cannot spoil a frame, nor is it lost. If it is very long its beginning is kept, with a note.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._terminal = stream, terminal_of(stream)
        self._size = (0, 0)
        self._printed = _Printed()
        self._replaced: list[tuple[str, TextIO, _Taking]] = []

    @property
    def messages(self) -> Sequence[str]:
        """The last lines that were printed."""
        return self._printed.last(MOST_MESSAGES)

    def __enter__(self) -> Self:
        for name in ("stdout", "stderr"):
            stream: TextIO = getattr(sys, name)
            if stream.isatty():
                self._replaced.append((name, stream, _Taking(stream, self._printed)))
        for name, stream, taking in self._replaced:
            setattr(sys, name, taking)
            _move_logs(stream, taking)
        self._write(ENTER)
        return self

    def __exit__(self, *error: object) -> None:
        for name, stream, taking in self._replaced:
            if getattr(sys, name) is taking:
                setattr(sys, name, stream)
            _move_logs(taking, stream)
        self._write(LEAVE)
        self._printed.give_back()

    def paint(self, view: View) -> None:
        """Show a frame, in the size that the terminal has now."""
        columns, rows = _size_of(self._stream)
        resized = "\x1b[2J" if (columns, rows) != self._size else ""
        self._size = columns, rows
        terminal = replace(self._terminal, width=columns)
        lines = terminal.finished(frame(view, terminal, rows)).split("\n")
        self._write(BEGIN + resized + "\r\n".join(f"{line}\x1b[K" for line in lines) + END)

    def _write(self, text: str) -> None:
        with suppress(OSError):  # a terminal that has gone ends no run
            _write_to(self._stream, text)


class _Printed:
    """The output printed while the screen was shown, in its order, with its streams."""

    def __init__(self) -> None:
        self._pieces: deque[tuple[TextIO, str]] = deque()
        self._size, self._dropped = 0, 0
        self._lock = Lock()  # a handler in a thread prints, too

    def take(self, stream: TextIO, text: str) -> None:
        with self._lock:
            self._pieces.append((stream, text))
            self._size += len(text)
            while self._size > MOST_KEPT and len(self._pieces) > 1:
                _, first = self._pieces.popleft()
                self._size -= len(first)
                self._dropped += first.count("\n")

    def last(self, lines: int) -> list[str]:
        """Return the last lines that are not empty."""
        with self._lock:
            pieces = [text for _, text in list(self._pieces)[-50 * lines :]]
        return [line for line in "".join(pieces)[-10_000:].splitlines() if line.strip()][-lines:]

    def give_back(self) -> None:
        """Print it all."""
        with self._lock, suppress(OSError):
            if self._dropped:
                said = f"… {self._dropped:,} earlier lines were not kept; --display plain shows them\n"
                _write_to(sys.stderr, said)
            while self._pieces:
                stream, text = self._pieces.popleft()
                _write_to(stream, text)


class _Taking:
    """Replaces a stream: collects the output, and is like the stream in everything else."""

    def __init__(self, stream: TextIO, printed: _Printed) -> None:
        self._stream, self._printed = stream, printed

    def write(self, text: str) -> int:
        self._printed.take(self._stream, text)
        return len(text)

    def writelines(self, lines: Sequence[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Have nothing to do: it is printed when the screen is left."""

    def isatty(self) -> bool:
        return False  # so that nobody draws on it

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _write_to(stream: TextIO, text: str) -> None:
    """Write all of a text; characters the stream cannot encode, such as half of a surrogate pair, as their codes."""
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


def _move_logs(stream: Any, to: Any) -> None:
    """Redirect the output of loggers from a stream to another: their handlers have held it since they were made."""
    named = [each for each in logging.root.manager.loggerDict.values() if isinstance(each, logging.Logger)]
    for handler in [handler for logger in (logging.root, *named) for handler in logger.handlers]:
        if isinstance(handler, logging.StreamHandler) and handler.stream is stream:
            handler.setStream(to)


def _size_of(stream: TextIO) -> tuple[int, int]:
    try:
        size = os.get_terminal_size(stream.fileno())
    except OSError:
        return 80, 24
    return size.columns or 80, size.lines or 24
