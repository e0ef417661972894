"""Describe in words, before the first trial, when a scenario passes and when it ends without a pass."""

from collections.abc import Sequence

from simeval.stats.optimal import OptimalDesign
from simeval.stats.sequential import Design

MOST_POINTS = 8  # of a table, in words


def say_design(plan: Design) -> str:
    """Describe what passes, and at a gate what ends a run without a pass; empty if nothing can pass."""
    said = say_acceptance(plan.pass_points)
    if not said or plan.stop != "gate":
        return said
    if isinstance(plan, OptimalDesign):
        return f"{said}; {_say_endings(plan)}"
    first = f" in {plan.min_trials} or more" if plan.min_trials > 1 else ""
    misses = plan.within[0] + 1
    return (
        f"{said}; {misses} miss{'' if misses == 1 else 'es'}{first} end{'s' if misses == 1 else ''} it without a pass"
    )


def say_acceptance(points: Sequence[tuple[int, int]]) -> str:
    """Describe the points (trials, misses) at which a run passes; empty without any."""
    first = {misses: n for n, misses in reversed(points)}
    said = [f"{'0 misses' if misses == 0 else f'≤ {misses}'} in {n}" for misses, n in sorted(first.items())]
    if len(said) > MOST_POINTS:
        said[MOST_POINTS - 2 : -1] = ["…"]
    return f"passes with {', '.join(said)}" if said else ""


def _say_endings(plan: OptimalDesign) -> str:
    """Describe by which trial so many misses end a run, because a pass has become unlikely."""
    latest = {misses: n for n, misses in plan.end_points}
    said = [f"{misses} in {n}" for misses, n in latest.items()]
    said[-1] = f"{plan.end_points[-1][1]} at any time"
    number, _, rest = said[0].partition(" ")
    said[0] = f"{number} miss{'' if number == '1' else 'es'} {rest}"
    if len(said) > MOST_POINTS:
        said[MOST_POINTS - 2 : -1] = ["…"]
    first = f" (from trial {plan.min_trials} on)" if plan.min_trials > 1 else ""
    return f"ends without a pass at {', '.join(said)}{first}"
