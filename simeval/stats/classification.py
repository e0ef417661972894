"""Precision, recall and F1 of a classifier, with bootstrap intervals that resample whole examples.

Answers are counted once, by true and predicted class; a draw then needs the counts alone, because resampling examples
independently draws the number of each kind of example from a multinomial distribution.

References: B. Efron and R. J. Tibshirani (1993), An Introduction to the Bootstrap, section 13.3 (percentile interval);
J. Opitz and S. Burst (2019), "Macro F1 and Macro F1" (the mean of the classes' F1 is meant here).
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from simeval.core.arrays import Floats
from simeval.core.seeds import derive

NONE = -1  # the class of an answer that is none of the classes
N_DRAWS = 1999

_MOST_AT_ONCE = 2_000_000  # numbers of one array of draws

Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers, counted: an entry for each kind of example, class that was right, and class that was answered.

    Examples are of one kind where their answers are the same, however often each was asked.
    """

    kind: Places
    actual: Places
    predicted: Places  # NONE if it was none of the classes
    count: Floats  # answers of this entry in one example of the kind
    examples: Floats  # how many examples there are of each kind
    n_classes: int


@dataclass(frozen=True, slots=True)
class Interval:
    """The percentile interval of a measure; NaN where no draw defines it."""

    low: float
    high: float
    n_undefined: int  # draws with a measure of 0/0; the interval is that of the others


def count_answers(
    actual: Sequence[int], predicted: Sequence[int], examples: Sequence[int | str], *, n_classes: int
) -> Answers:
    """Count answers, one entry each: the class that was right, the class answered (or NONE), the example it was of."""
    of_example: dict[int | str, list[tuple[int, int]]] = defaultdict(list)
    for right, answered, example in zip(actual, predicted, examples, strict=True):
        of_example[example].append((right, answered))
    kinds = Counter(tuple(sorted(answers)) for answers in of_example.values())
    rows = [
        (kind, *answer, times)
        for kind, answers in enumerate(kinds)
        for answer, times in sorted(Counter(answers).items())
    ]
    table = np.array(rows, dtype=np.intp).reshape(len(rows), 4)
    return Answers(
        kind=table[:, 0],
        actual=table[:, 1],
        predicted=table[:, 2],
        count=table[:, 3].astype(np.float64),
        examples=np.array(list(kinds.values()), dtype=np.float64),
        n_classes=n_classes,
    )


def measures(answers: Answers) -> Mapping[str, Floats]:
    """Return each measure of the answers: of all classes in one array, or, named "macro.f1" and so on, one number.

    "hits", "actual" and "predicted" are counts by class. "precision" is hits / predicted, "recall" hits / actual,
    "f1" 2 hits / (actual + predicted). "macro" is the mean over the classes, "weighted" that with the classes'
    actual counts as weights, "micro" that of all counts added up. 0/0 is NaN, and so is a mean over one.
    """
    found = _measures(answers, answers.examples[None, :], skip=False)
    return {name: values[0] for name, values in found.items()}


def bootstrap_intervals(
    answers: Answers, names: Sequence[str], *, alpha: float, n_draws: int = N_DRAWS, seed: int = 0
) -> Mapping[str, list[Interval]]:
    """Return the percentile intervals of measures, `alpha` on each side: one for each class, or one.

    Hypothesis: none is tested. Each draw takes as many examples as there are, with replacement and with all of their
    answers. Approximate: asymptotic in the number of examples, and too narrow with few (below about 50) or near 0
    and 1. In a draw without a class a mean is that of the classes it has. The same seed gives the same intervals.
    """
    n = int(answers.examples.sum())
    if n < 1:
        raise ValueError("There are no answers to draw from; count some first.")
    random = np.random.default_rng(derive(seed, "classification"))
    at_once = max(1, _MOST_AT_ONCE // max(answers.kind.size, answers.n_classes))
    drawn: dict[str, list[Floats]] = {name: [] for name in names}
    for first, last in pairwise([*range(0, n_draws, at_once), n_draws]):
        weights = random.multinomial(n, answers.examples / n, size=last - first).astype(np.float64)
        found = _measures(answers, weights, skip=True)
        for name in names:
            drawn[name].append(found[name].reshape(last - first, -1))
    return {name: [_interval(column, alpha) for column in np.concatenate(drawn[name]).T] for name in names}


def _measures(answers: Answers, weights: Floats, *, skip: bool) -> Mapping[str, Floats]:
    """Return the measures for each row of `weights`, the number of examples of each kind.

    `skip` leaves classes out of a mean that are undefined.
    """
    counts = weights[:, answers.kind] * answers.count
    right = answers.actual == answers.predicted
    hits = _by_class(counts[:, right], answers.actual[right], answers.n_classes)
    actual = _by_class(counts, answers.actual, answers.n_classes)
    named = answers.predicted != NONE
    predicted = _by_class(counts[:, named], answers.predicted[named], answers.n_classes)
    found = {"hits": hits, "actual": actual, "predicted": predicted}
    for name, values in _ratios(hits, actual, predicted):
        found[name] = values
        found[f"macro.{name}"] = _mean(values, np.ones_like(values), skip=skip)
        found[f"weighted.{name}"] = _mean(values, actual, skip=skip)
    totals = (each.sum(axis=1) for each in (hits, actual, predicted))
    return found | {f"micro.{name}": values for name, values in _ratios(*totals)}


def _ratios(hits: Floats, actual: Floats, predicted: Floats) -> Iterator[tuple[str, Floats]]:
    yield "precision", _ratio(hits, predicted)
    yield "recall", _ratio(hits, actual)
    yield "f1", _ratio(2 * hits, actual + predicted)


def _ratio(part: Floats, whole: Floats) -> Floats:
    return np.asarray(np.divide(part, whole, out=np.full(np.shape(part), np.nan), where=whole > 0))


def _mean(values: Floats, weights: Floats, *, skip: bool) -> Floats:
    counting = (weights > 0) & ~(np.isnan(values) & skip)
    total = np.where(counting, weights, 0).sum(axis=1)
    return _ratio(np.where(counting, weights * values, 0).sum(axis=1), total)


def _by_class(counts: Floats, classes: Places, n_classes: int) -> Floats:
    """Return the sums of columns of one class, a column for each class."""
    sums = np.zeros((counts.shape[0], n_classes))
    if classes.size:
        order = np.argsort(classes, kind="stable")
        there, starts = np.unique(classes[order], return_index=True)
        sums[:, there] = np.add.reduceat(counts[:, order], starts, axis=1)
    return sums


def _interval(draws: Floats, alpha: float) -> Interval:
    defined = draws[~np.isnan(draws)]
    if not defined.size:
        return Interval(np.nan, np.nan, draws.size)
    low, high = np.quantile(defined, [alpha, 1 - alpha], method="weibull")
    return Interval(float(low), float(high), draws.size - defined.size)
