"""Pairs by betting: the e-value, its level, and the interval that it gives."""

import numpy as np
import pytest

from simeval.stats.paired_open import BETS, OpenPairedDesign, pairs_evalue, smallest_difference
from simeval.stats.paired_sequential import PairedWalk, pair_chances


def test_it_is_the_mean_wealth_of_fixed_bets() -> None:
    bets = [((place + 0.5) / BETS) ** 0.5 / 0.95 for place in range(BETS)]
    wealth = [(1 + bet * 1.05) ** 2 * (1 - bet * 0.95) ** 3 * (1 + bet * 0.05) ** 10 for bet in bets]

    assert pairs_evalue(2, 3, 15, margin=0.05) == pytest.approx(sum(wealth) / BETS)
    assert pairs_evalue(0, 0, 0, margin=0.05) == 1


@pytest.mark.parametrize("margin", [0.0, 0.05, 0.2])
def test_its_expectation_is_one_where_the_difference_is_that_of_the_hypothesis(margin: float) -> None:
    [gain], [loss] = pair_chances(np.array([0.3]), -margin)
    found = (
        gain * pairs_evalue(1, 0, 1, margin=margin)
        + loss * pairs_evalue(0, 1, 1, margin=margin)
        + (1 - gain - loss) * pairs_evalue(0, 0, 1, margin=margin)
    )

    assert found == pytest.approx(1)


@pytest.mark.parametrize("worse", [False, True])
def test_whoever_looks_after_each_pair_is_wrong_with_a_chance_of_alpha_at_most(worse: bool) -> None:
    plan, shares = OpenPairedDesign(60, 0.05, 0.05), np.array([0.05, 0.1, 0.2, 0.5])
    walk = PairedWalk(*pair_chances(shares, 0.0 if worse else -0.05), plan.n_max)
    size = walk.mass.shape[1]
    found = np.zeros(len(shares))

    for place, n in enumerate(plan.looks):
        walk.advance(n)
        p_of = plan.p_worse if worse else plan.p_not_worse
        ends = [[g + k <= n and plan.proves(p_of(place, g, k), place) for k in range(size)] for g in range(size)]
        found += walk.stop(np.array(ends))

    assert 0.005 < found.max() <= 0.05


def test_the_interval_holds_what_was_seen_and_is_that_of_the_test() -> None:
    low = smallest_difference(4, 9, 200, alpha=0.05)
    high = -smallest_difference(9, 4, 200, alpha=0.05)

    assert low < (4 - 9) / 200 < high
    assert pairs_evalue(4, 9, 200, margin=-low) == pytest.approx(20, rel=1e-3)


@pytest.mark.parametrize(("gains", "losses", "margin"), [(3, 3, 0.1), (-1, 0, 0.1), (1, 1, 1.0)])
def test_what_cannot_be_counts_is_refused(gains: int, losses: int, margin: float) -> None:
    with pytest.raises(ValueError, match="give counts"):
        pairs_evalue(gains, losses, 5, margin=margin)
