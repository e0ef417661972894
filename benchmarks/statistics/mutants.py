"""Mutants x suites: which deliberately worse apps each suite notices, and its cost beside the foretold one.

Run: python -m benchmarks.statistics.mutants [--picture docs/pictures/mutants.svg] [--level]
"""

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import anyio
import numpy as np

from simeval import Engine
from simeval.cli.init import APP
from simeval.cli.starter_apps import SUITE
from simeval.engine import MutationReport, mutate
from simeval.extras.mutate.mutants import STANDARD
from simeval.extras.mutate.noticing import SPARE, least_trials, p_value
from simeval.stats.multiple import holm
from simeval.suites import load_suite
from simeval.suites.apps.named import app_of, import_from

SUITES = ("handbook", "order_line", "returns_desk", "support")
SIGNS = {"noticed": "yes", "missed": "NO", "open": "open", "not applied": "-", "not measured": "?"}
COLOURS = {
    "noticed": "#2f7d4f",
    "missed": "#c0392b",
    "open": "#c98a1b",
    "not applied": "#d9dde2",
    "not measured": "#d9dde2",
}
ALPHA, HYPOTHESES, RUNS = 0.05, 48, 2000  # twelve mutants and four requirements
LEFT, TOP, WIDE, HIGH = 170, 56, 116, 30  # of the picture, in pixels


async def found() -> Mapping[str, MutationReport]:
    """Return the report of the demo's suite and of each public one, with the embedded models."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "starter_app.py").write_text(APP, encoding="utf-8")
        (folder / "suite.yaml").write_text(SUITE.read_text(), encoding="utf-8")
        import_from(folder)
        reports = {"demo": await _report(str(folder / "suite.yaml"), "starter_app:handle")}
    apps = {"support": "scenarios.support_bot:handle"}
    for each in SUITES:
        reports[each] = await _report(f"scenarios/{each}.yaml", apps.get(each))
    return reports


async def _report(path: str, app: str | None) -> MutationReport:
    suite = load_suite(path)
    engine = Engine(settings=suite.settings, seed=7, store=None, display="none")
    handler = app_of(app or suite.cast.app)
    return await mutate(suite, handler, engine=engine)


def table(reports: Mapping[str, MutationReport]) -> Sequence[Sequence[str]]:
    """Return a row for each mutant, then the calls."""
    rows = [["mutant", *reports]]
    for place, mutant in enumerate(STANDARD):
        rows.append([mutant.name, *(SIGNS[each.mutants[place].status] for each in reports.values())])
    rows.append(["conversations", *(f"{each.conversations:,}" for each in reports.values())])
    rows.append(["calls", *(f"{each.calls:,}" for each in reports.values())])
    rows.append(["foretold", *(f"{each.foretold or 0:,.0f}" for each in reports.values())])
    rows.append(["calls / foretold", *(f"{each.calls / (each.foretold or 1):.2f}" for each in reports.values())])
    return rows


def picture(reports: Mapping[str, MutationReport]) -> str:
    """Return the table as a picture: a mark for each mutant and suite."""
    wide, high = LEFT + WIDE * len(reports) + 20, TOP + HIGH * len(STANDARD) + 56
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" font-family="sans-serif" font-size="13">',
        f'<rect width="{wide}" height="{high}" fill="#ffffff"/>',
    ]
    for column, name in enumerate(reports):
        parts.append(_text(LEFT + WIDE * column + WIDE / 2, TOP - 18, name, "middle", "#1d2733", "bold"))
    for row, mutant in enumerate(STANDARD):
        parts.append(_text(LEFT - 14, TOP + HIGH * row + 19, mutant.name, "end", "#1d2733"))
        for column, report in enumerate(reports.values()):
            each = report.mutants[row]
            x, y = LEFT + WIDE * column + 3, TOP + HIGH * row + 2
            parts.append(
                f'<rect x="{x}" y="{y}" width="{WIDE - 6}" height="{HIGH - 4}" rx="4" fill="{COLOURS[each.status]}"/>'
            )
            ink = "#5b6673" if each.status.startswith("not ") else "#ffffff"
            parts.append(_text(x + WIDE / 2 - 3, y + 17, each.status, "middle", ink))
    costs = [f"{each.calls:,} calls" for each in reports.values()]
    for column, cost in enumerate(costs):
        parts.append(_text(LEFT + WIDE * column + WIDE / 2, high - 32, cost, "middle", "#5b6673"))
    foretold = [f"foretold {each.foretold or 0:,.0f}" for each in reports.values()]
    for column, cost in enumerate(foretold):
        parts.append(_text(LEFT + WIDE * column + WIDE / 2, high - 14, cost, "middle", "#5b6673"))
    return "\n".join([*parts, "</svg>", ""])


def _text(x: float, y: float, text: str, anchor: str, colour: str, weight: str = "normal") -> str:
    place = f'x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{colour}" font-weight="{weight}"'
    return f"<text {place}>{escape(text)}</text>"


def chances(samples: int, rate: float, fails: float, *, draws: np.random.Generator) -> float:
    """Return how often a mutant is noticed that fails so many trials, by a requirement that the app meets at a rate."""
    before = draws.random((RUNS, samples)) < rate
    after = (draws.random((RUNS, samples)) < rate) & (draws.random((RUNS, samples)) >= fails)
    signs = before.astype(int) - after.astype(int)
    return float(np.mean([p_value(each.tolist()) <= ALPHA / HYPOTHESES for each in signs]))


def wrong(rate: float, *, draws: np.random.Generator) -> float:
    """Return how often any of twelve harmless mutants is noticed by any of four requirements."""
    samples = least_trials(HYPOTHESES, ALPHA) + SPARE
    found = 0
    for _ in range(RUNS // 4):
        before = draws.random((4, 1, samples)) < rate
        after = draws.random((4, 12, samples)) < rate
        signs = (before.astype(int) - after.astype(int)).reshape(HYPOTHESES, samples)
        found += min(holm([p_value(each.tolist()) for each in signs])) <= ALPHA
    return found / (RUNS // 4)


def show_level() -> None:
    """Print how often harmless mutants are noticed, and how often harmful ones are."""
    draws = np.random.default_rng(1)
    rates = (1.0, 0.95, 0.9)
    print("the unchanged app meets it:  " + "".join(f"{rate:>9.0%}" for rate in rates))
    print("a harmless one is noticed:   " + "".join(f"{wrong(rate, draws=draws):>9.1%}" for rate in rates))
    for samples in (13, 30, 60):
        for fails in (1.0, 0.9, 0.7, 0.5):
            cells = "".join(f"{chances(samples, rate, fails, draws=draws):>9.0%}" for rate in rates)
            print(f"{samples} trials, it fails {fails:>4.0%}:     {cells}")


def main() -> None:
    """Print the table, and draw it if a place is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--level", action="store_true")
    options = parser.parse_args()
    if options.level:
        show_level()
        return
    reports = anyio.run(found)
    for row in table(reports):
        print("".join(f"{cell:<20}" if place == 0 else f"{cell:>14}" for place, cell in enumerate(row)))
    if options.picture:
        options.picture.write_text(picture(reports), encoding="utf-8")


if __name__ == "__main__":
    main()
