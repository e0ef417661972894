"""Pictures of a report, as trees that become SVG text here and elements in the page: [tag, attributes, *children]."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import accumulate
from math import isinf
from typing import Any

from simeval.core.trial import Bar, Chart

Node = list[Any]

MOST_DOTS = 400  # of a path; of a longer one only the trials that did not meet the requirement get one
MOST_BARS = 20  # of a histogram
STEPS = (1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500)  # between the numbers of an axis
LEFT, TOP, WIDE, HIGH = 44, 10, 520, 230  # of the plot of an acceptance region
BELOW = 40
STEP = 14  # from one run to the next in the course of a requirement


def as_svg(node: Node | str) -> str:
    """Write a picture as text."""
    if isinstance(node, str):
        return escape(node)
    tag, attributes, *children = node
    written = "".join(f' {name}="{escape(str(value))}"' for name, value in attributes.items())
    return f"<{tag}{written}>{''.join(map(as_svg, children))}</{tag}>"


def interval_chart(
    bar: Bar,
    interval: tuple[float, float],
    estimate: float | None,
    *,
    outcome: str,
    label: str,
    show: Sequence[str] = (),
) -> Node:
    """Draw the interval of the true value, the observed one and the bar; `show` names the ends of the scale."""
    low, high = bar.low, bar.high

    def at(value: float) -> float:
        share = float((value - low) / (high - low))
        return round(8 + 284 * min(max(share, 0.0), 1.0), 1)

    first, last = (low if isinf(interval[0]) else interval[0]), (high if isinf(interval[1]) else interval[1])
    edge, good = at(bar.value), (at(bar.value), 292.0) if bar.is_lower_bound else (8.0, at(bar.value))
    return [
        *["svg", {"viewBox": "0 0 300 36", "class": f"interval {outcome}", "role": "img", "aria-label": label}],
        _box("good", good[0], 8, good[1] - good[0], 12),
        _line("scale", (8, 14), (292, 14)),
        _box("range", at(first), 10.5, max(at(last) - at(first), 3), 7, rx=3.5),
        *([] if estimate is None else [_dot("seen", at(estimate), 14, 5)]),
        _line("bar", (edge, 3), (edge, 25)),
        *([_text("tick", 8, 34, show[0], "start"), _text("tick", 292, 34, show[1], "end")] if show else []),
    ]


def difference_chart(interval: Sequence[float], value: float, margin: float, *, finding: str, label: str) -> Node:
    """Draw a change and its interval against none, and against the loss that is tolerated; worse is to the left."""
    reach = max(abs(interval[0]), abs(interval[1]), abs(value), 2 * margin, 1e-9) * 1.1

    def at(each: float) -> float:
        return round(150 + 142 * each / reach, 1)

    return [
        *["svg", {"viewBox": "0 0 300 36", "class": f"interval {finding}", "role": "img", "aria-label": label}],
        _box("good", at(-margin), 8, 292 - at(-margin), 12),
        _line("scale", (8, 14), (292, 14)),
        _box("range", at(interval[0]), 10.5, max(at(interval[1]) - at(interval[0]), 3), 7, rx=3.5),
        _dot("seen", at(value), 14, 5),
        _line("bar", (at(-margin), 3), (at(-margin), 25)),
        _line("zero", (150, 5), (150, 23)),
        _text("tick", 150, 34, "no change", "middle"),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """A requirement in one run, as a point of its course: its text, and the address it links to, if any."""

    outcome: str
    estimate: float | None
    interval: tuple[float | None, float | None]
    said: str
    address: str

    @property
    def is_measured(self) -> bool:
        """Whether there is anything to draw of it."""
        return self.outcome != "error" and self.estimate is not None


def trend_chart(points: Sequence[Past | None], bar: Mapping[str, Any] | None) -> Node:
    """Draw a requirement from run to run, the newest to the right: a band and a dot for each, a line for the bar.

    Where a run did not have the requirement, or did not measure it, its place stays empty; without any measured run
    there is no line.
    """
    found = [each for each in points if each is not None and each.is_measured]
    bar = bar if found else None
    ends = [value for each in found for value in (each.estimate, *each.interval) if value is not None]
    ends += [bar["value"]] if bar else []
    low, high = min(ends, default=0.0), max(ends, default=1.0)

    def at(value: float) -> float:
        share = (value - low) / (high - low) if high > low else 0.5
        return float(round(36 - 32 * min(max(share, 0.0), 1.0), 1))

    wide = STEP * len(points)
    drawn = [_past(each, STEP * (place + 0.5), at, (low, high)) for place, each in enumerate(points) if each]
    line = [_line("bar", (0, at(bar["value"])), (wide, at(bar["value"])))] if bar else []
    return ["svg", {"viewBox": f"0 0 {wide} 40", "width": wide, "height": 40, "class": "trend"}, *line, *drawn]


def _past(past: Past, x: float, at: Callable[[float], float], ends: tuple[float, float]) -> Node:
    first, last = (end if value is None else value for value, end in zip(past.interval, ends, strict=True))
    drawn: list[Node] = []
    if past.is_measured and past.interval != (None, None):
        drawn.append(_box("range", x - 2.5, at(last), 5, max(at(first) - at(last), 2)))
    if past.is_measured and past.estimate is not None:
        drawn.append(_dot("seen", x, at(past.estimate), 4.5))
    place = _box("place", x - STEP / 2, 0, STEP, 40)
    tag, link = ("a", {"href": past.address}) if past.address else ("g", {})
    return [tag, {**link, "class": past.outcome, "aria-label": past.said}, ["title", {}, past.said], place, *drawn]


@dataclass(frozen=True, slots=True)
class _Plot:
    """The scale of an acceptance region: `right` trials across, `top` misses upwards."""

    right: int
    top: int

    @property
    def floor(self) -> float:
        """Return the position of the trials' axis: half a miss below none, so that the way does not run on it."""
        return self.y(-0.5)

    def x(self, n: float) -> float:
        return float(round(LEFT + WIDE * n / self.right, 1))

    def y(self, misses: float) -> float:
        return float(round(TOP + HIGH * (1 - (misses + 0.5) / (self.top + 0.5)), 1))

    def corner(self, n: float, misses: float) -> str:
        return f"{self.x(n)},{self.y(misses)}"


def region_chart(chart: Chart, *, label: str) -> Node:
    """Draw the areas of pass and fail, and the way of a run: trials to the right, misses upwards.

    A trial without a score counts as a miss on the way; the dashed way leaves it out, and a fail counts by that.
    """
    met, passes = chart.met, chart.pass_at
    misses, least = ([0, *accumulate(each in bad for each in met)] for bad in ((False, None), (False,)))
    size, most = len(met), max((allowed for _, allowed in passes), default=-1)
    right = max(size + size // 3, 20, *(int(1.2 * n) for n, _ in passes[:1]))
    plot = _Plot(min(chart.n_max, right), max(misses[-1] + 1, 4, min(most + 2, 2 * misses[-1] + 8)))
    return [
        *["svg", {"viewBox": f"0 0 {LEFT + WIDE + 14} {TOP + HIGH + BELOW}", "class": "region", "role": "group"}],
        ["title", {}, label],
        *_areas(chart, most, plot),
        *_axes(plot),
        *([_way("way without", least, plot)] if least != misses else []),
        _way("way", misses, plot),
        *_dots(chart, misses, plot),
    ]


def region_key(chart: Chart, drawn: Node) -> list[tuple[str, str]]:
    """Return the class and the meaning of each area that is drawn, in the order of a legend."""
    there = {part[1].get("class") for part in drawn[2:]}
    ends = "a pass has become unlikely: the run ends" if chart.end_at else "no pass possible any more"
    meanings = {
        "passing": ("k-pass", "passes here"),
        "nopass": ("k-none", ends),
        "failing": ("k-fail", "proven below the bar"),
    }
    return [meaning for area, meaning in meanings.items() if area in there]


def _areas(chart: Chart, most: int, plot: _Plot) -> list[Node]:
    """Return the areas of an end without a pass, of a proof that the app is below the bar, and of a pass."""
    areas: list[Node] = []
    ends = [(n, misses) for n, misses in chart.end_at if n <= plot.right and misses <= plot.top]
    if ends:  # older results have none
        areas.append(_shape("nopass", _ceiling(ends, plot)))
    hopeless = plot.y(most + 0.5) if most < plot.top else TOP
    if hopeless > TOP and not ends:
        areas.append(_box("nopass", LEFT, TOP, WIDE, hopeless - TOP))
    fails = [(n, misses) for n, misses in chart.fail_at if n <= plot.right and misses <= plot.top]
    if fails:
        sides = [f"{plot.x(n)},{TOP}" for n in (fails[0][0], fails[-1][0])]
        areas.append(_shape("failing", [sides[0], *(plot.corner(*each) for each in fails), sides[1]]))
    passes = [(n, misses) for n, misses in chart.pass_at if n <= plot.right]
    if passes:
        areas.append(_shape("passing", _stairs(passes, plot)))
    return areas


def _way(kind: str, misses: Sequence[int], plot: _Plot) -> Node:
    return ["polyline", {"class": kind, "points": " ".join(plot.corner(n, each) for n, each in enumerate(misses))}]


def histogram(scores: Sequence[float], is_met: Callable[[float], bool], *, label: str) -> Node:
    """Draw how often each score was given; where most speak for the requirement, in another colour."""
    low, high, width = _bins(scores)
    counts = [0] * max(1, round((high - low) / width))
    good = [0] * len(counts)
    for score in scores:
        place = min(int((score - low) / width), len(counts) - 1)
        counts[place] += 1
        good[place] += is_met(score)
    most, step, is_whole = max(counts), 300 / len(counts), width == 1
    bars: list[Node] = []
    for place, number in enumerate(counts):
        value, middle = low + place * width, round(8 + (place + 0.5) * step, 1)
        tall = round(90 * number / most, 1)
        said = f"{value:g}" if is_whole else f"{value:.3g} to {value + width:.3g}"
        kind = "met" if 2 * good[place] >= number else "missed"
        bar = _box(kind, round(9 + place * step, 1), 100 - tall, step - 2, tall)
        bars.append([*bar, ["title", {}, f"{said}: {number}"]])
        if is_whole or place in (0, len(counts) - 1):
            bars.append(_text("tick", middle, 113, f"{value:.3g}", "middle"))
        if number and is_whole:
            bars.append(_text("count", middle, 96 - tall, str(number), "middle"))
    return ["svg", {"viewBox": "0 -8 316 126", "class": "histogram", "role": "img", "aria-label": label}, *bars]


def _bins(scores: Sequence[float]) -> tuple[float, float, float]:
    """Return where bars begin and end, and how wide each is: 1 where scores are whole, ratings from 1 to 10."""
    low, high = min(scores), max(scores)
    if all(float(each).is_integer() for each in scores) and high - low < MOST_BARS:
        return (1, 11, 1) if low >= 1 and 1 < high <= 10 else (low, high + 1, 1)
    return low, high, (high - low) / MOST_BARS


def _stairs(points: Sequence[tuple[int, int]], plot: _Plot) -> list[str]:
    """Return the corners of the area of a pass."""
    corners, reached = [f"{plot.x(points[0][0])},{plot.floor}"], -1
    for n, misses in points:
        if misses > reached:
            corners += [plot.corner(n, reached + 0.5)] if reached >= 0 else []
            corners.append(plot.corner(n, misses + 0.5))
            reached = misses
    end = plot.x(plot.right) + (0 if points[0][0] < plot.right else 4)  # a pass at the end alone is a line
    return [*corners, f"{end},{plot.y(reached + 0.5)}", f"{end},{plot.floor}"]


def _ceiling(points: Sequence[tuple[int, int]], plot: _Plot) -> list[str]:
    """Return the corners of the area of an end because a pass has become unlikely."""
    corners, reached = [f"{plot.x(points[0][0])},{TOP}"], points[0][1]
    for n, misses in points:
        corners += [plot.corner(n, each - 0.5) for each in dict.fromkeys((reached, misses))]
        reached = misses
    return [*corners, f"{plot.x(points[-1][0])},{TOP}"]


def _axes(plot: _Plot) -> list[Node]:
    every = next(step for step in (*STEPS, plot.right) if step >= plot.right / 8)
    rung = -(-plot.top // 6)
    floor = plot.floor
    return [
        _line("axis", (LEFT, floor), (LEFT + WIDE, floor)),
        _line("axis", (LEFT, TOP), (LEFT, floor)),
        *(_text("tick", plot.x(n), floor + 14, str(n), "middle") for n in range(0, plot.right + 1, every)),
        *(_text("tick", LEFT - 6, plot.y(f) + 4, str(f), "end") for f in range(0, plot.top + 1, rung)),
        _text("name", LEFT + WIDE, floor + 32, "conversations, in the order dealt →", "end"),
        _text("name", LEFT - 36, floor + 32, "↑ misses", "start"),
    ]


def _dots(chart: Chart, misses: Sequence[int], plot: _Plot) -> list[Node]:
    left_out, met = set(chart.excluded), chart.met
    trials = [index for index in range(len(met) + len(left_out)) if index not in left_out]
    states = {True: ("met", "met"), False: ("missed", "missed"), None: ("missing", "no score: counts against")}
    shown = [
        (n, index, *states[each])
        for n, (index, each) in enumerate(zip(trials, met, strict=False), 1)
        if each is not True or len(met) <= MOST_DOTS
    ]
    return [
        _reached(_dot(f"dot {kind}", plot.x(n), plot.y(misses[n]), 4), index, said, is_first=not at)
        for at, (n, index, kind, said) in enumerate(shown)
    ]


def _reached(dot: Node, index: int, state: str, *, is_first: bool) -> Node:
    """Return a dot that the keyboard reaches: the first by Tab, from there the others by arrows."""
    tag, attributes = dot
    said = f"conversation {index}: {state}"
    more = {"data-trial": index, "role": "link", "tabindex": 0 if is_first else -1, "aria-label": said}
    return [tag, {**attributes, **more}, ["title", {}, said]]


def _box(kind: str, x: float, y: float, width: float, height: float, **more: float) -> Node:
    return ["rect", {"class": kind, "x": x, "y": y, "width": round(width, 1), "height": round(height, 1), **more}]


def _line(kind: str, start: tuple[float, float], end: tuple[float, float]) -> Node:
    return ["line", {"class": kind, "x1": start[0], "y1": start[1], "x2": end[0], "y2": end[1]}]


def _dot(kind: str, x: float, y: float, radius: float, **more: float) -> Node:
    return ["circle", {"class": kind, "cx": x, "cy": y, "r": radius, **more}]


def _shape(kind: str, corners: Sequence[str]) -> Node:
    return ["polygon", {"class": kind, "points": " ".join(corners)}]


def _text(kind: str, x: float, y: float, said: str, anchor: str) -> Node:
    return ["text", {"class": kind, "x": x, "y": round(y, 1), "text-anchor": anchor}, said]
