"""How often the intervals of metrics hold the true mean: Gaffke's of bounded scores, Student's of all others.

    python -m benchmarks.statistics.intervals [--repeats 2000]

Each line is a distribution of scores from 0 to 1 as apps have them, each number the share of samples whose 90% interval
holds the mean, and (in brackets) the interval's mean length. "beyond" is the share of Student's intervals, unbounded,
that reach below 0 or above 1.
"""

from collections.abc import Callable

import click
import numpy as np

from simeval.core.arrays import Floats
from simeval.results.estimates import estimate_mean, student_interval

ALPHA = 0.05  # on each side
SIZES = (5, 10, 30, 100)
Draw = Callable[[np.random.Generator, int], Floats]

APPS: dict[str, tuple[Draw, float]] = {  # draws, and the true mean
    "yes or no, 90% yes": (lambda random, n: (random.random(n) < 0.9).astype(float), 0.9),
    "mostly 1, 5% are 0": (lambda random, n: (random.random(n) < 0.95).astype(float), 0.95),
    "shares of 5 claims, each true at 0.9": (lambda random, n: random.binomial(5, 0.9, n) / 5, 0.9),
    "good, and skewed (beta 8, 1)": (lambda random, n: random.beta(8, 1, n), 8 / 9),
    "even (uniform)": (lambda random, n: random.random(n), 0.5),
    "0.9 to 1, but 2% are 0": (
        lambda random, n: np.where(random.random(n) < 0.02, 0.0, random.uniform(0.9, 1, n)),
        0.931,
    ),
}


@click.command()
@click.option("--repeats", type=click.IntRange(1), default=2000, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
def main(repeats: int, seed: int) -> None:
    """Print the coverage of both intervals for each app and sample size."""
    for name, (draw, mean) in APPS.items():
        print(name)
        for n in SIZES:
            random = np.random.default_rng(seed)
            samples = [draw(random, n) for _ in range(repeats)]
            bounded = [estimate_mean(sample.tolist(), bounds=(0.0, 1.0), alpha=ALPHA).interval for sample in samples]
            student = [student_interval(sample, ALPHA) for sample in samples]
            beyond = np.mean([each is not None and (each[0] < 0 or each[1] > 1) for each in student])
            print(
                f"  n {n:4}: Gaffke {_covered(bounded, mean)}, Student {_covered(student, mean)}, beyond {beyond:.0%}"
            )


def _covered(intervals: list[tuple[float, float] | None], mean: float) -> str:
    """Return how often intervals hold the mean, and their length; where there is none, it holds nothing."""
    holds = np.mean([each is not None and each[0] <= mean <= each[1] for each in intervals])
    length = np.mean([0.0 if each is None else each[1] - each[0] for each in intervals])
    return f"{holds:.3f} [{length:.2f}]"


if __name__ == "__main__":
    main()
