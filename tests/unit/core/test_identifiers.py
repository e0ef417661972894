"""Facts that stand in a text to the letter, and when they are told."""

import pytest

from simeval.core.phrases import details, identifiers, is_told


def test_details_are_numbers_dates_addresses_and_quoted_names_in_order() -> None:
    text = 'Emma, emma.kim@example.com, bought "Blue Tide" on May 20 and 2024-05-21 for $49.90 (order #W1234567).'

    assert details(text) == ("emma.kim@example.com", "Blue Tide", "May 20", "2024-05-21", "$49.90", "W1234567")
    assert details("She wants her money back.") == ()


@pytest.mark.parametrize(
    ("detail", "text", "told"),
    [
        ("W1234567", "it's w1234567", True),
        ("9776252661", "(977) 625-2661", True),
        ("3", "I have 3 bags", True),
        ("3", "I have 13 bags", False),
        ("May 20", "on may 20 please", True),
        ("F1001", "F100", False),
    ],
)
def test_a_detail_is_told_however_it_is_spaced_and_written(detail: str, text: str, told: bool) -> None:
    assert is_told(detail, [text]) is told


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("order F1001, not G2002", ["a94", "a94"]),
        ("user mia_li_3668", ["a-a-94"]),
        ("card 4421486 or JG7FMM", ["97", "x6"]),
        ("write to a.b@example.com", ["e-mail"]),
        ("on 2024-05-20 at 11:30am for $1200.50, 20 bags, 5pm, the 12th, 30min", []),
        ("an 18-year-old, a 24-hour desk, die 24-Stunden-Hotline, 24-heures", []),
        ("18-летнему сыну, к 15-му марта, в 2025-м, скидка 50процентов, 16-дюймовый", []),
        ("заказ ЗК-7305, номер 4411-К", ["a-94", "94-a"]),
        ("no number here", []),
    ],
)
def test_identifiers_of_one_kind_have_one_shape_and_dates_times_and_amounts_have_none(
    text: str, shapes: list[str]
) -> None:
    assert [each.shape for each in identifiers(text)] == shapes
