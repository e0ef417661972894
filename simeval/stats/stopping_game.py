"""A game of stopping: the costs of the trials of a test, of a pass at the bar, and of a missed good app.

Every path through (trials, failures) has a likelihood at the bar, at the rates above it that keep power, and on average
over the rates that count trials. All are kept relative to their mean, so that none is too small or too large for a
float; under that mean the next trial is good with a chance that depends on the state of the path.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import scipy
from numpy.typing import NDArray

from simeval.core.arrays import Floats
from simeval.stats.binomial import at_most, log_factorials, most_misses

Bounds = NDArray[np.int64]

BELOW = 0.15  # trials are counted for true rates from so far under the bar to 1
WORTH = 20.0  # trials that a rate which is expected is worth: rates near it weigh more
UP = 0.95  # of the way from the bar to 1: the rate of a good app


def log_average(
    successes: Bounds, failures: Bounds, p0: float, expected: float | None = None, share_good: float = 0.0
) -> Floats:
    """Return the logarithm of the likelihood, on average over the true rates that count trials.

    They all have the same weight; with a rate `expected`, the weight after `WORTH` trials with that share of successes.
    Of all the weight `share_good` is on a good app: one `UP` of the way from the bar to 1.
    """
    if share_good > 0:
        evenly, rate = log_average(successes, failures, p0, expected), p0 + UP * (1 - p0)
        of_good = successes * np.log(rate) + failures * np.log1p(-rate)
        return np.asarray(np.logaddexp(np.log1p(-share_good) + evenly, np.log(share_good) + of_good))
    good, bad = (0.0, 0.0) if expected is None else (WORTH * expected, WORTH * (1 - expected))
    return log_mean(successes, failures, max(p0 - BELOW, 0.0), good, bad)


def log_mean(successes: Bounds, failures: Bounds, lowest: float, good: float = 0.0, bad: float = 0.0) -> Floats:
    """Return the logarithm of the likelihood, on average over the true rates from `lowest` to 1.

    They weigh all alike, or as after `good` successes and `bad` failures.
    """
    if good or bad:
        of_beta = scipy.special
        share = of_beta.betaincc(successes + good + 1, failures + bad + 1, lowest) / of_beta.betaincc(
            good + 1, bad + 1, lowest
        )
        all_rates = of_beta.betaln(successes + good + 1, failures + bad + 1) - of_beta.betaln(good + 1, bad + 1)
    else:
        n = successes + failures + 1
        share, ways = at_most(successes, n, lowest) / (1 - lowest), log_factorials(int(n.max()))
        all_rates = ways[successes] + ways[failures] - ways[n]
    return np.where(share > 0, all_rates + np.log(np.where(share > 0, share, 1.0)), -np.inf)


@dataclass(frozen=True, slots=True)
class Prices:
    """The costs of errors, in trials: a pass at the bar, and a missed good app.

    `place` is the index (from 0) of the rate at which the app is missed; a fraction shares the price between two rates.
    Three arrays of one length: each entry is a game of its own.
    """

    wrong: Floats
    missed: Floats
    place: Floats

    @classmethod
    def grid(cls, wrong: Floats, missed: Floats, place: Floats) -> Self:
        """Return all combinations of these prices and places."""
        return cls(*(each.ravel() for each in np.meshgrid(wrong, missed, place, indexing="ij")))

    def at(self, game: int) -> Self:
        """Return the prices of one game."""
        return type(self)(self.wrong[[game]], self.missed[[game]], self.place[[game]])

    def around(self, width: float, side: int) -> Self:
        """Return a grid of prices around those of the first game: up to a factor of exp(width) away, `side` of each."""
        reach, shift = np.exp(np.linspace(-width, width, side)), width * np.linspace(-0.8, 0.8, 3)
        return self.grid(self.wrong[0] * reach, self.missed[0] * reach, self.place[0] + shift)

    def shares(self, rates: int) -> Floats:
        """Return the price of a miss at each of so many rates, a row for each game."""
        place = np.clip(self.place, 0, rates - 1)[:, None]
        return np.asarray(self.missed[:, None] * np.maximum(1 - np.abs(place - np.arange(rates)), 0))


class Stops(NamedTuple):
    """The boundaries of several tests, a row for each: the most failures that pass, the fewest that end without a pass.

    From the last state of a game, of `width` states, a test always ends.
    """

    pass_at: Bounds
    end_at: Bounds

    def at_states(self, width: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return whether each test passes, and whether it goes on, with f failures in n trials: [n, test, f]."""
        failures = np.arange(width)
        is_pass = failures <= self.pass_at.T[..., None]
        return is_pass, ~is_pass & (failures < self.end_at.T[..., None])

    def rows(self, which: Sequence[int] | NDArray[np.bool_]) -> "Stops":
        """Return some of the tests, as copies."""
        return Stops(self.pass_at[which], self.end_at[which])


@dataclass(frozen=True, slots=True)
class Game:
    """The paths of a test of at most `n_max` trials whose first look is at trial `first`.

    `gains[n, 0, f]` is the likelihood of f failures in n trials at the bar, `gains[n, 1 + r, f]` at the r-th rate that
    keeps power, `cost[n, f]` its average over the rates that count trials; `good[n, f]` is the chance that trial n + 1
    is good; `start[f]` that of f failures at the first look. A path that comes to the last f has missed. Of the level
    at most `alpha` may be used, and the app of rate r be missed with a chance `may_miss[r]`.
    """

    n_max: int
    first: int
    alpha: float
    may_miss: Floats
    gains: Floats
    cost: Floats
    good: Floats
    start: Floats

    @property
    def width(self) -> int:
        """The number of states after each trial."""
        return self.start.size

    @classmethod
    def of(
        cls,
        p0: float,
        n_max: int,
        first: int,
        alpha: float,
        rates: Sequence[float | None],
        may_miss: Floats,
        expected: float | None = None,
        share_good: float = 0.0,
    ) -> Self:
        """Return the game of the test of "the rate is above p0", with trials counted as in `log_average`.

        Power is held at these rates; None means all rates above the bar, on average.
        """
        n = np.arange(n_max + 1)[:, None]
        failures = np.arange(max(most_misses(n_max, p0, alpha), 0) + n_max // 50 + 4)[None]
        successes = np.maximum(n - failures, 0)
        paths = [
            log_mean(successes, failures, p0) if rate is None else successes * np.log(rate) + failures * np.log1p(-rate)
            for rate in (p0, *rates)
        ]
        every = np.stack([*paths, log_average(successes, failures, p0, expected, share_good)], axis=1)
        largest = every.max(axis=1, keepdims=True)
        shares = np.exp(every - largest)
        mean = shares.mean(axis=1, keepdims=True)
        every = shares / mean
        of_path = (np.log(mean) + largest)[:, 0]
        with np.errstate(over="ignore"):
            good = np.minimum(np.exp(of_path[1:] - of_path[:-1]), 1.0)
        factorials = log_factorials(max(first, failures.size))
        ways = factorials[first] - factorials[failures[0]] - factorials[np.maximum(first - failures[0], 0)]
        start = np.where(failures[0] <= first, np.exp(ways + of_path[first]), 0.0)
        return cls(n_max, first, alpha, may_miss, every[:, :-1], every[:, -1], good, start)

    def least(self, prices: Prices) -> Floats:
        """Return the value of each game under the best test, less its allowed losses: a bound on the mean trials."""
        values = self._play(prices, None) @ self.start
        beyond = 1 - self.gains[self.first, 1:] @ self.start  # has missed before the first look
        missed = prices.shares(self.may_miss.size) @ (beyond - self.may_miss)
        return np.asarray(self.first + values + missed - prices.wrong * self.alpha)

    def best_stops(self, prices: Prices) -> Stops:
        """Return the stops of the best play of each game."""
        size = (prices.wrong.size, self.n_max + 1)
        found = Stops(np.full(size, -1), np.full(size, self.width - 1))
        self._play(prices, found)
        return found

    def arrivals(self, stops: Stops, *, kept: bool = False) -> tuple[Floats, Floats]:
        """Return the level, the power at each rate and the mean number of trials of each test, and the ways.

        The ways are the chances to come to each state, under the mean of all paths: [n, test, f]; only if `kept`.
        """
        tests, is_pass, is_on = len(stops.pass_at), *stops.at_states(self.width)
        ways = np.zeros((self.n_max + 1 if kept else 0, tests, self.width))
        came, start = np.tile(self.start, (tests, 1)), 0  # the first state to come to
        gains, trials = np.zeros((tests, self.gains.shape[1])), np.full(tests, float(self.first))
        low, most = ((reduced(axis=0) + 1).tolist() for reduced in (stops.pass_at.min, stops.pass_at.max))
        high = np.minimum(stops.end_at.max(axis=0), self.width - 1).tolist()
        for n in range(self.first, self.n_max + 1):
            stop = start + came.shape[1]
            if kept:
                ways[n, :, start:stop] = came
            if (won := min(most[n], stop)) > start:
                gains += (came[:, : won - start] * is_pass[n, :, start:won]) @ self.gains[n, :, start:won].T
            on, off = max(low[n], start), min(high[n], stop)
            if n == self.n_max or off <= on:
                break
            going = came[:, on - start : off - start] * is_on[n, :, on:off]
            trials += going @ self.cost[n, on:off]
            good = going * self.good[n, on:off]
            came, start = np.zeros((tests, off - on + 1)), on
            came[:, :-1] = good
            came[:, 1:] += going - good
        return np.concatenate([gains, trials[:, None]], axis=1), ways

    def prospects(self, stops: Stops) -> Floats:
        """Return the value of continuing from each state, per path to it: [n, test, (level, powers, trials), f].

        Only the states from the last that passes to the first that ends are filled in.
        """
        is_pass, is_on = (each[:, :, None] for each in stops.at_states(self.width))
        found = np.zeros((self.n_max + 1, len(stops.pass_at), self.gains.shape[1] + 1, self.width))
        low = np.maximum(stops.pass_at.min(axis=0), 0).tolist()
        high = np.minimum(stops.end_at.max(axis=0), self.width - 2).tolist()
        bad = 1 - self.good
        for n in range(self.n_max - 1, self.first - 1, -1):
            part, ahead = slice(low[n], high[n] + 1), slice(low[n], high[n] + 2)
            after = found[n + 1, ..., ahead] * is_on[n + 1, ..., ahead]
            after[:, :-1] += self.gains[n + 1, :, ahead] * is_pass[n + 1, ..., ahead]
            found[n, ..., part] = self.good[n, part] * after[..., :-1] + bad[n, part] * after[..., 1:]
            found[n, :, -1, part] += self.cost[n, part]
        return found

    def _play(self, prices: Prices, found: Stops | None) -> Floats:
        """Return the value of each state at the first look, by backward induction; write the stops into `found`.

        Where even one trial more costs more than a stop, the stop is best: only states between are looked at.
        """
        low, high = (each.tolist() for each in self._window(prices))
        wrong, missed = prices.wrong[:, None], prices.shares(self.may_miss.size)
        gains, n_max, bad = self.gains, self.n_max, 1 - self.good
        values = np.empty((wrong.size, self.width))
        for n in range(n_max, self.first - 1, -1):
            part, further = slice(low[n], high[n] + 1), slice(low[n] + 1, high[n] + 2)
            if n < n_max and low[n] < low[n + 1]:  # a state below the window is a pass
                values[:, low[n] : low[n + 1]] = wrong * gains[n + 1, 0, low[n] : low[n + 1]]
            if n < n_max and high[n] >= high[n + 1]:  # and one above it a miss
                edge = slice(high[n + 1] + 1, further.stop)
                values[:, edge] = missed @ gains[n + 1, 1:, edge]
            passing = wrong * gains[n, 0, part]
            ending = missed @ gains[n, 1:, part]
            best = np.minimum(passing, ending)
            if n < n_max:
                after = self.cost[n, part] + self.good[n, part] * values[:, part] + bad[n, part] * values[:, further]
                best = np.minimum(best, after)
            values[:, part] = best
            if found:
                is_pass, is_end = passing <= best, ending <= best
                found.pass_at[:, n] = low[n] - 1 + is_pass.sum(axis=1)
                found.end_at[:, n] = high[n] + 1 - (is_end & ~is_pass).sum(axis=1)
        values[:, : low[self.first]] = wrong * gains[self.first, 0, : low[self.first]]
        values[:, high[self.first] + 1 :] = missed @ gains[self.first, 1:, high[self.first] + 1 :]
        return values

    def _window(self, prices: Prices) -> tuple[Bounds, Bounds]:
        """Return the first and the last state after each trial from which continuing may be best, at these prices."""
        is_pass = prices.wrong.max() * self.gains[:, 0] <= self.cost
        dearest = prices.shares(self.may_miss.size).max(axis=0)
        is_end = np.einsum("r,nrf->nf", dearest, self.gains[:, 1:]) <= self.cost
        last = self.width - 2
        low = np.minimum(np.argmin(is_pass, axis=1), last)
        high = last - np.argmin(is_end[:, last::-1], axis=1)
        return np.minimum(low, high), np.maximum(low, high)
