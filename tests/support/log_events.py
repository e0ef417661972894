"""Events of the log for tests that wait for a line of it."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event


class _Telling(logging.Handler):
    def __init__(self, text: str, event: Event) -> None:
        super().__init__()
        self._text, self._event = text, event

    def emit(self, record: logging.LogRecord) -> None:
        if self._text in record.getMessage():
            self._event.set()


@contextmanager
def logged(text: str) -> Iterator[Event]:
    """Yield an event that is set when a line with this text is logged, by any thread."""
    event, root = Event(), logging.getLogger()
    handler = _Telling(text, event)
    root.addHandler(handler)
    try:
        yield event
    finally:
        root.removeHandler(handler)
