"""Small logistic regression with a ridge penalty, the area under the ROC curve, and folds that keep groups whole.

References: S. le Cessie and J. C. van Houwelingen (1992), "Ridge estimators in logistic regression", Applied
Statistics 41; J. A. Hanley and B. J. McNeil (1982), "The meaning and use of the area under a receiver operating
characteristic (ROC) curve", Radiology 143.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from simeval.core.arrays import Floats, Numbers
from simeval.core.seeds import derive

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Logistic:
    """A fitted model: the logit of a row of features is `bias` plus their sum by `weights`."""

    bias: float
    weights: Floats

    def probabilities(self, features: Floats) -> Floats:
        """Return the probability of each row."""
        found: Floats = scipy.special.expit(self.bias + features @ self.weights)
        return found


def fit_logistic(features: Floats, labels: Numbers, *, penalty: float = 1.0) -> Logistic:
    """Fit a model that is the likeliest, less `penalty` times half the sum of its squared weights.

    The bias bears no penalty. ValueError if a label is missing, or the penalty is not above 0: without one the weights
    have no bounds if the labels can be separated.
    """
    from scipy.optimize import minimize  # takes a quarter of a second to load

    truth = np.asarray(labels, dtype=np.float64)
    if not 0 < truth.mean() < 1:
        raise ValueError("All labels are the same; give some of both.")
    if penalty <= 0:
        raise ValueError(f"The penalty is {penalty!r}; give a number above 0.")

    def loss(parameters: Floats) -> tuple[float, Floats]:
        bias, weights = parameters[0], parameters[1:]
        logits = bias + features @ weights
        error = scipy.special.expit(logits) - truth
        value = np.logaddexp(0.0, logits).sum() - truth @ logits + penalty / 2 * weights @ weights
        return float(value), np.concatenate([[error.sum()], features.T @ error + penalty * weights])

    found = minimize(loss, np.zeros(features.shape[1] + 1), jac=True, method="L-BFGS-B", options={"maxiter": 2000})
    return Logistic(float(found.x[0]), found.x[1:])


def roc_auc(labels: Numbers, scores: Numbers) -> float:
    """Return the chance that a true item has a higher score than a false one, a tie counting one half.

    NaN unless both labels occur. ValueError for lists of unequal length.
    """
    truth, given = np.asarray(labels, dtype=bool), np.asarray(scores, dtype=np.float64)
    if truth.shape != given.shape or truth.ndim != 1:
        raise ValueError(f"There are {truth.size} labels and {given.size} scores; give two lists of equal length.")
    n_true, n_false = int(truth.sum()), int((~truth).sum())
    if not n_true or not n_false:
        return float("nan")
    _, places, counts = np.unique(given, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - (counts - 1) / 2  # equal scores share the mean of their ranks
    ranks = float(middle[places][truth].sum())
    return (ranks - n_true * (n_true + 1) / 2) / (n_true * n_false)


def grouped_folds(groups: Sequence[Hashable], labels: Numbers, *, n_folds: int = 5, seed: int = 0) -> NDArray[np.intp]:
    """Return the fold of each item: those of a group share one, and folds get about as many items of each label.

    Groups are dealt in an order drawn by `seed`, the largest first, each to the fold that it leaves most even in
    labels. ValueError for fewer groups than folds.
    """
    truth = np.asarray(labels, dtype=np.intp)
    rows: dict[Hashable, list[int]] = {}
    for row, group in enumerate(groups):
        rows.setdefault(group, []).append(row)
    if len(rows) < n_folds:
        raise ValueError(f"There are {len(rows)} groups for {n_folds} folds; give more groups or fewer folds.")
    members = list(rows.values())
    drawn = np.random.default_rng(derive(seed, "folds")).permutation(len(members))
    counts = np.zeros((n_folds, 2))
    totals = np.maximum(np.bincount(truth, minlength=2), 1)
    folds = np.zeros(truth.size, dtype=np.intp)
    for place in sorted(drawn, key=lambda each: -len(members[each])):
        added = np.bincount(truth[members[place]], minlength=2)
        uneven = [_uneven(counts + added * (np.arange(n_folds) == fold)[:, None], totals) for fold in range(n_folds)]
        fold = int(np.argmin(uneven))
        counts[fold] += added
        folds[members[place]] = fold
    return folds


def _uneven(counts: Floats, totals: NDArray[np.intp]) -> float:
    return float((counts / totals).std(axis=0).sum())
