"""Levels of rubrics: where they stand on the scale, and which say the same."""

from typing import Any

import pytest

from simeval.core.judging import PLACES, equal_levels, placed_levels
from simeval.core.trial import MEETS_FROM
from simeval.errors import DefinitionError

TEXTS = ["none", "a little", "some", "much", "more", "most", "nearly all", "all", "all and well", "all and best"]


@pytest.mark.parametrize(
    ("count", "ratings"),
    [(2, ["1", "10"]), (3, ["1", "5", "10"]), (5, ["1", "3", "5", "8", "10"]), (10, [str(n) for n in range(1, 11)])],
)
def test_levels_of_a_list_are_spread_over_the_scale(count: int, ratings: list[str]) -> None:
    found = placed_levels(TEXTS[:count], "rubric")

    assert list(found) == ratings
    assert list(found.values()) == TEXTS[:count]


def test_each_list_has_levels_on_both_sides_of_the_bar() -> None:
    for ratings in PLACES.values():
        assert min(ratings) < MEETS_FROM <= max(ratings)


@pytest.mark.parametrize("given", [{10: "all", 1: "none", 6: "enough"}, {"1": "none", "6": " enough ", "10": "all"}])
def test_levels_of_a_mapping_stand_where_it_says(given: Any) -> None:
    assert placed_levels(given, "rubric") == {"1": "none", "6": "enough", "10": "all"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("good or bad", "give a list"),
        (7, "give a list"),
        ([], "2, 3, 5 or 10 levels"),
        (["only"], "2, 3, 5 or 10 levels"),
        (TEXTS[:4], "2, 3, 5 or 10 levels"),
        (["bad", ""], "give each level a text"),
        (["bad", 3], "give each level a text"),
        (["It fails.", "it  fails"], "levels 1 and 10 say the same"),
        ({1: "bad", 2: "good"}, "from 6 on"),
        ({6: "good", 10: "best"}, "below 6"),
        ({0: "bad", 10: "good"}, "from 1 to 10"),
        ({11: "best", 1: "bad"}, "from 1 to 10"),
        ({"low": "bad", 10: "good"}, "from 1 to 10"),
        ({True: "bad", 10: "good"}, "from 1 to 10"),
        ({1: "bad", "1": "worse", 10: "good"}, "from 1 to 10"),
        ({}, "below 6"),
    ],
)
def test_what_is_no_rubric_is_refused_with_what_to_do(given: Any, said: str) -> None:
    with pytest.raises(DefinitionError, match="rubric") as raised:
        placed_levels(given, "Expectation.rubric")

    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("It says Paris.", "it says   paris", True),
        ("It says Paris!", "“It says: Paris”", True),
        ("It says Paris.", "It says Lyon.", False),
        ("5% of it", "50% of it", False),
        ("\u0915\u093f", "\u0915\u0940", False),
        ("...", "?!", False),
        ("...", "...", True),
    ],
)
def test_levels_are_equal_where_only_case_spaces_and_punctuation_differ(one: str, other: str, same: bool) -> None:
    assert (equal_levels({"1": one, "2": other}) is not None) is same
