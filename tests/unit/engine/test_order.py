"""Release in order."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simeval.engine.flow import InOrder
from tests.support.golden import cases_of


@given(st.integers(0, 60).flatmap(lambda n: st.permutations(range(n))))
def test_items_in_any_order_are_released_in_the_order_of_their_numbers(numbers: list[int]) -> None:
    order = InOrder[str]()

    released = [item for number in numbers for item in order.push(number, f"item {number}")]

    assert released == [f"item {number}" for number in sorted(numbers)]


@given(st.integers(1, 60).flatmap(lambda n: st.permutations(range(n))))
def test_an_item_is_released_as_soon_as_all_before_it_have_come(numbers: list[int]) -> None:
    order = InOrder[int]()
    released = 0

    for place, number in enumerate(numbers):
        released += len(order.push(number, number))
        seen = set(numbers[: place + 1])
        assert released == next(n for n in range(len(numbers) + 1) if n not in seen)


@pytest.mark.parametrize("case", cases_of("prefix_release"))
def test_prefixes_are_released_as_in_the_reference(case: dict[str, Any]) -> None:
    order = InOrder[int]()
    lengths, released = [], list[int]()

    for number in case["inputs"]["completion_order"]:
        released += order.push(number, case["inputs"]["outcome_by_index"][number])
        lengths.append(len(released))

    assert lengths == case["expected"]["prefix_length_after_each_completion"]
    assert released == case["inputs"]["outcome_by_index"]


def test_a_gap_holds_back_what_stands_behind_it() -> None:
    order = InOrder[str]()

    assert order.push(2, "c") == []
    assert order.push(1, "b") == []
    assert order.push(0, "a") == ["a", "b", "c"]
    assert order.push(3, "d") == ["d"]


@pytest.mark.parametrize("number", [0, 2, -1])
def test_a_number_that_has_come_before_is_refused_and_changes_nothing(number: int) -> None:
    order = InOrder[str]()
    order.push(0, "a")
    order.push(2, "c")

    with pytest.raises(ValueError, match=f"number {number} has come before"):
        order.push(number, "again")

    assert order.push(1, "b") == ["b", "c"]
