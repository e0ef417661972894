"""The rate a human would find, from a judge's labels and some of a human's."""

from math import isnan
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binom

from simeval.stats.binomial import clopper_pearson
from simeval.stats.calibration import corrected_rate, ppi_mean, rogan_gladen
from tests.support.golden import cases_of, rows_of

SCORES = st.lists(st.floats(0, 1), min_size=1, max_size=20)
RATES = st.floats(0.55, 0.99)


def labelled(n_labels: int, *, n: int = 300, seed: int = 1) -> tuple[list[float | None], list[float]]:
    """Return human labels of the first conversations, and labels of a lenient judge of all."""
    random = np.random.default_rng(seed)
    truth = random.random(n) < 0.8
    judge = np.where(truth, random.random(n) < 0.95, random.random(n) < 0.3)
    human = [float(label) if index < n_labels else None for index, label in enumerate(truth)]
    return human, judge.astype(float).tolist()


def summaries() -> NDArray[np.float64]:
    """Return the human's and the judge's score, 0 to 2, of 586 insights."""
    insights = [insight for row in rows_of("public_summhay") for insight in row["insights"]]
    return np.array([[each["human"], each["judges"]["prompted_gpt-4o"]] for each in insights], dtype=np.float64)


@pytest.mark.parametrize("case", cases_of("ppi_mean"))
def test_prediction_powered_means_equal_the_reference(case: dict[str, Any]) -> None:
    given, expected = case["inputs"], case["expected"]

    found = ppi_mean(
        given["human"], given["judge_on_labelled"], given["judge_on_unlabelled"], alpha=given["alpha_each_side"]
    )

    assert (found.estimate, found.lower, found.upper) == pytest.approx(
        (expected["estimate"], expected["lower"], expected["upper"]), abs=case["tolerance"]
    )


@pytest.mark.parametrize("case", cases_of("rogan_gladen"))
def test_rates_by_rogan_and_gladen_equal_the_reference(case: dict[str, Any]) -> None:
    given, expected = case["inputs"], case["expected"]

    found = rogan_gladen(
        given["judge_rate"],
        given["n_judged"],
        given["sensitivity"],
        given["n_positive_labels"],
        given["specificity"],
        given["n_negative_labels"],
        alpha=0.05,
    )

    assert (found.estimate, found.standard_error) == pytest.approx(
        (expected["estimate"], expected["se"]), abs=case["tolerance"]
    )


def test_a_judge_that_is_always_right_adds_its_conversations() -> None:
    human = [1, 0, 1, 1]

    found = ppi_mean(human, human, [1, 1, 0, 1, 1], alpha=0.05)

    assert (found.estimate, found.standard_error) == pytest.approx((0.8, (0.16 / 5) ** 0.5))


@given(SCORES, SCORES, st.floats(-1, 1))
def test_a_constant_bias_of_the_judge_is_removed(human: list[float], others: list[float], bias: float) -> None:
    fair = ppi_mean(human, human, others, alpha=0.05)
    biased = ppi_mean(human, [x + bias for x in human], [x + bias for x in others], alpha=0.05)

    assert (biased.estimate, biased.lower, biased.upper) == pytest.approx(
        (fair.estimate, fair.lower, fair.upper), abs=1e-7
    )


@given(SCORES, SCORES, st.floats(0.001, 0.4), st.floats(0.001, 0.4))
def test_a_smaller_level_never_narrows_the_interval(
    human: list[float], others: list[float], one: float, other: float
) -> None:
    judged = human[::-1]

    wide = ppi_mean(human, judged, others, alpha=min(one, other))
    narrow = ppi_mean(human, judged, others, alpha=max(one, other))

    assert wide.lower <= narrow.lower <= narrow.estimate <= narrow.upper <= wide.upper


def test_estimate_and_interval_leave_the_scale_unless_it_is_given() -> None:
    human, judged, others = [1, 1, 1, 0], [0, 1, 1, 0], [1, 1, 1, 1]

    free, cut = (ppi_mean(human, judged, others, alpha=0.05, bounds=bounds) for bounds in (None, (0.0, 1.0)))

    assert free.estimate == 1.25
    assert free.lower < 1 < free.upper
    assert (cut.estimate, cut.lower, cut.upper) == (1.0, free.lower, 1.0)


@pytest.mark.parametrize(
    ("human", "judged", "others", "message"),
    [
        ([1, 0], [1], [1], "give pairs"),
        ([], [], [1], "PPI needs both"),
        ([1], [1], [], "PPI needs both"),
        ([1, float("nan")], [1, 1], [1], "missing"),
    ],
)
def test_labels_that_cannot_be_used_are_refused(
    human: list[float], judged: list[float], others: list[float], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        ppi_mean(human, judged, others, alpha=0.05)


@given(st.floats(0.02, 0.98), RATES, RATES)
def test_the_true_rate_is_found_behind_the_judges(truth: float, sensitivity: float, specificity: float) -> None:
    judged = truth * sensitivity + (1 - truth) * (1 - specificity)

    found = rogan_gladen(judged, 1000, sensitivity, 50, specificity, 50, alpha=0.05)

    assert found.estimate == pytest.approx(truth, abs=1e-9)
    assert 0 <= found.lower <= found.estimate + 1e-9
    assert found.estimate - 1e-9 <= found.upper <= 1


@given(st.floats(0.02, 0.98), RATES, RATES)
def test_the_standard_error_is_that_of_a_numerical_gradient(
    judged: float, sensitivity: float, specificity: float
) -> None:
    def rate(*rates: float) -> float:
        return rogan_gladen(rates[0], 300, rates[1], 60, rates[2], 40, alpha=0.05).estimate

    rates, step = (judged, sensitivity, specificity), 1e-6
    variance = 0.0
    for place, n in enumerate((300, 60, 40)):
        above, below = ([x + sign * step * (at == place) for at, x in enumerate(rates)] for sign in (1, -1))
        slope = (rate(*above) - rate(*below)) / (2 * step)
        variance += slope**2 * rates[place] * (1 - rates[place]) / n

    found = rogan_gladen(judged, 300, sensitivity, 60, specificity, 40, alpha=0.05)
    assert found.standard_error == pytest.approx(variance**0.5, rel=1e-4)


def test_a_judge_rate_below_what_its_errors_give_is_an_estimate_below_0() -> None:
    found = rogan_gladen(0.1, 200, 0.9, 50, 0.8, 50, alpha=0.05)

    assert found.estimate == pytest.approx(-1 / 7)
    assert found.lower == 0.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.8, 100, 0.5, 50, 0.5, 50), "specificity is 1; a judge no better than chance"),
        ((0.8, 100, 0.4, 50, 0.5, 50), r"specificity is 0\.9; a judge no better than chance"),
        ((1.2, 100, 0.9, 50, 0.8, 50), "judge rate is 1.2"),
        ((0.8, 100, 0.9, 0, 0.8, 50), "each needs 1 or more"),
    ],
)
def test_a_judge_that_tells_nothing_is_refused(
    arguments: tuple[float, int, float, int, float, int], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        rogan_gladen(*arguments, alpha=0.05)


@pytest.mark.parametrize("n_labels", [49, 80, 251])
def test_the_interval_is_that_of_the_labels_alone_and_exact(n_labels: int) -> None:
    human, judge = labelled(n_labels)

    found = corrected_rate(human, judge, alpha=0.05)

    passed = sum(label for label in human if label is not None)
    assert (found.exact, found.method) == (True, "human labels only (Clopper-Pearson)")
    assert (found.lower, found.upper) == clopper_pearson(int(passed), n_labels, 0.05)
    assert found.estimate == found.human_rate == passed / n_labels
    assert (found.n_labelled, found.n_judged) == (n_labels, 300)
    assert found.judge_rate == sum(judge) / 300
    assert "random subset" in found.conditions[0]
    assert "judge's model or the rubric" in found.conditions[1]


@pytest.mark.parametrize("n_labels", [50, 100, 150, 300])
@pytest.mark.parametrize("rate", [0.8, 0.85, 0.9, 0.95, 0.97, 0.99])
def test_the_lower_bound_is_above_the_true_rate_in_at_most_5_percent(rate: float, n_labels: int) -> None:
    """Whatever the judge says, and of however many: the bound is of the labels, whose number of passes is binomial."""
    chances = binom.pmf(np.arange(n_labels + 1), n_labels, rate)
    human = [[1.0] * passed + [0.0] * (n_labels - passed) for passed in range(n_labels + 1)]
    judge = [True] * n_labels + [False] * 20

    above = [corrected_rate([*people, *[None] * 20], judge, alpha=0.05).lower > rate for people in human]

    assert chances[above].sum() <= 0.05


def test_missing_labels_may_be_none_or_nan_anywhere() -> None:
    human, judge = labelled(80)
    order = np.random.default_rng(3).permutation(300)

    mixed = corrected_rate(np.array(human, dtype=np.float64)[order], np.array(judge)[order] == 1, alpha=0.05)

    plain = corrected_rate(human, judge, alpha=0.05)
    assert (mixed.estimate, mixed.lower, mixed.upper) == pytest.approx((plain.estimate, plain.lower, plain.upper))


def test_without_labels_the_rate_may_be_anything() -> None:
    found = corrected_rate([None] * 5, [True] * 5, alpha=0.05)

    assert (found.lower, found.upper, found.judge_rate) == (0.0, 1.0, 1.0)
    assert isnan(found.estimate)
    assert isnan(found.human_rate)


@settings(max_examples=30)
@given(st.integers(0, 300), st.integers(0, 1000))
def test_the_corrected_interval_contains_the_estimate_within_the_scale(n_labels: int, seed: int) -> None:
    rate = corrected_rate(*labelled(n_labels, seed=seed), alpha=0.05)

    assert 0 <= rate.lower <= rate.upper <= 1
    assert isnan(rate.estimate) or rate.lower <= rate.estimate <= rate.upper


@pytest.mark.parametrize(
    ("human", "judge", "message"),
    [
        ([True, None], [True], "one per conversation"),
        ([True, None], [True, None], "missing"),
        ([True, None], [True, 0.5], "give true for a pass"),
        ([3.0, None], [True, False], "give true for a pass"),
    ],
)
def test_labels_that_are_no_labels_are_refused(
    human: list[float | None], judge: list[float | None], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        corrected_rate(human, judge, alpha=0.05)
