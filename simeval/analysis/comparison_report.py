"""A comparison of two runs: every change, and the finding on the whole, as JSON and as a person reads it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

from simeval.analysis.changes import (
    ASKED,
    WORST_FIRST,
    Change,
    ComparedRun,
    Finding,
    Gate,
    KindChange,
    PairChange,
    Side,
    change_lines,
    told_changes,
)
from simeval.analysis.saved_run import Key, RunResult, Saved, read_result
from simeval.core.markdown import LONGEST_TEXT, Part, escaped, fenced, fitted, folded, table_head, table_row
from simeval.core.serialization import plain
from simeval.core.terminal import (
    GAP,
    LEFT_OUT,
    PLAIN,
    Style,
    Terminal,
    one_line,
    printed,
    render_table,
    show_p,
    show_share,
)
from simeval.core.validation import first_of
from simeval.core.version import __version__
from simeval.results.document import RunDocument, ScenarioDocument
from simeval.results.screen.report import conversations_text
from simeval.results.text import BaselineGate, BaselineRow, Printable

COLOURS: dict[Finding, Style] = {
    "worse": "red",
    "unclear": "yellow",
    "better": "green",
    "not worse": "green",
    "changed": "dim",
    "unchanged": "dim",
}

MOST_LISTED = 20  # requirements or metrics of one run only that are listed in print
MOST_SHOWN = 8  # trials or examples of one change that are listed in print
FOLDED = 3  # changes with the same explanation, from this number on grouped
NAME, ALWAYS = 24, 5  # cells that the first column takes at least, and how many columns there are at any width

Kind = Literal["suites", "experiments"]
Whole = Literal["better", "not worse", "worse", "unclear"]
UNDIRECTED: tuple[Finding, ...] = ("changed", "unchanged")
FINDINGS: tuple[Finding, ...] = ("worse", "unclear", "better", "not worse", *UNDIRECTED)

SYMBOLS: Mapping[Finding, str] = {"worse": "❌", "unclear": "❔", "changed": "❔", "better": "✅", "not worse": "✅"}
MOST_PAIRS = 3  # of one change that are shown
OF_THE_TABLE = 0.5  # of the room that is left


def change_headers(*, paired: bool) -> list[str]:
    """Return the headers of the cells of a change."""
    counted = "pairs" if paired else "trials"
    return ["finding", "before", "now", "change", "interval", counted, "better", "worse", "p"]


def change_cells(change: Change, terminal: Terminal = PLAIN) -> list[str]:
    """Return the cells of a change, but for its name."""
    signed = show_points if change.kind == "share" else "{:+.3g}".format
    points = " pts" if change.kind == "share" else ""
    turned = [len(change.improved), len(change.regressed)] if change.pairs is not None and change.has_direction else []
    return [
        terminal.paint(change_mark(change), COLOURS[change.finding]) + (" ~" if change.approximate else ""),
        show_side(change.baseline, change),
        show_side(change.candidate, change),
        "-" if change.difference is None else f"{signed(change.difference)}{points}",
        "-" if change.interval is None else f"[{', '.join(map(signed, change.interval))}]",
        _show_pairs(change),
        *(map(str, turned) if turned else ("-", "-")),
        "-" if change.p_value is None else show_p(change.p_value),
    ]


def change_mark(change: Change) -> str:
    """Return the finding as a table has it."""
    return change.finding.upper() if change.has_direction else change.finding


def show_side(side: Side, change: Change) -> str:
    """Write the figures of one run."""
    if side.met is not None:
        return f"{side.met} of {side.n}"
    if side.value is None:
        return "-"
    return show_share(side.value) if change.kind == "share" else f"{side.value:.3g}"


def _show_pairs(change: Change) -> str:
    before, now = change.baseline, change.candidate
    lost = before.missing + now.missing
    counted = f"{before.size}, {now.size}" if change.pairs is None else str(now.size)
    return f"{counted} ({lost} missing)" if lost else counted


def show_points(share: float) -> str:
    """Write a difference of shares in percentage points, without the unit."""
    shown = f"{100 * share:+.3g}"
    return "0" if float(shown) == 0 else shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(Printable):
    """Two runs of a suite, requirement by requirement, or two experiments, metric by metric.

    `paired` is whether trials or examples are compared one by one, and `pairs` how many both have. With the `gate`
    "not_worse" it passes if the whole is proven better or not worse (see `finding`), with "not_proven_worse" if nothing
    is proven worse. `kinds` are the kinds of misses of a suite's requirements in both runs.
    """

    kind: Kind
    changes: tuple[Change, ...]
    baseline: ComparedRun
    candidate: ComparedRun
    paired: bool
    margin: float
    alpha: float
    gate: Gate = "not_worse"
    pairs: int | None = None
    notes: tuple[str, ...] = ()
    kinds: tuple[KindChange, ...] = ()

    @property
    def finding(self) -> Whole:
        """The finding on the whole.

        "worse" if something is. "not worse" if nothing is, everything with a margin is proven to be better or not
        worse, and there is some proof; "better" if in addition something is better; else "unclear".
        """
        found = {change.finding for change in self.changes}
        if "worse" in found:
            return "worse"
        proven = [change.is_proven for change in self.changes if change.has_margin or change.is_proven]
        if not proven or not all(proven):
            return "unclear"
        return "better" if "better" in found else "not worse"

    @property
    def passed(self) -> bool:
        """Whether the gate is met."""
        return self.finding in ("better", "not worse") or (self.gate == "not_proven_worse" and self.finding != "worse")

    @property
    def false_pass_bound(self) -> float | None:
        """The most that the chance of a pass can be if some share is worse by more than the margin; None: unbounded."""
        return self.alpha if self.gate == "not_worse" else None

    @property
    def false_worse_bound(self) -> float:
        """The most that the chance of any "worse" can be if nothing became worse: alpha for each one tested."""
        return min(1.0, self.alpha * sum(change.p_worse is not None for change in self.changes))

    def to_html(self, path: str | Path, baseline: RunResult, candidate: RunResult) -> None:
        """Write the report for a browser, with the conversations of both runs that changed.

        Raises StoreError.
        """
        from simeval.analysis.comparison_html import write_comparison  # most comparisons are never shown so

        write_comparison(path, self, read_result(baseline, "baseline"), read_result(candidate, "candidate"))

    def text(self) -> str:
        return comparison_text(self)

    def __str__(self) -> str:
        return comparison_text(self, printed())

    def __repr__(self) -> str:
        runs = f"{self.baseline.run_id} with {self.candidate.run_id}"
        kind = "requirements" if self.kind == "suites" else "metrics"
        return f"<Comparison of {runs}: {self.finding}, {len(self.changes)} {kind}>"


def encode_comparison(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison in a form JSON can hold."""
    sides = {"baseline": comparison.baseline, "candidate": comparison.candidate}
    return {
        "simeval": __version__,
        "kind": comparison.kind,
        "finding": comparison.finding,
        "gate": comparison.gate,
        "passed": comparison.passed,
        "margin": comparison.margin,
        "alpha": comparison.alpha,
        "paired": comparison.paired,
        "pairs": comparison.pairs,
        **{side: plain(asdict(run)) for side, run in sides.items()},
        "changes": [plain(asdict(change)) for change in comparison.changes],
        **({"kinds": [plain(asdict(each)) for each in comparison.kinds]} if comparison.kinds else {}),
        "false_pass_bound": comparison.false_pass_bound,
        "false_worse_bound": comparison.false_worse_bound,
        "notes": list(comparison.notes),
    }


def comparison_text(comparison: Comparison, terminal: Terminal = PLAIN) -> str:
    """Write a comparison for a terminal: the finding on the whole, the table, the reasons, the error rates."""
    noun = noun_of(comparison)
    blocks = [
        _headline(comparison, noun, terminal),
        [line for note in comparison.notes for line in terminal.wrap(one_line(note), first="note: ", rest="  ")],
        _table(comparison, noun, terminal),
        *_explanations(comparison, terminal),
        change_lines(comparison.kinds, terminal),
        _unknown(comparison.changes, terminal),
        _only("baseline", comparison.baseline.only_here, terminal),
        _only("candidate", comparison.candidate.only_here, terminal),
        [terminal.paint(line, "dim") for said in _foot(comparison, noun) for line in terminal.wrap(said, rest="  ")],
    ]
    return terminal.finished([line for block in blocks if block for line in [*block, ""]][:-1])


def noun_of(comparison: Comparison) -> str:
    """Return the noun of the compared items."""
    return "requirement" if comparison.kind == "suites" else "metric"


def unit_of(comparison: Comparison) -> str:
    """Return the noun of the counted items."""
    return "trial" if comparison.kind == "suites" else "example"


def _headline(comparison: Comparison, noun: str, terminal: Terminal) -> list[str]:
    """Return the finding on the whole and its counts, and whether that meets the gate."""
    mark = terminal.paint(comparison.finding.upper(), "bold", COLOURS[comparison.finding])
    lines = terminal.wrap(told_of(comparison, noun), first=f"{mark}  ")
    return [*lines, *terminal.wrap(gate_of(comparison), rest="  ")]


def told_of(comparison: Comparison, noun: str) -> str:
    """Return the number of items of each finding; those without a direction are described, and not counted."""
    found = Counter(change.finding for change in comparison.changes)
    size = sum(change.has_direction for change in comparison.changes) or len(comparison.changes)
    order = [*([comparison.finding] if found[comparison.finding] else []), *FINDINGS]
    (first, count), *others = [(finding, found[finding]) for finding in dict.fromkeys(order) if found[finding]]
    every = {1: f"the {noun}", 2: f"both {noun}s"}.get(size, f"all {size} {noun}s")
    of_all = every if count == size else f"{count} of {size} {noun}s"
    said = [f"{of_all} {_are(count, first)}", *(_of(n, what) for what, n in others)]
    alone = len(comparison.baseline.only_here) + len(comparison.candidate.only_here)
    left_out = [f"{alone} more {_are(alone, 'in one run only')}"] if alone else []
    return f"{', '.join([*said, *left_out])}{_common(comparison)}"


def _are(count: int, what: str) -> str:
    return what if what in UNDIRECTED else f"{'is' if count == 1 else 'are'} {what}"


def _of(count: int, what: str) -> str:
    return f"{count} {_are(count, what)}"


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def _common(comparison: Comparison) -> str:
    if comparison.pairs is None:
        return ""
    counts = {"baseline": comparison.baseline.examples_only_here, "candidate": comparison.candidate.examples_only_here}
    apart = [f"{count} only in the {side}" for side, count in counts.items() if count]
    return f"; on {comparison.pairs} examples of both" + (f" ({', '.join(apart)})" if apart else "")


def gate_of(comparison: Comparison) -> str:
    """Return whether the gate is met and, if no comparison like this one could meet it, a way to meet it."""
    met = "met" if comparison.passed else "not met"
    is_hopeless = comparison.finding == "unclear" and not any(change.has_margin for change in comparison.changes)
    way_out = (
        "; nothing here has a margin: use --gate not_proven_worse" if is_hopeless and not comparison.passed else ""
    )
    return f"gate {comparison.gate}: {met} (it requires that {ASKED[comparison.gate]}){way_out}"


def _table(comparison: Comparison, noun: str, terminal: Terminal) -> list[str]:
    """Return a row for each change, under the title of its scenario; columns without room are named.

    If there is no room for a table, each change is a list of all its cells.
    """
    headers = [noun, *change_headers(paired=comparison.paired)]
    changes = _in_order(comparison)
    cells = [[change.name, *change_cells(change, terminal)] for change in changes]
    widths = [max(terminal.cells(row[place]) for row in (headers, *cells)) for place in range(len(headers))]
    room = terminal.columns - min(NAME, widths[0]) - sum(width + GAP for width in widths[1:ALWAYS])
    is_list = room < 0
    shown = list(range(len(headers) if is_list else ALWAYS))
    for places in () if is_list else ((5,), (9,), (7, 8), (6,)):  # the least informative first
        needed = sum(widths[place] + GAP for place in places)
        if needed <= room:
            shown += places
            room -= needed
    shown.sort()
    rows: list[list[str]] = []
    for title, found in groupby(zip(changes, cells, strict=True), key=lambda pair: pair[0].title):
        rows += [[one_line(title)]] if title else []
        rows += [[row[place] for place in shown] for _, row in found]
    named = [headers[place] for place in shown]
    table = render_table(named, rows, widths=(NAME + max(room, 0),), room=terminal.columns).splitlines()
    gone = ", ".join(header for place, header in enumerate(headers) if place not in shown)
    caveats = dict.fromkeys(change.approximate for change in comparison.changes if change.approximate)
    below = [*(f"~ approximate: {said}" for said in caveats), *([LEFT_OUT.format(gone)] if gone else [])]
    return [*table, *(line for said in below for line in terminal.wrap(said, rest="  "))]


def _explanations(comparison: Comparison, terminal: Terminal) -> Iterator[list[str]]:
    """Explain for each scenario, or all metrics, the findings that are not plainly proven, with their pairs.

    If no pair changed, and several have nearly the same explanation, it is given once.
    """
    noun, unit = noun_of(comparison), unit_of(comparison)
    remarkable = [
        each for each in _in_order(comparison) if each.has_direction and (not _is_plain(each) or each.regressed)
    ]
    alike: dict[tuple[Finding, str], list[Change]] = {}
    for change in remarkable:
        if not (
            change.regressed
            or change.improved
            or change.left_out
            or change.baseline.missing
            or change.candidate.missing
        ):
            alike.setdefault((change.finding, _conclusion(change)), []).append(change)
    folded = [found for found in alike.values() if len(found) >= FOLDED]
    apart = [change for change in remarkable if not any(change in found for found in folded)]
    for title, found in groupby(apart, lambda change: change.title):
        lines = [terminal.paint(line, "bold") for line in terminal.wrap(one_line(title))] if title else []
        yield [*lines, *(line for each in found for line in _explain(each, unit, terminal))]
    for first, *others in folded:
        mark = terminal.paint(change_mark(first), COLOURS[first.finding])
        said = f"{len(others) + 1} {noun}s of which no {unit} got worse or better: {_conclusion(first)}."
        yield terminal.wrap(said, first=f"{mark}  ", rest="  ")


def _in_order(comparison: Comparison) -> list[Change]:
    """Return the changes scenario by scenario, those with the worst finding first."""
    scenarios: dict[str, list[Change]] = {}
    for change in sorted(comparison.changes, key=_place):
        scenarios.setdefault(change.title, []).append(change)
    by_title = {title: place for place, title in enumerate(dict.fromkeys(each.title for each in comparison.changes))}
    ordered = sorted(scenarios, key=lambda title: (_place(scenarios[title][0]), by_title[title]))
    return [change for title in ordered for change in scenarios[title]]


def _place(change: Change) -> int:
    return WORST_FIRST.index(change.finding)


def _conclusion(change: Change) -> str:
    """Return the basis of a finding, without the counts."""
    return change.explanation.partition(": ")[2]


def _is_plain(change: Change) -> bool:
    return change.is_proven and not change.reason


def _explain(change: Change, unit: str, terminal: Terminal) -> list[str]:
    mark = terminal.paint(change_mark(change), COLOURS[change.finding])
    said = f"{one_line(change.name)}: {change.explanation}."
    lines = terminal.wrap(said, first=f"  {mark}  ", rest="    ")
    for what, pairs in (("worse", change.regressed), ("better", change.improved)):
        if pairs:
            listed = _listed(pairs, with_values=change.baseline.met is None)
            lines += terminal.wrap(f"{what}: {unit}{_s(len(pairs))} {listed}", first="    ", rest="      ")
    return lines


def _listed(pairs: Sequence[PairChange], *, with_values: bool) -> str:
    shown = [f"{each.index}" + f" ({each.before:.3g} -> {each.now:.3g})" * with_values for each in pairs[:MOST_SHOWN]]
    more = [f"{len(pairs) - MOST_SHOWN} more"] if len(pairs) > MOST_SHOWN else []
    return ", ".join([*shown, *more])


def _unknown(changes: Sequence[Change], terminal: Terminal) -> list[str]:
    """Return advice on metrics of unknown direction."""
    names = [change.name for change in changes if change.direction is None and not change.title]
    if not names:
        return []
    listed = first_of(names, MOST_SHOWN)
    return terminal.wrap(
        f"not tested, because it is not known which way they are better: {listed}. Declare it with the scorer, "
        '@scorer(direction="higher"), "lower" or "none", or say it here: --higher METRIC, --lower METRIC',
        rest="  ",
    )


def _only(side: str, keys: Sequence[Key], terminal: Terminal) -> list[str]:
    if not keys:
        return []
    texts = [one_line(": ".join(part for part in key if part)) for key in keys[:MOST_LISTED]]
    more = len(keys) - MOST_LISTED
    return [
        f"only in the {side}, not compared:",
        *(line for text in texts for line in terminal.wrap(text, first="  ", rest="    ")),
        *([f"  … and {more} more; --json has them all"] if more > 0 else []),
    ]


def _foot(comparison: Comparison, noun: str) -> list[str]:
    """Return the meaning of the findings, their error rates, and the identity of the runs."""
    level, margin = show_share(1 - 2 * comparison.alpha), show_share(comparison.margin)[:-1]
    means = (
        f"not worse: by no more than {margin} percentage points; better, worse: than no change at all; unclear: none "
        f"of these is proven. change: now - before; interval: {level} confidence (approximate); p: the chance of so "
        "much evidence without a change, or (not worse; unclear, where there is a margin) with a loss of the margin"
    )
    runs = f"baseline {comparison.baseline}, candidate {comparison.candidate}"
    return [means, *guarantee_of(comparison, noun), one_line(runs)]


def guarantee_of(comparison: Comparison, noun: str) -> list[str]:
    """Return how often the findings would be wrong; empty if nothing was tested."""
    level, bound = show_share(comparison.alpha), comparison.false_worse_bound
    if bound == 0:
        return []
    marked = " (exact, but for ~)" if any(change.approximate for change in comparison.changes) else ""
    missed = (
        f"if some share is worse by more than the margin, the gate is met with probability at most {level} (no "
        "correction is needed); "
        if comparison.false_pass_bound is not None and any(change.has_margin for change in comparison.changes)
        else ""
    )
    return [
        f"error rates{marked}: {missed}if nothing is worse, some {noun} is found worse with probability at most "
        f"{show_share(bound)} ({level} for each one tested)"
    ]


def gate_against(comparison: Comparison) -> BaselineGate:
    """Return a comparison of a run with its baseline as a gate of that run."""
    run_id, points = comparison.baseline.run_id, f"{100 * comparison.margin:.4g} percentage points"
    lead = "" if comparison.passed else "not "
    told = told_of(comparison, noun_of(comparison))
    return BaselineGate(
        run_id=run_id,
        margin=comparison.margin,
        met=comparison.passed,
        said=f"{lead}proven to be no worse than run {run_id} by more than {points}: {told}",
        rows=tuple(map(_row, comparison.changes)),
    )


def _row(change: Change) -> BaselineRow:
    return BaselineRow(
        title=change.title,
        name=change.name,
        finding=change.finding,
        met=change.is_proven or (not change.has_margin and change.finding != "worse"),
        said=f"{change.finding}: {change.explanation}",
        p_value=change.p_value,
    )


def comparison_markdown(comparison: Comparison, before: Saved | None = None, now: Saved | None = None) -> str:
    """Write a comparison as a page of bounded size; with the runs themselves, also the losses in them."""
    noun = noun_of(comparison)
    mark = "✅" if comparison.passed else "❌" if comparison.finding == "worse" else "❔"
    head = [f"## simeval compare: {mark} {comparison.finding.upper()}", escaped(told_of(comparison, noun))]
    head += [escaped(gate_of(comparison)), *(f"note: {escaped(each)}" for each in comparison.notes)]
    parts = [change_part(comparison), _kinds(comparison), _pairs(comparison, before, now)]
    told = [*guarantee_of(comparison, noun), f"baseline {comparison.baseline}, candidate {comparison.candidate}"]
    foot = "  \n".join(f"<sub>{escaped(each, 2 * LONGEST_TEXT)}</sub>" for each in told)
    both = f"{comparison.baseline.run_id} {comparison.candidate.run_id}"
    return fitted("\n\n".join(head), parts, foot, whole=f"`simeval compare {both}` shows it.")


def change_part(comparison: Comparison, *, title: str = "") -> Part:
    """Return the table of all changes, losses first."""
    headers = (
        "",
        *["scenario"] * (comparison.kind == "suites"),
        noun_of(comparison),
        *change_headers(paired=comparison.paired),
    )
    found = sorted(comparison.changes, key=lambda each: WORST_FIRST.index(each.finding))
    rows = [_markdown_row(change, titled=comparison.kind == "suites") for change in found]
    lead = f"{title}\n\n" if title else ""
    return Part(noun="change", blocks=rows, head=lead + table_head(headers), is_table=True, share=OF_THE_TABLE)


def _markdown_row(change: Change, *, titled: bool) -> str:
    titles = [change.title] * titled
    return table_row([SYMBOLS.get(change.finding, ""), *map(escaped, [*titles, change.name, *change_cells(change)])])


def _kinds(comparison: Comparison) -> Part:
    _, *lines = map(escaped, told_changes(comparison.kinds) or [""])
    return Part(noun="kind", blocks=[f"- {each}" for each in lines], head="**Kinds of misses** (p approximate)")


def _pairs(comparison: Comparison, before: Saved | None, now: Saved | None) -> Part:
    blocks = []
    if isinstance(before, RunDocument) and isinstance(now, RunDocument):
        blocks = list(_got_worse(comparison.changes, before, now))
    return Part(noun="conversation", blocks=blocks, head="**Conversations that got worse**")


def _got_worse(changes: Sequence[Change], before: RunDocument, now: RunDocument) -> Iterator[str]:
    """Yield pairs of conversations with a worse second one, each once, those of proven changes first."""
    sides = [{scenario.title: scenario for scenario in page.scenarios} for page in (before, now)]
    seen: set[tuple[str, int]] = set()
    for change in sorted(changes, key=lambda each: WORST_FIRST.index(each.finding)):
        for pair in change.regressed[:MOST_PAIRS]:
            held = [side[change.title] for side in sides if _has(side, change.title, pair.index)]
            if len(held) == len(sides) and (change.title, pair.index) not in seen:
                seen.add((change.title, pair.index))
                yield _pair(change.title, pair.index, held)


def _has(side: Mapping[str, ScenarioDocument], title: str, index: int) -> bool:
    return title in side and index in side[title].by_index()


def _pair(title: str, index: int, held: Sequence[ScenarioDocument]) -> str:
    said = [
        f"{when}\n{fenced(conversations_text([(scenario, scenario.by_index()[index])], PLAIN))}"
        for when, scenario in zip(("before:", "now:"), held, strict=True)
    ]
    return folded(f"{escaped(title)}, trial {index}", "\n\n".join(said))
