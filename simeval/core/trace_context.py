"""The traces of requests to an app, announced to listeners that look for the app's own spans."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from os import urandom


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
