"""The rate a human would find, from a judge's labels on all conversations and a human's on some of them.

References: A. N. Angelopoulos, S. Bates, C. Fannjiang, M. I. Jordan and T. Zrnic (2023), "Prediction-powered
inference", Science 382; W. J. Rogan and B. Gladen (1978), "Estimating prevalence from the results of a screening
test", American Journal of Epidemiology 107.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
import scipy
from numpy.typing import NDArray

from simeval.stats.binomial import clopper_pearson

Labels = Sequence[float | None] | NDArray[np.generic]
"""One label for each conversation; None or NaN for a missing one, if that is allowed."""

CONDITIONS = (
    "The labelled conversations must be a random subset of these very conversations.",
    "Label again when the judge's model or the rubric changes.",
)


@dataclass(frozen=True, slots=True)
class CorrectedEstimate:
    """An estimate with its asymptotic interval."""

    estimate: float  # may leave the scale by chance
    standard_error: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class CorrectedRate:
    """The rate a human would find, its method and conditions, and the uncorrected rates beside it."""

    method: str  # in words
    conditions: tuple[str, ...]  # in words: what must be true of the labels
    n_labelled: int
    n_judged: int  # all conversations, labelled or not
    estimate: float  # NaN without labels if the method needs them
    lower: float
    upper: float
    exact: bool  # the interval's error is proven at this very number of labels
    judge_rate: float  # of all conversations
    human_rate: float  # of those labelled; NaN without


def ppi_mean(
    human: Sequence[float] | NDArray[np.generic],
    judge_on_labelled: Sequence[float] | NDArray[np.generic],
    judge_on_unlabelled: Sequence[float] | NDArray[np.generic],
    *,
    alpha: float,
    bounds: tuple[float, float] | None = None,
) -> CorrectedEstimate:
    """Return the prediction-powered estimate of the human mean, with `alpha` on each side.

    Hypothesis: none is tested; the interval holds the means that two one-sided z-tests of level `alpha` would not
    reject. The judge's mean on the unlabelled conversations plus the mean of human - judge on the labelled ones
    (lambda = 1, not tuned), with population variances (divided by n) of both parts. `human` and
    `judge_on_labelled` belong to the same conversations in the same order. Asymptotic in both numbers of
    conversations, and only for labels of a random subset. Not cut to the scale unless `bounds` gives it; then
    estimate, lower and upper are. An interval without width (no spread seen at all) is no certainty. ValueError
    for an empty list, a missing value or lists of unequal length.
    """
    people, judged, others = (_known(values) for values in (human, judge_on_labelled, judge_on_unlabelled))
    if people.shape != judged.shape:
        raise ValueError(f"There are {people.size} human labels and {judged.size} of the judge; give pairs.")
    if not (people.size and others.size):
        raise ValueError("There are no labelled or no unlabelled conversations; PPI needs both.")
    difference = people - judged
    error = sqrt(float(others.var()) / others.size + float(difference.var()) / difference.size)
    estimate, margin = float(others.mean() + difference.mean()), float(scipy.special.ndtri(1 - alpha)) * error
    cut = np.clip([estimate, estimate - margin, estimate + margin], *(bounds or (-np.inf, np.inf)))
    return CorrectedEstimate(float(cut[0]), error, lower=float(cut[1]), upper=float(cut[2]))


def rogan_gladen(
    judge_rate: float,
    n_judged: int,
    sensitivity: float,
    n_positive: int,
    specificity: float,
    n_negative: int,
    *,
    alpha: float,
) -> CorrectedEstimate:
    """Return the true rate behind a judge's, from its sensitivity and specificity on other labelled conversations.

    Hypothesis: none is tested. (judge_rate + specificity - 1) / (sensitivity + specificity - 1), with the standard
    error of the delta method for three independent binomial samples: `n_judged` conversations judged, `n_positive` and
    `n_negative` conversations that a human passed and failed. The interval has `alpha` on each side and is cut to [0,
    1]; the estimate is not: outside [0, 1] it shows that judge rate, sensitivity and specificity do not fit together.
    Asymptotic; holds at another true rate than that of the labelled conversations, but not if sensitivity or
    specificity have moved. ValueError if sensitivity + specificity <= 1 (the judge is then uninformative), a rate is
    outside [0, 1] or a sample is empty.
    """
    for name, rate in (("judge rate", judge_rate), ("sensitivity", sensitivity), ("specificity", specificity)):
        if not 0 <= rate <= 1:
            raise ValueError(f"The {name} is {rate!r}; give a share between 0 and 1.")
    if min(n_judged, n_positive, n_negative) < 1:
        raise ValueError(f"The samples are {n_judged}, {n_positive} and {n_negative}; each needs 1 or more.")
    informed = sensitivity + specificity - 1
    if informed <= 0:
        raise ValueError(
            f"Sensitivity + specificity is {informed + 1:g}; a judge no better than chance is no evidence."
        )
    estimate = (judge_rate + specificity - 1) / informed
    variance = (
        judge_rate * (1 - judge_rate) / n_judged
        + estimate**2 * sensitivity * (1 - sensitivity) / n_positive
        + (1 - estimate) ** 2 * specificity * (1 - specificity) / n_negative
    )
    error = sqrt(variance) / informed
    margin = float(scipy.special.ndtri(1 - alpha)) * error
    lower, upper = np.clip([estimate - margin, estimate + margin], 0.0, 1.0)
    return CorrectedEstimate(estimate, error, lower=float(lower), upper=float(upper))


def corrected_rate(human: Labels, judge: Labels, *, alpha: float) -> CorrectedRate:
    """Return the rate a human would find by labels of a random subset, with `alpha` on each side.

    Hypothesis: none is tested. `judge` holds true or false for every conversation, `human` the same with None or NaN
    for one without a label. The interval is Clopper and Pearson's of the human labels: exact at any number of them,
    whatever the judge is like. The judge's labels of the others would help little and cost the level:
    prediction-powered lower bounds were above the truth in up to 25% of runs (rate .97, sensitivity 1, specificity .5,
    200 judged, 150 labels), and `stratified_rates`, which keeps the level, is wider than the labels alone in 28 of 30
    cells that were tried. Use it for labels drawn by the judge's result. The rate is that of all conversations the app
    would have; these are a sample. ValueError for a missing judge's label, one that is neither true nor false, or lists
    of unequal length.
    """
    people, judged = _labels(human, judge)
    for found in np.unique(np.concatenate([people, judged])):
        if found not in (0, 1):
            raise ValueError(f"A label is {found!r}; give true for a pass, false for a failure.")
    lower, upper = clopper_pearson(int(people.sum()), people.size, alpha)
    return CorrectedRate(
        method="human labels only (Clopper-Pearson)",
        conditions=CONDITIONS,
        n_labelled=people.size,
        n_judged=judged.size,
        estimate=_mean(people),
        lower=lower,
        upper=upper,
        exact=True,
        judge_rate=_mean(judged),
        human_rate=_mean(people),
    )


def _known(values: Labels) -> NDArray[np.float64]:
    numbers = np.array(values, dtype=np.float64)
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise ValueError("A label is missing, or the labels are no list; give one number for each conversation.")
    return numbers


def _labels(human: Labels, judge: Labels) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    everyone, judged = np.array(human, dtype=np.float64), _known(judge)
    if everyone.shape != judged.shape:
        raise ValueError(
            f"There are {everyone.size} human labels and {judged.size} of the judge; give one per conversation."
        )
    return everyone[~np.isnan(everyone)], judged


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if values.size else float("nan")
