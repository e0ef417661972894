"""The traces of requests to an app, announced to listeners that look for the app's own spans."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import uuid4


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
    sent = SentTrace(trace_id, uuid4().hex[:16], datetime.now(UTC))
    for note in _NOTES.get():
        note(sent)
    return f"00-{sent.trace_id}-{sent.span_id}-01"


@contextmanager
def noting_traces(note: Note) -> Iterator[None]:
    """Note the traces of all requests before they are sent from here on, in this task and those it starts."""
    before = _NOTES.set((*_NOTES.get(), note))
    try:
        yield
    finally:
        _NOTES.reset(before)
