"""Comparison of two versions tried on the same seeds."""

from itertools import product
from math import comb, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr
from scipy.stats import binom

from simeval.stats.paired import mcnemar, paired_difference_interval, paired_not_worse, sign_flip
from tests.support.golden import cases_of

COUNTS = st.integers(0, 60)
SCORES = st.lists(st.integers(-9, 9), max_size=10)
LEVELS = st.floats(0.001, 0.4)
MARGINS = st.sampled_from([-0.2, -0.05, 0.0, 0.02, 0.05, 0.1, 0.3])
FOUR = st.tuples(*[st.integers(0, 20)] * 4)
Four = tuple[int, int, int, int]


def exchanged(counts: Four) -> Four:
    both, new_only, old_only, neither = counts
    return both, old_only, new_only, neither


def tango(new_only: int, old_only: int, n: int, difference: float) -> float:
    """Return Tango's z, the restricted rate found on a fine grid of the likelihood."""
    shares = np.linspace(max(0.0, -difference), (1 - difference) / 2, 400_001)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = [
            (new_only, shares + difference),
            (old_only, shares),
            (n - new_only - old_only, 1 - difference - 2 * shares),
        ]
        likelihood = sum(np.where(count == 0, 0.0, count * np.log(share)) for count, share in terms)
    variance = n * (2 * shares[np.nanargmax(likelihood)] + difference * (1 - difference))
    return (new_only - old_only - n * difference) / sqrt(variance) if variance > 1e-9 else 0.0


def outcomes(n: int) -> list[tuple[int, int]]:
    return [(new, old) for new in range(n + 1) for old in range(n + 1 - new)]


def chance(new: int, old: int, n: int, new_share: float, old_share: float) -> float:
    ways = comb(n, new) * comb(n - new, old)
    return ways * new_share**new * old_share**old * max(0.0, 1 - new_share - old_share) ** (n - new - old)


def unconditional(new_only: int, old_only: int, n: int, margin: float) -> float:
    """Return the p-value by its definition: the outcomes at least as extreme, summed at each rate of a grid."""
    observed = tango(new_only, old_only, n, -margin)
    extreme = [(new, old) for new, old in outcomes(n) if tango(new, old, n, -margin) >= observed - 1e-4]
    shares = np.linspace(max(0.0, margin), (1 + margin) / 2, 1_001)
    return max(sum(chance(*outcome, n, max(0.0, q - margin), q) for outcome in extreme) for q in shares)


def all_flips(sums: list[float]) -> list[float]:
    return [
        sum(sign * value for sign, value in zip(signs, sums, strict=True))
        for signs in product((1, -1), repeat=len(sums))
    ]


@pytest.mark.parametrize("case", cases_of("mcnemar"))
def test_mcnemars_p_values_equal_the_reference(case: dict[str, Any]) -> None:
    tested = mcnemar(case["inputs"]["b_only_new_ok"], case["inputs"]["c_only_old_ok"])

    for name, value in case["expected"].items():
        assert getattr(tested, name) == pytest.approx(value, rel=case["tolerance"], abs=case["tolerance"])


@pytest.mark.parametrize("case", cases_of("paired_sign_flip"))
def test_sign_flips_equal_the_reference(case: dict[str, Any]) -> None:
    tested = sign_flip(**case["inputs"])

    assert tested.exact
    for name, value in case["expected"].items():
        assert getattr(tested, name) == pytest.approx(value, rel=case["tolerance"], abs=case["tolerance"])


def test_mcnemars_p_values_on_recorded_runs_of_two_agents() -> None:
    # exact two-sided p-values of the folder's reference numbers
    assert mcnemar(3, 3).p_two_sided == pytest.approx(1.0)
    assert mcnemar(3, 1).p_two_sided == pytest.approx(0.625)
    assert mcnemar(8, 0).p_two_sided == pytest.approx(0.0078, abs=5e-5)
    assert mcnemar(5, 1).p_two_sided == pytest.approx(0.2188, abs=5e-5)
    assert mcnemar(19, 5).p_two_sided == pytest.approx(0.0066, abs=5e-5)


@given(COUNTS, COUNTS)
def test_mcnemars_p_values_agree_with_scipys_binomial_test(new_only: int, old_only: int) -> None:
    from scipy.stats import binomtest

    if new_only + old_only == 0:
        return
    n = new_only + old_only

    tested = mcnemar(new_only, old_only)

    assert tested.p_new_better == pytest.approx(binomtest(new_only, n, 0.5, "greater").pvalue, rel=1e-8)
    assert tested.p_new_worse == pytest.approx(binomtest(new_only, n, 0.5, "less").pvalue, rel=1e-8)
    assert tested.p_two_sided == pytest.approx(binomtest(new_only, n, 0.5, "two-sided").pvalue, rel=1e-8)


@given(COUNTS, COUNTS)
def test_exchanging_the_versions_exchanges_mcnemars_p_values(new_only: int, old_only: int) -> None:
    one, other = mcnemar(new_only, old_only), mcnemar(old_only, new_only)

    assert one.p_new_better == pytest.approx(other.p_new_worse, rel=1e-9)
    assert one.p_two_sided == pytest.approx(other.p_two_sided, rel=1e-9)


def test_without_discordant_pairs_nothing_is_proven() -> None:
    tested = mcnemar(0, 0)

    assert (tested.p_new_better, tested.p_new_worse, tested.p_two_sided, tested.exact) == (1.0, 1.0, 1.0, True)


@given(SCORES)
def test_sign_flips_of_whole_numbers_equal_the_enumeration(differences: list[int]) -> None:
    sums = all_flips([float(value) for value in differences])
    observed = sum(differences)

    tested = sign_flip(differences)

    assert tested.p_new_better == pytest.approx(sum(value >= observed for value in sums) / len(sums))
    assert tested.p_new_worse == pytest.approx(sum(value <= observed for value in sums) / len(sums))
    assert tested.p_two_sided == pytest.approx(sum(abs(value) >= abs(observed) for value in sums) / len(sums))


@given(SCORES, st.sampled_from([0.1, 1 / 3, 0.7, 1e-8, 1e12]))
def test_ties_survive_the_rounding_of_fractions(differences: list[int], scale: float) -> None:
    assert sign_flip([value * scale for value in differences]) == sign_flip(differences)


def test_sums_that_are_equal_but_for_rounding_count_as_equal() -> None:
    # 0.1 + 0.2 - 0.3 is 5.6e-17, and as a float larger than its own negative
    assert sign_flip([0.1, 0.2, -0.3]) == sign_flip([1, 2, -3])
    assert sign_flip([0.1, 0.2, -0.3], clusters=["a", "a", "a"]).p_new_better == 1.0


def test_sign_flips_agree_with_scipys_permutation_test() -> None:
    from scipy.stats import permutation_test

    differences = [0.4, -1.1, 2.3, 0.9, 1.7, -0.2, 0.8, 1.3, -0.6, 2.2]
    expected = permutation_test(
        [np.array(differences)], np.mean, permutation_type="samples", alternative="greater", n_resamples=9_999
    )  # all 1,024 flips, since there are fewer than 9,999

    assert sign_flip(differences).p_new_better == pytest.approx(expected.pvalue)


def test_zeros_change_nothing() -> None:
    differences = [1.5, -0.5, 2.0, 0.75]

    assert sign_flip(differences + [0.0] * 40) == sign_flip(differences)


@given(SCORES)
def test_exchanging_the_versions_exchanges_the_p_values_of_sign_flips(differences: list[int]) -> None:
    one, other = sign_flip(differences), sign_flip([-value for value in differences])

    assert (one.p_new_better, one.p_new_worse) == (other.p_new_worse, other.p_new_better)


def test_whole_seeds_are_flipped() -> None:
    # three seeds with the sums 3, 1 and -1: their eight flips are 5, 3, 3, 1 and the negatives; 3 was observed
    tested = sign_flip([1.0, 2.0, 1.0, 2.0, -3.0], clusters=["a", "a", 7, None, None])

    assert tested.p_new_better == pytest.approx(3 / 8)
    assert tested.p_new_worse == pytest.approx(7 / 8)


def test_seeds_of_one_pair_each_are_the_pairs_themselves() -> None:
    differences = [1.0, -2.0, 0.5, 3.0]

    assert sign_flip(differences, clusters=range(4)) == sign_flip(differences)


def test_flipping_pairs_of_one_seed_separately_would_claim_too_much() -> None:
    differences, seeds = [1.0] * 20, [pair // 5 for pair in range(20)]

    assert sign_flip(differences, clusters=seeds).p_new_better == pytest.approx(1 / 16)
    assert sign_flip(differences).p_new_better < 0.001


def test_up_to_16_seeds_are_enumerated_and_more_are_drawn() -> None:
    assert sign_flip([1.0] * 16).exact
    assert sign_flip([1.0] * 16).p_new_better == pytest.approx(2**-16)
    assert not sign_flip([1.0] * 17).exact


def test_drawn_flips_never_give_a_p_value_of_0() -> None:
    tested = sign_flip([1.0] * 60, n_flips=999)

    assert (tested.p_new_better, tested.p_new_worse, tested.p_two_sided) == (1 / 1000, 1.0, 2 / 1000)


def test_drawn_flips_are_near_the_exact_binomial_tail() -> None:
    # differences of 1 and -1 only: the sign-flip test is the sign test
    differences, exact = [1] * 24 + [-1] * 14, mcnemar(24, 14)

    tested = sign_flip(differences, n_flips=40_000, seed=3)

    assert tested.p_new_better == pytest.approx(exact.p_new_better, abs=0.006)  # four standard errors
    assert tested.p_new_worse == pytest.approx(exact.p_new_worse, abs=0.006)


def test_drawn_flips_depend_on_the_seed_alone() -> None:
    differences = list(np.random.default_rng(1).normal(0.3, 1, 30))

    assert sign_flip(differences, seed=5) == sign_flip(differences, seed=5)
    assert sign_flip(differences, seed=5) != sign_flip(differences, seed=6)


def test_the_level_is_kept_over_all_signs_of_the_same_sizes() -> None:
    sizes = [0.5, 1.0, 1.0, 2.5, 3.0, 4.0, 4.5]
    p_values = [
        sign_flip([sign * size for sign, size in zip(signs, sizes, strict=True)]).p_new_better
        for signs in product((1, -1), repeat=len(sizes))
    ]

    assert all(np.mean(np.array(p_values) <= level) <= level for level in (0.01, 0.05, 0.1, 0.25, 0.5))
    assert np.mean(np.array(p_values) <= 0.25) > 0.2


@pytest.mark.parametrize("differences", [[], [0.0], [0.0] * 30])
def test_no_differences_prove_nothing(differences: list[float]) -> None:
    tested = sign_flip(differences)

    assert (tested.p_new_better, tested.p_new_worse, tested.p_two_sided, tested.exact) == (1.0, 1.0, 1.0, True)


def test_the_score_of_a_published_table() -> None:
    # T. Tango (1998), cross-over study of lens disinfection: 44 pairs, 0 and 1 discordant, margin 0.1: z = 1.709.
    # Twenty-four times the table has z * sqrt(24) and stands above the limit of the exact test.
    tested = paired_not_worse(43 * 24, 0, 24, 0, margin=0.1)

    assert not tested.exact
    assert tested.p_value == pytest.approx(ndtr(-1.70856428594 * sqrt(24)), rel=1e-8)


@pytest.mark.parametrize(("n", "margin"), [(301, 0.02), (450, 0.05), (600, 0.02)])
def test_where_pairs_only_lose_the_margin_is_found_not_worse_with_at_most_alpha(n: int, margin: float) -> None:
    """All outcomes summed: by Tango's score alone it was 5.93% of 301 pairs with a margin of 2 points.

    The fewest losses, which hardly ever happen, are taken as proven.
    """
    losses = np.arange(int(n * margin) + 1)
    rare = int(binom.ppf(1e-5, n, margin))

    proven = [
        each < rare or paired_not_worse(n - each, 0, each, 0, margin=margin).p_value <= 0.05 for each in losses.tolist()
    ]

    assert binom.pmf(losses, n, margin)[proven].sum() <= 0.05


def test_the_interval_of_a_published_table() -> None:
    # M. W. Fagerland, S. Lydersen and P. Laake (2014), airway hyper-responsiveness: 1, 1, 7, 12; Tango's 95% interval
    assert paired_difference_interval(1, 1, 7, 12, alpha=0.025) == pytest.approx((-0.517, -0.026), abs=5e-4)


@pytest.mark.parametrize(
    ("counts", "margin"),
    [((3, 1, 2, 2), 0.1), ((5, 0, 1, 3), 0.2), ((4, 3, 0, 2), 0.0), ((2, 5, 1, 2), -0.1), ((6, 0, 0, 2), 0.05)],
)
def test_not_worse_equals_the_sum_over_all_outcomes(counts: Four, margin: float) -> None:
    _, new_only, old_only, _ = counts

    tested = paired_not_worse(*counts, margin=margin)

    assert tested.exact
    assert tested.p_value == pytest.approx(unconditional(new_only, old_only, sum(counts), margin), abs=1e-5)


@pytest.mark.parametrize(("n", "margin"), [(12, 0.1), (9, 0.0), (10, 0.25), (8, -0.1)])
def test_the_level_is_kept_for_all_rates_of_the_hypothesis(n: int, margin: float) -> None:
    p_values = {
        (new, old): paired_not_worse(n - new - old, new, old, 0, margin=margin).p_value for new, old in outcomes(n)
    }
    shares = np.linspace(0, 1, 21)
    null = [(new, old) for new, old in product(shares, shares) if new + old <= 1 and new - old <= -margin + 1e-12]

    for level in (0.02, 0.05, 0.2):
        rejected = [outcome for outcome, p in p_values.items() if p <= level]
        assert rejected
        assert max(sum(chance(*outcome, n, *rates) for outcome in rejected) for rates in null) <= level + 1e-9


@given(FOUR)
def test_with_no_margin_it_is_near_mcnemars_test_where_the_new_version_leads(counts: Four) -> None:
    _, new_only, old_only, _ = counts
    unconditional_p = paired_not_worse(*counts, margin=0.0).p_value

    if new_only > old_only:
        assert unconditional_p == pytest.approx(mcnemar(new_only, old_only).p_new_better, abs=0.25)
        assert unconditional_p < 0.51
    else:
        assert unconditional_p == pytest.approx(1.0)


@given(FOUR, MARGINS)
def test_only_discordant_pairs_and_their_number_matter(counts: Four, margin: float) -> None:
    both, new_only, old_only, neither = counts

    assert paired_not_worse(*counts, margin=margin) == paired_not_worse(
        both + neither, new_only, old_only, 0, margin=margin
    )


@given(FOUR, MARGINS)
def test_a_pair_won_instead_of_lost_never_makes_the_new_version_worse(counts: Four, margin: float) -> None:
    both, new_only, old_only, neither = counts
    if old_only == 0:
        return
    better = both, new_only + 1, old_only - 1, neither

    assert paired_not_worse(*better, margin=margin).p_value <= paired_not_worse(*counts, margin=margin).p_value + 1e-9


@given(FOUR, MARGINS)
def test_not_worse_and_worse_are_never_both_proven(counts: Four, margin: float) -> None:
    not_worse = paired_not_worse(*counts, margin=margin).p_value
    worse = paired_not_worse(*exchanged(counts), margin=-margin).p_value

    assert min(not_worse, worse) >= 0
    assert not_worse + worse >= 1 - 1e-9


def test_exact_and_asymptotic_p_values_meet_where_one_takes_over() -> None:
    exact, asymptotic = (paired_not_worse(both, 40, 46, 20, margin=0.02) for both in (894, 895))

    assert (exact.exact, asymptotic.exact) == (True, False)
    assert exact.p_value == pytest.approx(asymptotic.p_value, abs=0.01)


def test_without_pairs_nothing_is_proven() -> None:
    tested = paired_not_worse(0, 0, 0, 0, margin=0.1)

    assert (tested.p_value, tested.exact) == (1.0, True)
    assert paired_difference_interval(0, 0, 0, 0, alpha=0.05) == (-1.0, 1.0)


@given(FOUR.filter(any), LEVELS)
def test_the_interval_contains_the_estimate(counts: Four, alpha: float) -> None:
    low, high = paired_difference_interval(*counts, alpha=alpha)

    assert -1 <= low <= (counts[1] - counts[2]) / sum(counts) <= high <= 1


@given(FOUR, LEVELS)
def test_exchanging_the_versions_mirrors_the_interval(counts: Four, alpha: float) -> None:
    low, high = paired_difference_interval(*counts, alpha=alpha)

    assert paired_difference_interval(*exchanged(counts), alpha=alpha) == pytest.approx((-high, -low), abs=1e-12)


@given(st.tuples(st.integers(1_001, 1_600), COUNTS, COUNTS, COUNTS), LEVELS, MARGINS)
def test_the_interval_lies_above_the_margin_exactly_when_the_score_test_proves_it(
    counts: Four, alpha: float, margin: float
) -> None:
    low, _ = paired_difference_interval(*counts, alpha=alpha)
    tested = paired_not_worse(*counts, margin=margin)

    assert not tested.exact
    if abs(low + margin) > 1e-9:
        assert (low > -margin) == (tested.p_value <= alpha)


def test_pairs_that_all_agree_have_the_closed_interval_of_the_score_test() -> None:
    # with no discordant pair z = sqrt(n d / (1 - d)), so the bound is z^2 / (n + z^2)
    z = 1.6448536269514722

    low, high = paired_difference_interval(30, 0, 0, 20, alpha=0.05)

    assert (low, high) == pytest.approx((-(z**2) / (50 + z**2), z**2 / (50 + z**2)))


def test_differences_must_be_finite_numbers() -> None:
    for unusable in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="not a finite number"):
            sign_flip([1.0, unusable])


def test_each_difference_needs_a_cluster_label() -> None:
    with pytest.raises(ValueError, match="3 differences have 2 cluster labels"):
        sign_flip([1.0, 2.0, 3.0], clusters=["a", "b"])


def test_at_least_one_flip_is_drawn() -> None:
    with pytest.raises(ValueError, match="draw 1 or more"):
        sign_flip([1.0], n_flips=0)


def test_negative_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="old_only is -1"):
        mcnemar(3, -1)
    with pytest.raises(ValueError, match="neither is -1"):
        paired_not_worse(3, 1, 1, -1, margin=0.1)
    with pytest.raises(ValueError, match="both is -1"):
        paired_difference_interval(-1, 1, 1, 1, alpha=0.05)


@pytest.mark.parametrize("margin", [-1.0, 1.0, float("nan")])
def test_a_margin_beyond_any_difference_is_refused(margin: float) -> None:
    with pytest.raises(ValueError, match="between -1 and 1"):
        paired_not_worse(3, 1, 1, 3, margin=margin)
