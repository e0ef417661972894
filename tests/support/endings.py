"""The endings of a sequential design, found without its own arithmetic."""

from simeval.stats.sequential import Design


def chances_of_endings(plan: Design, rate: float) -> dict[tuple[int, int], float]:
    """Walk through all sequences of outcomes, one trial after the other, and give the chance of each ending."""
    running, found = {0: 1.0}, dict[tuple[int, int], float]()
    for n in range(1, plan.n_max + 1):
        moved: dict[int, float] = {}
        for failures, chance in running.items():
            moved[failures] = moved.get(failures, 0.0) + chance * rate
            moved[failures + 1] = moved.get(failures + 1, 0.0) + chance * (1 - rate)
        found |= {(n, failures): chance for failures, chance in moved.items() if plan.ending(n, failures)}
        running = {failures: chance for failures, chance in moved.items() if not plan.ending(n, failures)}
    return found
