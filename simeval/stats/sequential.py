"""The exact sequential test of a rate: a verdict as soon as the trials so far prove it, at a level that holds.

After every trial, in an order fixed beforehand, the failures so far are compared with two boundaries. The boundaries
spend the level `alpha` as `alpha * (n / n_max)**rho`: half-way through a sample, with rho = 2, a quarter of it. Each
boundary ignores the other, so the chance of crossing it is summed exactly at the rate p0, and a run may be ended
earlier for any reason without harm. Nothing ends it before `min_trials`: the level that might have been spent until
then is spent there.

    failures │  stop: no pass can be reached any more, or "below p0" is proven
             │ ─────────────────────────────
             │  go on
             │ ─────────────────────────────
             │  pass
             └────────────────────────────── trials

References: K. K. G. Lan and D. L. DeMets (1983), "Discrete sequential boundaries for clinical trials", Biometrika 70
(spending); C. Jennison and B. W. Turnbull (2000), Group Sequential Methods with Applications to Clinical Trials,
chapters 8 and 12 (stage-wise inference, exact tests of a rate).
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from simeval.stats.binomial import at_most

StopRule = Literal["gate", "verdict"]
Boundary = Literal["pass", "end", "bad"]

RHO = 2.0
_TIE = 1e-12  # how far above its limit rounding may put a chance that equals it
_HALVINGS = 60  # of [0, 1], in the search for a bound
_ABOVE = 1 + 1e-9  # the factor of a p-value "just above" the level, and of a bound "just outside" p0


@dataclass(frozen=True, slots=True)
class OperatingCharacteristics:
    """How an app with one true rate fares: the chances of both verdicts, and its mean number of trials."""

    prob_pass: float
    prob_fail: float
    expected_n: float


@dataclass(frozen=True, slots=True)
class Inference:
    """The inference after stopping: p-values of both sides, and the interval with alpha on each side."""

    p_pass: float
    p_fail: float
    interval: tuple[float, float]


@dataclass(frozen=True)
class Design:
    """The exact test of "the rate is above `p0`" that may stop after each of at most `n_max` trials.

    `pass_at[n]` is the largest number of failures in n trials that passes, -1 if none does; `fail_at[n]` the smallest
    that proves "below p0", n_max + 1 if none does; `within[n]` the largest that allows a later pass, or -1. All three
    have n_max + 1 entries. With stop "gate" a run also ends when no pass can be reached; with "verdict" only a proven
    side ends it. Before `min_trials` nothing does. `type_one` is the exact chance, at the rate p0, of ever crossing the
    pass boundary, whatever else may end a run.
    """

    p0: float
    n_max: int
    alpha: float
    rho: float
    stop: StopRule
    min_trials: int
    pass_at: NDArray[np.int64]
    fail_at: NDArray[np.int64]
    within: NDArray[np.int64]
    type_one: float

    @property
    def is_open(self) -> bool:
        """Whether the test holds without a largest n."""
        return False

    @property
    def can_pass(self) -> bool:
        """Whether any outcome passes."""
        return bool(self.within[0] >= 0)

    @property
    def pass_points(self) -> list[tuple[int, int]]:
        """The acceptance table: (n, failures) such that a run passes at n with at most that many failures."""
        return [(int(n), int(self.pass_at[n])) for n in np.flatnonzero(self.pass_at >= 0)]

    @property
    def fail_points(self) -> list[tuple[int, int]]:
        """The points (n, failures) such that a run with at least that many failures in n trials has failed."""
        return [(n, int(failures)) for n, failures in enumerate(self.fail_at) if failures <= n]

    def ending(self, n: int, failures: int) -> Boundary | None:
        """Return how a run with `failures` in `n` trials ends there; None if it continues."""
        if n < self.min_trials:
            return None
        if failures <= self.pass_at[n]:
            return "pass"
        if failures >= self.end_at[n]:
            return "bad"
        return "end" if n == self.n_max else None

    @cached_property
    def end_at(self) -> NDArray[np.int64]:
        """Return the smallest number of failures in n trials that ends a run without a pass; n_max + 1 if none does."""
        end_at = np.minimum(self.fail_at, self.within + 1) if self.stop == "gate" else self.fail_at.copy()
        end_at[: self.min_trials] = self.n_max + 1
        return end_at

    def may_pass(self, n: int, failures: int) -> bool:
        """Return whether a run in this state passes if all further trials are good."""
        return bool(failures <= self.within[n] and failures < self.end_at[max(n, self.min_trials)])

    def launch_limit(self, n: int, failures: int) -> int:
        """Return the earliest trial number that lets a run in this state pass; n_max if it cannot.

        No trial beyond it need be started before one more of the first `n` + 1 is known.
        """
        ahead = np.flatnonzero(self.pass_at[n + 1 :] >= failures)
        return n + 1 + int(ahead[0]) if ahead.size else self.n_max

    def stop_points(self) -> list[tuple[int, int]]:
        """Return every (n, failures) that can be reached and stops the run at a boundary without a pass."""
        ends = self.ends
        return [(int(n), int(f)) for n, f in zip(ends.n[ends.is_bad], ends.failures[ends.is_bad], strict=True)]

    def characteristics(self, rate: float) -> OperatingCharacteristics:
        """Return the operating characteristics for this true rate."""
        ends = self.ends
        chance = ends.chances(rate)
        passes = ends.rank == 0
        fails = ~passes & (np.cumsum(ends.chances(self.p0)[::-1])[::-1] <= self.alpha * (1 + _TIE))
        return OperatingCharacteristics(float(chance[passes].sum()), float(chance[fails].sum()), float(chance @ ends.n))

    def infer(self, n: int, failures: int) -> Inference:
        """Return p-values and interval of a run that ended with `failures` in `n` trials.

        Outcomes are ordered stage-wise: passes (earlier is better), the end of the budget (fewer failures are better),
        other stops (later is better). Then p_pass is the chance at p0 of an outcome as good or better, p_fail of one as
        bad or worse, and the interval holds the rates for which neither is alpha or less. Raises ValueError for a state
        that does not end a run. An inference is kept with the design.
        """
        if (n, failures) not in self._inferred:
            self._inferred[n, failures] = self._infer(n, failures)
        return self._inferred[n, failures]

    @cached_property
    def _inferred(self) -> dict[tuple[int, int], Inference]:
        return {}

    def _infer(self, n: int, failures: int) -> Inference:
        ends = self.ends
        found = np.flatnonzero((ends.n == n) & (ends.failures == failures))
        if found.size == 0:
            raise ValueError(f"no run of this design ends with {failures} failures in {n} trials")
        place = int(found[0])
        at_bar = ends.chances(self.p0)
        p_pass, p_fail = min(1.0, float(at_bar[: place + 1].sum())), min(1.0, float(at_bar[place:].sum()))
        low = ends.up_to(place).rate_at(self.alpha, rises=True) if failures < n else 0.0
        high = ends.since(place).rate_at(self.alpha, rises=False) if failures > 0 else 1.0
        if ends.rank[place] > 0:  # level that spending left unused must not look like a pass
            p_pass, low = max(p_pass, min(1.0, self.alpha * _ABOVE)), min(low, self.p0 / _ABOVE)
        return Inference(p_pass, p_fail, (low, high))

    def completed(self, n: int, failures: int, *, good: bool) -> tuple[int, int]:
        """Return the state to infer from for a run cut short here: its end if the rest were all good, or all bad."""
        return self.ending_of(n, failures, good=good)

    def ending_of(self, n: int = 0, failures: int = 0, *, good: bool) -> tuple[int, int]:
        """Return the end of a run in this state if every further trial succeeds, or if every one fails."""
        while self.ending(n, failures) is None:
            n, failures = n + 1, failures + (not good)
        return n, failures

    @cached_property
    def ends(self) -> "_Ends":
        """All endings, with the number of ways to each."""
        return _count_paths(self)


@dataclass(frozen=True, slots=True)
class _Ends:
    """Every (n, failures) that can end a run, from the best to the worst, with the number of ways there.

    `rank` is 0 for a pass, 1 for the end of the budget, 2 for a stop at a boundary.
    """

    n: NDArray[np.int64]
    failures: NDArray[np.int64]
    rank: NDArray[np.int64]
    log_ways: NDArray[np.float64]

    @property
    def is_bad(self) -> NDArray[np.bool_]:
        return np.equal(self.rank, 2)

    def chances(self, rate: float) -> NDArray[np.float64]:
        """Return the chance of each ending at a true rate."""
        successes = self.n - self.failures
        with np.errstate(divide="ignore", invalid="ignore"):
            good = np.where(successes > 0, successes * np.log(rate), 0.0)
            bad = np.where(self.failures > 0, self.failures * np.log1p(-rate), 0.0)
        return np.asarray(np.exp(self.log_ways + good + bad))

    def up_to(self, place: int) -> Self:
        """Return the endings as good as the one at `place`, or better."""
        return self._part(slice(None, place + 1))

    def since(self, place: int) -> Self:
        """Return the endings as bad as the one at `place`, or worse."""
        return self._part(slice(place, None))

    def rate_at(self, chance: float, *, rises: bool) -> float:
        """Return the rate that gives these endings together this chance, which rises with the rate or falls."""
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            too_much = float(self.chances(middle).sum()) > chance
            low, high = (low, middle) if too_much == rises else (middle, high)
        return low if rises else high

    def _part(self, part: slice) -> Self:
        return type(self)(self.n[part], self.failures[part], self.rank[part], self.log_ways[part])


@lru_cache(maxsize=256)
def design(
    p0: float, n_max: int, *, alpha: float, rho: float = RHO, stop: StopRule = "gate", min_trials: int = 1
) -> Design:
    """Return the exact sequential test of "the rate is above p0" with at most `n_max` trials.

    Hypotheses: for a pass, the rate is at most p0; for a fail, at least p0. Each is rejected wrongly with a chance of
    at most `alpha`, whatever the rate. `p0` and `alpha` are strictly between 0 and 1; of `min_trials`, at most n_max
    count. A design of 1,000 trials takes about 20 ms and is kept.
    """
    if not (0 < p0 < 1 and 0 < alpha < 1 and n_max >= 1 and rho > 0 and min_trials >= 1):
        found = f"p0={p0}, n_max={n_max}, alpha={alpha}, rho={rho}, min_trials={min_trials}"
        raise ValueError(f"found {found}: use shares, sizes, rho > 0")
    n = np.arange(n_max + 1)
    first = min(min_trials, n_max)
    pass_at, type_one = _boundary(p0, n_max, alpha, rho, first)
    successes_at, _ = _boundary(1 - p0, n_max, alpha, rho, first)
    fail_at = np.where(successes_at >= 0, n - successes_at, n_max + 1)
    within = later_passes(pass_at)
    for boundary in (pass_at, fail_at, within):
        boundary.setflags(write=False)
    return Design(p0, n_max, alpha, rho, stop, first, pass_at, fail_at, within, type_one)


def later_passes(pass_at: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return, for each n, the most failures that still pass at some later n; -1 if there is no such n."""
    later = np.concatenate([pass_at[1:], [-1]])
    return np.maximum.accumulate(later[::-1])[::-1]


def _boundary(p0: float, n_max: int, alpha: float, rho: float, first: int) -> tuple[NDArray[np.int64], float]:
    """Return, for each n, the most failures that pass within the level allowed by n; and the level spent.

    The first look is at n = `first`: it also gets the level of all n before.
    """
    q = 1 - p0
    most = int(np.searchsorted(at_most(np.arange(n_max + 1), n_max, q), alpha * (1 + _TIE), side="right"))
    running = np.zeros(most + 1)  # P(still running with f failures); more failures never matter for a pass
    running[0] = 1.0
    spent, least = 0.0, 0  # the fewest failures with which a run still goes on
    allowed = np.full(n_max + 1, -1)
    limits = alpha * (np.arange(n_max + 1) / n_max) ** rho * (1 + _TIE)
    for n in range(1, n_max + 1):
        running[1:] = p0 * running[1:] + q * running[:-1]
        running[0] *= p0
        if n < first or spent + running[least] > limits[n]:
            continue
        reached = np.cumsum(running)
        failures = int(np.searchsorted(spent + reached, limits[n], side="right")) - 1
        if failures >= 0 and reached[failures] > 0:
            allowed[n] = failures
            spent += float(reached[failures])
            least = failures + 1
            running[:least] = 0.0
            if least > most:
                break
    return allowed, spent


def _count_paths(plan: Design) -> _Ends:
    """Count, in logarithms, the sequences of outcomes that lead to each ending."""
    found: list[tuple[int, int, int, NDArray[np.float64]]] = []  # rank, n, fewest failures, ways with so many and more
    ways, first, none = np.zeros(1), 0, [-np.inf]  # to the running states, which have `first` failures, one more, ...
    for n, (pass_at, end_at) in enumerate(np.stack([plan.pass_at, plan.end_at], axis=1)[1:].tolist(), start=1):
        ways = np.logaddexp(np.concatenate([ways, none]), np.concatenate([none, ways]))
        passed = min(max(pass_at + 1 - first, 0), ways.size)
        going = min(max(end_at - first, passed), ways.size)
        found += [(0, n, first, ways[:passed]), (2, n, first + going, ways[going:])]
        ways, first = ways[passed:going], first + passed
        if not ways.size:
            break
    found.append((1, plan.n_max, first, ways))
    found.sort(key=lambda ended: (ended[0], ended[1] if ended[0] == 0 else -ended[1]))
    sizes = [each.size for *_, each in found]
    rank, n_of, fewest = (np.repeat([ended[place] for ended in found], sizes) for place in range(3))
    since = np.concatenate([np.arange(size) for size in sizes])
    return _Ends(n_of, fewest + since, rank, np.concatenate([each for *_, each in found]))
