"""A comparison of two runs: every change, what is proven of the whole, printed as a table with explanations."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

from simeval.analysis.changes import ASKED, Change, ComparedRun, Gate, PairChange, Side
from simeval.analysis.saved_run import Key, RunResult, document_of
from simeval.core.serialization import plain
from simeval.core.tables import indent, render_table
from simeval.core.version import __version__
from simeval.evaluators.verdicts import show_p, show_share

MOST_LISTED = 20  # requirements or metrics of one run only that are listed in print
MOST_SHOWN = 8  # trials or examples of one change that are listed in print

Kind = Literal["suites", "experiments"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two runs of a suite, requirement by requirement, or two experiments, metric by metric.

    `paired` says whether trials or examples are compared one by one, and `pairs` how many both have. With the `gate`
    "not_worse" it passes where that is proven of the whole (see `finding`), with "not_proven_worse" where nothing is
    proven worse.
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

    @property
    def finding(self) -> Literal["worse", "unclear", "not worse"]:
        """What is proven of the whole.

        "worse" where something is. "not worse" where nothing is, all that has a margin is proven to be better or not
        worse, and there is some proof; else "unclear".
        """
        if any(change.finding == "worse" for change in self.changes):
            return "worse"
        proven = [change.is_proven for change in self.changes if change.has_margin or change.is_proven]
        return "not worse" if proven and all(proven) else "unclear"

    @property
    def passed(self) -> bool:
        """Whether the gate is met."""
        return self.finding == "not worse" or (self.gate == "not_proven_worse" and self.finding != "worse")

    @property
    def false_pass_bound(self) -> float | None:
        """The most that the chance of a pass can be if some share is worse by more than the margin; None: unbounded."""
        return self.alpha if self.gate == "not_worse" else None

    @property
    def false_worse_bound(self) -> float:
        """The most that the chance of any "worse" can be if nothing became worse: alpha for each one tested."""
        return min(1.0, self.alpha * sum(change.p_worse is not None for change in self.changes))

    def to_html(self, path: str | Path, baseline: RunResult, candidate: RunResult) -> None:
        """Write the report that a browser shows, with what was said in both runs where it changed.

        Raises StoreError.
        """
        from simeval.analysis.comparison_html import write_comparison  # most comparisons are never shown so

        write_comparison(path, self, document_of(baseline), document_of(candidate))

    def __str__(self) -> str:
        return _describe(self)


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
        "false_pass_bound": comparison.false_pass_bound,
        "false_worse_bound": comparison.false_worse_bound,
        "notes": list(comparison.notes),
    }


def show_points(share: float) -> str:
    """Write a difference of shares in percentage points, without the unit."""
    shown = f"{100 * share:+.3g}"
    return "0" if float(shown) == 0 else shown


def _describe(comparison: Comparison) -> str:
    """Write a comparison as a person reads it: the table, why each is what it is, what was not compared."""
    noun, unit = _words(comparison)
    caveats = dict.fromkeys(change.approximate for change in comparison.changes if change.approximate)
    parts = [
        "\n".join(indent(f"note: {note}", 0) for note in comparison.notes),
        "\n".join(
            [_table(comparison, noun), _legend(comparison), *(indent(f"~ approximate: {each}", 0) for each in caveats)]
        ),
        *_explanations(comparison.changes, unit),
        _say_unknown(comparison.changes),
        _list_only("baseline", comparison.baseline.only_here),
        _list_only("candidate", comparison.candidate.only_here),
        _guarantee(comparison, noun),
        f"{_say_gate(comparison)}\n{_summary(comparison, noun)}",
    ]
    return "\n\n".join(part for part in parts if part)


def _words(comparison: Comparison) -> tuple[str, str]:
    return ("requirement", "trial") if comparison.kind == "suites" else ("metric", "example")


def _table(comparison: Comparison, noun: str) -> str:
    titled = comparison.kind == "suites"
    changes = comparison.changes
    rows = []
    for place, change in enumerate(changes):
        is_first = place == 0 or changes[place - 1].title != change.title
        rows.append([change.title if is_first else ""] * titled + _row(change))
    counted = "pairs" if comparison.paired else "trials"
    of_all = ("finding", "before", "now", "change", "interval", counted, "better", "worse", "p")
    headers = ("scenario", noun, *of_all) if titled else (noun, *of_all)
    return render_table(headers, rows, widths=(18, 28) if titled else (36,))


def _row(change: Change) -> list[str]:
    signed = show_points if change.kind == "share" else "{:+.3g}".format
    points = " pts" if change.kind == "share" else ""
    turned = [len(change.improved), len(change.regressed)] if change.pairs is not None and change.has_direction else []
    return [
        change.name,
        _mark(change) + (" ~" if change.approximate else ""),
        _show_side(change.baseline, change),
        _show_side(change.candidate, change),
        "-" if change.difference is None else f"{signed(change.difference)}{points}",
        "-" if change.interval is None else f"[{', '.join(map(signed, change.interval))}]",
        _show_pairs(change),
        *(map(str, turned) if turned else ("-", "-")),
        "-" if change.p_value is None else show_p(change.p_value),
    ]


def _mark(change: Change) -> str:
    return change.finding.upper() if change.has_direction else change.finding


def _show_side(side: Side, change: Change) -> str:
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


def _legend(comparison: Comparison) -> str:
    level, margin = show_share(1 - 2 * comparison.alpha), show_share(comparison.margin)[:-1]
    return indent(
        f"not worse: by more than {margin} percentage points; better, worse: than without any change. change: now - "
        f"before, with its {level} interval (approximate); p: of what is found, the chance of so much evidence without "
        f"a change, or (not worse; unclear, where there is a margin) with a loss of the margin",
        0,
    )


def _explanations(changes: Sequence[Change], unit: str) -> list[str]:
    """Say of each scenario, or of all metrics, what became of what is not plainly proven, and of which pairs."""
    remarkable = [change for change in changes if change.has_direction and (not _is_plain(change) or change.regressed)]
    groups = groupby(remarkable, lambda change: change.title)
    return ["\n".join([title] * bool(title) + [_explain(each, unit) for each in found]) for title, found in groups]


def _is_plain(change: Change) -> bool:
    return change.is_proven and not change.reason


def _explain(change: Change, unit: str) -> str:
    lines = [indent(f"{change.name}: {_mark(change)}: {change.explanation}.", 2)]
    for what, pairs in (("worse", change.regressed), ("better", change.improved)):
        if pairs:
            lines.append(indent(f"{what}: {unit}s {_listed(pairs, with_values=change.baseline.met is None)}", 4))
    return "\n".join(lines)


def _listed(pairs: Sequence[PairChange], *, with_values: bool) -> str:
    shown = [f"{each.index}" + f" ({each.before:.3g} -> {each.now:.3g})" * with_values for each in pairs[:MOST_SHOWN]]
    more = [f"{len(pairs) - MOST_SHOWN} more"] if len(pairs) > MOST_SHOWN else []
    return ", ".join([*shown, *more])


def _say_unknown(changes: Sequence[Change]) -> str:
    """Say what to do about metrics of which nobody has said which way they are better."""
    names = [change.name for change in changes if change.direction is None and not change.title]
    if not names:
        return ""
    listed = ", ".join(names[:MOST_SHOWN]) + (f" and {len(names) - MOST_SHOWN} more" if len(names) > MOST_SHOWN else "")
    return indent(
        f"not tested, because it is not known which way they are better: {listed}. Declare it with the scorer, "
        '@scorer(direction="higher"), "lower" or "none", or say it here: --higher METRIC, --lower METRIC',
        0,
    )


def _list_only(side: str, keys: Sequence[Key]) -> str:
    if not keys:
        return ""
    lines = [indent(": ".join(part for part in key if part), 2) for key in keys[:MOST_LISTED]]
    if len(keys) > MOST_LISTED:
        lines.append(f"  ... and {len(keys) - MOST_LISTED} more; --json holds them all.")
    return "\n".join([f"only in the {side}, not compared:", *lines])


def _guarantee(comparison: Comparison, noun: str) -> str:
    level, bound = show_share(comparison.alpha), comparison.false_worse_bound
    if bound == 0:
        return ""
    marked = " (exact, but for ~)" if any(change.approximate for change in comparison.changes) else ""
    missed = (
        f"if some share is worse by more than the margin, the gate is met with probability at most {level} (no "
        "correction is needed); "
        if comparison.false_pass_bound is not None and any(change.has_margin for change in comparison.changes)
        else ""
    )
    text = (
        f"Error rates{marked}: {missed}if nothing is worse, some {noun} is found worse with probability at most "
        f"{show_share(bound)} ({level} for each one tested)."
    )
    return indent(text, 0)


def _say_gate(comparison: Comparison) -> str:
    """Say whether the gate is met, and where no comparison like this one could meet it, what would."""
    met = "met" if comparison.passed else "not met"
    hopeless = (
        not comparison.passed
        and comparison.finding != "worse"
        and not any(change.has_margin for change in comparison.changes)
    )
    way_out = "; nothing here has a margin, so choose --gate not_proven_worse" if hopeless else ""
    return indent(f"gate {comparison.gate} ({ASKED[comparison.gate]}): {met}{way_out}", 0)


def _summary(comparison: Comparison, noun: str) -> str:
    counted = Counter(change.finding for change in comparison.changes)
    marks = ", ".join(f"{number} {finding}" for finding, number in counted.items())
    number = len(comparison.changes)
    compared = f"1 {noun}" if number == 1 else f"{number} {noun}s"
    alone = len(comparison.baseline.only_here) + len(comparison.candidate.only_here)
    left_out = f", {alone} not compared (in one run only)" if alone else ""
    runs = f"baseline {comparison.baseline}, candidate {comparison.candidate}"
    return f"{comparison.finding.upper()}: {compared} compared ({marks}){_say_common(comparison)}{left_out}; {runs}"


def _say_common(comparison: Comparison) -> str:
    if comparison.pairs is None:
        return ""
    counts = {"baseline": comparison.baseline.examples_only_here, "candidate": comparison.candidate.examples_only_here}
    apart = [f"{count} only in the {side}" for side, count in counts.items() if count]
    return f" on {comparison.pairs} examples of both" + (f" ({', '.join(apart)})" if apart else "")
