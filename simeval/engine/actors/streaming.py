"""Handlers that stream: they yield texts, which make the answer, and the time of the first one is kept."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

from simeval.core.conversation import FIRST_TEXT, AppResponse
from simeval.core.frames import defined_at
from simeval.suites.apps.outcomes import AppFailure
from simeval.suites.apps.streams import whole_of

WHO = "the handler"


def named(handler: object) -> str:
    """Return the name of a handler, or of its generator, in errors, with its place."""
    place = defined_at(handler)
    return f"{WHO} ({place})" if place else WHO


@dataclass(slots=True)
class _Joined:
    """The chunks so far; an AppResponse adds the other data of the answer.

    Its text follows the others, unless it repeats them all, whatever the spaces: then it is the answer.
    """

    clock: float
    who: str
    texts: list[str] = field(default_factory=list)
    rest: AppResponse = field(default_factory=lambda: AppResponse(""))
    first: float | None = None

    def add(self, chunk: object) -> None:
        """Add a chunk. Raises AppFailure for one that is neither a text nor an AppResponse."""
        if isinstance(chunk, AppResponse):
            self.rest, chunk = chunk, chunk.response
            if isinstance(chunk, str) and "".join(chunk.split()) == "".join("".join(self.texts).split()):
                self.texts.clear()
        if not isinstance(chunk, str):
            raise AppFailure(f"{self.who} yielded {type(chunk).__name__}; it must yield texts, or an AppResponse")
        if chunk and self.first is None:
            self.first = perf_counter() - self.clock
        self.texts.append(chunk)

    def response(self) -> AppResponse:
        """Return the whole answer."""
        timed = {} if self.first is None else {FIRST_TEXT: self.first}
        return replace(self.rest, response=whole_of(self.texts), metadata={**self.rest.metadata, **timed})


async def joined(chunks: AsyncGenerator[Any, Any]) -> AppResponse:
    """Return the answer that an async generator yields, and close it whatever happens."""
    found = _Joined(perf_counter(), named(chunks))
    async with aclosing(chunks) as closing:
        async for chunk in closing:
            found.add(chunk)
    return found.response()


def joined_in_thread(chunks: Iterator[Any]) -> AppResponse:
    """Return the answer that a generator yields."""
    found = _Joined(perf_counter(), named(chunks))
    for chunk in chunks:
        found.add(chunk)
    return found.response()
