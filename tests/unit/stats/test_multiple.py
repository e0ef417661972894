"""Corrections for several tests at once."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simeval.stats.multiple import benjamini_hochberg, e_benjamini_hochberg, holm, joint_level
from tests.support.golden import cases_of

P_VALUES = st.lists(st.floats(0, 1), max_size=30)
E_VALUES = st.lists(st.floats(0, 1e4), max_size=30)
LEVELS = st.floats(0.001, 0.4)


@pytest.mark.parametrize("case", cases_of("holm_adjusted"))
def test_holms_p_values_equal_the_reference(case: dict[str, Any]) -> None:
    assert holm(case["inputs"]["p_values"]) == pytest.approx(case["expected"]["adjusted"], abs=case["tolerance"])


@pytest.mark.parametrize("case", cases_of("bh_adjusted"))
def test_benjamini_and_hochbergs_p_values_equal_the_reference(case: dict[str, Any]) -> None:
    adjusted = benjamini_hochberg(case["inputs"]["p_values"])

    assert adjusted == pytest.approx(case["expected"]["adjusted"], abs=case["tolerance"])


@pytest.mark.parametrize("case", cases_of("e_benjamini_hochberg"))
def test_rejected_e_values_equal_the_reference(case: dict[str, Any]) -> None:
    rejected = e_benjamini_hochberg(case["inputs"]["e_values"], case["inputs"]["alpha"])

    assert rejected == case["expected"]["rejected"]
    assert len(rejected) == case["expected"]["n_rejected"]


def test_p_values_of_a_published_table() -> None:
    # R 4: p <- c(0.01, 0.02, 0.03, 0.04, 0.05); p.adjust(p, "holm"); p.adjust(p, "BH")
    p_values = [0.01, 0.02, 0.03, 0.04, 0.05]

    assert holm(p_values) == pytest.approx([0.05, 0.08, 0.09, 0.09, 0.09])
    assert benjamini_hochberg(p_values) == pytest.approx([0.05] * 5)


@given(P_VALUES.filter(bool))
def test_benjamini_and_hochbergs_p_values_agree_with_scipys(p_values: list[float]) -> None:
    from scipy.stats import false_discovery_control

    assert benjamini_hochberg(p_values) == pytest.approx(list(false_discovery_control(p_values)), rel=1e-12)


def step_down_rejections(p_values: list[float], alpha: float) -> set[int]:
    """Reject one after another, smallest first, while p <= alpha / (number left)."""
    rejected: set[int] = set()
    for place, index in enumerate(np.argsort(p_values, kind="stable")):
        if p_values[index] * (len(p_values) - place) > alpha:
            break
        rejected.add(int(index))
    return rejected


@given(P_VALUES, LEVELS)
def test_holms_p_values_reject_what_his_steps_reject(p_values: list[float], alpha: float) -> None:
    adjusted = holm(p_values)

    assert {index for index, p in enumerate(adjusted) if p <= alpha} == step_down_rejections(p_values, alpha)


@given(P_VALUES)
def test_adjusted_p_values_lie_between_the_raw_one_and_bonferronis(p_values: list[float]) -> None:
    for raw, discovery, family in zip(p_values, benjamini_hochberg(p_values), holm(p_values), strict=True):
        assert raw - 1e-12 <= discovery <= family + 1e-12
        assert family <= min(1.0, len(p_values) * raw) + 1e-12


@given(P_VALUES, st.randoms())
def test_the_order_in_which_p_values_are_given_changes_none(p_values: list[float], random: Any) -> None:
    order = list(range(len(p_values)))
    random.shuffle(order)
    shuffled = [p_values[index] for index in order]

    for adjust in (holm, benjamini_hochberg):
        assert adjust(shuffled) == pytest.approx([adjust(p_values)[index] for index in order])


@given(E_VALUES, st.integers(1, 40))
def test_rejected_e_values_are_those_of_a_search_in_rational_numbers(e_values: list[float], hundredths: int) -> None:
    alpha, m = Fraction(hundredths, 100), len(e_values)
    ranked = sorted(e_values, reverse=True)
    # a relative tie of 1e-12 counts as reached
    enough = [k for k in range(1, m + 1) if Fraction(ranked[k - 1]) * k * alpha >= m * (1 - Fraction(1, 10**12))]
    smallest = ranked[max(enough) - 1] if enough else float("inf")

    rejected = e_benjamini_hochberg(e_values, hundredths / 100)

    assert rejected == [index for index, e in enumerate(e_values) if e >= smallest]


def test_an_e_value_at_its_threshold_is_rejected() -> None:
    assert all(e_benjamini_hochberg([m / 0.05] + [0.0] * (m - 1), 0.05) == [0] for m in range(1, 200))
    assert e_benjamini_hochberg([20.0, 20.0, 20.0], 0.05) == [0, 1, 2]
    assert e_benjamini_hochberg([19.9, 20.0, 20.0], 0.05) == []


def test_an_infinite_e_value_is_rejected() -> None:
    assert e_benjamini_hochberg([0.0, float("inf")], 0.05) == [1]


def test_no_tests_give_nothing() -> None:
    assert holm([]) == benjamini_hochberg([]) == e_benjamini_hochberg([], 0.05) == []


def test_one_test_needs_no_correction() -> None:
    assert holm([0.03]) == benjamini_hochberg([0.03]) == [0.03]
    assert joint_level(0.05, 1) == 0.05


@given(LEVELS, st.integers(1, 1000))
def test_tests_at_the_joint_level_have_at_most_the_level_together(alpha: float, m: int) -> None:
    assert m * joint_level(alpha, m) == pytest.approx(alpha)


@pytest.mark.parametrize("unusable", [-0.1, 1.1, float("nan")])
def test_what_is_no_probability_is_refused(unusable: float) -> None:
    for adjust in (holm, benjamini_hochberg):
        with pytest.raises(ValueError, match="lie between 0 and 1"):
            adjust([0.5, unusable])


@pytest.mark.parametrize("unusable", [-0.1, float("nan")])
def test_what_is_no_e_value_is_refused(unusable: float) -> None:
    with pytest.raises(ValueError, match="0 or more"):
        e_benjamini_hochberg([0.5, unusable], 0.05)


@pytest.mark.parametrize("level", [0.0, 1.0, -1.0, float("nan")])
def test_what_is_no_level_is_refused(level: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        e_benjamini_hochberg([1.0], level)
    with pytest.raises(ValueError, match="between 0 and 1"):
        joint_level(level, 2)


def test_a_level_shared_by_no_tests_is_refused() -> None:
    with pytest.raises(ValueError, match="1 or more"):
        joint_level(0.05, 0)
