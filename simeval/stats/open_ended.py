"""A sequential test of a rate without a largest n: by e-values, which hold however long a run goes on.

It stops as a `Design` does, and its p-values and interval stay valid if the run is continued later. The price
is power: with a known largest n the exact design of `sequential` proves more. See `evalues` for the bet.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from simeval.stats.evalues import anytime_interval, mixture
from simeval.stats.sequential import Design, Inference, OperatingCharacteristics, StopRule, later_passes

_ROUNDING = 1e-9  # how far below 1/alpha rounding may put an e-value that equals it


class OpenDesign(Design):
    """A design that stops when the e-value of "above p0", or "below p0", reaches 1/alpha.

    `n_max` is only how far this run may go; it takes no part in the test.
    """

    @property
    def is_open(self) -> bool:
        return True

    def completed(self, n: int, failures: int, *, good: bool) -> tuple[int, int]:  # noqa: ARG002
        """Return the state itself: a result that holds at any time needs no completion."""
        return n, failures

    def characteristics(self, rate: float) -> OperatingCharacteristics:
        """Return the operating characteristics for this true rate within `n_max` trials."""
        ends, chance = self.ends, self.ends.chances(rate)
        fails = ends.failures >= self.fail_at[ends.n]
        passes = ends.rank == 0
        return OperatingCharacteristics(float(chance[passes].sum()), float(chance[fails].sum()), float(chance @ ends.n))

    def infer(self, n: int, failures: int) -> Inference:
        """Return the anytime p-values and interval of any state, whether a run ends there or not."""
        above = float(mixture(n - failures, failures, self.p0))
        below = float(mixture(failures, n - failures, 1 - self.p0))
        return Inference(
            p_pass=float(np.exp(-max(above, 0.0))),
            p_fail=float(np.exp(-max(below, 0.0))),
            interval=anytime_interval(n - failures, failures, self.alpha),
        )


def minimum_n(p0: float, alpha: float) -> int:
    """Return the smallest n such that n successes of n pass: the e-value of "above p0" reaches 1/alpha."""
    low, high = 0, 1
    while not _proves(high, 0, p0, alpha):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _proves(middle, 0, p0, alpha) else (middle, high)
    return high


@lru_cache(maxsize=256)
def open_design(p0: float, n_max: int, *, alpha: float, stop: StopRule = "gate", min_trials: int = 1) -> OpenDesign:
    """Return the open-ended test of "the rate is above p0", tabulated up to `n_max` trials.

    Hypotheses: for a pass, the rate is at most p0; for a fail, at least p0. Each is ever rejected wrongly with a chance
    of at most `alpha`, at any n and any stopping rule, such as one that looks at no fewer than `min_trials`.
    """
    if not (0 < p0 < 1 and 0 < alpha < 1 and n_max >= 1 and min_trials >= 1):
        found = f"p0={p0}, n_max={n_max}, alpha={alpha}, min_trials={min_trials}"
        raise ValueError(f"found {found}: use shares in (0, 1) and sizes of 1 or more")
    n = np.arange(n_max + 1)
    first = min(min_trials, n_max)
    pass_at = np.where(n < first, -1, _boundary(p0, n_max, alpha))
    successes_at = np.where(n < first, -1, _boundary(1 - p0, n_max, alpha))
    fail_at = np.where(successes_at >= 0, n - successes_at, n_max + 1)
    return OpenDesign(p0, n_max, alpha, 0.0, stop, first, pass_at, fail_at, later_passes(pass_at), alpha)


def _boundary(p0: float, n_max: int, alpha: float) -> NDArray[np.int64]:
    """Return, for each n, the most failures that keep the e-value of "above p0" at 1/alpha or more, or -1."""
    allowed = np.full(n_max + 1, -1)
    failures = -1
    for n in range(1, n_max + 1):
        while failures < n and _proves(n - failures - 1, failures + 1, p0, alpha):
            failures += 1
        allowed[n] = failures
    return allowed


def _proves(successes: int, failures: int, p0: float, alpha: float) -> bool:
    return bool(mixture(successes, failures, p0) >= -np.log(alpha) * (1 - _ROUNDING))
