"""The gate of a baseline: whether a run is proven to be no worse than another by more than a margin."""

from simeval.analysis.changes import Change
from simeval.analysis.comparison_report import Comparison, noun_of, told_of
from simeval.results.outcomes import BaselineGate, BaselineRow


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
