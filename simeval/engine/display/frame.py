"""The live screen: a line for each scenario, and below them the run's work, waits and costs.

A frame is pure: a view, a size and a terminal give its lines, none of them wider than the screen.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from simeval.core.tables import isolated
from simeval.core.terminal import Terminal, one_line
from simeval.core.trial import Outcome
from simeval.core.usage import Usage
from simeval.core.waits import Wait
from simeval.engine.display.pace import show_calls, show_time
from simeval.engine.flow.standing import Requirement, Standing
from simeval.results.screen.requirement import COLOURS, SIGNS
from simeval.results.text import MARKS

WIDE = 110  # the least cells with room for longer bars
BAR, WIDE_BAR = 8, 16
COUNT, MISSES, FOUND, ASKED = 9, 8, 20, 6  # cells of the columns
MOST_MODELS, MOST_MESSAGES = 3, 4
FEWEST_ROWS = 3  # of scenarios, if there is room for anything else


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
