"""The traces that requests to an app are sent in, told to whoever wants to find the app's own spans again."""

from collections.abc import Iterator
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


_LISTS: ContextVar[tuple[list[SentTrace], ...]] = ContextVar("simeval_sent_traces", default=())


def new_traceparent(trace_id: str) -> str:
    """Return the header of a new request in a trace, in the form of the W3C, and tell it to those who listen."""
    sent = SentTrace(trace_id, uuid4().hex[:16], datetime.now(UTC))
    for each in _LISTS.get():
        each.append(sent)
    return f"00-{sent.trace_id}-{sent.span_id}-01"


@contextmanager
def noting_traces() -> Iterator[list[SentTrace]]:
    """Note the traces of all requests that are sent from here on, in this task and those it starts."""
    sent: list[SentTrace] = []
    before = _LISTS.set((*_LISTS.get(), sent))
    try:
        yield sent
    finally:
        _LISTS.reset(before)
