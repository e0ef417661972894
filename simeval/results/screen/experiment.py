"""An experiment on a screen, in the form of a run: its requirements, its metrics as tables, and the failures."""

from collections.abc import Iterator, Mapping, Sequence

from simeval.core.terminal import PLAIN, Terminal, counted_of, one_line, render_table, show_share
from simeval.core.trial import Estimate
from simeval.results.document import ExperimentDocument
from simeval.results.screen.report import (
    COLOURS,
    count_outcomes,
    foot_lines,
    note_lines,
    scenario_blocks,
    shared_reason,
    warning_lines,
)
from simeval.results.text import MARKS, MOST_CAUSES, interval_header

INTERVAL = "interval"  # a table gives its level
METRIC_HEADERS = ("metric", "value", INTERVAL, "examples", "missing", "app failed", "interval by")
CATEGORY_HEADERS = ("category of", "text", "share", INTERVAL, "examples")
SUMMARY_HEADERS = ("over the dataset", "value", INTERVAL, "examples", "interval by")
MOST_SHOWN = 10  # texts of one metric


def experiment_text(
    page: ExperimentDocument,
    terminal: Terminal = PLAIN,
    *,
    room: int | None = None,
    detailed: bool = False,
    brief: bool = False,
    told: Sequence[str] = (),
) -> str:
    """Write an experiment for a terminal in the form of a run, with its metrics below its requirements.

    A table that is wider than the `room` is a list. `detailed` is with everything, `brief` with the outcome alone.
    Notes `told` before are left out.
    """
    head = headline(page, terminal)
    if brief:
        return terminal.finished(head)
    blocks = [
        head,
        *(scenario_blocks(page, terminal, detailed=detailed) if page.expectations else ()),
        *_tables(page, room),
        warning_lines(page, terminal),
        _failures(page.failures, terminal),
        note_lines(page, terminal, told),
        foot_lines(page, terminal, detailed=detailed),
    ]
    return terminal.finished([line for block in blocks if block for line in [*block, ""]][:-1])


def headline(page: ExperimentDocument, terminal: Terminal) -> list[str]:
    """Return the outcome, if there is one, and its basis; or why nothing was concluded."""
    dataset, outcome = page.dataset, page.outcome
    times = f" x {dataset.repetitions}" if dataset.repetitions > 1 else ""
    unfinished = dataset.size * dataset.repetitions - page.answers
    left = f" ({unfinished} not reached, because the run stopped: {page.stopped})" if unfinished else ""
    counted = f"{found}: " if (found := count_requirements(page)) else ""
    size = f"{counted_of(dataset.size, 'example')}{times}{left}"
    said = f"{counted}dataset {dataset.name}, {size}"
    mark = f"{terminal.paint(MARKS[outcome], 'bold', COLOURS[outcome])}  " if outcome else ""
    return terminal.wrap(one_line(shared_reason(page) or said), first=mark)


def count_requirements(page: ExperimentDocument) -> str:
    """Return the number of requirements of each outcome, the worst first; empty if nothing is required."""
    outcomes = [each.outcome for each in page.verdicts]
    return count_outcomes(outcomes, of="requirement") if outcomes else ""


def _tables(page: ExperimentDocument, room: int | None) -> Iterator[list[str]]:
    """Yield the metrics, the categories of texts and the summaries over the dataset."""
    yield _metrics(page, room)
    yield _categories(page, room)
    yield _summaries(page.summaries, room)


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]], room: int | None, *widths: int) -> list[str]:
    return render_table(headers, rows, widths=widths, room=room).splitlines() if rows else []


def _metrics(page: ExperimentDocument, room: int | None) -> list[str]:
    rows = [
        [
            metric.name,
            *_show_estimate(found := metric.estimate or Estimate(value=None, n=0), is_share=metric.kind == "share"),
            str(found.n),
            str(metric.missing or "-"),
            str(metric.crashed or "-"),
            found.method,
        ]
        for metric in page.metrics
    ]
    return _table(_headers(METRIC_HEADERS, page), rows, room, 44)


def _headers(headers: Sequence[str], page: ExperimentDocument) -> list[str]:
    return [interval_header(page.significance_level) if each == INTERVAL else each for each in headers]


def _categories(page: ExperimentDocument, room: int | None) -> list[str]:
    rows: list[list[str]] = []
    for name, found in page.categories.items():
        for category, estimate in list(found.items())[:MOST_SHOWN]:
            rows.append([name, category, *_show_estimate(estimate, is_share=True), str(estimate.n)])
        if len(found) > MOST_SHOWN:
            rows.append([name, f"({len(found) - MOST_SHOWN} more, see --json)", "", "", ""])
    return _table(_headers(CATEGORY_HEADERS, page), rows, room, 44, 40)


def _summaries(summaries: Mapping[str, Mapping[str, Estimate]], room: int | None) -> list[str]:
    rows = [
        [f"{scorer}: {name}", *_show_estimate(estimate, is_share=False), str(estimate.n), estimate.method]
        for scorer, found in summaries.items()
        for name, estimate in found.items()
    ]
    return _table(SUMMARY_HEADERS, rows, room, 44)


def _show_estimate(estimate: Estimate, *, is_share: bool) -> list[str]:
    def show(value: float) -> str:
        return show_share(value) if is_share else f"{value:.3g}"

    value = "-" if estimate.value is None else show(estimate.value)
    return [value, "-" if estimate.interval is None else "[{}, {}]".format(*map(show, estimate.interval))]


def _failures(counted: Mapping[str, int], terminal: Terminal) -> list[str]:
    """Return the errors of single answers, each text once with its count."""
    most = sorted(counted.items(), key=lambda each: -each[1])[:MOST_CAUSES]
    lines = ["failures of single trials:"] * bool(most)
    for text, count in most:
        lines += terminal.wrap(f"{count} x {text}", first="  ", rest="    ")
    if len(counted) > MOST_CAUSES:
        lines.append(f"  … and {counted_of(len(counted) - MOST_CAUSES, 'more cause')}; --json has them all")
    return lines
