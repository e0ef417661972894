"""Places such as {nights} in texts: found, and filled with the values of a case."""

from dataclasses import dataclass
from typing import Any

import pytest

from simeval.core.filling import as_text, filled, places_in

CASE = {"nights": 5, "total": 475.0, "breakfast": True, "name": "Ada"}


@dataclass(frozen=True)
class Rule:
    text: str
    where: dict[str, Any]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{nights} nights cost { total } euros", "5 nights cost 475 euros"),
        ("breakfast: {breakfast}", "breakfast: yes"),
        ("{nights}", "5"),
        ("{unknown} and {today+1}", "{unknown} and {today+1}"),
        ("{{nights}} stays", "{{nights}} stays"),
        ('{"nights": 5}', '{"nights": 5}'),
        ("[0-9]{3}", "[0-9]{3}"),
    ],
)
def test_the_places_of_a_text_have_the_values_of_the_case(text: str, expected: str) -> None:
    assert filled(text, CASE) == expected


def test_records_lists_and_mappings_are_filled_and_what_has_no_place_is_the_same() -> None:
    plain = Rule("no place", {"a": [1]})

    assert filled([Rule("for {name}", {}), ("{nights}",)], CASE) == [Rule("for Ada", {}), ("5",)]
    assert filled(plain, CASE) is plain
    assert filled({"of {name}": None}, CASE) == {"of Ada": None}


def test_what_is_compared_with_data_keeps_the_type_of_the_value() -> None:
    rule = Rule("{nights}", {"nights": "{nights}", "note": "{nights} nights", "breakfast": {"equals": "{breakfast}"}})

    made = filled(rule, CASE)

    assert made == Rule("5", {"nights": 5, "note": "5 nights", "breakfast": {"equals": True}})


def test_the_places_of_dates_are_no_places_of_cases() -> None:
    assert [*places_in([Rule("{today} {nights}", {"{name}": "{total}"})])] == ["nights", "name", "total"]


def test_a_value_is_written_as_people_write_it() -> None:
    found = [as_text(each) for each in (True, False, None, 270.0, 0.5, [1, "b"], "x")]

    assert found == ["yes", "no", "", "270", "0.5", "1, b", "x"]
