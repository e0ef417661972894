"""What became of each requirement from one run to another: records, printed as a table with explanations."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any, Literal

from simeval.core.serialization import plain
from simeval.core.tables import indent, render_table
from simeval.core.trial import Outcome
from simeval.core.version import __version__
from simeval.evaluators.verdicts import show_p, show_share
from simeval.results.suite import combine
from simeval.results.text import MARKS

HEADERS = ("scenario", "requirement", "verdict", "before", "now", "change", "interval", "trials", "p")
MOST_LISTED = 20  # requirements of one run only that are listed in print

ChangeReason = Literal[
    "", "worse_within_margin", "proven_worse", "not_proven", "no_common_trials", "no_margin", "unpaired", "no_direction"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """What one run saw of a requirement: the trials that count, those of them that met it or are missing, the value.

    `value` is the share of the trials with an outcome that met the requirement, or the mean score; None without
    any. `met` is None for a mean.
    """

    trials: int
    missing: int
    value: float | None
    met: int | None = None

    def __str__(self) -> str:
        if self.met is not None:
            return f"{self.met} of {self.trials - self.missing}"
        return "-" if self.value is None else f"{self.value:.3g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One requirement in both runs.

    `outcome` is "pass" where the candidate is proven not worse by more than the margin, "fail" where it is
    proven worse, else "inconclusive"; None where there is no verdict, because a mean has no margin or its trials
    are no pairs. `p_not_worse` and `p_worse` belong to these two proofs. `difference` is candidate - baseline,
    of shares or of means, `interval` its approximate interval with alpha on each side (shares only). `better`
    and `worse` count the pairs that changed. `approximate` says why the error rates are not exact, if they are not.
    """

    title: str
    label: str
    evaluator: str
    kind: Literal["share", "mean"]
    paired: bool
    baseline: Side
    candidate: Side
    outcome: Outcome | None
    reason: ChangeReason
    explanation: str
    method: str
    difference: float | None = None
    interval: tuple[float, float] | None = None
    p_not_worse: float | None = None
    p_worse: float | None = None
    better: int | None = None
    worse: int | None = None
    approximate: str = ""

    @property
    def p_value(self) -> float | None:
        """The p-value of what the verdict proves: of "worse" for a fail, else of "not worse"."""
        return self.p_worse if self.outcome == "fail" or self.kind == "mean" else self.p_not_worse


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """Which run a side of a comparison is, and the requirements only it has: title, label and evaluator."""

    run_id: str
    seed: int
    app: str
    only_here: tuple[tuple[str, str, str], ...] = ()

    def __str__(self) -> str:
        return f"run {self.run_id} (app {self.app}, seed {self.seed})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two runs, requirement by requirement. It passes when no verdict is a fail or inconclusive and some is a pass."""

    changes: tuple[Change, ...]
    baseline: ComparedRun
    candidate: ComparedRun
    paired: bool
    margin: float
    alpha: float
    notes: tuple[str, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """The worst outcome of the requirements that have a verdict; inconclusive where none has."""
        return combine([change.outcome for change in self.changes if change.outcome is not None])

    @property
    def passed(self) -> bool:
        """Whether every requirement with a verdict is proven not worse by more than the margin."""
        return self.outcome == "pass"

    @property
    def false_fail_bound(self) -> float:
        """The most that the chance of any fail can be if nothing became worse: alpha for each possible fail."""
        return min(1.0, self.alpha * sum(change.p_worse is not None for change in self.changes))

    def __str__(self) -> str:
        return describe(self)


def encode_comparison(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison in a form JSON can hold."""
    sides = {"baseline": comparison.baseline, "candidate": comparison.candidate}
    names = ("title", "label", "evaluator")
    return {
        "simeval": __version__,
        "outcome": comparison.outcome,
        "passed": comparison.passed,
        "margin": comparison.margin,
        "alpha": comparison.alpha,
        "paired": comparison.paired,
        **{side: {"run_id": run.run_id, "seed": run.seed, "app": run.app} for side, run in sides.items()},
        "requirements": [plain(asdict(change)) for change in comparison.changes],
        **{
            f"only_in_{side}": [dict(zip(names, key, strict=True)) for key in run.only_here]
            for side, run in sides.items()
        },
        "false_pass_bound": comparison.alpha,
        "false_fail_bound": comparison.false_fail_bound,
        "notes": list(comparison.notes),
    }


def show_points(share: float) -> str:
    """Write a difference of shares in percentage points, without the unit."""
    shown = f"{100 * share:+.3g}"
    return "0" if float(shown) == 0 else shown


def describe(comparison: Comparison) -> str:
    """Write a comparison as a person reads it: the table, why each was no plain pass, what was not compared."""
    rows = [
        _row(change, first=number == 0 or comparison.changes[number - 1].title != change.title)
        for number, change in enumerate(comparison.changes)
    ]
    table = f"{render_table(HEADERS, rows, widths=(18, 28))}\n{indent(_legend(comparison), 0)}"
    remarkable = [change for change in comparison.changes if change.outcome != "pass" or change.reason]
    caveats = dict.fromkeys(change.approximate for change in comparison.changes if change.approximate)
    return "\n\n".join(
        part
        for part in (
            "\n".join(indent(f"note: {note}", 0) for note in comparison.notes),
            "\n".join([table, *(indent(f"~ approximate: {caveat}", 0) for caveat in caveats)]),
            *(_explain(title, list(changes)) for title, changes in groupby(remarkable, lambda each: each.title)),
            _list_only("baseline", comparison.baseline.only_here),
            _list_only("candidate", comparison.candidate.only_here),
            _guarantee(comparison),
            _summary(comparison),
        )
        if part
    )


def _mark(change: Change) -> str:
    return "no verdict" if change.outcome is None else MARKS[change.outcome]


def _row(change: Change, *, first: bool) -> list[str]:
    return [
        change.title if first else "",
        f"{change.label}: {change.evaluator}",
        _mark(change) + (" ~" if change.approximate else ""),
        str(change.baseline),
        str(change.candidate),
        _show_difference(change),
        "-" if change.interval is None else f"[{', '.join(show_points(bound) for bound in change.interval)}]",
        _show_trials(change),
        "-" if change.p_value is None else show_p(change.p_value),
    ]


def _show_difference(change: Change) -> str:
    if change.difference is None:
        return "-"
    return f"{show_points(change.difference)} pts" if change.kind == "share" else f"{change.difference:+.3g}"


def _show_trials(change: Change) -> str:
    before, now = change.baseline, change.candidate
    pairs = "1 pair" if now.trials == 1 else f"{now.trials} pairs"
    counted = pairs if change.paired else f"{before.trials}, {now.trials}"
    lost = before.missing + now.missing
    return f"{counted} ({lost} missing)" if lost else counted


def _legend(comparison: Comparison) -> str:
    level = show_share(1 - 2 * comparison.alpha)
    return (
        f"pass: not worse by more than {show_share(comparison.margin)[:-1]} percentage points; fail: worse. "
        f"change: now - before, with its {level} interval (approximate); p: chance of so good a result from an app "
        f"that is worse by the margin (FAIL and means: of so bad a one from an app that is no worse)"
    )


def _explain(title: str, changes: Sequence[Change]) -> str:
    """Say what became of the requirements of one scenario."""
    lines = [
        indent(f"{change.label}: {change.evaluator}: {_mark(change)}: {change.explanation}.", 2) for change in changes
    ]
    return "\n".join([title, *lines])


def _list_only(side: str, keys: Sequence[tuple[str, str, str]]) -> str:
    if not keys:
        return ""
    lines = [indent(f"{title}: {label}: {evaluator}", 2) for title, label, evaluator in keys[:MOST_LISTED]]
    if len(keys) > MOST_LISTED:
        lines.append(f"  ... and {len(keys) - MOST_LISTED} more; --json holds them all.")
    return "\n".join([f"only in the {side}, not compared:", *lines])


def _guarantee(comparison: Comparison) -> str:
    level, bound = show_share(comparison.alpha), comparison.false_fail_bound
    if bound == 0:
        return ""
    marked = " (exact, but for ~)" if any(change.approximate for change in comparison.changes) else ""
    text = (
        f"Error rates{marked}: if some share is worse by more than the margin, all of them pass with probability at "
        f"most {level} (no correction is needed). If nothing is worse, some requirement fails with probability at most "
        f"{show_share(bound)} ({level} for each one tested)."
    )
    return indent(text, 0)


def _summary(comparison: Comparison) -> str:
    counted = Counter(_mark(change).lower() for change in comparison.changes)
    marks = ", ".join(f"{number} {mark}" for mark, number in counted.items())
    number = len(comparison.changes)
    compared = "1 requirement" if number == 1 else f"{number} requirements"
    alone = len(comparison.baseline.only_here) + len(comparison.candidate.only_here)
    left_out = f", {alone} not compared (in one run only)" if alone else ""
    runs = f"baseline {comparison.baseline}, candidate {comparison.candidate}"
    return f"{comparison.outcome.upper()}: {compared} compared ({marks}){left_out}; {runs}"
