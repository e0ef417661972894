"""The bodies of answers, of apps and of models alike: read in pieces, and no further than a bound."""

from collections.abc import AsyncIterable, AsyncIterator
from contextvars import ContextVar

MOST_BYTES = 10_000_000
_MOST: ContextVar[int] = ContextVar("max_answer_bytes", default=MOST_BYTES)


class AnswerTooLarge(Exception):
    """An answer is larger than may be read."""

    def __init__(self, most: int | None = None) -> None:
        larger = f"the answer is larger than {(most or 0) / 1e6:,.3g} MB (--max-answer sets that)"
        super().__init__(larger if most else "a line of the answer is too long")


def allow_bytes(most: int) -> None:
    """Let the answers that this task, and those that it begins, read be as large as this."""
    _MOST.set(most)


def most_bytes() -> int:
    """Return how many bytes an answer may have, unpacked."""
    return _MOST.get()


async def bounded(pieces: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """Yield the pieces of an answer, such as the lines of a stream. Raises AnswerTooLarge."""
    most, read = most_bytes(), 0
    try:
        async for piece in pieces:
            read += len(piece)
            if read > most:
                raise AnswerTooLarge(most)
            yield piece
    except ValueError as error:  # of a line that is longer than the buffer of a connection
        raise AnswerTooLarge from error


async def body_of(pieces: AsyncIterable[bytes]) -> bytes:
    """Return a whole body. Raises AnswerTooLarge."""
    return b"".join([piece async for piece in bounded(pieces)])
