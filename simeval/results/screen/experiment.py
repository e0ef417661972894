"""An experiment on a screen: its metrics and verdicts as tables, the answers most against it, and the failures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from simeval.core.conversation import transcript_lines
from simeval.core.terminal import PLAIN, counted_of, indent, isolated, line_of, render_table, show_p, show_share
from simeval.core.trial import Estimate
from simeval.results.document import ExpectationDocument, ExperimentDocument, Requirement
from simeval.results.text import MARKS, MOST_CAUSES, head_of_trial, interval_header, show_malformed, show_spent

INTERVAL = "interval"  # a table gives its level
LEGEND = "interval: {level} confidence; p: chance of so good a result (FAIL: so bad) from an app at the bar"
VERDICT_HEADERS = ("expectation", "verdict", "estimate", "interval", "bar", "n", "p")
METRIC_HEADERS = ("metric", "value", INTERVAL, "examples", "missing", "app failed", "interval by")
CATEGORY_HEADERS = ("category of", "text", "share", INTERVAL, "examples")
SUMMARY_HEADERS = ("over the dataset", "value", INTERVAL, "examples", "interval by")
MOST_SHOWN = 10  # texts of one metric


def experiment_text(
    page: ExperimentDocument, room: int | None = None, *, brief: bool = False, told: Sequence[str] = ()
) -> str:
    """Write an experiment in lines of so much `room`, or `brief` with the outcome alone.

    Without `room`, tables are as wide as they are. Notes `told` before are left out.
    """
    if brief:
        return isolated(headline(page))
    paragraphs = [
        [_line(f"note: {note}", room) for note in page.notes if note not in told],
        _metrics(page, room),
        _categories(page, room),
        _summaries(page.summaries, room),
        _verdicts(page, room),
        [_line(f"warning: {each.label!r}: {why}", room) for each in page.expectations for why in each.warnings],
        [_line(f"{each.label}: {said}", room) for each in page.expectations if (said := each.sentence("cases"))],
        *([*_against(page, place, each, room)] for place, each in enumerate(page.expectations)),
        _failures(page.failures, room),
        [_line(show_malformed(page.usage), room)],
        [_line(page.guarantee, room), _line(_footer(page), room)],
    ]
    return "\n\n".join(text for each in paragraphs if (text := "\n".join(filter(None, each))))


def headline(page: ExperimentDocument) -> str:
    """Return the outcome, if there is one, and its basis."""
    dataset, outcome = page.dataset, page.outcome
    times = f" x {dataset.repetitions}" if dataset.repetitions > 1 else ""
    unfinished = dataset.size * dataset.repetitions - page.answers
    left = f" ({unfinished} not reached, because the run stopped: {page.stopped})" if unfinished else ""
    return (
        f"{f'{MARKS[outcome]}: ' if outcome else ''}dataset {dataset.name} (version {dataset.version}), "
        f"{counted_of(dataset.size, 'example')}{times}{left}, {show_spent(page.usage, page.seconds)}"
    )


def _line(text: str, room: int | None, spaces: int = 0) -> str:
    return indent(text, spaces, width=line_of(room))


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]], room: int | None, *widths: int) -> list[str]:
    return [render_table(headers, rows, widths=widths, room=room)] if rows else []


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


def _verdicts(page: ExperimentDocument, room: int | None) -> list[str]:
    found = [(each.label, verdict) for each in page.expectations for verdict in each.verdicts]
    rows = [_verdict_row(label, verdict, page.dataset.size) for label, verdict in found]
    alphas = {verdict.significance_level for _, verdict in found}
    level = show_share(1 - 2 * alphas.pop()) if len(alphas) == 1 else "two-sided"
    return [*_table(VERDICT_HEADERS, rows, room, 44), _line(LEGEND.format(level=level), room)] if rows else []


def _verdict_row(label: str, verdict: Requirement, size: int) -> list[str]:
    p = verdict.p_value_fail if verdict.failed else verdict.p_value
    counts = ((verdict.missing, "missing"), (verdict.left_out, "left out"))
    besides = ", ".join(f"{count} {kind}" for count, kind in counts if count)
    n = f"{verdict.n}{f'/{size}' if verdict.n < size else ''}"
    return [
        label,
        MARKS[verdict.outcome],
        verdict.observed or "-",
        f"[{verdict.range.replace(' to ', ', ')}]" if verdict.range else "-",
        verdict.required,
        f"{n} ({besides})" if besides else n,
        "-" if p is None else show_p(p, beside=verdict.significance_level),
    ]


def _against(page: ExperimentDocument, place: int, expectation: ExpectationDocument, room: int | None) -> Iterator[str]:
    """Yield why an expectation is not met, and the answer that speaks most against it."""
    if expectation.outcome == "pass":
        return
    for verdict in expectation.verdicts:
        if not verdict.passed:
            yield _line(f"{expectation.label}: {verdict.evaluator}: {verdict.explanation.rstrip('.')}.", room)
    worst = next((each for each in page.judgements if each.trial.index == expectation.worst), None)
    if worst is not None and (worst.conversation.responses or expectation.outcome != "error"):
        yield _line(head_of_trial(worst, worst.results[place]), room, 4)
        terminal = PLAIN if room is None else replace(PLAIN, width=room)
        yield "\n".join(transcript_lines(worst.conversation, terminal, margin=" " * 6))


def _failures(counted: Mapping[str, int], room: int | None) -> list[str]:
    """Return the errors of single answers, each text once with its count."""
    most = sorted(counted.items(), key=lambda each: -each[1])[:MOST_CAUSES]
    said = [_line(f"{count} x {text}", room, 2) for text, count in most]
    if len(counted) > MOST_CAUSES:
        said.append(_line(f"... and {len(counted) - MOST_CAUSES} more causes; --json holds them all.", room, 2))
    return [_line("failures of single trials:", room), *said] if said else []


def _footer(page: ExperimentDocument) -> str:
    judged = f", judge {page.models['judge']}" if page.usage.keys() & {"judge", "scorer"} else ""
    return f"{headline(page)}\nrun {page.run_id}, seed {page.seed}, target {page.app}{judged}"
