"""Ctrl-C and a request to terminate: the first Ctrl-C ends a run in order, the second at once, the third by force."""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Thread
from time import sleep
from types import FrameType
from typing import TYPE_CHECKING

from simeval.cli.next_steps import how_to_go_on
from simeval.cli.output import INTERRUPTED, NOT_COMPLETED, say
from simeval.core.logs import log
from simeval.errors import SimevalError

if TYPE_CHECKING:
    from simeval.engine.engine import Engine

INTERRUPT = "interrupted"
IN_ORDER, AT_ONCE = 1, 2
LEAVE_SECONDS = 5.0  # after which a process interrupted by force must end


def status_of_end(reason: str) -> int:
    """Return the exit status of a run that ended early for this reason."""
    return INTERRUPTED if reason.startswith(INTERRUPT) else NOT_COMPLETED


class Interrupted(SimevalError):
    """A signal ended one of several runs."""


@contextmanager
def ending_on_signals(engine: "Engine", *, at_once: bool = False) -> Iterator[None]:
    """End the runs of an engine at a signal; to be used in the main thread, in a running event loop.

    The first Ctrl-C starts no more trials and finishes those in progress; the second, or a request to terminate (also
    by a terminal that is closed, unless that is ignored), ends those too, and with `at_once` so does the first. One
    more raises KeyboardInterrupt in whatever runs, so also in code that holds up the event loop: the handlers are
    Python's own and not the loop's. If the app swallows that, too, or uvloop asks the next app first, the process is
    left.
    """
    interrupts = _Interrupts(engine, asyncio.get_running_loop(), asked=IN_ORDER if at_once else 0)
    before = {number: signal.signal(number, interrupts.handle) for number in _heard()}
    try:
        yield
    except BaseException as error:
        if not isinstance(error, Exception):  # an app may raise a KeyboardInterrupt, too
            _leave_in_silence(asyncio.get_running_loop())
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _heard() -> list[signal.Signals]:
    """Return the signals that end a run: of those that a terminal sends as it closes, none that nohup ignores."""
    hangup: list[signal.Signals] = [] if os.name == "nt" else [signal.SIGHUP]
    return [signal.SIGINT, signal.SIGTERM, *(one for one in hangup if signal.getsignal(one) != signal.SIG_IGN)]


def _leave(engine: "Engine") -> None:
    """Leave the process, with its stores closed, if it has not ended by itself."""
    sleep(LEAVE_SECONDS)
    closing = Thread(target=engine.close_stores, daemon=True)
    closing.start()
    closing.join(1.0)
    os._exit(say(f"{INTERRUPT}{how_to_go_on(engine.settings, str)}", INTERRUPTED))


def _leave_in_silence(loop: asyncio.AbstractEventLoop) -> None:
    """Let a loop write no tracebacks of the tasks it ends: they add nothing."""
    loop.set_exception_handler(lambda *_: None)


@dataclass(slots=True)
class _Interrupts:
    engine: "Engine"
    loop: asyncio.AbstractEventLoop
    asked: int = 0

    def handle(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self.asked = max(self.asked + 1, IN_ORDER if number == signal.SIGINT else AT_ONCE)
        if self.asked > AT_ONCE:
            if self.asked == AT_ONCE + 1:
                Thread(target=_leave, args=[self.engine], daemon=True).start()
            _leave_in_silence(self.loop)
            raise KeyboardInterrupt
        end = self._stop if self.asked == IN_ORDER else self.engine.end
        self.loop.call_soon_threadsafe(end, f"{INTERRUPT} ({signal.Signals(number).name})")

    def _stop(self, reason: str) -> None:
        self.engine.stop(reason)
        trials, seconds = self.engine.trials_in_flight, self.engine.seconds_in_flight
        how_long = "" if seconds is None else f", in about {seconds:.0f} s by how long others took"
        log.warning(
            f"{reason}: no more trials are started; the {trials} under way are finished{how_long}; "
            "Ctrl-C again ends them at once; trials after the first of them are then repeated by --resume"
        )
