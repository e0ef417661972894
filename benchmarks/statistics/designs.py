"""Optimal designs against those of spending: levels, power at every rate, trials, and how far from the bound.

python -m benchmarks.statistics.designs [--largest 500]

All of it is arithmetic over all sequences of outcomes. `lost` is the largest loss of power over 400 rates above the
bar, `on average` the mean loss over all of them; `over` how far the trials lie above what any test of this level and
power needs.
"""

import argparse
import time
from itertools import product

import numpy as np
from scipy.special import expit, logit

from simeval.core.terminal import render_table
from simeval.stats.optimal import OptimalDesign, average_n, average_power, optimal_design
from simeval.stats.sequential import Design, design

ALPHA = 0.05
BARS = (0.5, 0.6, 0.75, 0.9, 0.95, 0.97, 0.99)
SIZES = (10, 20, 30, 50, 100, 200, 300, 500)
MIN_TRIALS = (1, 10, 25)
HEADERS = (
    *("bar", "n_max", "from", "kind", "wrong pass", "wrong fail", "lost", "on average", "trials then", "now", "over"),
    *("fail 15 points under", "proven (stop verdict)", "seconds"),
)


def row_of(p0: float, n_max: int, min_trials: int) -> list[str]:
    """Return what a design comes to, beside that of spending."""
    began = time.process_time()
    plan = optimal_design(p0, n_max, alpha=ALPHA, min_trials=min_trials)
    took = time.process_time() - began
    spending = design(p0, n_max, alpha=ALPHA, min_trials=min_trials)
    proving = design(p0, n_max, alpha=ALPHA, min_trials=min_trials, stop="verdict")
    rates = expit(logit(p0) + np.linspace(0.01, 8, 400)).tolist()
    lost = max(_power(spending, rate) - _power(plan, rate) for rate in rates)
    wrong_fail = max(plan.characteristics(rate).prob_fail for rate in (p0, *rates[::50]))
    bad, proven = (each.characteristics(p0 - 0.15) for each in (plan, proving))
    return [
        *(f"{p0:g}", str(n_max), str(min_trials), "optimal" if isinstance(plan, OptimalDesign) else "spending"),
        *(
            f"{plan.characteristics(p0).prob_pass:.4f}",
            f"{wrong_fail:.4f}",
            f"{lost:.4f}",
            f"{average_power(spending) - average_power(plan):.4f}",
        ),
        *(f"{average_n(spending):.1f}", f"{average_n(plan):.1f}"),
        f"{plan.over_least:.1%}" if isinstance(plan, OptimalDesign) else "",
        *(f"{each.prob_fail:.0%} in {each.expected_n:.0f}" for each in (bad, proven)),
        f"{took:.2f}",
    ]


def _power(plan: Design, rate: float) -> float:
    return plan.characteristics(rate).prob_pass


def suite_cost() -> str:
    """Work out the conversations of a suite of 20: 16 apps at 99%, 4 at 80%, a bar of 90%, at most 100 trials each."""
    said = []
    for make, min_trials in product((design, optimal_design), MIN_TRIALS):
        plan = make(0.9, 100, alpha=ALPHA, min_trials=min_trials)
        good, bad = plan.characteristics(0.99), plan.characteristics(0.8)
        cost = 16 * good.expected_n + 4 * bad.expected_n
        said.append(
            f"{make.__name__}, from {min_trials}: {cost:.0f} conversations, a good app passes {good.prob_pass:.4f}"
        )
    return "\n".join(said)


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--largest", type=int, default=500)
    largest = parser.parse_args().largest
    sizes = [size for size in SIZES if size <= largest]
    print(render_table(HEADERS, [row_of(*cell) for cell in product(BARS, sizes, MIN_TRIALS)], widths=()))
    print(f"\na suite of 20:\n{suite_cost()}")


if __name__ == "__main__":
    main()
