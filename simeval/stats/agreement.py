"""Agreement of a judge with people, and of raters with each other.

References: J. Cohen (1960), "A coefficient of agreement for nominal scales", Educational and Psychological
Measurement 20, and (1968), "Weighted kappa", Psychological Bulletin 70; K. Krippendorff (2011), "Computing
Krippendorff's alpha-reliability"; B. Efron and R. J. Tibshirani (1993), An Introduction to the Bootstrap,
section 13.3 (percentile interval).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simeval.core.seeds import derive
from simeval.stats.binomial import clopper_pearson

Ratings = Sequence[float | None] | NDArray[np.generic]
"""One number for each item; None or NaN for a missing one."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A share of n independent items with its exact interval."""

    successes: int
    n: int
    value: float  # NaN where n = 0
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Confusion:
    """A judge's passes and failures against a human's; "true" if the judge agrees with the human."""

    true_pass: int
    false_pass: int  # passed by the judge, failed by the human
    false_fail: int  # failed by the judge, passed by the human
    true_fail: int
    left_out: int  # pairs with a missing label
    sensitivity: Rate  # share of the human's passes that the judge passed
    specificity: Rate  # share of the human's failures that the judge failed
    accuracy: Rate


@dataclass(frozen=True, slots=True)
class Agreement:
    """A coefficient of agreement: 1 is perfect, 0 is chance, negative is worse than chance."""

    value: float  # NaN where undefined
    n: int  # pairs or units that count
    left_out: int  # pairs or units that do not, because a rating is missing


@dataclass(frozen=True, slots=True)
class BootstrapInterval:
    """A statistic with its percentile interval over resampled clusters."""

    estimate: float
    low: float  # NaN where no interval can be given
    high: float
    n_clusters: int
    n_draws: int
    n_undefined: int  # draws with a NaN statistic; the interval is that of the others


def confusion(human: Ratings, judge: Ratings, *, alpha: float) -> Confusion:
    """Return the confusion table of a judge against a human, each rate with `alpha` on each side.

    Hypothesis: none is tested. `human` and `judge` hold n labels, true for a pass, in the same order; a pair of
    which one is None or NaN is left out and counted. The intervals are Clopper and Pearson's: exact for
    independent items, so give one item per conversation. A rate of no items is NaN in [0, 1]. ValueError for
    labels that are neither true nor false, or lists of unequal length.
    """
    people, judged, left_out = _pairs(human, judge)
    for found in np.unique(np.concatenate([people, judged])):
        if found not in (0, 1):
            raise ValueError(f"A label is {found!r}; give true for a pass, false for a failure.")
    true_pass, false_pass = int(np.sum(people * judged)), int(np.sum((1 - people) * judged))
    false_fail, true_fail = int(np.sum(people * (1 - judged))), int(np.sum((1 - people) * (1 - judged)))
    return Confusion(
        true_pass=true_pass,
        false_pass=false_pass,
        false_fail=false_fail,
        true_fail=true_fail,
        left_out=left_out,
        sensitivity=_rate(true_pass, true_pass + false_fail, alpha),
        specificity=_rate(true_fail, true_fail + false_pass, alpha),
        accuracy=_rate(true_pass + true_fail, people.size, alpha),
    )


def cohen_kappa(
    human: Ratings,
    judge: Ratings,
    *,
    weights: Literal["none", "linear", "quadratic"] = "none",
    levels: tuple[int, int] | None = None,
) -> Agreement:
    """Return Cohen's kappa of two raters: 1 - (disagreement observed) / (disagreement expected by chance).

    Hypothesis: none is tested. `human` and `judge` hold n numbers in the same order; a pair with a None or NaN is left
    out and counted. Two ratings x and y disagree by 1 if they differ ("none"), by |x - y| ("linear") or by (x - y)^2
    ("quadratic"), so scores keep their distances even where nobody used a level between them. `levels` (lowest,
    highest) only checks the scale: levels nobody used do not change kappa. NaN if chance expects no disagreement: no
    pairs, or both raters gave the same rating throughout; 0 if they were constant at different ratings. ValueError for
    a rating outside `levels` or lists of unequal length.
    """
    powers = {"none": 0, "linear": 1, "quadratic": 2}
    if weights not in powers:
        raise ValueError(f"The weights are {weights!r}; give none, linear or quadratic.")
    people, judged, left_out = _pairs(human, judge)
    values, places = np.unique(np.concatenate([people, judged]), return_inverse=True)
    if levels is not None and values.size and (values[0] < levels[0] or values[-1] > levels[1]):
        raise ValueError(
            f"Ratings lie from {values[0]:g} to {values[-1]:g}; give them from {levels[0]} to {levels[1]}."
        )
    rows, columns = places[: people.size], places[people.size :]
    table = np.zeros((values.size, values.size))
    np.add.at(table, (rows, columns), 1.0)
    distance = np.abs(values[:, None] - values) ** powers[weights]
    np.fill_diagonal(distance, 0.0)
    chance = np.outer(table.sum(axis=1), table.sum(axis=0)) / max(people.size, 1)
    return Agreement(
        value=_one_minus(np.sum(table * distance), np.sum(chance * distance)), n=rows.size, left_out=left_out
    )


def krippendorff_alpha(
    ratings: Sequence[Ratings] | NDArray[np.generic],
    *,
    level: Literal["nominal", "ordinal", "interval"] = "nominal",
) -> Agreement:
    """Return Krippendorff's alpha of any number of raters: 1 - (disagreement observed) / (expected by chance).

    Hypothesis: none is tested. `ratings` has a row for each rater and a column for each unit, None or NaN if a rater
    did not rate; units with fewer than two ratings do not count and are reported as left out. `level` sets how two
    ratings differ: equal or not, in ranks, or in size. By Krippendorff's custom an alpha below .667 is too low to rely
    on and .8 or more is usable. NaN where alpha is undefined: no unit counts, or all ratings that count are equal
    (there is then no variation that raters could agree on). ValueError if `ratings` is not a table of numbers.
    """
    table = _numbers(ratings)
    if table.ndim != 2:
        raise ValueError(
            f"The ratings have {table.ndim} dimensions; give one row for each rater, one column for each unit."
        )
    counting = np.sum(~np.isnan(table), axis=0) >= 2
    n, left_out = int(np.sum(counting)), int(np.sum(~counting))
    paired = table[:, counting]
    values = np.unique(paired[~np.isnan(paired)])
    counts = np.stack([np.sum(paired == value, axis=0) for value in values], axis=1) if n else np.zeros((0, 0))
    weighted = counts / np.maximum(counts.sum(axis=1, keepdims=True) - 1, 1)
    coincidences = counts.T @ weighted - np.diag(weighted.sum(axis=0))
    totals = counts.sum(axis=0)
    distance = _squared_distance(values, totals, level)
    expected = np.outer(totals, totals) / max(totals.sum() - 1, 1)
    return Agreement(
        value=_one_minus(np.sum(coincidences * distance), np.sum(expected * distance)), n=n, left_out=left_out
    )


def bootstrap_by_cluster(
    statistic: Callable[[NDArray[np.intp]], float],
    clusters: Sequence[str | int] | NDArray[np.generic],
    *,
    alpha: float,
    n_draws: int = 1999,
    seed: int = 0,
) -> BootstrapInterval:
    """Return the percentile interval of a statistic, `alpha` on each side, by resampling whole clusters.

    Hypothesis: none is tested. `clusters` names for each row the conversation it belongs to; each draw takes as many
    conversations as there are, with replacement, and hands `statistic` the indices of all their rows. Approximate: the
    interval is asymptotic in the number of conversations and too narrow with few (below about 50), or near the edge of
    the scale. Draws with a NaN statistic are left out and counted: if they are many, do not trust the interval. The
    bounds are NaN with fewer than two conversations or where no draw is defined. The same seed gives the same interval.
    ValueError where `alpha` is not strictly between 0 and 0.5, or `n_draws` is below 1.
    """
    if not 0 < alpha < 0.5:
        raise ValueError(f"alpha is {alpha!r}; give the error of one side, between 0 and 0.5.")
    if n_draws < 1:
        raise ValueError(f"n_draws is {n_draws!r}; give at least 1.")
    names, places = np.unique(np.asarray(clusters), return_inverse=True)
    rows = np.split(np.argsort(places, kind="stable"), np.cumsum(np.bincount(places))[:-1])
    random = np.random.default_rng(derive(seed, "bootstrap_by_cluster"))
    estimate = float(statistic(np.arange(places.size)))
    if names.size < 2:
        return BootstrapInterval(estimate, np.nan, np.nan, n_clusters=names.size, n_draws=0, n_undefined=0)
    draws = np.array(
        [
            statistic(np.concatenate([rows[chosen] for chosen in random.integers(names.size, size=names.size)]))
            for _ in range(n_draws)
        ]
    )
    defined = draws[~np.isnan(draws)]
    # "weibull" puts the bound at rank alpha * (draws + 1): the 100th smallest of 1999 draws for alpha = 0.05
    low, high = np.quantile(defined, [alpha, 1 - alpha], method="weibull") if defined.size else (np.nan, np.nan)
    return BootstrapInterval(estimate, float(low), float(high), names.size, n_draws, draws.size - defined.size)


def _numbers(ratings: Ratings | Sequence[Ratings]) -> NDArray[np.float64]:
    numbers = np.array(ratings, dtype=np.float64)
    if np.isinf(numbers).any():
        raise ValueError("A rating is infinite; give finite numbers, and NaN or None where there is no rating.")
    return numbers


def _pairs(human: Ratings, judge: Ratings) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    people, judged = _numbers(human), _numbers(judge)
    if people.ndim != 1 or people.shape != judged.shape:
        raise ValueError(f"The ratings have shapes {people.shape} and {judged.shape}; give two lists of equal length.")
    both = ~(np.isnan(people) | np.isnan(judged))
    return people[both], judged[both], int(np.sum(~both))


def _rate(successes: int, n: int, alpha: float) -> Rate:
    return Rate(successes, n, successes / n if n else float("nan"), *clopper_pearson(successes, n, alpha))


def _one_minus(observed: np.float64, expected: np.float64) -> float:
    return float(1 - observed / expected) if expected > 0 else float("nan")


def _squared_distance(
    values: NDArray[np.float64], totals: NDArray[np.float64], level: Literal["nominal", "ordinal", "interval"]
) -> NDArray[np.float64]:
    if level not in ("nominal", "ordinal", "interval"):
        raise ValueError(f"The level is {level!r}; give nominal, ordinal or interval.")
    if level == "nominal":
        return 1.0 - np.eye(values.size)
    # Krippendorff's ordinal distance, the ratings between two values plus half of those at them, is the distance
    # of their middle ranks
    places = values if level == "interval" else np.cumsum(totals) - totals / 2
    return np.asarray((places[:, None] - places) ** 2)
