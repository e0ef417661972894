"""What became of each metric from one experiment to another: records, printed as a table with examples."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from simeval.concluding import show_p, show_share
from simeval.direction import Direction
from simeval.tables import indent, render_table
from simeval.transcripts import plain
from simeval.version import __version__

HEADERS = ("metric", "verdict", "before", "now", "change", "interval", "improved", "regressed", "unchanged", "p")
MOST_SHOWN = 5  # examples of one metric that are listed in print

Finding = Literal["better", "worse", "not worse", "unclear", "changed", "unchanged"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleChange:
    """One example in both experiments: its place in the candidate's dataset, and values that are means of answers."""

    key: str
    index: int
    before: float
    now: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricChange:
    """One metric in both experiments, over the examples that have a value in both.

    `finding` is what is proven: "better" and "worse" against no difference, "not worse" against a loss of the margin
    (of shares without repetitions), each with its p-value. A metric that has no direction, or none that is known, is
    described and not tested: "changed" where some example has another value, else "unchanged". `before` and `now` are
    means over `pairs` examples, and `interval` that of their difference, `alpha` on each side. `improved` and
    `regressed` are the examples that changed, by the direction; without one all are in `changed`. `left_out` examples
    lack a value in either.
    """

    name: str
    kind: Literal["share", "mean"]
    direction: Direction | None
    finding: Finding
    pairs: int
    left_out: int
    before: float | None
    now: float | None
    interval: tuple[float, float] | None
    method: str
    p_better: float | None = None
    p_worse: float | None = None
    p_not_worse: float | None = None
    improved: tuple[ExampleChange, ...] = ()
    regressed: tuple[ExampleChange, ...] = ()
    changed: tuple[ExampleChange, ...] = ()

    @property
    def unchanged(self) -> int:
        """How many examples have the same value in both."""
        return self.pairs - len(self.improved) - len(self.regressed) - len(self.changed)

    @property
    def is_tested(self) -> bool:
        """Whether it is known which way it is better, so that something can be found."""
        return self.direction in ("higher", "lower")

    @property
    def p_value(self) -> float | None:
        """The p-value of what is found; where nothing is, that of "worse"."""
        return {"better": self.p_better, "not worse": self.p_not_worse}.get(self.finding, self.p_worse)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentComparison:
    """Two experiments side by side. `only` are metrics that one of them lacks, `common` the examples in both."""

    changes: tuple[MetricChange, ...]
    baseline: str
    candidate: str
    common: int
    only_baseline: int
    only_candidate: int
    only: tuple[str, ...]
    margin: float
    alpha: float
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether nothing is proven worse."""
        return all(change.finding != "worse" for change in self.changes)

    def __str__(self) -> str:
        table = render_table(HEADERS, [_row(change) for change in self.changes], widths=(36,))
        parts = [
            "\n".join(indent(f"note: {note}", 0) for note in self.notes),
            f"{table}\n{_legend(self)}",
            *(_show_examples(change) for change in self.changes),
            _say_unknown(self.changes),
            _footer(self),
        ]
        return "\n\n".join(part for part in parts if part)


def encode_experiment_comparison(comparison: ExperimentComparison) -> dict[str, Any]:
    """Give a comparison in the form JSON has."""
    found = plain(asdict(comparison))
    return {"simeval": __version__, "passed": comparison.passed, **found}


def _row(change: MetricChange) -> list[str]:
    show = show_share if change.kind == "share" else "{:.3g}".format
    signed = ("{:+.1%}" if change.kind == "share" else "{:+.3g}").format
    before, now = ("-" if value is None else show(value) for value in (change.before, change.now))
    difference = "-" if change.before is None or change.now is None else signed(change.now - change.before)
    p = "-" if change.p_value is None else show_p(change.p_value)
    return [
        change.name,
        change.finding.upper() if change.is_tested else change.finding,
        before,
        now,
        difference,
        "-" if change.interval is None else "[{}, {}]".format(*map(signed, change.interval)),
        str(len(change.improved)) if change.is_tested else "-",
        str(len(change.regressed)) if change.is_tested else "-",
        str(change.unchanged),
        p,
    ]


def _legend(comparison: ExperimentComparison) -> str:
    level = show_share(1 - 2 * comparison.alpha)
    several = ""
    tested = sum(change.is_tested for change in comparison.changes)
    if tested > 1:
        most = comparison.alpha * tested
        several = f"; of {tested} metrics without any change, {most:.2g} would be found worse by chance"
    return indent(
        f"interval: {level} confidence, of the change; p: chance of so much evidence without a change (NOT WORSE: at a "
        f"loss of {show_share(comparison.margin)}){several}",
        0,
    )


def _show_examples(change: MetricChange) -> str:
    found = [("regressed", change.regressed), ("improved", change.improved), ("changed", change.changed)]
    lines = [f"  {what}: {_listed(examples)}" for what, examples in found if examples]
    if change.left_out:
        lines.append(f"  left out: {change.left_out} examples that have no value in one of the runs")
    return "\n".join([f"{change.name}:", *lines]) if lines else ""


def _listed(examples: Sequence[ExampleChange]) -> str:
    shown = [f"example {each.index} ({each.before:.3g} -> {each.now:.3g})" for each in examples[:MOST_SHOWN]]
    more = [f"{len(examples) - MOST_SHOWN} more"] if len(examples) > MOST_SHOWN else []
    return ", ".join([*shown, *more])


def _say_unknown(changes: Sequence[MetricChange]) -> str:
    """Say what to do about metrics of which nobody has said which way they are better."""
    names = [change.name for change in changes if change.direction is None]
    if not names:
        return ""
    listed = ", ".join(names[:MOST_SHOWN]) + (f" and {len(names) - MOST_SHOWN} more" if len(names) > MOST_SHOWN else "")
    return indent(
        f"not tested, because it is not known which way they are better: {listed}. Declare it with the scorer, "
        '@scorer(direction="higher"), "lower" or "none", or say it here: --higher METRIC, --lower METRIC',
        0,
    )


def _footer(comparison: ExperimentComparison) -> str:
    apart = [
        f"{count} only in the {which}"
        for count, which in ((comparison.only_baseline, "baseline"), (comparison.only_candidate, "candidate"))
        if count
    ]
    only = [f"not in both: {', '.join(comparison.only)}"] if comparison.only else []
    said = f"{comparison.common} examples in both" + (f" ({', '.join(apart)})" if apart else "")
    names = [f"baseline:  {comparison.baseline}", f"candidate: {comparison.candidate}"]
    outcome = "nothing is proven worse" if comparison.passed else "something is proven worse"
    return "\n".join([f"{outcome}: {said}", *only, *names])
