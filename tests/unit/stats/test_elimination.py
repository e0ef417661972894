"""Successive elimination: who is dropped, and how often that is the best."""

from math import log, sqrt

import numpy as np
import pytest

from simeval.core.arrays import Floats
from simeval.stats.elimination import Elimination


def rounds(rates: list[float], runs: int, n: int, *, own: float, seed: int = 1) -> list[Floats]:
    """Return what apps of these rates come to: the same in a round, but for a share of outcomes of their own."""
    rng, shape = np.random.default_rng(seed), (runs, len(rates))
    made = []
    for _ in range(n):
        draws = np.where(rng.random(shape) < own, rng.random(shape), rng.random((runs, 1)))
        made.append((draws < rates).astype(float))
    return made


def after(contest: Elimination, found: list[Floats]) -> Elimination:
    for each in found:
        contest.push(each, each)
    return contest


@pytest.mark.parametrize("entrants", [2, 4])
def test_the_best_of_equals_is_dropped_with_a_chance_of_alpha_at_most(entrants: int) -> None:
    contest = after(Elimination(entrants, 200, alpha=0.05, runs=400), rounds([0.85] * entrants, 400, 200, own=0.2))

    assert 0 < (~contest.left[:, 0]).mean() <= 0.05


def test_who_is_much_worse_is_dropped_and_the_best_stays() -> None:
    contest = after(Elimination(4, 200, alpha=0.05, runs=50), rounds([0.9, 0.6, 0.6, 0.6], 50, 200, own=0.3))

    assert contest.left.sum(axis=0).tolist() == [50, 0, 0, 0]


def test_what_is_not_known_drops_nobody() -> None:
    contest = Elimination(2, 50, alpha=0.05)
    for _ in range(50):
        contest.push(np.array([[1.0, 0.0]]), np.array([[1.0, 1.0]]))

    assert contest.left.all()
    assert contest.is_over.all()


def test_rounds_in_which_all_come_to_the_same_say_nothing() -> None:
    contest = Elimination(3, 50, alpha=0.05)
    for outcome in (1.0, 0.0, 1.0):
        contest.push(np.full((1, 3), outcome), np.full((1, 3), outcome))

    assert contest.evidence() == pytest.approx(1)


def test_it_says_who_outdid_whom() -> None:
    contest = Elimination(3, 100, alpha=0.05)
    for _ in range(40):
        contest.push(np.array([[0.0, 1.0, 0.5]]), np.array([[0.0, 1.0, 0.5]]))

    assert contest.left.tolist() == [[False, True, False]]
    assert contest.outdone_by(0) == 1
    assert contest.rounds == 40


@pytest.mark.parametrize(("entrants", "n_max", "alpha"), [(1, 10, 0.05), (2, 0, 0.05), (2, 10, 1.0)])
def test_what_is_no_contest_is_refused(entrants: int, n_max: int, alpha: float) -> None:
    with pytest.raises(ValueError, match="two entrants or more"):
        Elimination(entrants, n_max, alpha=alpha)


def test_the_evidence_is_the_wealth_of_bets_on_the_variance_so_far() -> None:
    contest = Elimination(2, 100, alpha=0.05)
    wealth, seen = 1.0, list[float]()
    for one, other in [(1.0, 0.0), (1.0, 1.0), (0.5, 0.0), (0.0, 1.0), (1.0, 0.25)]:
        means = [(0.5 + sum(seen[: n + 1])) / (n + 2) for n in range(len(seen))]
        variance = (0.25 + sum((x - mean) ** 2 for x, mean in zip(seen, means, strict=True))) / (len(seen) + 1)
        seen.append((one - other + 1) / 2)
        wealth *= 1 + sqrt(2 * log(20) / (100 * variance)) * (seen[-1] - 0.5)
        contest.push(np.array([[one, other]]), np.array([[one, other]]))

    assert contest.evidence()[0, 1] == pytest.approx(wealth)
