"""The judge's part in the spread of scores, and how often to ask it."""

from math import inf, isnan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simeval.stats.reliability import judge_variance, optimal_repeats, repeats_worth_paying
from tests.support.golden import cases_of

VARIANCES = st.floats(0.01, 100)


@pytest.mark.parametrize("case", cases_of("judge_variance_components"))
def test_variances_equal_the_reference(case: dict[str, Any]) -> None:
    expected, tolerance = case["expected"], case["tolerance"]

    found = judge_variance(case["inputs"]["scores_by_conversation"])

    assert found.judge == pytest.approx(expected["var_judge"], abs=tolerance)
    assert found.conversation == pytest.approx(expected["var_conversation"], abs=tolerance)
    assert found.icc1 == pytest.approx(expected["icc1"], abs=tolerance)
    assert optimal_repeats(found.judge, found.conversation, cost_ratio=10) == pytest.approx(
        expected["optimal_repeats_cost_ratio_10"], abs=tolerance
    )


def test_variances_are_found_again_in_simulated_scores() -> None:
    random = np.random.default_rng(8)
    scores = random.normal(scale=2.0, size=(4000, 1)) + random.normal(scale=1.0, size=(4000, 3))
    scores[::3, 2] = np.nan  # a third of the conversations were judged twice only

    found = judge_variance(scores)

    assert found.judge == pytest.approx(1.0, abs=0.1)
    assert found.conversation == pytest.approx(4.0, abs=0.4)
    assert found.icc1 == pytest.approx(0.8, abs=0.03)


def test_missing_repeats_weigh_conversations_by_their_averaged_size() -> None:
    found = judge_variance([[8, 9, None], [7, 7, 6], [None, None, None], [3, None, None]])

    # three conversations of 2, 3 and 1 scores with means 8.5, 20/3 and 3, about the overall mean 40/6
    within = (1 / 2 + 2 / 3) / 3
    between = (2 * (8.5 - 20 / 3) ** 2 + 3 * (20 / 3 - 20 / 3) ** 2 + (3 - 20 / 3) ** 2) / 2
    assert found.judge == pytest.approx(within)
    assert found.conversation == pytest.approx((between - within) / ((6 - 14 / 6) / 2))
    assert (found.n_conversations, found.n_scores) == (3, 6)


@given(st.lists(st.lists(st.integers(1, 10), min_size=3, max_size=3), min_size=2, max_size=12))
def test_variances_are_never_negative_and_the_icc_never_above_1(scores: list[list[int]]) -> None:
    found = judge_variance(scores)

    assert found.judge >= 0
    assert found.conversation >= 0
    assert isnan(found.icc1) or -0.5 - 1e-9 <= found.icc1 <= 1 + 1e-9


def test_conversations_that_differ_less_than_repeats_have_variance_0_and_a_negative_icc() -> None:
    found = judge_variance([[1, 9], [9, 1], [2, 8]])

    assert found.conversation == 0.0
    assert found.icc1 < 0


def test_a_judge_that_repeats_itself_has_variance_0_and_icc_1() -> None:
    found = judge_variance([[8, 8, 8], [5, 5, 5], [9, 9, 9]])

    assert (found.judge, found.icc1) == (0.0, 1.0)
    assert optimal_repeats(found.judge, found.conversation, cost_ratio=10) == 0.0


def test_variances_are_undefined_where_nothing_can_be_compared() -> None:
    once, alone, equal = judge_variance([[8], [5]]), judge_variance([[8, 9]]), judge_variance([[7, 7], [7, 7]])

    assert isnan(once.judge)
    assert isnan(once.conversation)
    assert alone.judge == pytest.approx(0.5)
    assert isnan(alone.conversation)
    assert (equal.judge, equal.conversation) == (0.0, 0.0)
    assert isnan(equal.icc1)


def test_scores_that_are_no_table_are_refused() -> None:
    with pytest.raises(ValueError, match="a row per conversation"):
        judge_variance(np.array([8.0, 9.0]))


@pytest.mark.parametrize(
    ("judge", "cost_ratio", "count", "saving"),
    # with a total variance of 1: STATISTICS section 9, by (1 - judge + judge / r) * (ratio + r) against ratio + 1
    [(0.2, 5, 1, 0.0), (0.3, 10, 2, 0.8 / 11), (0.5, 10, 3, 7 / 33), (0.0, 10, 1, 0.0)],
)
def test_the_repeats_worth_paying(judge: float, cost_ratio: float, count: int, saving: float) -> None:
    found = repeats_worth_paying(judge, 1 - judge, cost_ratio=cost_ratio)

    assert found.count == count
    assert found.saving == pytest.approx(saving)


@given(VARIANCES, VARIANCES, st.floats(0.1, 100), st.integers(1, 12))
def test_no_other_number_of_repeats_costs_less(judge: float, conversation: float, ratio: float, limit: int) -> None:
    found = repeats_worth_paying(judge, conversation, cost_ratio=ratio, limit=limit)

    costs = {r: (conversation + judge / r) * (ratio + r) for r in range(1, limit + 1)}
    assert costs[found.count] == pytest.approx(min(costs.values()))
    assert found.saving == pytest.approx(1 - costs[found.count] / costs[1], abs=1e-9)
    assert found.saving >= 0


@given(VARIANCES, VARIANCES, st.floats(0.1, 100))
def test_a_less_steady_judge_or_a_dearer_conversation_asks_for_more_repeats(
    judge: float, conversation: float, ratio: float
) -> None:
    repeats = optimal_repeats(judge, conversation, cost_ratio=ratio)

    assert optimal_repeats(2 * judge, conversation, cost_ratio=ratio) > repeats
    assert optimal_repeats(judge, conversation, cost_ratio=2 * ratio) > repeats
    assert optimal_repeats(judge, 2 * conversation, cost_ratio=ratio) < repeats


def test_where_conversations_do_not_vary_repeats_go_to_the_limit() -> None:
    assert optimal_repeats(1.0, 0.0, cost_ratio=10) == inf
    assert repeats_worth_paying(1.0, 0.0, cost_ratio=10, limit=5).count == 5


def test_where_nothing_varies_one_judgement_is_enough() -> None:
    found = repeats_worth_paying(0.0, 0.0, cost_ratio=10)

    assert (found.count, found.saving) == (1, 0.0)


@pytest.mark.parametrize(
    ("judge", "conversation", "ratio", "message"),
    [
        (-1.0, 1.0, 10.0, "variance of the judge is -1.0"),
        (1.0, float("nan"), 10.0, "variance of the conversations is nan"),
        (1.0, 1.0, 0.0, "cost ratio is 0.0"),
    ],
)
def test_variances_and_costs_that_cannot_be_are_refused(
    judge: float, conversation: float, ratio: float, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        repeats_worth_paying(judge, conversation, cost_ratio=ratio)
