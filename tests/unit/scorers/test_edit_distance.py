"""Edit distance and longest common subsequence against their definitions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simeval.scorers.text.similarity import MOST_CELLS, common_length, edit_distance

WORDS = st.text(alphabet="abé🦜", max_size=80)


def table_distance(first: str, second: str) -> int:
    row = list(range(len(second) + 1))
    for place, one in enumerate(first, 1):
        before, row = row, [place]
        for at, other in enumerate(second, 1):
            row.append(min(before[at] + 1, row[-1] + 1, before[at - 1] + (one != other)))
    return row[-1]


def table_common(first: str, second: str) -> int:
    row = [0] * (len(second) + 1)
    for one in first:
        before, row = row, [0]
        for at, other in enumerate(second, 1):
            row.append(before[at - 1] + 1 if one == other else max(before[at], row[-1]))
    return row[-1]


@given(WORDS, WORDS)
def test_the_distance_is_that_of_the_whole_table(first: str, second: str) -> None:
    assert edit_distance(first, second) == edit_distance(second, first) == table_distance(first, second)


@given(WORDS, WORDS)
def test_the_common_length_is_that_of_the_whole_table(first: str, second: str) -> None:
    assert common_length(first, second) == common_length(list(second), list(first)) == table_common(first, second)


def test_ten_thousand_characters_are_compared_with_ten_thousand() -> None:
    first, second = "ab" * 5_000, "ba" * 5_000

    assert edit_distance(first, second) == 2
    assert edit_distance(first, "c" * 10_000) == 10_000
    assert common_length(first, second) == 9_999


def test_long_texts_that_differ_in_one_place_are_compared() -> None:
    text = "0123456789" * 100_000

    assert edit_distance(text, text[:500_000] + "x" + text[500_001:]) == 1
    assert common_length(text, text[:500_000] + text[500_001:]) == 999_999


def test_long_texts_that_differ_from_end_to_end_are_refused() -> None:
    side = int(MOST_CELLS**0.5) + 1

    with pytest.raises(ValueError, match=r"Sequences of 50,001 and 50,001 elements are too long"):
        edit_distance("a" * side, "b" * side)
