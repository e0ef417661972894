"""How far a run has come: a screen of its own, a bar, or a line in the log now and then.

The live screen: a line for each scenario, and below them the run's work, waits and costs.

A frame is pure: a view, a size and a terminal give its lines, none of them wider than the screen.
"""

import logging
import os
import sys
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from threading import Lock
from time import monotonic
from typing import Any, Literal, Self, TextIO

import anyio

from simeval.core.logs import LOGGER, log
from simeval.core.run_records import Usage
from simeval.core.terminal import Display, Terminal, isolated, one_line, terminal_of
from simeval.core.trial import Outcome
from simeval.core.waits import Wait, Waits
from simeval.engine.flow import Requirement, Standing
from simeval.engine.plans.cost_forecast import show_dollars
from simeval.results.screen.report import COLOURS, SIGNS
from simeval.results.text import MARKS

WINDOW_SECONDS = 120.0  # a rate is that of so long a time
FEWEST_TRIALS = 5  # the least number for a meaningful rate

WIDE = 110  # the least cells with room for longer bars
BAR, WIDE_BAR = 8, 16
COUNT, MISSES, FOUND, ASKED = 9, 8, 20, 6  # cells of the columns
MOST_MODELS, MOST_MESSAGES = 3, 4
FEWEST_ROWS = 3  # of scenarios, if there is room for anything else

ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"  # the other screen, no cursor, no line goes on in the next
LEAVE = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"
BEGIN, END = "\x1b[?2026h\x1b[0m\x1b(B\x1b[H", "\x1b[J\x1b[?2026l"  # shown at once, by terminals that can
MOST_KEPT = 1_000_000  # characters of output printed meanwhile

FRAME_SECONDS = 0.5
LINE_SECONDS = 30.0

NOTEBOOK = "ipykernel.iostream"  # the module of the streams of a notebook's kernel

Form = Literal["screen", "bar", "lines", "nothing"]


@dataclass(slots=True)
class Throughput:
    """How fast trials have been concluded and calls made of late."""

    _seen: deque[tuple[float, int, int]] = field(default_factory=deque)

    def note(self, seconds: float, *, trials: int, calls: int) -> None:
        """Take down how many there are by now, at a time that only grows."""
        self._seen.append((seconds, trials, calls))
        while len(self._seen) > 2 and self._seen[1][0] <= seconds - WINDOW_SECONDS:
            self._seen.popleft()

    @property
    def calls_per_second(self) -> float:
        """The rate of calls; 0 before there are two times to compare."""
        return self._per_second(2)

    def seconds_for(self, trials: int) -> float | None:
        """Say how long so many more trials take; None where too few have come of late, or ever."""
        rate = self._per_second(1)
        return trials / rate if rate and self._seen[-1][1] >= FEWEST_TRIALS else None

    def _per_second(self, place: int) -> float:
        if len(self._seen) < 2:
            return 0.0
        first, last = self._seen[0], self._seen[-1]
        return (last[place] - first[place]) / (last[0] - first[0]) if last[0] > first[0] else 0.0


def show_calls(used: Usage) -> str:
    """Write how many calls there were, and their cost."""
    cost = "" if used.cost_usd is None else f", {show_dollars(used.cost_usd)}"
    return f"{used.calls:,} calls{cost}"


def show_rate(rate: float) -> str:
    """Write how many there are a second."""
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"


def show_time(seconds: float) -> str:
    """Write a time as roughly as it is known."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A run at one moment, which is `now` on the monotonic clock, `seconds` after it began."""

    heading: str
    standings: Sequence[Standing]
    waits: Sequence[Wait]
    now: float
    seconds: float
    seconds_left: float | None
    in_flight: int
    most_calls: int
    usage: Usage
    concluded: int
    total: int
    messages: Sequence[str] = ()


def frame(view: View, terminal: Terminal, rows: int) -> list[str]:
    """Return the lines of the screen, at most `rows`; if there are too many, the least important are left out."""
    width = max(terminal.width, 1)
    foot = [fitted(line, width) for line in [_run(view), _cost(view), *_models(view), _oldest(view)]]
    messages = [fitted(each, width) for each in view.messages[-MOST_MESSAGES:]]
    head = [terminal.paint(fitted(view.heading, width), "bold"), terminal.paint(_columns(width), "dim")]
    while messages and len(head) + len(foot) + len(messages) + 2 + FEWEST_ROWS > rows:
        messages.pop(0)
    while len(foot) > 1 and len(head) + len(foot) + 1 + FEWEST_ROWS > rows:
        foot.pop()
    room = max(0, rows - len(head) - len(foot) - (len(messages) + 1 if messages else 0) - 1)
    scenarios = _scenarios(view.standings, terminal, room)
    noted = ["", *(terminal.paint(each, "dim") for each in messages)] if messages else []
    return [*head, *scenarios, *noted, "", *foot][:rows]


def fitted(text: str, cells: int) -> str:
    """Return a text on one line of at most so many cells."""
    return isolated(_clipped(one_line(text), cells))


@lru_cache(maxsize=4096)
def _clipped(text: str, cells: int) -> str:
    if text.isascii():
        return text if len(text) <= cells else f"{text[: cells - 1].rstrip()}…" if cells > 1 else ""
    from wcwidth import clip, width

    return text if width(text) <= cells else f"{clip(text, 0, cells - 1).rstrip()}…" if cells > 1 else ""


@lru_cache(maxsize=4096)
def _padded(text: str, cells: int) -> str:
    """Return a text that takes exactly so many cells."""
    if text.isascii() and text.isprintable() and len(text) <= cells:
        return text.ljust(cells)
    from wcwidth import ljust

    return isolated(str(ljust(_clipped(one_line(text), cells), cells)))


def _bar_cells(width: int) -> int:
    return WIDE_BAR if width >= WIDE else BAR


def _title_cells(width: int) -> int:
    return max(4, width - 2 - _bar_cells(width) - COUNT - MISSES - FOUND - ASKED - 5)


def _is_narrow(width: int) -> bool:
    """Return whether the columns do not fit: a line is a title, and how many trials there are."""
    return width < 2 + _title_cells(width) + _bar_cells(width) + COUNT + MISSES + FOUND + ASKED + 5


def _columns(width: int) -> str:
    if _is_narrow(width):
        return fitted(f"{_padded('  scenario', max(4, width - COUNT - 5))} trials/needed", width)
    title, trials = "  scenario".ljust(2 + _title_cells(width)), "trials/needed".ljust(_bar_cells(width) + 1 + COUNT)
    return f"{title} {trials} {'misses':<{MISSES}} {'so far':<{FOUND}} asked"[:width]


def _scenarios(standings: Sequence[Standing], terminal: Terminal, room: int) -> list[str]:
    """Return a line for each scenario; if they are too many, for those in progress first, and a count of the rest."""
    if len(standings) <= room:
        return [_line(each, terminal) for each in standings]
    shown = sorted(range(len(standings)), key=lambda place: _rank(standings[place]))[: max(0, room - 1)]
    folded = [standings[place] for place in sorted(set(range(len(standings))) - set(shown))]
    lines = [_line(standings[place], terminal) for place in sorted(shown)]
    return [*lines, terminal.paint(f"  {fitted(f'… {_folded(folded)}', terminal.width - 2)}", "dim")][:room]


def _rank(standing: Standing) -> int:
    return 1 if standing.is_closed else 0 if standing.needed else 2


def _folded(standings: Sequence[Standing]) -> str:
    words = {0: "under way", 1: "ended", 2: "not begun"}
    counted = Counter(map(_rank, standings))
    return f"{len(standings)} more: " + ", ".join(f"{counted[rank]} {words[rank]}" for rank in sorted(counted))


def _line(standing: Standing, terminal: Terminal) -> str:
    width = terminal.width
    found = standing.requirement() if standing.needed or standing.is_closed else None
    outcome = found.outcome if found else None
    sign, style = (SIGNS[outcome], COLOURS[outcome]) if outcome else ("→" if standing.needed else " ", "cyan")
    if _is_narrow(width):
        counted = _counted(standing, outcome)
        return fitted(f"{sign} {_padded(standing.title, max(4, width - 3 - len(counted)))} {counted}", width)
    title = _padded(standing.title, _title_cells(width))
    parts = [title, _trials(standing, outcome, terminal), *_numbers(found)]
    return f"{terminal.paint(sign, style)} {' '.join(parts)}".rstrip()


def _trials(standing: Standing, outcome: Outcome | None, terminal: Terminal) -> str:
    cells = _bar_cells(terminal.width)
    if outcome or not standing.needed:
        said = _padded(_counted(standing, outcome), cells + 1 + COUNT)
        return terminal.paint(said, COLOURS[outcome]) if outcome else terminal.paint(said, "dim")
    done = min(cells, cells * standing.trials // standing.needed)
    bar = terminal.paint("━" * done, "cyan") + terminal.paint("·" * (cells - done), "dim")
    return f"{bar} {_padded(_counted(standing, outcome), COUNT)}"


def _counted(standing: Standing, outcome: Outcome | None) -> str:
    if outcome:
        return f"{MARKS[outcome]} at {standing.trials}"
    if not standing.needed:
        return "ended" if standing.is_closed else "not begun"
    return f"{standing.trials}/{standing.needed}"


def _numbers(found: Requirement | None) -> list[str]:
    if found is None:
        return []
    borne = "" if found.allowed is None else f" of ≤{found.allowed}"
    misses = "" if found.misses is None else f"{found.misses}{borne}"
    return [_padded(misses, MISSES), _padded(found.found, FOUND), _padded(found.bar, ASKED)]


def _run(view: View) -> str:
    left = "" if view.seconds_left is None else f", at most {show_time(view.seconds_left)} to go"
    trials = f"{view.concluded:,} of ≤ {view.total:,} trials, {view.in_flight} under way"
    return f"{trials}, {show_time(view.seconds)}{left}"


def _cost(view: View) -> str:
    used = view.usage
    return f"{show_calls(used)}, {_short(used.prompt_tokens + used.completion_tokens)} tokens"


def _short(number: int) -> str:
    return f"{number:,}" if number < 100_000 else f"{number / 1e6:.1f} M" if number >= 1e6 else f"{number // 1000} k"


def _models(view: View) -> list[str]:
    """Describe each model's calls in progress, and the ones held back with the reason."""
    by_model: dict[str, list[Wait]] = {}
    for wait in view.waits:
        if not wait.role.startswith("turn"):
            by_model.setdefault(wait.who, []).append(wait)
    lines = [_model(name, waits, view) for name, waits in sorted(by_model.items())]
    more = len(lines) - MOST_MODELS
    return [*lines[:MOST_MODELS], *([f"… and {more} more models"] if more > 0 else [])]


def _model(name: str, waits: Sequence[Wait], view: View) -> str:
    stages = Counter(wait.stage for wait in waits)
    parts = [f"{stages['answer']} of {view.most_calls} calls under way"]
    if stages["line"]:
        parts.append(f"{stages['line']} in line")
    for stage, why in (("refused", "refused (429)"), ("retry", "failed")):
        ends = [wait.until - view.now for wait in waits if wait.stage == stage and wait.until is not None]
        if ends:
            goes = "goes" if len(ends) == 1 else "go"
            parts.append(f"{len(ends)} {why}, {goes} on in {_span(ends)}")
    return f"{name}: {'; '.join(parts)}"


def _span(seconds: Sequence[float]) -> str:
    low, high = (max(0.0, each) for each in (min(seconds), max(seconds)))
    return f"{high:.0f} s" if f"{low:.0f}" == f"{high:.0f}" else f"{low:.0f} to {high:.0f} s"


def _oldest(view: View) -> str:
    oldest = next((wait for wait in view.waits if wait.stage == "answer"), None)
    if oldest is None:
        return "no answer is waited for"
    return f"oldest call: {oldest.who}, {oldest.role}, no answer for {show_time(view.now - oldest.since)}"


class Screen:
    """Paints frames on a terminal while it is entered.

    Output printed meanwhile is held back, its last lines are `messages` of the frame, and it is printed when the screen
    is left: it cannot spoil a frame, nor is it lost. If it is very long its beginning is kept, with a note.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._terminal = stream, terminal_of(stream)
        self._size = (0, 0)
        self._printed = _Printed()
        self._replaced: list[tuple[str, TextIO, _Taking]] = []

    @property
    def messages(self) -> Sequence[str]:
        """The last lines that were printed."""
        return self._printed.last(MOST_MESSAGES)

    def __enter__(self) -> Self:
        for name in ("stdout", "stderr"):
            stream: TextIO = getattr(sys, name)
            if stream.isatty():
                self._replaced.append((name, stream, _Taking(stream, self._printed)))
        for name, stream, taking in self._replaced:
            setattr(sys, name, taking)
            _move_logs(stream, taking)
        self._write(ENTER)
        return self

    def __exit__(self, *error: object) -> None:
        for name, stream, taking in self._replaced:
            if getattr(sys, name) is taking:
                setattr(sys, name, stream)
            _move_logs(taking, stream)
        self._write(LEAVE)
        self._printed.give_back()

    def paint(self, view: View) -> None:
        """Show a frame, in the size that the terminal has now."""
        columns, rows = _size_of(self._stream)
        resized = "\x1b[2J" if (columns, rows) != self._size else ""
        self._size = columns, rows
        terminal = replace(self._terminal, width=columns)
        lines = terminal.finished(frame(view, terminal, rows)).split("\n")
        self._write(BEGIN + resized + "\r\n".join(f"{line}\x1b[K" for line in lines) + END)

    def _write(self, text: str) -> None:
        with suppress(OSError):  # a terminal that has gone ends no run
            _write_to(self._stream, text)


class _Printed:
    """The output printed while the screen was shown, in its order, with its streams."""

    def __init__(self) -> None:
        self._pieces: deque[tuple[TextIO, str]] = deque()
        self._size, self._dropped = 0, 0
        self._lock = Lock()  # a handler in a thread prints, too

    def take(self, stream: TextIO, text: str) -> None:
        with self._lock:
            self._pieces.append((stream, text))
            self._size += len(text)
            while self._size > MOST_KEPT and len(self._pieces) > 1:
                _, first = self._pieces.popleft()
                self._size -= len(first)
                self._dropped += first.count("\n")

    def last(self, lines: int) -> list[str]:
        """Return the last lines that are not empty."""
        with self._lock:
            pieces = [text for _, text in list(self._pieces)[-50 * lines :]]
        return [line for line in "".join(pieces)[-10_000:].splitlines() if line.strip()][-lines:]

    def give_back(self) -> None:
        """Print it all."""
        with self._lock, suppress(OSError):
            if self._dropped:
                said = f"… {self._dropped:,} earlier lines were not kept; --display plain shows them\n"
                _write_to(sys.stderr, said)
            while self._pieces:
                stream, text = self._pieces.popleft()
                _write_to(stream, text)


class _Taking:
    """Replaces a stream: collects the output, and is like the stream in everything else."""

    def __init__(self, stream: TextIO, printed: _Printed) -> None:
        self._stream, self._printed = stream, printed

    def write(self, text: str) -> int:
        self._printed.take(self._stream, text)
        return len(text)

    def writelines(self, lines: Sequence[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Have nothing to do: it is printed when the screen is left."""

    def isatty(self) -> bool:
        return False  # so that nobody draws on it

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _write_to(stream: TextIO, text: str) -> None:
    """Write all of a text; characters the stream cannot encode, such as half of a surrogate pair, as their codes."""
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


def _move_logs(stream: Any, to: Any) -> None:
    """Redirect the output of loggers from a stream to another: their handlers have held it since they were made."""
    named = [each for each in logging.root.manager.loggerDict.values() if isinstance(each, logging.Logger)]
    for handler in [handler for logger in (logging.root, *named) for handler in logger.handlers]:
        if isinstance(handler, logging.StreamHandler) and handler.stream is stream:
            handler.setStream(to)


def _size_of(stream: TextIO) -> tuple[int, int]:
    try:
        size = os.get_terminal_size(stream.fileno())
    except OSError:
        return 80, 24
    return size.columns or 80, size.lines or 24


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
    """Counts the concluded ones of `total` trials, and shows how far they have come in the form of `display`."""

    def __init__(self, total: int, display: Display | None) -> None:
        self._total, self._concluded, self._form = total, 0, form_of(display)

    def advance(self, concluded: int, dropped: int) -> None:
        """Count `concluded` trials, and take `dropped` ones off the total, which will not be run."""
        self._concluded += concluded
        self._total -= dropped

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

    async def _keep_the_bar(self, look: Look, pace: Throughput) -> None:  # noqa: ARG002  (a bar has its own)
        from tqdm import tqdm  # 20 ms, and most commands show none

        class Bar(tqdm):  # type: ignore[type-arg]  # generic in its stubs only
            monitor_interval = 0  # no thread of its own

        with Bar(total=self._total, unit="trial", file=sys.stderr, dynamic_ncols=True) as bar:
            try:
                while True:
                    self._move(bar, look)
                    await anyio.sleep(FRAME_SECONDS)
            finally:
                self._move(bar, look)  # the last state stays

    def _move(self, bar: Any, look: Look) -> None:
        bar.total, bar.n = self._total, self._concluded
        bar.set_postfix_str(f"{show_calls(look.usage())}, {look.in_flight()} in flight")

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


def form_of(display: Display | None) -> Form:
    """Return the form of a run's display: "plain" is a bar on a terminal, and lines elsewhere; "log" lines anywhere.

    By default it is live on a terminal if the log shows INFO, unless the log is detailed or a CI job only looks like a
    terminal, and else plain. In a notebook, which is no terminal, it is a bar.
    """
    is_notebook = type(sys.stderr).__module__ == NOTEBOOK
    if display is None:
        shows = logging.getLogger(LOGGER)
        if not shows.isEnabledFor(logging.INFO) and not is_notebook:
            return "lines"  # which nobody sees, unless the level is lowered
        is_busy = shows.isEnabledFor(logging.DEBUG) or bool(os.environ.get("CI"))
        display = "plain" if is_busy else "live"
    if display == "live" and sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        return "screen"
    if display in ("live", "plain"):
        return "bar" if is_notebook or sys.stderr.isatty() else "lines"
    return "lines" if display == "log" else "nothing"
