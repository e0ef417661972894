"""How far a run has come: a screen of its own, one bar for all of it, or a line in the log now and then."""

import logging
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Literal

import anyio
from tqdm import tqdm

from simeval.core.logs import LOGGER, log
from simeval.core.terminal import Display
from simeval.core.usage import Usage
from simeval.core.waits import Waits
from simeval.engine.display.frame import View
from simeval.engine.display.pace import Throughput, show_calls, show_rate, show_time
from simeval.engine.display.screen import Screen
from simeval.engine.flow.standing import Standing

BAR_SECONDS = 1.0  # between updates of the text behind the bar
FRAME_SECONDS = 0.5
LINE_SECONDS = 30.0

Form = Literal["screen", "bar", "lines", "nothing"]


class _Bar(tqdm):  # type: ignore[type-arg]  # generic in its stubs only
    monitor_interval = 0  # no thread of its own: the bar is redrawn as trials are concluded


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The observable state of a run at any time; `heading` names it, `most_calls` is a model's limit."""

    usage: Callable[[], Usage]
    in_flight: Callable[[], int]
    standings: Callable[[], Sequence[Standing]] = tuple
    waits: Waits
    heading: str = ""
    most_calls: int = 0


class Progress:
    """Counts concluded trials; `advance` also takes trials off the total that will not be run."""

    def __init__(self, bar: _Bar, form: Form) -> None:
        self._bar, self._form = bar, form
        self._total, self._concluded = int(bar.total or 0), 0

    def advance(self, concluded: int, dropped: int) -> None:
        """Move the bar by `concluded` trials and shorten it by `dropped`."""
        self._concluded += concluded
        self._total -= dropped
        self._bar.total = self._total
        self._bar.update(concluded)

    @asynccontextmanager
    async def watched(self, look: Look) -> AsyncIterator[None]:
        """Show the progress of the run until this is left. Errors raised inside come out in an exception group.

        A line, and the screen, also estimate how long all trials that are left may take.
        """
        pace = Throughput()
        pace.note(anyio.current_time(), trials=self._concluded, calls=look.usage().calls)
        shows = {"screen": self._keep_the_screen, "bar": self._keep_the_bar, "lines": self._write_lines}
        async with anyio.create_task_group() as tasks:
            if self._form != "nothing":
                tasks.start_soon(shows[self._form], look, pace)
            try:
                yield
            finally:
                tasks.cancel_scope.cancel()
                self._bar.set_postfix_str(show_calls(look.usage()))  # the last state stays on the screen

    async def _keep_the_screen(self, look: Look, pace: Throughput) -> None:
        began = monotonic()
        await anyio.sleep(FRAME_SECONDS)  # a run that is over by then needs no screen
        with Screen(sys.stderr) as screen:
            while True:
                screen.paint(self._view(look, pace, began, screen.messages))
                await anyio.sleep(FRAME_SECONDS)

    def _view(self, look: Look, pace: Throughput, began: float, messages: Sequence[str]) -> View:
        used = look.usage()
        pace.note(anyio.current_time(), trials=self._concluded, calls=used.calls)
        now = monotonic()
        return View(
            heading=look.heading,
            standings=look.standings(),
            waits=list(look.waits),
            now=now,
            seconds=now - began,
            seconds_left=pace.seconds_for(self._total - self._concluded),
            in_flight=look.in_flight(),
            most_calls=look.most_calls,
            usage=used,
            concluded=self._concluded,
            total=self._total,
            messages=messages,
        )

    async def _keep_the_bar(self, look: Look, pace: Throughput) -> None:  # noqa: ARG002
        while True:
            self._bar.set_postfix_str(f"{show_calls(look.usage())}, {look.in_flight()} in flight")
            await anyio.sleep(BAR_SECONDS)

    async def _write_lines(self, look: Look, pace: Throughput) -> None:
        while True:
            await anyio.sleep(LINE_SECONDS)
            used = look.usage()
            pace.note(anyio.current_time(), trials=self._concluded, calls=used.calls)
            log.info(self._line(used, pace))

    def _line(self, used: Usage, pace: Throughput) -> str:
        left = pace.seconds_for(self._total - self._concluded)
        parts = [
            f"{self._concluded:,} of at most {self._total:,} trials",
            show_calls(used),
            f"{show_rate(pace.calls_per_second)} calls a second",
            *([] if left is None else [f"about {show_time(left)} to go"]),
        ]
        return ", ".join(parts)


@contextmanager
def progress_of(total: int, display: Display | None) -> Iterator[Progress]:
    """Count `total` trials, and show how far they have come, in the form that `display` names."""
    form = form_of(display)
    with _Bar(total=total, unit="trial", disable=form != "bar", file=sys.stderr, dynamic_ncols=True) as bar:
        yield Progress(bar, form)


def form_of(display: Display | None) -> Form:
    """Return the form of a run's display: "plain" is a bar on a terminal, and lines elsewhere; "log" lines anywhere.

    By default it is shown if the log shows INFO: live on a terminal, unless the log is detailed or a CI job only looks
    like a terminal, and else plain.
    """
    is_terminal = sys.stderr.isatty()
    if display is None:
        shows = logging.getLogger(LOGGER)
        if not shows.isEnabledFor(logging.INFO):
            return "lines"  # which nobody sees, unless the level is lowered
        is_busy = shows.isEnabledFor(logging.DEBUG) or bool(os.environ.get("CI"))
        display = "plain" if is_busy else "live"
    if display == "live" and is_terminal and os.environ.get("TERM", "dumb") != "dumb":
        return "screen"
    if display in ("live", "plain"):
        return "bar" if is_terminal else "lines"
    return "lines" if display == "log" else "nothing"
