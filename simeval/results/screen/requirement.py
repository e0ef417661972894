"""One requirement on a screen: the observed and the required value, with a picture of the interval and the bar."""

from itertools import groupby
from math import isinf
from operator import itemgetter

from simeval.core.terminal import Style, Terminal, one_line, say_p
from simeval.core.trial import Bar, Outcome
from simeval.results.document import Requirement

COLOURS: dict[Outcome, Style] = {"pass": "green", "fail": "red", "inconclusive": "yellow", "error": "red"}
SIGNS: dict[Outcome, str] = {"pass": "✓", "fail": "✗", "inconclusive": "?", "error": "!"}
PICTURE, SMALL, RANGE = 24, 14, 19  # cells of a picture, of one where lines are short, and of the numbers beside it
SHORT = 60  # cells; shorter lines are short
GAP = 2
BESIDE = 116  # the least cells for a picture beside the sentence
MARGIN = "  "


def requirement_lines(
    verdict: Requirement, terminal: Terminal, *, pictured: bool, detailed: bool, known: str = ""
) -> list[str]:
    """Return the lines of one requirement; if `pictured`, also with a picture that has no room beside them.

    The reason why it is no pass is left out if `known`.
    """
    colour = COLOURS[verdict.outcome]
    first = f"{MARGIN}{terminal.paint(SIGNS[verdict.outcome], colour)} "
    rest = MARGIN + "  "
    picture = interval_picture(verdict, terminal)
    if picture and terminal.columns >= BESIDE:
        room = terminal.columns - PICTURE - RANGE - GAP
        said = terminal.wrap(one_line(verdict.said), first=first, rest=rest, width=room)
        lines = terminal.beside(said, [picture], at=room + GAP)
    else:
        lines = terminal.wrap(one_line(verdict.said), first=first, rest=rest)
        lines += [rest + picture] if picture and pictured else []
    if verdict.why and verdict.why != known:
        lines += terminal.wrap(one_line(verdict.why), first=rest)
    if detailed:
        lines += [terminal.paint(line, "dim") for line in terminal.wrap(_details(verdict), first=rest)]
    return lines


def interval_picture(verdict: Requirement, terminal: Terminal) -> str:
    """Draw the interval of the true value, against the bar; empty if it is unknown or has no scale."""
    bar, interval = verdict.bar, verdict.interval
    if bar is None or interval is None or verdict.estimate is None:
        return ""
    colour = COLOURS[verdict.outcome]
    size = PICTURE if terminal.columns >= SHORT else SMALL
    low, high = (bar.low if isinf(interval[0]) else interval[0], bar.high if isinf(interval[1]) else interval[1])
    cells: list[tuple[str, Style]] = [("·", "dim")] * size
    for place in range(_cell(low, bar, size), _cell(high, bar, size) + 1):
        cells[place] = "━", colour
    cells[_cell(verdict.estimate, bar, size)] = "●", colour
    cells.insert(_edge(bar, size), ("┃", "bold"))
    drawn = [
        terminal.paint("".join(each for each, _ in same), style) for style, same in groupby(cells, key=itemgetter(1))
    ]
    return f"{''.join(drawn)}  {terminal.paint(verdict.range, 'dim')}"


def _edge(bar: Bar, size: int) -> int:
    """Return the cell after the bar: at least one is on either side."""
    return min(max(round(size * (bar.value - bar.low) / (bar.high - bar.low)), 1), size - 1)


def _cell(value: float, bar: Bar, size: int) -> int:
    """Return the cell of a value, on the same side of the bar as the value; one at the bar meets it."""
    place = min(max(int(size * (value - bar.low) / (bar.high - bar.low)), 0), size - 1)
    is_above = value >= bar.value if bar.is_lower_bound else value > bar.value
    return max(place, _edge(bar, size)) if is_above else min(place, _edge(bar, size) - 1)


def _details(verdict: Requirement) -> str:
    """Return the test of the conclusion."""
    p = verdict.p_value_fail if verdict.outcome == "fail" else verdict.p_value
    proof = "" if p is None else f"{say_p(p)} at the level {verdict.significance_level:g}"
    return "; ".join(each for each in (verdict.evaluator, verdict.method, proof) if each)
