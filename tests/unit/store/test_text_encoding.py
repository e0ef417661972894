"""Texts as a database can hold them."""

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simeval.store.text_encoding import as_written, from_json, is_storable, storable, to_iso, to_json

ANY_TEXT = st.text(st.characters(exclude_categories=()))


@given(ANY_TEXT)
def test_a_text_is_made_storable_and_read_back_as_it_was(text: str) -> None:
    row = storable({"title": text, "n": 3})

    assert is_storable(row["title"])
    assert row.get("exact", "").isascii()
    assert as_written(row)["title"] == text
    assert as_written(row)["n"] == 3


@pytest.mark.parametrize("text", ["a\0b", "half \ud83d", "\ude00 half", "\ud83d\ude00"])
def test_a_text_that_no_database_holds_stays_readable(text: str) -> None:
    row = storable({"title": text})

    assert "\N{REPLACEMENT CHARACTER}" in row["title"]
    assert list(json.loads(row["exact"])) == ["title"]


@pytest.mark.parametrize("text", ["", "plain", "naïve 日本 😀", "new\nline"])
def test_an_ordinary_text_is_kept_as_it_is(text: str) -> None:
    assert storable({"title": text}) == {"title": text}


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(ANY_TEXT, inner),
)


@given(ANY_JSON)
def test_json_is_read_as_python_reads_it(value: object) -> None:
    for text in (to_json(value), json.dumps(value)):
        assert repr(from_json(text)) == repr(json.loads(text))  # nan, and 1 for 1.0 or True, are told apart


@pytest.mark.parametrize(
    "text",
    [
        "1e999",
        "-0",
        "0.1e-400",
        "2.2250738585072011e-308",
        "1.7976931348623159e308",
        "9" * 100,
        '{"a": 1, "a": 2}',
        '"half \\ud83d"',
        f"{'[' * 250}{']' * 250}",
    ],
)
def test_odd_json_is_read_as_python_reads_it(text: str) -> None:
    assert repr(from_json(text)) == repr(json.loads(text))


@pytest.mark.parametrize(
    "moment",
    [
        datetime(2025, 1, 2, 3, 4, 5, 678, UTC),
        datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC),
        datetime(2025, 1, 2, 3, 4, tzinfo=timezone(timedelta(hours=-3, minutes=-30))),
        datetime(2025, 1, 2, 3, 4, 5, 678),
    ],
)
def test_a_time_is_written_as_python_does(moment: datetime) -> None:
    assert to_iso(moment) == moment.isoformat()
