"""Canaries: the same model is seldom called changed, another one is noticed."""

from itertools import product
from random import Random

import pytest

from simeval.core.licences import ALPHA
from simeval.extras.judge_test.canaries import Replies, p_of_change
from simeval.extras.judge_test.cases import REPEATS

CONVERSATIONS = 8


def answers(random: Random, *, shift: float = 0.0, spread: float = 1.5, words: int = 1_000_000) -> list[Replies]:
    """Return what a model says of each conversation: ratings about a level of its own, in one of so many wordings."""
    return [
        [
            (float(round(3 + level % 4 + shift + random.gauss(0, spread))), f"{level} {random.randrange(words)}")
            for _ in range(REPEATS)
        ]
        for level in range(CONVERSATIONS)
    ]


@pytest.mark.parametrize(("spread", "words"), [(1.5, 1_000_000), (0.5, 3), (0.0, 2)])
def test_the_same_model_is_called_changed_in_about_one_of_a_hundred_comparisons_at_most(
    spread: float, words: int
) -> None:
    random, runs = Random(1), 300

    alarms = sum(
        p_of_change(answers(random, spread=spread, words=words), answers(random, spread=spread, words=words), draws=199)
        <= ALPHA
        for _ in range(runs)
    )

    assert alarms <= 8  # P(Bin(300, 0.01) > 8) < 0.005


def test_another_model_that_rates_two_points_higher_is_noticed() -> None:
    random = Random(2)

    found = [p_of_change(answers(random), answers(random, shift=2), draws=999) <= ALPHA for _ in range(50)]

    assert sum(found) >= 40  # 44 of these 50


def test_one_that_says_the_same_each_time_is_noticed_by_its_words_alone() -> None:
    then = [[(8.0, "as before")] * REPEATS for _ in range(CONVERSATIONS)]
    now = [[(8.0, "otherwise")] * REPEATS for _ in range(CONVERSATIONS)]
    two = [*now[:2], *then[2:]]
    one = [*now[:1], *then[1:]]

    assert p_of_change(then, then) == 1.0
    assert p_of_change(then, now) <= ALPHA
    assert p_of_change(then, two) < 0.05
    assert p_of_change(then, one) > ALPHA


def test_what_stands_in_another_order_is_no_change() -> None:
    then = [[(float(a), ""), (float(b), ""), (9.0, "x")] for a, b in product((2, 7), (3, 5))]

    assert p_of_change(then, [list(reversed(replies)) for replies in then]) == 1.0
