"""JSON objects and arrays, member by member."""

from collections.abc import Iterator
from threading import get_ident
from typing import Any

import pytest

from simeval.errors import DefinitionError
from simeval.scorers.text.formats import JSONMatch


@pytest.mark.parametrize(
    ("output", "members", "reason"),
    [
        ({"city": "Köln", "n": 1.0}, {"city": True, "n": True}, ""),
        ({"city": "Köln", "n": 2}, {"city": True, "n": False}, "'n' is 2, not 1"),
        ({"city": "Köln"}, {"city": True, "n": False}, "'n' is not there"),
        ({"city": "Köln", "n": 1, "z": 0}, {"city": True, "n": True, "z": False}, "'z' should not be there"),
        ('{"n": 1, "city": "Köln"}', {"city": True, "n": True}, ""),
        ({"city": None, "n": True}, {"city": False, "n": False}, "'city' is null, not \"Köln\""),
    ],
)
def test_keys_of_either_side_are_compared(output: object, members: dict[str, bool], reason: str) -> None:
    found = JSONMatch().score(output, {"city": "Köln", "n": 1})

    assert found["members"] == members
    assert found["all"] is all(members.values())
    assert found["share"] == pytest.approx(sum(members.values()) / len(members))
    assert found["reason"] == reason


def test_ignored_keys_do_not_count() -> None:
    assert JSONMatch(ignore=["id"]).score({"id": 1, "a": 2}, {"id": 9, "a": 2})["all"] is True
    assert JSONMatch(ignore=["id"]).score({"id": 1}, {"id": 2}) == {
        "all": True,
        "share": 1.0,
        "members": {},
        "reason": "",
    }


@pytest.mark.parametrize("output", ["", None, "sorry", "NaN", '{"a": NaN}', [1], "[1]", 5])
def test_an_output_that_is_no_object_matches_nothing(output: object) -> None:
    found = JSONMatch().score(output, {"a": 1})

    assert found == {"all": False, "share": 0.0, "reason": "the output is no JSON object"}


@pytest.mark.parametrize(
    ("lists", "output", "share"),
    [
        ("ordered", [1, 3, 2], 1 / 3),
        ("ordered", [1, 2, 3, 4], 3 / 4),
        ("same", [3, 2.0, 1], 1.0),
        ("same", [1, 1, 2], 2 / 4),
        ("superset", [9, 3, 2, 1], 1.0),
        ("superset", [1], 1 / 3),
        ("subset", [3, 1], 1.0),
        ("subset", [3, 3], 1 / 2),
        ("subset", [], 1.0),
    ],
)
def test_arrays_are_compared_as_wanted(lists: Any, output: list[int], share: float) -> None:
    found = JSONMatch(lists=lists).score(output, [1, 2, 3])

    assert found["share"] == pytest.approx(share)
    assert found["all"] is (share == 1)
    assert (found["reason"] == "") is (share == 1)


@pytest.mark.parametrize("reference", [None, "no JSON", 5, "5"])
def test_a_reference_that_is_no_object_or_array_is_an_error(reference: object) -> None:
    with pytest.raises(DefinitionError, match=r"scorer JSONMatch: (no|the) reference"):
        JSONMatch().score({}, reference)


@pytest.mark.anyio
async def test_the_event_loop_goes_on_while_large_values_are_compared() -> None:
    looked_at: list[int] = []

    class Array(list[int]):
        """Says in which thread it is compared."""

        def __iter__(self) -> Iterator[int]:
            looked_at.append(get_ident())
            return super().__iter__()

    found = await JSONMatch().measure({"output": Array([1]), "reference": [1]})

    assert found["all"] is True
    assert get_ident() not in looked_at
    assert looked_at


def test_an_unknown_way_to_compare_arrays_is_refused() -> None:
    with pytest.raises(DefinitionError, match=r"JSONMatch.lists: found 'sorted'; use 'ordered', 'same'"):
        JSONMatch(lists="sorted")  # type: ignore[arg-type]
