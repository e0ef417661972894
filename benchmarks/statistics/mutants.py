"""Mutants x suites: which deliberately worse apps each suite notices, and its cost beside the foretold one.

Run: python -m benchmarks.statistics.mutants [--picture docs/pictures/mutants.svg]
"""

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import anyio

from simeval import Engine
from simeval.cli.init import APP, SUITE
from simeval.engine import MutationReport, mutate
from simeval.extras.mutate.mutants import STANDARD
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
LEFT, TOP, WIDE, HIGH = 170, 56, 116, 30  # of the picture, in pixels


async def found() -> Mapping[str, MutationReport]:
    """Return the report of the demo's suite and of each public one, with the embedded models."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "starter_app.py").write_text(APP, encoding="utf-8")
        (folder / "suite.yaml").write_text(SUITE, encoding="utf-8")
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


def main() -> None:
    """Print the table, and draw it if a place is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    reports = anyio.run(found)
    for row in table(reports):
        print("".join(f"{cell:<20}" if place == 0 else f"{cell:>14}" for place, cell in enumerate(row)))
    if options.picture:
        options.picture.write_text(picture(reports), encoding="utf-8")


if __name__ == "__main__":
    main()
