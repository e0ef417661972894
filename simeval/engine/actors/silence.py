"""The first answer of an app: a long wait is reported early, and not only at the time-out."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from simeval.core.logs import warn_all

SILENT_SECONDS = 10.0  # from the first message on


@dataclass(slots=True)
class Silence:
    """Warns once where an app has been asked and nothing has come of it for a while; `name` is the app's.

    `limit_seconds` is how long a turn may take. Once it `has_answered`, it is known to answer.
    """

    name: str
    limit_seconds: float
    has_answered: bool = field(default=False, init=False)
    _asked: int = field(default=0, init=False)
    _is_over: bool = field(default=False, init=False)
    _timer: asyncio.TimerHandle | None = field(default=None, init=False)

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Wait for the end of a turn: an answer or an error."""
        if self._is_over:
            yield
            return
        self._asked += 1
        if self._timer is None and self.limit_seconds > SILENT_SECONDS:
            self._timer = asyncio.get_running_loop().call_later(SILENT_SECONDS, self._tell)
        try:
            yield
        finally:
            self._is_over = True
            if self._timer is not None:
                self._timer.cancel()

    def _tell(self) -> None:
        asked = "message" if self._asked == 1 else f"{self._asked} messages"
        warn_all(
            f"{self.name} has not answered the first {asked} for {SILENT_SECONDS:g} s; it may take "
            f"{self.limit_seconds:g} s for a turn (--app-timeout)"
        )
