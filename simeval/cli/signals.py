"""Ctrl-C and a request to terminate, as a run wants them: the first ends it in order, the second at once."""

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

INTERRUPT = "interrupted"
PATIENCE_SECONDS = 0.8  # how long something may hold up the event loop, and so an end in order
NUDGE_SECONDS = 0.02  # from one nudge of what holds it up to the next
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class HeldUpError(RuntimeError):
    """Raised in code that holds up the event loop when the run is to end."""


@contextmanager
def ending_on_signals(end: Callable[[str], None]) -> Iterator[None]:
    """Call `end` with the reason at the first signal; raise KeyboardInterrupt at the second.

    To be used in the main thread, in a running event loop. Where code holds up the loop, so that it does not come to
    `end`, HeldUpError is raised in that code. Handlers are Python's own and not the loop's, so that they run even then.
    """
    interrupts = _Interrupts(end, asyncio.get_running_loop(), threading.get_ident())
    before = {number: signal.signal(number, interrupts.handle) for number in SIGNALS}
    try:
        yield
    finally:
        interrupts.over.set()
        for number, handler in before.items():
            signal.signal(number, handler)
        if interrupts.nudger is not None:
            interrupts.nudger.join()


@dataclass(slots=True)
class _Interrupts:
    end: Callable[[str], None]
    loop: asyncio.AbstractEventLoop
    main_thread: int
    over: threading.Event = field(default_factory=threading.Event)  # `end` was come to
    nudger: threading.Thread | None = None
    is_nudge: bool = False

    def handle(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        is_nudge, self.is_nudge = self.is_nudge, False
        if self.nudger is None:
            self.nudger = threading.Thread(target=self._nudge, name="simeval interrupt", daemon=True)
            self.nudger.start()
            self.loop.call_soon_threadsafe(self._end, f"{INTERRUPT} ({signal.Signals(number).name})")
        elif not is_nudge:
            self.loop.set_exception_handler(lambda *_: None)  # what ends so has nothing more to say
            raise KeyboardInterrupt
        elif not self.over.is_set():
            raise HeldUpError("it held up the event loop when the run was interrupted")

    def _end(self, reason: str) -> None:
        self.over.set()
        self.end(reason)

    def _nudge(self) -> None:
        """Interrupt whatever keeps the loop from coming to `end`."""
        self.over.wait(PATIENCE_SECONDS)
        while not self.over.is_set():
            self.is_nudge = True
            if hasattr(signal, "pthread_kill"):
                signal.pthread_kill(self.main_thread, signal.SIGINT)  # it also wakes what sleeps there
            else:
                signal.raise_signal(signal.SIGINT)
            self.over.wait(NUDGE_SECONDS)
