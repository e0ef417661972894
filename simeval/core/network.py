"""Requests over a network: bounds of answers, causes of failures, addresses, and the traces of requests."""

import os
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from os import urandom
from typing import Protocol

from simeval.core.validation import require

MOST_BYTES = 10_000_000
MOST_AT_ONCE = 1 << 16  # bytes of a body that are read
_MOST: ContextVar[int] = ContextVar("max_answer_bytes", default=MOST_BYTES)

LARGEST_PORT = 65_535


class AnswerTooLarge(Exception):
    """An answer is larger than may be read."""

    def __init__(self, most: int) -> None:
        super().__init__(f"the answer is larger than {most / 1e6:,.3g} MB (--max-answer sets that)")


def allow_bytes(most: int) -> None:
    """Allow the answers read by this task, and by the tasks it starts, to be this large."""
    _MOST.set(most)


def most_bytes() -> int:
    """Return how many bytes an answer may have, unpacked."""
    return _MOST.get()


class Bound:
    """The bound of one answer."""

    def __init__(self) -> None:
        self._most, self._read = most_bytes(), 0

    def passed(self, piece: bytes) -> bytes:
        """Return the next piece of the answer. Raises AnswerTooLarge."""
        self._read += len(piece)
        if self._read > self._most:
            raise AnswerTooLarge(self._most)
        return piece

    def passed_text(self, piece: str) -> str:
        """Return the next piece of an answer that came as text. Raises AnswerTooLarge."""
        self.passed(piece.encode("utf-8", "surrogatepass"))
        return piece


async def bounded(pieces: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """Yield the pieces of an answer. Raises AnswerTooLarge."""
    bound = Bound()
    async for piece in pieces:
        yield bound.passed(piece)


async def lines_of(pieces: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """Yield the lines of an answer, without their line ends. Raises AnswerTooLarge."""
    begun: list[bytes] = []
    async for piece in bounded(pieces):
        *ended, rest = piece.split(b"\n")
        for line in ended:
            yield b"".join([*begun, line])
            begun = []
        begun += [rest] if rest else []
    if begun:
        yield b"".join(begun)


class Stream(Protocol):
    """A stream of bytes, as aiohttp and asyncio have it."""

    def at_eof(self) -> bool:
        """Return whether all was read."""

    async def read(self, n: int = -1) -> bytes:
        """Return at most so many bytes, once there are some."""


async def read_whole(stream: Stream) -> bytes:
    """Return a whole body. Raises AnswerTooLarge."""
    bound, pieces = Bound(), list[bytes]()
    try:
        while not stream.at_eof():
            pieces.append(bound.passed(await stream.read(MOST_AT_ONCE)))
    except AnswerTooLarge:
        pieces.clear()  # an error keeps its frames
        raise
    return b"".join(pieces)


def cause_of(error: Exception) -> str:
    """Return the reason why a connection failed: "Connection refused", not how it was tried."""
    cause = getattr(error, "os_error", error)  # aiohttp's errors wrap the system's
    if isinstance(cause, ConnectionError) and cause.errno:
        return os.strerror(cause.errno)
    return getattr(cause, "strerror", None) or str(error) or type(error).__name__


def host_and_port(address: str) -> tuple[str, int]:
    """Return the parts of an address that `require_listening` lets pass."""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


def require_listening(value: object, name: str) -> None:
    """Raise a DefinitionError unless a value is HOST:PORT."""
    host, _, port = value.rpartition(":") if isinstance(value, str) else ("", "", "")
    usable = bool(host) and port.isascii() and port.isdigit() and 0 < int(port) <= LARGEST_PORT
    require(usable, name, found=value, do="write HOST:PORT, such as 127.0.0.1:4318")


@dataclass(frozen=True, slots=True)
class SentTrace:
    """The trace of a request, the span that the app's own are children of, and when it was sent."""

    trace_id: str
    span_id: str
    at: datetime


Note = Callable[[SentTrace], None]
_NOTES: ContextVar[tuple[Note, ...]] = ContextVar("simeval_sent_traces", default=())


def new_traceparent(trace_id: str) -> str:
    """Return the header of a new request in a trace, in the form of the W3C, and announce it to listeners."""
    span_id = urandom(8).hex()
    if notes := _NOTES.get():
        sent = SentTrace(trace_id, span_id, datetime.now(UTC))
        for note in notes:
            note(sent)
    return f"00-{trace_id}-{span_id}-01"


@contextmanager
def noting_traces(note: Note) -> Iterator[None]:
    """Note the traces of all requests before they are sent from here on, in this task and those it starts."""
    before = _NOTES.set((*_NOTES.get(), note))
    try:
        yield
    finally:
        _NOTES.reset(before)
