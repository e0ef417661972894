"""The bodies of answers, of apps and of models alike: read in pieces, and no further than a bound."""

from collections.abc import AsyncIterable, AsyncIterator
from contextvars import ContextVar

MOST_BYTES = 10_000_000
_MOST: ContextVar[int] = ContextVar("max_answer_bytes", default=MOST_BYTES)


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


async def read_whole(pieces: AsyncIterable[bytes]) -> bytes:
    """Return a whole body. Raises AnswerTooLarge."""
    bound = Bound()
    return b"".join([bound.passed(piece) async for piece in pieces])
