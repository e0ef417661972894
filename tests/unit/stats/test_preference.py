"""Preference between versions judged side by side."""

from math import comb, exp, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simeval.stats.binomial import clopper_pearson
from simeval.stats.preference import Ranking, bradley_terry, bradley_terry_intervals, preferences
from tests.support.golden import cases_of, reference_numbers, rows_of

ANSWERS = st.sampled_from(["A", "B", "tie"])
PAIRS = st.lists(st.tuples(ANSWERS, ANSWERS), max_size=40)
OTHER = {"A": "B", "B": "A", "tie": "tie"}
JUDGES = ["GPT-4/Vanilla_NoRules", "GPT-4/Metrics_Reference", "ChatGPT/Vanilla", "Falcon/Vanilla", "GPT-4/Rating"]


@st.composite
def win_matrices(draw: st.DrawFn) -> np.ndarray[Any, np.dtype[np.float64]]:
    k = draw(st.integers(2, 5))
    cells = draw(st.lists(st.integers(1, 30), min_size=k * k, max_size=k * k))
    wins = np.array(cells, dtype=float).reshape(k, k)
    np.fill_diagonal(wins, 0)
    return wins


def wins_on_seeds(chances: list[list[float]], n_seeds: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Draw one comparison of each pair on each seed."""
    k, random = len(chances), np.random.default_rng(11)
    wins = np.zeros((k, k, n_seeds))
    for one in range(k):
        for other in range(one):
            wins[one, other] = random.random(n_seeds) < chances[one][other]
            wins[other, one] = 1 - wins[one, other]
    return wins


@pytest.mark.parametrize("case", cases_of("pairwise_preference"))
def test_preferences_equal_the_reference(case: dict[str, Any]) -> None:
    expected, tolerance = case["expected"], case["tolerance"]

    found = preferences([(one, other) for one, other in case["inputs"]["verdicts_both_orders"]])

    assert (found.wins, found.losses, found.ties) == (expected["wins"], expected["losses"], expected["ties"])
    assert found.win_rate == pytest.approx(expected["win_rate"], abs=tolerance)
    assert found.p_b_better == pytest.approx(expected["p_B_better"], abs=tolerance)


@pytest.mark.parametrize("case", cases_of("bradley_terry_mle"))
def test_strengths_equal_the_reference(case: dict[str, Any]) -> None:
    strengths = bradley_terry(case["inputs"]["wins"])

    assert strengths == pytest.approx(case["expected"]["log_strength_centered"], abs=case["tolerance"])


@pytest.mark.parametrize("judge", JUDGES)
def test_the_position_bias_of_recorded_judges_equals_the_published_one(judge: str) -> None:
    rows = [row["judges"][judge] for row in rows_of("public_llmbar") if judge in row["judges"]]
    expected = reference_numbers("llmbar")[judge]
    parsed = [(one, other) for one, other in rows if one is not None and other is not None]

    found = preferences([("AB"[one - 1], "AB"[other - 1]) for one, other in parsed])

    assert found.n == expected["both_parsed"]
    assert found.consistent == pytest.approx(expected["consistent"], abs=5e-5)
    assert found.flipped == pytest.approx(1 - expected["consistent"], abs=1e-4)
    assert found.prefers_first_ab == pytest.approx(expected["prefers_first_ab"], abs=5e-5)
    assert found.prefers_first_ba == pytest.approx(expected["prefers_first_ba"], abs=5e-5)


def test_a_pair_is_scored_by_the_mean_of_its_two_answers() -> None:
    found = preferences([("B", "B"), ("B", "tie"), ("A", "B"), ("tie", "tie"), ("tie", "A"), ("A", "A")])

    assert (found.n, found.wins, found.losses, found.ties) == (6, 2, 2, 2)
    assert found.win_rate == pytest.approx((1 + 0.75 + 0.5 + 0.5 + 0.25 + 0) / 6)


def test_a_judge_who_always_names_the_first_shows_its_bias_and_prefers_nobody() -> None:
    found = preferences([("A", "B")] * 20)

    assert (found.ties, found.win_rate, found.p_b_better, found.p_a_better) == (20, 0.5, 1.0, 1.0)
    assert (found.consistent, found.flipped) == (0.0, 1.0)
    assert (found.prefers_first, found.prefers_first_ab, found.prefers_first_ba) == (1.0, 1.0, 1.0)


def test_ties_are_neither_consistent_with_a_choice_nor_biased() -> None:
    found = preferences([("tie", "B"), ("tie", "tie"), ("A", "tie"), ("B", "B")])

    assert (found.consistent, found.flipped) == (0.5, 0.0)
    assert (found.first_ab, found.decided_ab, found.first_ba, found.decided_ba) == (1, 2, 2, 2)
    assert found.prefers_first == 0.75


@given(PAIRS)
def test_renaming_the_versions_exchanges_the_answers(pairs: list[tuple[str, str]]) -> None:
    one = preferences(pairs)
    # B is the first version now: its order of showing is the first as well
    other = preferences([(OTHER[with_b_first], OTHER[with_a_first]) for with_a_first, with_b_first in pairs])

    assert (one.wins, one.losses, one.p_b_better) == (other.losses, other.wins, other.p_a_better)
    assert (one.consistent, one.flipped, one.prefers_first) == (other.consistent, other.flipped, other.prefers_first)
    assert (one.first_ab, one.decided_ab) == (other.first_ba, other.decided_ba)
    assert (one.low, one.high) == pytest.approx((1 - other.high, 1 - other.low), abs=1e-6)


@given(PAIRS.filter(bool))
def test_the_interval_contains_the_win_rate(pairs: list[tuple[str, str]]) -> None:
    found = preferences(pairs)

    assert found.win_rate is not None
    assert 0 <= found.low <= found.win_rate + 1e-9
    assert found.win_rate - 1e-9 <= found.high <= 1


@given(PAIRS)
def test_the_sign_test_counts_the_pairs_that_are_no_tie(pairs: list[tuple[str, str]]) -> None:
    found = preferences(pairs)
    decided = found.wins + found.losses

    tail = sum(comb(decided, wins) for wins in range(found.wins, decided + 1)) / 2**decided

    assert found.p_b_better == pytest.approx(tail, rel=1e-9)


def test_without_ties_the_interval_is_clopper_and_pearsons() -> None:
    found = preferences([("B", "B")] * 14 + [("A", "A")] * 6, alpha=0.025)

    assert (found.low, found.high) == pytest.approx(clopper_pearson(14, 20, 0.025), abs=1e-5)


def test_no_pairs_prove_nothing() -> None:
    found = preferences([])

    assert (found.n, found.wins, found.low, found.high) == (0, 0, 0.0, 1.0)
    assert (found.p_b_better, found.p_a_better) == (1.0, 1.0)
    assert (found.win_rate, found.consistent, found.flipped, found.prefers_first) == (None, None, None, None)


def test_ties_alone_show_no_position_bias() -> None:
    found = preferences([("tie", "tie")] * 3)

    assert (found.win_rate, found.consistent, found.prefers_first, found.p_b_better) == (0.5, 1.0, None, 1.0)


@pytest.mark.parametrize("pair", [("a", "B"), ("A", ""), ("A",), ("A", "B", "A")])
def test_answers_that_name_no_version_are_refused(pair: Any) -> None:
    with pytest.raises(ValueError, match="each of them 'A', 'B' or 'tie'"):
        preferences([("A", "B"), pair])


def test_of_two_versions_the_strengths_are_the_logit_of_the_win_rate() -> None:
    assert bradley_terry([[0, 30], [10, 0]]) == pytest.approx([log(3) / 2, -log(3) / 2])


@given(win_matrices())
def test_wins_equal_the_wins_that_the_strengths_expect(wins: np.ndarray[Any, np.dtype[np.float64]]) -> None:
    strengths = bradley_terry(wins)

    for one, row in enumerate(wins):
        games = row + wins[:, one]
        expected = sum(
            games[other] / (1 + exp(strengths[other] - strengths[one])) for other in range(len(wins)) if other != one
        )
        assert expected == pytest.approx(row.sum(), rel=1e-8)
    assert sum(strengths) == pytest.approx(0, abs=1e-9)


@settings(max_examples=20)
@given(win_matrices())
def test_strengths_have_the_greatest_likelihood(wins: np.ndarray[Any, np.dtype[np.float64]]) -> None:
    def log_likelihood(strengths: np.ndarray[Any, np.dtype[np.float64]]) -> float:
        return float(-np.sum(wins * np.log1p(np.exp(strengths[None, :] - strengths[:, None]))))

    best = np.array(bradley_terry(wins))
    moves = np.random.default_rng(2).normal(0, 0.05, (50, len(wins)))

    assert all(log_likelihood(best + move) <= log_likelihood(best) + 1e-9 for move in moves)


@given(win_matrices())
def test_losses_in_place_of_wins_turn_the_strengths_round(wins: np.ndarray[Any, np.dtype[np.float64]]) -> None:
    assert bradley_terry(wins.T) == pytest.approx([-strength for strength in bradley_terry(wins)], abs=1e-7)


def test_versions_compared_along_a_chain_only_are_ranked() -> None:
    k = 12
    wins = np.zeros((k, k))
    for stronger in range(k - 1):
        wins[stronger, stronger + 1], wins[stronger + 1, stronger] = 3, 1

    assert list(-np.diff(bradley_terry(wins))) == pytest.approx([log(3)] * (k - 1), abs=1e-6)


@pytest.mark.parametrize(
    "wins",
    [
        [[0, 5], [0, 0]],
        [[0, 0], [0, 0]],
        [[0, 5, 2], [3, 0, 2], [0, 0, 0]],
        [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]],
        [[0, 1, 1, 1], [1, 0, 1, 1], [0, 0, 0, 1], [0, 0, 1, 0]],
    ],
)
def test_where_versions_never_lost_to_others_there_are_no_strengths(wins: list[list[int]]) -> None:
    with pytest.raises(ValueError, match="no finite strengths"):
        bradley_terry(wins)


def test_a_ring_of_single_wins_is_enough_for_a_ranking() -> None:
    assert bradley_terry([[0, 1, 0], [0, 0, 1], [1, 0, 0]]) == pytest.approx([0, 0, 0], abs=1e-9)


@pytest.mark.parametrize(
    ("wins", "found"),
    [
        ([[0, 1, 2], [1, 0, 2]], "shape"),
        ([[0]], "shape"),
        ([1, 2], "shape"),
        ([[0, -1], [1, 0]], "finite counts"),
        ([[0, float("nan")], [1, 0]], "finite counts"),
        ([[1, 1], [1, 0]], "compared with itself"),
    ],
)
def test_what_is_no_matrix_of_wins_is_refused(wins: Any, found: str) -> None:
    with pytest.raises(ValueError, match=found):
        bradley_terry(wins)


def ranking_of_three() -> Ranking:
    chances = [[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [0.8, 0.8, 0.0]]
    return bradley_terry_intervals(wins_on_seeds(chances, 80), n_draws=999, seed=4)


def test_the_ranking_tells_a_better_version_from_two_equal_ones() -> None:
    ranking = ranking_of_three()
    p_values = {(pair.one, pair.other): pair.p_two_sided for pair in ranking.comparisons}

    assert list(p_values) == [(0, 1), (0, 2), (1, 2)]
    assert p_values[0, 1] > 0.05
    assert max(p_values[0, 2], p_values[1, 2]) < 0.01
    assert all(
        low < strength < high
        for low, strength, high in zip(ranking.low, ranking.log_strengths, ranking.high, strict=True)
    )
    assert (ranking.n_draws, ranking.draws_without_ranking) == (999, 0)


def test_differences_of_the_ranking_are_those_of_its_strengths() -> None:
    ranking = ranking_of_three()

    for pair in ranking.comparisons:
        expected = ranking.log_strengths[pair.one] - ranking.log_strengths[pair.other]
        assert pair.difference == pytest.approx(expected)


def test_the_ranking_depends_on_the_seed_alone() -> None:
    assert ranking_of_three() == ranking_of_three()


def test_the_smallest_p_value_is_bounded_by_the_draws_and_the_pairs() -> None:
    chances = [[0.0, 0.0, 0.0], [0.93, 0.0, 0.0], [0.96, 0.93, 0.0]]

    ranking = bradley_terry_intervals(wins_on_seeds(chances, 200), n_draws=999)

    assert [pair.p_two_sided for pair in ranking.comparisons] == pytest.approx([3 * 2 / 1000] * 3)


def test_intervals_of_two_versions_are_near_those_of_the_win_rate() -> None:
    wins = wins_on_seeds([[0, 0], [0.7, 0]], 400)
    share, n = wins[1, 0].mean(), 400
    half = 1.6449 / (2 * np.sqrt(n * share * (1 - share)))  # the delta method, for half of the log odds

    ranking = bradley_terry_intervals(wins, n_draws=3_999)

    assert ranking.high[1] - ranking.low[1] == pytest.approx(2 * half, rel=0.1)
    assert ranking.log_strengths[1] == pytest.approx(log(share / (1 - share)) / 2)


def test_draws_without_a_ranking_widen_the_intervals_to_infinity() -> None:
    wins = np.zeros((2, 2, 10))
    wins[0, 1, :9], wins[1, 0, 9] = 1, 1

    ranking = bradley_terry_intervals(wins, n_draws=500)

    # a draw misses the only seed that the weaker version won with probability 0.9 ** 10 = 0.35
    assert ranking.draws_without_ranking == pytest.approx(500 * 0.9**10, abs=50)
    assert (ranking.low, ranking.high) == ((-float("inf"),) * 2, (float("inf"),) * 2)
    assert ranking.comparisons[0].p_two_sided > 0.5


def test_a_ranking_needs_two_seeds_and_a_draw() -> None:
    with pytest.raises(ValueError, match="at least 2 seeds"):
        bradley_terry_intervals(np.array([[[0.0], [1.0]], [[1.0], [0.0]]]))
    with pytest.raises(ValueError, match="1 draw"):
        bradley_terry_intervals(wins_on_seeds([[0, 0], [0.5, 0]], 30), n_draws=0)


def test_seeds_that_together_give_no_ranking_are_refused() -> None:
    wins = np.zeros((2, 2, 5))
    wins[0, 1] = 1

    with pytest.raises(ValueError, match="no finite strengths"):
        bradley_terry_intervals(wins)
