"""Comparisons of pairs that stop early: their levels, whatever share of pairs ends differently, and their findings."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from simeval.core.arrays import Floats
from simeval.stats.paired import mcnemar, paired_not_worse
from simeval.stats.paired_sequential import (
    LEAST_STEP,
    MOST_LOOKS,
    MOST_PAIRS,
    PairedDesign,
    PairedWalk,
    look_times,
    pair_chances,
    paired_design,
)

ALPHA = 0.05
GRID = [(40, 0.1), (60, 0.05), (60, 0.1), (99, 0.05), (120, 0.1), (170, 0.05)]


def plan_of(n_max: int, margin: float) -> PairedDesign:
    return paired_design(n_max, look_times(n_max), margin=margin, alpha=ALPHA)


def found(plan: PairedDesign, discordance: Floats, difference: float, *, worse: bool) -> Floats:
    """Return the chance of a finding at each share of pairs that end differently, whatever the other test finds."""
    walk, total = PairedWalk(*pair_chances(discordance, difference), plan.n_max), np.zeros(len(discordance))
    for place, look in enumerate(plan.looks):
        walk.advance(look)
        total += walk.stop(plan.stops(place, worse=worse))
    return total


@pytest.mark.parametrize(("n_max", "margin"), GRID)
def test_a_loss_of_the_margin_is_found_not_worse_with_at_most_alpha(n_max: int, margin: float) -> None:
    shares = margin + (1 - margin) * np.sin(np.linspace(0, np.pi / 2, 301)) ** 2

    assert found(plan_of(n_max, margin), shares, -margin, worse=False).max() <= ALPHA


DESIGNS = [
    (50, (10, 15, 20, 25, 30, 35, 40, 45, 50), 0.1),  # a grid of the shares alone had a level of .0500711
    (50, look_times(50), 0.1),
    (30, look_times(30), 0.05),
    (17, look_times(17), 0.15),
    (12, (6, 12), 0.3),
    (99, look_times(99, least=10), 0.05),
]


@pytest.mark.parametrize(("n_max", "looks", "margin"), DESIGNS)
def test_the_level_holds_between_the_points_of_the_grid(n_max: int, looks: tuple[int, ...], margin: float) -> None:
    plan = paired_design(n_max, looks, margin=margin, alpha=ALPHA)
    shares = np.sin(np.linspace(0, np.pi / 2, 400)) ** 2

    assert found(plan, margin + (1 - margin) * shares, -margin, worse=False).max() <= ALPHA
    assert found(plan, shares, 0.0, worse=True).max() <= ALPHA


@pytest.mark.parametrize(("n_max", "margin"), GRID)
def test_no_loss_is_found_worse_with_at_most_alpha(n_max: int, margin: float) -> None:
    shares = np.sin(np.linspace(0, np.pi / 2, 301)) ** 2

    assert found(plan_of(n_max, margin), shares, 0.0, worse=True).max() <= ALPHA


@pytest.mark.parametrize("loss", [0.06, 0.1, 0.3])
def test_a_greater_loss_is_found_not_worse_less_often(loss: float) -> None:
    plan, shares = plan_of(99, 0.05), np.linspace(0.3, 0.9, 25)

    assert (found(plan, shares, -loss, worse=False) <= found(plan, shares, -0.05, worse=False)).all()


def test_the_chances_are_those_of_all_sequences_counted_one_by_one() -> None:
    plan = paired_design(12, (4, 8, 12), margin=0.4, alpha=0.2)

    @cache
    def passes(n: int, gains: int, losses: int) -> float:
        if n in plan.looks and plan.stops(plan.looks.index(n), worse=False)[gains, losses]:
            return 1.0
        if n == plan.n_max:
            return 0.0
        chances = [passes(n + 1, gains + 1, losses), passes(n + 1, gains, losses + 1), passes(n + 1, gains, losses)]
        return float(np.dot(chances, [0.1, 0.25, 0.65]))

    assert found(plan, np.array([0.35]), -0.15, worse=False)[0] == pytest.approx(passes(0, 0, 0), abs=1e-12)
    assert 0.1 < passes(0, 0, 0) < 0.9


def test_with_one_look_what_is_found_is_what_the_whole_sample_proves() -> None:
    plan = paired_design(60, (60,), margin=0.1, alpha=ALPHA)

    for gains, losses in [(0, 0), (1, 1), (0, 1), (4, 2), (2, 4), (0, 6), (1, 9)]:
        whole = paired_not_worse(0, gains, losses, 60 - gains - losses, margin=0.1).p_value
        if whole <= ALPHA:
            assert plan.p_not_worse(0, gains, losses) == pytest.approx(whole, rel=0.01)
        else:
            assert not plan.proves(plan.p_not_worse(0, gains, losses), 0)
    assert plan.p_worse(0, 0, 6) <= mcnemar(0, 6).p_new_worse


@pytest.mark.parametrize(("n_max", "margin"), GRID)
def test_what_beats_a_finding_is_one(n_max: int, margin: float) -> None:
    plan = plan_of(n_max, margin)

    for place, look in enumerate(plan.looks):
        stops = plan.stops(place, worse=False)
        gains, losses = np.nonzero(stops)
        assert all(stops[g, k - 1] for g, k in zip(gains, losses, strict=True) if k)
        assert all(
            stops[g + 1, k] for g, k in zip(gains, losses, strict=True) if g + 1 + k <= look and g + 1 < len(stops)
        )


def test_a_finding_has_a_p_value_within_the_level_and_nothing_else_has() -> None:
    plan = plan_of(99, 0.05)

    for place in range(len(plan.looks)):
        p, stops = plan.not_worse[place], plan.stops(place, worse=False)
        assert (p[stops] <= ALPHA).all()
    assert (plan.not_worse[-1][~plan.stops(-1, worse=False)] > ALPHA).all()


def test_fifty_nine_pairs_without_a_loss_prove_a_margin_of_five_points() -> None:
    last = {n: plan_of(n, 0.05).stops(-1, worse=False)[0, 0] for n in (58, 60)}

    assert last == {58: False, 60: True}


@pytest.mark.parametrize(("n_max", "discordance"), [(99, 0.02), (170, 0.05)])
def test_an_app_that_did_not_change_takes_a_fifth_fewer_pairs(n_max: int, discordance: float) -> None:
    plan = plan_of(n_max, 0.05)
    walk, pairs, left = PairedWalk(*pair_chances(np.array([discordance]), 0.0), n_max), 0.0, 1.0
    for place, look in enumerate(plan.looks):
        walk.advance(look)
        stopped = sum(float(walk.stop(plan.stops(place, worse=worse))[0]) for worse in (False, True))
        pairs, left = pairs + look * stopped, left - stopped

    assert pairs + n_max * left < 0.81 * n_max


@pytest.mark.parametrize("n_max", [1, 4, 5, 29, 30, 59, 150, 151, 540, MOST_PAIRS])
def test_looks_are_even_and_the_last_is_at_the_end(n_max: int) -> None:
    looks = look_times(n_max)

    assert looks[-1] == n_max
    assert len(looks) <= MOST_LOOKS
    assert all(now > before for before, now in pairwise((0, *looks)))


def test_no_look_comes_before_the_least_that_is_asked_for() -> None:
    assert look_times(100, least=42)[0] == 45
    assert look_times(100, least=100) == (100,)


@pytest.mark.parametrize("n_max", [0, MOST_PAIRS + 1])
def test_a_number_of_pairs_that_cannot_be_worked_out_is_refused(n_max: int) -> None:
    with pytest.raises(ValueError, match=f"give 1 to {MOST_PAIRS}"):
        paired_design(n_max, (n_max,), margin=0.05, alpha=ALPHA)


def test_looks_are_a_step_apart_and_the_last_is_at_the_end() -> None:
    for n_max in range(20, 400):
        *steps, last = np.diff(look_times(n_max)).tolist()

        assert look_times(n_max)[-1] == n_max
        assert len({*steps}) == 1
        assert LEAST_STEP <= last < 2 * steps[0]
