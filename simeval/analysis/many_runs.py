"""Several runs against one baseline: every requirement or metric of each, with one error rate over all of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from simeval.analysis.changes import WORST_FIRST, Change, finding_of
from simeval.analysis.comparison import compare
from simeval.analysis.comparison_report import (
    COLOURS,
    Comparison,
    change_mark,
    encode_comparison,
    gate_of,
    noun_of,
    show_side,
    told_of,
)
from simeval.analysis.saved_run import Source, read_result, require_different
from simeval.core.terminal import PLAIN, Terminal, one_line, render_table, show_share
from simeval.core.validation import require
from simeval.stats.multiple import holm


@dataclass(frozen=True, slots=True)
class ManyRuns:
    """Comparisons of several candidates with one baseline, whose p-values Holm has corrected.

    Worse is corrected over all requirements of all runs, and so is better: something is found so anywhere that is not,
    with probability at most alpha. Not worse is corrected over the runs: within a run the gate asks for all of it,
    which needs no correction.
    """

    comparisons: tuple[Comparison, ...]

    @classmethod
    def of(cls, comparisons: Sequence[Comparison]) -> "ManyRuns":
        """Correct comparisons that share a baseline, a margin and a level."""
        changes = [change for comparison in comparisons for change in comparison.changes]
        left = iter(_corrected(_corrected(changes, "p_better"), "p_worse"))
        return cls(
            tuple(
                replace(
                    each,
                    changes=tuple(
                        _found_again(_over_runs(next(left), len(comparisons), whole), each.alpha) for _ in each.changes
                    ),
                )
                for each, whole in zip(comparisons, holm(list(map(_largest, comparisons))), strict=True)
            )
        )

    @property
    def passed(self) -> bool:
        """Whether every candidate meets the gate."""
        return all(each.passed for each in self.comparisons)

    def __str__(self) -> str:
        return many_text(self)


def compare_many(baseline: Source, candidates: Sequence[Source], **options: Any) -> ManyRuns:
    """Compare several runs with one baseline as `compare` does two, with its options, with one error rate over all.

    Raises DefinitionError for fewer than two candidates, a run that occurs twice, and runs that cannot be compared.
    """
    require(len(candidates) > 1, "compare_many", found=f"{len(candidates)} candidates", do="give two or more")
    old = read_result(baseline, "baseline")
    new = [read_result(each, f"candidate {place}") for place, each in enumerate(candidates, 1)]
    require_different([old, *new], "compare")
    return ManyRuns.of([compare(old, each, **options) for each in new])


def many_text(many: ManyRuns, terminal: Terminal = PLAIN) -> str:
    """Write several comparisons for a terminal: a line for each run, one table, and how sure it is."""
    first, noun, names = many.comparisons[0], noun_of(many.comparisons[0]), _names(many.comparisons)
    lines: list[str] = []
    for comparison, name in zip(many.comparisons, names, strict=True):
        mark = terminal.paint(comparison.finding.upper(), "bold", COLOURS[comparison.finding])
        said = f"{name}: {told_of(comparison, noun)}; {gate_of(comparison).partition(' (')[0]}"
        lines += terminal.wrap(said, first=f"{mark}  ")
    headers = [noun, "baseline", *names]
    by_run = [{_key(change): change for change in each.changes} for each in many.comparisons]
    worst = {
        key: min(WORST_FIRST.index(found[key].finding) for found in by_run if key in found)
        for key in dict.fromkeys(_key(change) for each in many.comparisons for change in each.changes)
    }
    rows = [_row(key, by_run, terminal) for key in sorted(worst, key=worst.__getitem__)]
    lines += ["", *render_table(headers, rows, widths=(40,), room=terminal.columns).splitlines(), ""]
    level, margin = show_share(first.alpha), show_share(first.margin)[:-1]
    tests = sum(change.p_worse is not None for each in many.comparisons for change in each.changes)
    foot = (
        f"Holm's correction holds over all {tests} tests of worse, and of better: if nothing is so, any is found so "
        f"with probability at most {level}; and over the {len(many.comparisons)} runs for not worse by more than "
        f"{margin} percentage points: if each run loses more somewhere, any meets the gate with probability at most "
        f"{level}"
    )
    lines += [terminal.paint(line, "dim") for line in terminal.wrap(foot, rest="  ")]
    baseline = one_line(f"baseline {first.baseline}")
    lines += [terminal.paint(line, "dim") for line in terminal.wrap(baseline, rest="  ")]
    return terminal.finished(lines)


def encode_many(many: ManyRuns) -> dict[str, Any]:
    """Return the comparisons as JSON has them; their p-values are corrected over all of them."""
    return {
        "passed": many.passed,
        "correction": "holm",
        "comparisons": [encode_comparison(each) for each in many.comparisons],
    }


def _names(comparisons: Sequence[Comparison]) -> list[str]:
    """Return the names of the candidates: their apps, with the runs if several are of one app."""
    runs = [each.candidate for each in comparisons]
    apps = [each.app for each in runs]
    shown = [f"{each.app} ({each.run_id})" if apps.count(each.app) > 1 else each.app for each in runs]
    return [one_line(name if each.app else each.run_id) for name, each in zip(shown, runs, strict=True)]


def _key(change: Change) -> tuple[str, ...]:
    return change.title, change.label, change.evaluator


def _row(key: tuple[str, ...], by_run: Sequence[dict[tuple[str, ...], Change]], terminal: Terminal) -> list[str]:
    there = [found[key] for found in by_run if key in found]
    cells = [_cell(found.get(key), terminal) for found in by_run]
    name = one_line(": ".join(part for part in key if part))
    return [name, show_side(there[0].baseline, there[0]), *cells]


def _cell(change: Change | None, terminal: Terminal) -> str:
    if change is None:
        return "-"
    mark = terminal.paint(change_mark(change), COLOURS[change.finding])
    return f"{show_side(change.candidate, change)} {mark}"


def _corrected(changes: Sequence[Change], family: str) -> list[Change]:
    """Put Holm's p-values in the place of those of a family."""
    raw: list[float | None] = [getattr(change, family) for change in changes]
    adjusted = iter(holm([p for p in raw if p is not None]))
    given: list[dict[str, Any]] = [{} if p is None else {family: next(adjusted)} for p in raw]
    return [replace(change, **p_value) for change, p_value in zip(changes, given, strict=True)]


def _largest(comparison: Comparison) -> float:
    """Return the p-value of "this run loses the margin nowhere": the largest of its requirements."""
    return max((each.p_not_worse for each in comparison.changes if each.p_not_worse is not None), default=1.0)


def _over_runs(change: Change, runs: int, whole: float) -> Change:
    """Correct "not worse" for so many runs; this one as a `whole` has a corrected p-value."""
    p = change.p_not_worse
    return change if p is None else replace(change, p_not_worse=max(p, min(whole, runs * p)))


def _found_again(change: Change, alpha: float) -> Change:
    """Return a change with the finding that its corrected p-values still prove."""
    if not change.has_direction:
        return change
    left = finding_of(p_better=change.p_better, p_worse=change.p_worse, p_not_worse=change.p_not_worse, alpha=alpha)
    if left == change.finding:
        return change
    said = f"{change.explanation.partition(': ')[0]}: {left}, where Holm's correction counts all runs"
    return replace(change, finding=left, reason="not_proven" if left == "unclear" else "", explanation=said)
