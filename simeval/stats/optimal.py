"""The sequential test of a rate that takes the fewest trials on average, at the level and power of spending.

The spending design of `sequential` is exact, but not the cheapest test of its level and power. Here a run at a gate
also ends when a pass has become unlikely, and the boundaries are those of a Bayes test: a wrong pass has a price, a
missed good app another, and backward induction over (trials, failures) finds the cheapest stops. The prices are chosen
so that level and power are used up. The value of that game is a bound that no test of this level and power can beat, so
it is known how far a design is from the best. Because outcomes are discrete, level and power are rarely used up
exactly: single steps of both boundaries then use the rest. The design found is recomputed over all sequences of
outcomes, and rejected if it breaks a promise.

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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial

import numpy as np

from simeval.core.arrays import Floats
from simeval.stats.sequential import Design, design
from simeval.stats.stopping_game import Bounds, Game, Prices, Stops, log_average, log_mean

LARGEST = 1_000  # trials; a larger design is that of spending
_POWERS = np.array([0.1, 0.25, 0.45, 0.65, 0.8, 0.9, 0.95, 0.98, 0.99, 0.997])  # of spending, where power is held
_BESIDE = (0.85, 1.0)  # of power: the average shares a price with the rate of this power, and comes before it
_ODDS = np.linspace(0.04, 8, 200)  # rates above the bar, by the addition to the logarithm of its odds
_CHECKED = np.linspace(0.01, 8, 800)  # the same, for the recount of a design
_BETWEEN = 1e-6  # of power: how much more a rate between those may lose
_ROUNDS, _NARROWER = 6, 0.55  # of the search for the prices, each on a narrower grid
_WIDTHS = (0.5, 0.15, 0.05, 0.02)  # of the grids of designs that keep level and power
_STEPS, _PATIENCE = 20, 6  # at most, and without a better design
_NEAR = 0.005  # of the bound: no further step is looked for
_NEAR_ENOUGH = 0.03  # of the bound: no other game is tried
_DEARER, _DEAREST = 3.0, 1000.0  # times its price: the cost of a broken promise in the search, and at the end
_ROUNDING = 1e-11  # of the level: the possible error of sums of many chances


@dataclass(frozen=True)
class Promise:
    """How much of the power of spending a design keeps, and which apps it saves trials for.

    At no rate above the bar is a pass less likely by more than `loss`, and on average over them by no more than
    `mean_loss`. The search uses only the first share of `held` of both at its own rates, or the next if a rate between
    them would lose too much. Trials are counted for all true rates alike, but for the share `good`, which counts for a
    good app.
    """

    loss: float
    mean_loss: float | None
    held: Sequence[float]
    good: float


FEWEST = Promise(loss=0.01, mean_loss=0.001, held=(0.97, 0.9), good=0.1)
"""One point of power at most, a tenth of a point on average: `--stop fewest`."""
STRICT = Promise(loss=0.001, mean_loss=None, held=(0.9,), good=0.0)
"""A tenth of a point at any rate: `--stop unlikely`, the only one in versions before."""


@dataclass(frozen=True)
class OptimalDesign(Design):
    """A design with a gate that also ends a run when a pass has become unlikely: all of its stops bind.

    `within[n]` is the largest number of failures in n trials that lets a run go on. If trials are counted by `promise`,
    with most weight near an `expected` rate, no test with this n_max and level takes fewer than `least_n` on average,
    unless it loses more power somewhere than the share of `loss` that was held.
    """

    least_n: float
    promise: Promise
    expected: float | None = None

    @property
    def over_least(self) -> float:
        """Return the excess of its trials, counted in that way, over the least of any test, as a share."""
        return average_n(self, self.expected, self.promise.good) / self.least_n - 1

    @property
    def end_points(self) -> list[tuple[int, int]]:
        """The points (n, failures) such that a run with at least that many failures in n trials ends without a pass."""
        return [(n, int(self.end_at[n])) for n in range(self.min_trials, self.n_max) if self.end_at[n] <= n]

    @property
    def fail_points(self) -> list[tuple[int, int]]:
        """Return the points that end a run with "below p0" proven."""
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
    p0: float,
    n_max: int,
    *,
    alpha: float,
    min_trials: int = 1,
    expected: float | None = None,
    promise: Promise = FEWEST,
) -> Design:
    """Return the test of "the rate is above p0" at a gate with at most `n_max` trials, and the fewest on average.

    Hypotheses and arguments are those of `design`, and so is the level. Whatever the true rate, the chance of a pass is
    that of the spending design or more, less the loss that the promise allows. If that design passes nothing, looks but
    once or has more than `LARGEST` trials, or nothing cheaper is found, it is returned itself. An `expected` rate from
    an earlier run gets more weight in the count of trials; the promises on level and power do not change. A design of
    300 trials takes 0.1 to 0.8 seconds, and is kept.
    """
    spending = design(p0, n_max, alpha=alpha, min_trials=min_trials)
    if not spending.can_pass or spending.min_trials == n_max or n_max > LARGEST:
        return spending
    best: OptimalDesign | None = None
    for game in _games(spending, promise, expected):
        prices, least = _best_prices(game)
        penalties = _DEARER * np.append(prices.wrong, np.full(game.may_miss.size, prices.missed[0]))
        stops = _improved(game, _first_tries(game, prices, penalties, spending), penalties, least)
        made = None if stops is None else _made(spending, game, stops, least, promise, expected)
        if made and (best is None or made.over_least < best.over_least):
            best = made
        if best and best.over_least < _NEAR_ENOUGH:
            break
    return best or spending


def _games(spending: Design, promise: Promise, expected: float | None) -> Iterator[Game]:
    """Yield the games to try: each place of the average among the rates, then with less that may be lost."""
    rates = _rates_above(spending.p0, _ODDS)
    power = _power(spending, rates)
    held = sorted({*np.minimum(np.searchsorted(power, _POWERS), rates.size - 1).tolist()})  # np.unique loads numpy.ma
    may_miss, miss_mean = 1 - power[held], 1 - average_power(spending)
    for share in promise.held:
        at, missed = rates[held].tolist(), may_miss + share * promise.loss
        make = partial(
            Game.of,
            spending.p0,
            spending.n_max,
            spending.min_trials,
            spending.alpha * (1 - _ROUNDING),
            expected=expected,
            share_good=promise.good,
        )
        if promise.mean_loss is None:
            yield make(at, missed)
            continue
        for place in np.searchsorted(power[held], _BESIDE).tolist():
            of_mean = miss_mean + share * promise.mean_loss
            yield make([*at[:place], None, *at[place:]], np.insert(missed, place, of_mean))


def average_n(plan: Design, expected: float | None = None, share_good: float = 0.0) -> float:
    """Return the trials a design takes on average over the true rates from 15 points under its p0 to 1.

    Rates near an `expected` one weigh more, and a good app weighs `share_good` (`log_average`).
    """
    ends = plan.ends
    likelihood = log_average(ends.n - ends.failures, ends.failures, plan.p0, expected, share_good)
    return float(np.exp(ends.log_ways + likelihood) @ ends.n)


def average_power(plan: Design) -> float:
    """Return the chance of a pass on average over the true rates above the bar, all as likely."""
    ends, passes = plan.ends, plan.ends.rank == 0
    successes, failures = (ends.n - ends.failures)[passes], ends.failures[passes]
    return float(np.exp(ends.log_ways[passes] + log_mean(successes, failures, plan.p0)).sum())


def _rates_above(p0: float, added: Floats) -> Floats:
    """Return the rates whose odds have a logarithm so much above that of the bar's."""
    odds = p0 / (1 - p0) * np.exp(added)
    return np.asarray(odds / (1 + odds))


def _power(plan: Design, rates: Floats) -> Floats:
    """Return the chance of a pass at each of these true rates."""
    ends, passes = plan.ends, plan.ends.rank == 0
    successes, failures = (ends.n - ends.failures)[passes, None], ends.failures[passes, None]
    chances = ends.log_ways[passes, None] + successes * np.log(rates) + failures * np.log1p(-rates)
    return np.asarray(np.exp(chances).sum(axis=0))


def _best_prices(game: Game) -> tuple[Prices, float]:
    """Return the prices of the most valuable game, and its value: the bound on all tests."""
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
    """Return by how much each promise is broken; the last axis holds level, powers and trials."""
    over = np.concatenate([found[..., :1] - game.alpha, 1 - found[..., 1:-1] - game.may_miss], axis=-1)
    return np.asarray(np.maximum(over, 0.0))


def _first_tries(game: Game, prices: Prices, penalties: Floats, spending: Design) -> Stops:
    """Return the designs to go on from: the best plays at prices near the best, by several orders of preference.

    They are the cheapest with broken promises at their price, the cheapest at ten times that, and the cheapest that
    break none; if all break one, the spending design too.
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
                step = int(np.where(np.isnan(cost), np.inf, cost).argmin())  # NaN if no step is left
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
    """Return the exact effect of each single step of a boundary: [test, step, (level, powers, trials)].

    There are four steps after each trial: one failure more passes, one fewer; one fewer ends, one more goes on. NaN if
    there is no such step, or no path.
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


def _made(
    spending: Design, game: Game, stops: Stops, least: float, promise: Promise, expected: float | None
) -> OptimalDesign | None:
    """Return the design with these boundaries; None if the recount finds a broken promise."""
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
        promise=promise,
        expected=expected,
    )
    rates = _rates_above(made.p0, _CHECKED)
    keeps_level = made.characteristics(made.p0).prob_pass <= made.alpha
    keeps_power = bool(np.all(_power(made, rates) >= _power(spending, rates) - promise.loss + _BETWEEN))
    if promise.mean_loss is not None:
        keeps_power = keeps_power and average_power(made) >= average_power(spending) - promise.mean_loss
    is_cheaper = average_n(made, expected, promise.good) < average_n(spending, expected, promise.good)
    return made if keeps_level and keeps_power and is_cheaper else None


def _within(pass_at: Bounds, end_at: Bounds, first: int) -> Bounds:
    """Return, for each n, the most failures that still allow a later pass, so that a run continues."""
    within = np.full(pass_at.size, -1)
    for n in range(pass_at.size - 2, -1, -1):
        later = max(int(pass_at[n + 1]), int(within[n + 1]))
        within[n] = min(later, int(end_at[n]) - 1) if n >= first else later
    return within
