"""What statsmodels computes too comes out the same, on data drawn at random."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar as their_mcnemar
from statsmodels.stats.inter_rater import cohens_kappa, to_table
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from simeval.stats.agreement import cohen_kappa
from simeval.stats.approximate import jeffreys, wilson
from simeval.stats.binomial import clopper_pearson
from simeval.stats.multiple import benjamini_hochberg, holm
from simeval.stats.paired import mcnemar
from simeval.stats.two_sample import newcombe_interval

LEVELS = st.sampled_from([0.005, 0.025, 0.05, 0.1])
COUNTS = st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(COUNTS, LEVELS)
def test_clopper_and_pearsons_interval(counts: tuple[int, int], alpha: float) -> None:
    assert clopper_pearson(*counts, alpha) == pytest.approx(
        proportion_confint(*counts, alpha=2 * alpha, method="beta"), abs=1e-9
    )


@given(COUNTS, LEVELS)
def test_wilsons_and_jeffreys_intervals(counts: tuple[int, int], alpha: float) -> None:
    assert wilson(*counts, alpha) == pytest.approx(
        proportion_confint(*counts, alpha=2 * alpha, method="wilson"), abs=1e-9
    )
    assume(0 < counts[0] < counts[1])  # at the ends statsmodels goes to the edge of the scale
    assert jeffreys(*counts, alpha) == pytest.approx(
        proportion_confint(*counts, alpha=2 * alpha, method="jeffreys"), abs=1e-9
    )


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemars_exact_test(new_only: int, old_only: int) -> None:
    theirs = their_mcnemar([[5, new_only], [old_only, 5]], exact=True).pvalue

    assert mcnemar(new_only, old_only).p_two_sided == pytest.approx(min(1.0, theirs), abs=1e-9)


@settings(max_examples=60)
@given(st.integers(1, 80), st.integers(1, 80), st.data(), LEVELS)
def test_newcombes_interval_of_a_difference(new_n: int, old_n: int, data: st.DataObject, alpha: float) -> None:
    new, old = data.draw(st.integers(0, new_n)), data.draw(st.integers(0, old_n))

    assert newcombe_interval(new, new_n, old, old_n, alpha) == pytest.approx(
        confint_proportions_2indep(new, new_n, old, old_n, method="newcomb", alpha=2 * alpha), abs=1e-8
    )


@settings(max_examples=60)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_adjusted_p_values(p_values: list[float]) -> None:
    with patch("gc.collect"):  # statsmodels does it in each call: seconds, where a whole suite's objects are alive
        family = multipletests(p_values, method="holm")[1]
        discovery = multipletests(p_values, method="fdr_bh")[1]

    assert holm(p_values) == pytest.approx(family, abs=1e-12)
    assert benjamini_hochberg(p_values) == pytest.approx(discovery, abs=1e-12)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=3, max_size=40))
def test_cohens_kappa(pairs: list[tuple[int, int]]) -> None:
    human, judge = [first for first, _ in pairs], [second for _, second in pairs]
    assume(len(set(human)) > 1 and len(set(judge)) > 1)
    table, _ = to_table(np.array(pairs), bins=[0.5, 1.5, 2.5, 3.5, 4.5])

    distance = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    for weights, matrix in (("none", None), ("linear", distance), ("quadratic", distance**2)):
        theirs = cohens_kappa(table, weights=matrix, return_results=False)
        assert cohen_kappa(human, judge, weights=weights).value == pytest.approx(theirs, abs=1e-9)  # type: ignore[arg-type]
