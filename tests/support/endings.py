"""The endings of a sequential design, found without its own arithmetic."""

from typing import Any, TypeVar

from simeval.core.arrays import Floats
from simeval.stats.sequential import Design

Rate = TypeVar("Rate", float, Floats)


def chances_of_endings(plan: Design, rate: Rate) -> dict[tuple[int, int], Rate]:
    """Walk through all sequences of outcomes, one trial after the other, and give the chance of each ending."""
    running: dict[int, Any] = {0: 1.0}
    found = dict[tuple[int, int], Any]()
    for n in range(1, plan.n_max + 1):
        moved: dict[int, Any] = {}
        for failures, chance in running.items():
            moved[failures] = moved.get(failures, 0.0) + chance * rate
            moved[failures + 1] = moved.get(failures + 1, 0.0) + chance * (1 - rate)
        over = {failures for failures in moved if plan.ending(n, failures)}
        found |= {(n, failures): moved[failures] for failures in over}
        running = {failures: chance for failures, chance in moved.items() if failures not in over}
    return found
