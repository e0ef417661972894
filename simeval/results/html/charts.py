"""Pictures of a report, as trees that become SVG text here and elements in the page: [tag, attributes, *children]."""

from collections.abc import Mapping, Sequence
from html import escape
from itertools import accumulate
from typing import Any

from simeval.results.screen.page import ShownCut

Node = list[Any]

MOST_DOTS = 400  # of a path; of a longer one only the trials that did not meet the requirement get one
MOST_BARS = 20  # of a histogram
LEFT, TOP, WIDE, HIGH = 44, 10, 520, 230  # of the plot of an acceptance region
BELOW = 40


def as_svg(node: Node | str) -> str:
    """Write a picture as text."""
    if isinstance(node, str):
        return escape(node)
    tag, attributes, *children = node
    written = "".join(f' {name}="{escape(str(value))}"' for name, value in attributes.items())
    return f"<{tag}{written}>{''.join(map(as_svg, children))}</{tag}>"


def interval_chart(
    bar: Mapping[str, Any],
    interval: Sequence[float | None],
    estimate: float | None,
    *,
    outcome: str,
    label: str,
    show: tuple[str, str] | None = None,
) -> Node:
    """Draw where the true value lies, what was observed, and what is required; `show` names the ends of the scale."""
    low, high = bar["low"], bar["high"]

    def at(value: float) -> float:
        share = float((value - low) / (high - low))
        return round(8 + 284 * min(max(share, 0.0), 1.0), 1)

    first, last = (low if interval[0] is None else interval[0]), (high if interval[1] is None else interval[1])
    edge, good = at(bar["value"]), (at(bar["value"]), 292.0) if bar["is_lower_bound"] else (8.0, at(bar["value"]))
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


def region_chart(chart: Mapping[str, Any], *, label: str) -> Node:
    """Draw where a run passes and fails, and the way it went: trials to the right, misses upwards."""
    met, passes, fails = chart["met"], chart["pass_at"], chart["fail_at"]
    misses = [0, *accumulate(int(each is not True) for each in met)]
    size, n_max = len(met), chart["n_max"]
    right = min(n_max, max(size + size // 3, 20, *(int(1.2 * n) for n, _ in passes[:1])))
    shown = [(n, f) for n, f in passes if n <= right]
    most = max((f for _, f in passes), default=-1)
    top = max(misses[-1] + 1, 4, min(most + 2, 2 * misses[-1] + 8))

    def x(n: float) -> float:
        return float(round(LEFT + WIDE * n / right, 1))

    def y(f: float) -> float:
        return float(round(TOP + HIGH * (1 - (f + 0.5) / (top + 0.5)), 1))

    floor, hopeless = y(-0.5), y(most + 0.5) if most < top else TOP
    over = [(n, f) for n, f in fails if n <= right and f <= top]
    corners = [f"{x(n)},{y(f)}" for n, f in over]
    areas = [
        *([_box("nopass", LEFT, TOP, WIDE, hopeless - TOP)] if hopeless > TOP else []),
        *([_shape("failing", [f"{x(over[0][0])},{TOP}", *corners, f"{x(over[-1][0])},{TOP}"])] if over else []),
        *([_shape("passing", _stairs(shown, right, x, y, floor))] if shown else []),
    ]
    way = " ".join(f"{x(n)},{y(f)}" for n, f in enumerate(misses))
    return [
        *["svg", {"viewBox": f"0 0 {LEFT + WIDE + 14} {TOP + HIGH + BELOW}", "class": "region", "role": "img"}],
        ["title", {}, label],
        *areas,
        *_axes(right, top, x, y, floor),
        ["polyline", {"class": "way", "points": way}],
        *_dots(chart, misses, x, y),
    ]


def histogram(scores: Sequence[float], cut: ShownCut | None, *, label: str) -> Node:
    """Draw how often each score was given; scores that speak for the requirement have another colour."""
    low, high = min(scores), max(scores)
    whole = all(float(each).is_integer() for each in scores) and high - low < MOST_BARS
    if whole:
        low, high = (1, 10) if low >= 1 and high <= 10 and high > 1 else (low, max(high, low + 1))
    count = int(high - low) + 1 if whole else MOST_BARS
    width = 1.0 if whole else ((high - low) or 1.0) / count
    counts = [0] * count
    for score in scores:
        counts[min(int((score - low) / width), count - 1)] += 1
    most, step = max(counts), 300 / count
    bars: list[Node] = []
    for place, number in enumerate(counts):
        value = low + place * width
        is_good = cut is None or cut.holds(value if whole else value + width / 2)
        tall = round(90 * number / most, 1)
        said = f"{value:g}" if whole else f"{value:.3g} to {value + width:.3g}"
        bar = _box("met" if is_good else "missed", round(8 + place * step + 1, 1), 100 - tall, round(step - 2, 1), tall)
        bars.append([*bar, ["title", {}, f"{said}: {number}"]])
        if whole or place in (0, count - 1):
            bars.append(_text("tick", round(8 + (place + 0.5) * step, 1), 113, f"{value:.3g}", "middle"))
        if number and whole:
            bars.append(_text("count", round(8 + (place + 0.5) * step, 1), 96 - tall, str(number), "middle"))
    return ["svg", {"viewBox": "0 -8 316 126", "class": "histogram", "role": "img", "aria-label": label}, *bars]


def _stairs(points: Sequence[Sequence[int]], right: int, x: Any, y: Any, floor: float) -> list[str]:
    """Return the corners of the area in which a run has passed."""
    corners, reached = [f"{x(points[0][0])},{floor}"], -1
    for n, misses in points:
        if misses > reached:
            if reached >= 0:
                corners.append(f"{x(n)},{y(reached + 0.5)}")
            corners.append(f"{x(n)},{y(misses + 0.5)}")
            reached = misses
    end = x(right) if points[0][0] < right else x(right) + 4
    return [*corners, f"{end},{y(reached + 0.5)}", f"{end},{floor}"]


def _axes(right: int, top: int, x: Any, y: Any, floor: float) -> list[Node]:
    every, rung = max(1, right // 8), max(1, -(-top // 6))
    every = next(step for step in (1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 10**9) if step >= every)
    return [
        _line("axis", (LEFT, floor), (LEFT + WIDE, floor)),
        _line("axis", (LEFT, TOP), (LEFT, floor)),
        *(_text("tick", x(n), floor + 14, str(n), "middle") for n in range(0, right + 1, every)),
        *(_text("tick", LEFT - 6, y(f) + 4, str(f), "end") for f in range(0, top + 1, rung)),
        _text("name", LEFT + WIDE, floor + 32, "conversations, in the order dealt →", "end"),
        _text("name", LEFT - 36, floor + 32, "↑ misses", "start"),
    ]


def _dots(chart: Mapping[str, Any], misses: Sequence[int], x: Any, y: Any) -> list[Node]:
    left_out, met = set(chart["excluded"]), chart["met"]
    trials = [index for index in range(len(met) + len(left_out)) if index not in left_out]
    states = {True: ("met", "met"), False: ("missed", "missed"), None: ("missing", "no score: counts against")}
    return [
        [
            *[
                "circle",
                {"class": f"dot {states[each][0]}", "cx": x(n), "cy": y(misses[n]), "r": 4, "data-trial": index},
            ],
            ["title", {}, f"conversation {index}: {states[each][1]}"],
        ]
        for n, (index, each) in enumerate(zip(trials, met, strict=False), 1)
        if each is not True or len(met) <= MOST_DOTS
    ]


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
