"""The sequential test of a rate that takes the fewest trials on average, at the level and power of spending.

The spending design of `sequential` is exact, but not the cheapest test of its level and power. Here a run at a gate
also ends where a pass has become unlikely, and the boundaries are those of a Bayes test: a wrong pass has a price, a
good app that is missed another, and backward induction over (trials, failures) finds which stops are cheapest at
once. The prices are those at which level and power are used up. The value of that game is a bound that no test of this
level and power can beat, so it is known how far a design is from the best. Because outcomes are discrete, level and
power are rarely used up exactly: single steps of both boundaries then use what is left. What is found is counted
anew over all sequences of outcomes, and thrown away where it breaks a promise.

    failures │  end: a pass has become unlikely
             │       ┌──────────────
             │ ┌─────┘  go on  ┌────
             │─┘       ┌───────┘
             │         │  pass
             └─────────┴──────────── trials

References: A. Wald and J. Wolfowitz (1948), "Optimum character of the sequential probability ratio test", Ann. Math.
Statist. 19 (Bayes stopping); J. Kiefer and L. Weiss (1957), "Some properties of generalized sequential probability
ratio tests", Ann. Math. Statist. 28.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.special import expit, logit

from simeval.core.arrays import Floats
from simeval.stats.sequential import Design, design
from simeval.stats.stopping_game import Bounds, Game, Prices, Stops, log_average

LOSS = 0.001  # of power, at most, against the spending design, at every rate above the bar
LARGEST = 1_000  # trials; a larger design is that of spending
_POWERS = np.array([0.1, 0.25, 0.45, 0.65, 0.8, 0.9, 0.95, 0.98, 0.99, 0.997])  # of spending, where power is held
_HELD = 0.9  # of the loss, at those rates, so that those between them keep to it too
_ODDS = np.linspace(0.04, 8, 200)  # rates above the bar, by what is added to the logarithm of its odds
_ROUNDS, _NARROWER = 6, 0.55  # of the search for the prices, each on a narrower grid
_WIDTHS = (0.5, 0.15, 0.05, 0.02)  # of the grids on which designs are tried that keep level and power
_STEPS, _PATIENCE = 20, 6  # at most, and without a better design
_NEAR = 0.005  # of the bound: near enough
_DEARER, _DEAREST = 3.0, 1000.0  # times its price is what a broken promise costs in the search, and at last
_ROUNDING = 1e-11  # of the level, by which sums of many chances may be wrong


@dataclass(frozen=True)
class OptimalDesign(Design):
    """A design at whose gate a run also ends where a pass has become unlikely: all of its stops bind.

    `within[n]` is the largest number of failures in n trials with which a run goes on. No test with this n_max and this
    level has a smaller `average_n` than `least_n`, unless it loses more power than nine tenths of `LOSS` somewhere.
    Where a rate was `expected`, trials near it weighed more: that is all that it changes.
    """

    least_n: float
    expected: float | None = None

    @property
    def end_points(self) -> list[tuple[int, int]]:
        """The points (n, failures) such that a run with at least that many failures in n trials ends without a pass."""
        return [(n, int(self.end_at[n])) for n in range(self.min_trials, self.n_max) if self.end_at[n] <= n]

    @property
    def fail_points(self) -> list[tuple[int, int]]:
        """The points at which "below p0" is proven where a run ends there."""
        ends = self.ends
        chances = np.cumsum(ends.chances(self.p0)[::-1])[::-1]
        proven = np.flatnonzero(ends.is_bad & (chances <= self.alpha))
        fewest: dict[int, int] = {}
        for n, failures in zip(ends.n[proven].tolist(), ends.failures[proven].tolist(), strict=True):
            fewest[n] = min(failures, fewest.get(n, failures))
        return sorted(fewest.items())

    def chance_left(self, n: int, failures: int) -> float:
        """Return the chance that a run in this state would still pass if it went on, given all it has come to so far.

        Before the first trial all true rates from 15 points under p0 to 1 are taken to be as likely.
        """
        if (n, failures) not in self._left:
            self._left[n, failures] = self._chance_left(n, failures)
        return self._left[n, failures]

    @cached_property
    def _left(self) -> dict[tuple[int, int], float]:
        return {}

    def _chance_left(self, n: int, failures: int) -> float:
        more = np.arange(max(int(self.pass_at.max()) - failures, 0) + 1)
        running = np.zeros(more.size)
        running[0] = 1.0
        passed = 0.0
        for after in range(n, self.n_max):
            successes = after - failures - more
            is_possible = successes >= 0
            before, good = (log_average(np.maximum(successes + one, 0), failures + more, self.p0) for one in (0, 1))
            moved = running * np.where(is_possible, np.exp(good - before), 0.0)
            moved[1:] += (running - moved)[:-1]
            allowed = max(int(self.pass_at[after + 1]) - failures + 1, 0)
            passed += float(moved[:allowed].sum())
            moved[:allowed] = 0.0
            running = moved
        return passed


@lru_cache(maxsize=256)
def optimal_design(
    p0: float, n_max: int, *, alpha: float, min_trials: int = 1, expected: float | None = None
) -> Design:
    """Return the test of "the rate is above p0" at a gate with at most `n_max` trials, and the fewest on average.

    Hypotheses and arguments are those of `design`, and so is the level. The chance of a pass is that of the spending
    design or more, less `LOSS` at most, whatever the true rate. Where that design passes nothing, looks but once or
    has more than `LARGEST` trials, or nothing cheaper is found, it is returned itself. A rate that is `expected`, by a
    run before, weighs more where trials are counted; level and power are promised as without. A design of 300 trials
    takes 0.1 to 0.4 seconds, and is kept.
    """
    spending = design(p0, n_max, alpha=alpha, min_trials=min_trials)
    if not spending.can_pass or spending.min_trials == n_max or n_max > LARGEST:
        return spending
    rates = expit(logit(p0) + _ODDS)
    power = _power(spending, rates)
    held = np.unique(np.minimum(np.searchsorted(power, _POWERS), rates.size - 1))
    missed = 1 - power[held] + _HELD * LOSS
    game = Game.of(p0, n_max, spending.min_trials, alpha * (1 - _ROUNDING), rates[held], missed, expected)
    prices, least = _best_prices(game)
    penalties = _DEARER * np.append(prices.wrong, np.full(held.size, prices.missed[0]))
    found = _improved(game, _first_tries(game, prices, penalties, spending), penalties, least)
    return spending if found is None else _made(spending, game, found, least, expected)


def average_n(plan: Design, expected: float | None = None) -> float:
    """Return the trials a design takes on average over the true rates from 15 points under its p0 to 1.

    Rates near one that is `expected` weigh more.
    """
    ends = plan.ends
    chances = np.exp(ends.log_ways + log_average(ends.n - ends.failures, ends.failures, plan.p0, expected))
    return float(chances @ ends.n)


def _power(plan: Design, rates: Floats) -> Floats:
    """Return the chance of a pass at each of these true rates."""
    ends, passes = plan.ends, plan.ends.rank == 0
    successes, failures = (ends.n - ends.failures)[passes, None], ends.failures[passes, None]
    chances = ends.log_ways[passes, None] + successes * np.log(rates) + failures * np.log1p(-rates)
    return np.asarray(np.exp(chances).sum(axis=0))


def _best_prices(game: Game) -> tuple[Prices, float]:
    """Return the prices of the game that is worth most, and what it is worth: the bound on all tests."""
    wrong = 0.05 / game.alpha * game.n_max * np.geomspace(0.4, 25, 4)
    tried = Prices.grid(wrong, game.n_max * np.geomspace(0.3, 50, 5), np.arange(float(game.may_miss.size)))
    best, least, width = tried.at(0), -np.inf, 0.9
    for _ in range(_ROUNDS + 1):
        worth = game.least(tried)
        if worth.max() > least:
            best, least = tried.at(int(worth.argmax())), float(worth.max())
        tried, width = best.around(width, 4), width * _NARROWER
    return best, least


def _broken(game: Game, found: Floats) -> Floats:
    """Return by how much each promise is broken where the last axis holds level, powers and trials."""
    over = np.concatenate([found[..., :1] - game.alpha, 1 - found[..., 1:-1] - game.may_miss], axis=-1)
    return np.asarray(np.maximum(over, 0.0))


def _first_tries(game: Game, prices: Prices, penalties: Floats, spending: Design) -> Stops:
    """Return the designs to go on from: the best plays at prices near the best, by several orders of preference.

    They are those that come cheapest with broken promises paid for, with those paid dearly, and without any; where
    all break one, the spending design too.
    """
    found: dict[tuple[float, ...], tuple[Floats, Stops]] = {}
    for width in _WIDTHS:
        tried = prices.around(width, 3)
        stops = game.best_stops(tried)
        totals, _ = game.arrivals(stops)
        for place, each in enumerate(totals):
            found.setdefault(tuple(each.round(9)), (each, stops.rows([place])))
        prices = tried.at(int((totals[:, -1] + _broken(game, totals) @ penalties).argmin()))
    totals = np.array([each for each, _ in found.values()])
    broken = _broken(game, totals) @ penalties
    keeps = np.flatnonzero(broken == 0)
    orders = (np.argsort(totals[:, -1] + broken)[:4], np.argsort(totals[:, -1] + 10 * broken)[:2])
    chosen = {*orders[0].tolist(), *orders[1].tolist(), *keeps[np.argsort(totals[keeps, -1])[:2]].tolist()}
    tries = [stops for place, (_, stops) in enumerate(found.values()) if place in chosen]
    if not keeps.size:
        tries.append(_stops_of(spending, game.width))
    return Stops(*(np.concatenate(part) for part in zip(*tries, strict=True)))


def _improved(game: Game, stops: Stops, penalties: Floats, least: float) -> Stops | None:
    """Return the best design that keeps all promises on the way of these, one step of a boundary after the other.

    A design that can be made no better but breaks a promise pays more for it from then on.
    """
    dearer, best, fewest, since = np.ones(len(stops.pass_at)), None, np.inf, 0
    for _ in range(_STEPS):
        totals, ways = game.arrivals(stops, kept=True)
        broken = _broken(game, totals)
        keeps = np.flatnonzero(broken.sum(axis=1) == 0)
        since += 1
        if keeps.size and totals[keeps, -1].min() < fewest - 1e-9:
            place = keeps[totals[keeps, -1].argmin()]
            best, fewest, since = stops.rows([place]), float(totals[place, -1]), 0
        if fewest <= least * (1 + _NEAR) or since > _PATIENCE:
            break
        after = totals[:, None] + _changes(game, stops, ways)
        is_going = np.zeros(len(totals), dtype=bool)
        for place in range(len(totals)):
            now, then = (_broken(game, each) @ penalties for each in (totals[place], after[place]))
            while True:
                cost = after[place, :, -1] + dearer[place] * then
                step = int(np.nanargmin(cost))
                is_going[place] = cost[step] < totals[place, -1] + dearer[place] * now - 1e-9
                if is_going[place] or now == 0 or dearer[place] > _DEAREST:
                    break
                dearer[place] *= _DEARER
            if is_going[place]:
                _take(stops, place, step)
        if not is_going.any():
            break
        stops, dearer = stops.rows(is_going), dearer[is_going]
    return best


def _changes(game: Game, stops: Stops, ways: Floats) -> Floats:
    """Return what each single step of a boundary changes, exactly: [test, step, (level, powers, trials)].

    There are four steps after each trial: one failure more passes, one fewer; one fewer ends, one more goes on. NaN
    stands where there is no such step, or no path.
    """
    n, test, last = np.arange(game.n_max + 1)[:, None], np.arange(len(stops.pass_at))[None], game.width - 2
    ahead = game.prospects(stops)
    passing = np.concatenate([game.gains, np.zeros_like(game.gains[:, :1])], axis=1)
    most, fewest, is_open = stops.pass_at.T, stops.end_at.T, n < game.n_max
    steps = (
        (most + 1, 1, -1, (most + 1 < fewest) | ~is_open),
        (most, -1, 1, most >= 0),
        (fewest - 1, 0, -1, (fewest - 1 > most) & is_open),
        (fewest, 0, 1, is_open),
    )
    found = []
    for failures, passes, goes, is_step in steps:
        state = np.clip(failures, 0, last)
        came = np.where(is_step & (state == failures) & (n >= game.first), ways[n, test, state], 0.0)[..., None]
        change = passes * passing[n, :, state] + goes * ahead[n, test, :, state]
        found.append(np.where(came > 0, came * change, np.nan))
    return np.concatenate(found).transpose(1, 0, 2)


def _take(stops: Stops, test: int, step: int) -> None:
    """Take one of the steps of `_changes`, in place."""
    kind, n = divmod(step, stops.pass_at.shape[1])
    if kind < 2:
        stops.pass_at[test, n] += 1 if kind == 0 else -1
        stops.end_at[test, n] = max(stops.end_at[test, n], stops.pass_at[test, n] + 1)
    else:
        stops.end_at[test, n] += -1 if kind == 2 else 1


def _stops_of(plan: Design, width: int) -> Stops:
    """Return the boundaries of a design as a game has them."""
    return Stops(plan.pass_at[None].copy(), np.minimum(plan.end_at, width - 1)[None])


def _made(spending: Design, game: Game, stops: Stops, least: float, expected: float | None) -> Design:
    """Return the design with these boundaries; that of spending, where counting anew finds a promise broken."""
    first = spending.min_trials
    pass_at = np.maximum.accumulate(stops.pass_at[0])
    within = _within(pass_at, np.minimum(stops.end_at[0], spending.fail_at), first)
    for boundary in (pass_at, within):
        boundary.setflags(write=False)
    made = OptimalDesign(
        p0=spending.p0,
        n_max=spending.n_max,
        alpha=spending.alpha,
        rho=0.0,
        stop="gate",
        min_trials=first,
        pass_at=pass_at,
        fail_at=spending.fail_at,
        within=within,
        type_one=float(game.arrivals(Stops(pass_at[None], np.minimum(within + 1, game.width - 1)[None]))[0][0, 0]),
        least_n=least,
        expected=expected,
    )
    rates = expit(logit(made.p0) + _ODDS)
    keeps_level = made.characteristics(made.p0).prob_pass <= made.alpha
    keeps_power = bool(np.all(_power(made, rates) >= _power(spending, rates) - LOSS))
    is_cheaper = average_n(made, expected) < average_n(spending, expected)
    return made if keeps_level and keeps_power and is_cheaper else spending


def _within(pass_at: Bounds, end_at: Bounds, first: int) -> Bounds:
    """Return, for each n, the most failures with which a run goes on: those from which a later pass is possible."""
    within = np.full(pass_at.size, -1)
    for n in range(pass_at.size - 2, -1, -1):
        later = max(int(pass_at[n + 1]), int(within[n + 1]))
        within[n] = min(later, int(end_at[n]) - 1) if n >= first else later
    return within
