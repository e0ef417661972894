"""A watchdog: reports, with the place, when something blocks the event loop.

A blocked loop runs nothing, no time-out and no Ctrl-C either, so it cannot report; a thread beside it can.

Python's collector of cycles, while runs are in progress.

A run holds very many objects at once and makes few cycles. At Python's own thresholds the collector visited all of them
again and again: 10% of the CPU with 130 trials in flight, 25% with 5,000, and then it held up the event loop for two
seconds at a time, and with it the app whose latency is measured.
"""

import asyncio
import gc
import sys
from asyncio.events import Handle
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock, Thread, get_ident
from time import monotonic
from types import FrameType

from simeval.core.capture import OURS, rank_of
from simeval.core.logs import details, log

BLOCKED_SECONDS = 5.0
LONGEST_BEAT = 1.0  # seconds from one sign of life to the next
ENDING_SECONDS = 1.0  # how long the thread may take to write its last line
ADVICE = "make the handler a plain function (it then runs in a thread) or await something"

THRESHOLDS = (50_000, 20, 50)  # objects, then collections of the younger ones

_lock = Lock()
_runs = 0
_before = THRESHOLDS


@asynccontextmanager
async def watching(seconds: float = BLOCKED_SECONDS) -> AsyncIterator[None]:
    """Warn, once for each time, if the running event loop does not turn for `seconds`; report when it goes on.

    The thread that watches has ended when the block is left. Code in C that lets no other thread run holds it up too,
    and then it reports nothing.
    """
    watchdog = _Watchdog(seconds, asyncio.get_running_loop(), get_ident())
    watchdog.beat()
    thread = Thread(target=watchdog.watch, name="simeval watchdog", daemon=True)
    thread.start()
    try:
        yield
    finally:
        watchdog.end()
        thread.join(ENDING_SECONDS)


@dataclass(slots=True)
class _Watchdog:
    """The loop beats, the thread looks when it last did."""

    seconds: float
    loop: asyncio.AbstractEventLoop
    thread_id: int
    last_beat: float = 0.0
    over: Event = field(default_factory=Event)
    told: set[str] = field(default_factory=set)
    timer: asyncio.TimerHandle | None = None

    def beat(self) -> None:
        """Return a sign of life, and arrange for the next."""
        self.last_beat = monotonic()
        self.timer = self.loop.call_later(self._beat_seconds, self.beat)

    def end(self) -> None:
        """Return the last sign of life."""
        self.last_beat = monotonic()
        if self.timer is not None:
            self.timer.cancel()
        self.over.set()

    def watch(self) -> None:
        """Look, until the end, whether the loop beats."""
        looked, blocked_since, is_news = monotonic(), 0.0, True
        while True:
            is_over = self.over.wait(self._beat_seconds)
            now, last_beat = monotonic(), self.last_beat
            was_held_up = now - looked > self._beat_seconds + self.seconds / 2  # the whole process stood still
            looked = now
            if blocked_since and last_beat > blocked_since:
                say = log.warning if is_news else details.info
                say(f"the event loop goes on; it was blocked for {last_beat - blocked_since:.1f} s")
                blocked_since = 0.0
            elif not blocked_since and now - last_beat >= self.seconds and not was_held_up:
                blocked_since = last_beat
                place = _place(sys._current_frames().get(self.thread_id))
                is_news = place not in self.told  # one that blocks at every turn is reported once
                self.told.add(place)
                say = log.warning if is_news else details.info
                say(f"the event loop has been blocked for {now - last_beat:.1f} s{place}; {ADVICE}")
            if is_over:
                return

    @property
    def _beat_seconds(self) -> float:
        return min(LONGEST_BEAT, self.seconds / 5)


def _place(frame: FrameType | None) -> str:
    """Return the innermost place in the user's own code, or else a package's, in the code that the loop is running."""
    frames: list[FrameType] = []
    while frame is not None:
        frames.append(frame)
        if frame.f_code is Handle._run.__code__ or rank_of(frame.f_code.co_filename) == OURS:
            break  # further out are the callers: the loop, simeval, the program
        frame = frame.f_back
    if not frames:
        return ""
    found = min(frames, key=lambda frame: rank_of(frame.f_code.co_filename))
    return f" at {Path(found.f_code.co_filename).name}:{found.f_lineno} in {found.f_code.co_name}"


@contextmanager
def collected_seldom() -> Iterator[None]:
    """Raise the collector's thresholds until the last block is left; higher ones stay."""
    global _runs, _before
    with _lock:
        if not _runs:
            _before = gc.get_threshold()
            if _before[0]:  # 0: its user does without
                gc.set_threshold(*map(max, _before, THRESHOLDS))
        _runs += 1
    try:
        yield
    finally:
        with _lock:
            _runs -= 1
            if not _runs:
                gc.set_threshold(*_before)
