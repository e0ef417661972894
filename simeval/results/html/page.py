"""The page of a report: one file that asks for nothing, with its data last."""

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from math import isinf, isnan
from pathlib import Path

from simeval.core.drafts import whole
from simeval.errors import StoreError
from simeval.results.document import Document
from simeval.results.html.blocks import Block, packed, scenario_blocks
from simeval.results.html.charts import as_svg
from simeval.results.html.heads import head_of, picture_of, said_of, why_of
from simeval.results.html.record import ChangeRow, Report
from simeval.results.html.sentences import meaning
from simeval.results.html.source import Source
from simeval.results.text import MARKS

HEADERS = ("Scenario", "Requirement", "Verdict", "Estimate", "Interval", "n", "What it means", "Picture")
HELD = "<p>The conversations are in this file, too: they are shown where scripts may run.</p>"
SHARED = ("preact-htm.js", "view.js")
PAGE = (*SHARED, "page.js")
MOST_PICTURES = 200  # in the table: each takes a kilobyte


def write_report(path: str | Path, source: Source) -> None:
    """Write the report of a run, reading a few of its conversations at a time. Raises StoreError."""
    write_page(path, head_of(source.document, source.courses), scenario_blocks(source), source.document)


def write_page(path: str | Path, report: Report, blocks: Iterable[Block], document: Document | None = None) -> None:
    """Write a page with its data, and the requirements of a document as a table. Raises StoreError."""
    try:
        with whole(path, newline="\n") as file:
            for piece in page_pieces(report, blocks, document=document):
                file.write(piece)
    except OSError as error:
        raise StoreError(str(path), problem=str(error.strerror)) from error


def page_pieces(
    report: Report,
    blocks: Iterable[Block],
    links: Sequence[tuple[str, str]] = (),
    document: Document | None = None,
) -> Iterator[str]:
    """Return a page piece by piece: its scripts, its verdicts as a table, and its data; `links` lead to others."""
    yield from _begin(_title(report), PAGE, without_scripts=f"{_table(report, document)}\n{HELD}")
    kept: dict[int, int] = {}
    for block in blocks:
        kept[block.scenario] = block.kept
        yield f'<script type="text/plain" id="block-{block.scenario}">{block.text}</script>\n'
    held = [kept[place] for place in sorted(kept)]
    yield _end({"mark": mark_of(report.outcome), "report": report, "kept": held, "links": links})


def served_page(report: Report, document: Document, more: Mapping[str, object]) -> str:
    """Return the page of a report that asks for its conversations beside it, a few at a time; `more` is its data."""
    without = f"{_table(report, document)}\n<p>Conversations are shown where scripts may run.</p>"
    return "".join([*_begin(_title(report), PAGE, without_scripts=without, asks="'self'"), _end(more)])


def app_page(title: str, script: str, data: Mapping[str, object]) -> str:
    """Return a page of the viewer that is no report: one more script renders its data."""
    without = f"<main><p>{escape(title)}: this page needs scripts.</p></main>"
    return "".join([*_begin(title, (*SHARED, script), without_scripts=without, asks="'self'"), _end(data)])


def _begin(title: str, scripts: Sequence[str], *, without_scripts: str, asks: str = "") -> Iterator[str]:
    """Return a page up to its data: it may run its own scripts, and request the address `asks`, nothing if empty."""
    texts, style = list(map(_asset, scripts)), _asset("page.css")
    allowed = " ".join(map(_hash, texts))
    policy = f"default-src 'none'; script-src {allowed}; style-src {_hash(style)}; base-uri 'none'; form-action 'none'"
    policy += f"; connect-src {asks}" if asks else ""
    yield (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="color-scheme" content="light dark">\n<title>{escape(title)}</title>\n<style>{style}</style>\n'
        f'</head>\n<body>\n<div id="app"></div>\n<noscript>\n{without_scripts}\n</noscript>\n'
    )
    yield from (f"<script>{script}</script>\n" for script in texts)


def _end(data: Mapping[str, object]) -> str:
    return f'<script type="text/plain" id="head">{packed(data)}</script>\n</body>\n</html>\n'


def _title(report: Report) -> str:
    return f"{mark_of(report.outcome)} · {report.name} · simeval"


def mark_of(outcome: str) -> str:
    """Return an outcome, or a finding, as a report shows it."""
    if outcome == "running":
        return "UNDER WAY"
    return MARKS.get(outcome, outcome.upper() or "MEASURED")  # type: ignore[call-overload, no-any-return]


@cache
def _asset(name: str) -> str:
    return files(__package__).joinpath("assets", name).read_text(encoding="utf-8").strip("\n")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _table(report: Report, document: Document | None) -> str:
    """Write every verdict as a table, for readers without scripts."""
    mark = mark_of(report.outcome)
    lines = [
        f"<main><h1>{escape(mark)}: {escape(report.headline)}</h1>",
        *(f"<p>{escape(each)}</p>" for each in [report.stopped, *report.meaning, *report.sure] if each),
        "<table><thead><tr>",
        *(f"<th>{each}</th>" for each in HEADERS),
        "</tr></thead><tbody>",
        *(_rows(document) if document else ()),
        *map(_changed, report.changes),
        *(_row(["", each[0], "measured", each[1], each[2], each[3], ""]) for each in report.metrics),
        "</tbody></table>",
        "</main>",
    ]
    return "\n".join(lines)


def _rows(document: Document) -> Iterator[str]:
    found = [
        (each, one, verdict) for each in document.scenarios for one in each.expectations for verdict in one.verdicts
    ]
    for place, (scenario, expectation, verdict) in enumerate(found):
        why = f"{said_of(expectation.label, verdict)}. {why_of(verdict) or meaning(verdict)}"
        measured = [_number(verdict.estimate), _between(verdict.confidence_interval), verdict.n]
        picture = picture_of(expectation.label, verdict) if place < MOST_PICTURES else None
        cells = [scenario.title, expectation.label, mark_of(verdict.outcome), *measured, why]
        yield _row(cells, as_svg(picture) if picture else "")


def _changed(change: ChangeRow) -> str:
    numbers = change.numbers
    measured = [_number(numbers["difference"]), _between(numbers["interval"]), numbers["n"]]
    return _row(
        [change.title, change.name, change.finding, *measured, change.said],
        as_svg(change.picture) if change.picture else "",
    )


def _row(cells: Iterable[object], picture: str = "") -> str:
    return f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in cells)}<td>{picture}</td></tr>"


def _number(value: float | None) -> str:
    return "-" if value is None or isnan(value) else f"{value:.4g}"


def _between(interval: Sequence[float | None] | None) -> str:
    if interval is None:
        return "-"
    return " to ".join("unbounded" if each is None or isinf(each) else f"{each:.4g}" for each in interval)
