"""Tables and paragraphs in plain text."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simeval.core.terminal import LINE, indent, render_table


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    table = render_table(["name", "n"], [["a", "10"], ["longer", "5"]], widths=())

    assert table.splitlines() == ["name    n", "------  --", "a       10", "longer  5"]


def test_a_long_cell_is_wrapped_at_its_width_and_the_others_leave_room() -> None:
    table = render_table(["name", "n"], [["one two three", "1"], ["four", "2"]], widths=(7,))

    assert table.splitlines() == ["name     n", "-------  -", "one two  1", "three", "four     2"]


def test_an_empty_cell_takes_a_line() -> None:
    assert render_table(["a", "b"], [["", "1"]], widths=()).splitlines() == ["a  b", "-  -", "   1"]


def test_a_table_without_rows_is_its_header() -> None:
    assert render_table(["a", "b"], [], widths=()).splitlines() == ["a  b", "-  -"]


@pytest.mark.parametrize("wide", ["返品の受付を開始する", "한국어 문장", "🔥🔥 hot", "ภาษาไทยที่นี่", "ＡＢＣ"])
def test_columns_stand_below_each_other_whatever_a_cell_is_written_in(wide: str) -> None:
    lines = render_table(["name", "n"], [[wide, "PASS"], ["short", "PASS"]], widths=(30,)).splitlines()

    assert len(lines[1].partition("  ")[0]) == columns(wide)
    assert {columns(line.partition("PASS")[0]) for line in lines[2:]} == {columns(wide) + 2}


def test_a_wide_text_is_wrapped_where_a_terminal_shows_its_width() -> None:
    table = render_table(["name", "n"], [["返品の受付を開始する", "1"]], widths=(8,))

    assert table.splitlines()[2:] == ["返品の受  1", "付を開始", "する"]


def test_what_looks_like_markup_is_left_as_it_is() -> None:
    assert render_table(["[b]a", "b"], [["[bold]x[/bold] :smile:", "1"]], widths=()).splitlines() == [
        "[b]a                    b",
        "----------------------  -",
        "[bold]x[/bold] :smile:  1",
    ]


def columns(text: str) -> int:
    """Return how many places of a terminal a text takes."""
    marks = sum(unicodedata.category(each) == "Mn" for each in text)
    return len(text) - marks + sum(unicodedata.east_asian_width(each) in "WF" for each in text)


@given(st.lists(st.lists(st.text(st.characters(categories=["L", "N"])), min_size=2, max_size=2), max_size=5))
def test_no_letter_is_lost_and_no_line_ends_in_spaces(rows: list[list[str]]) -> None:
    table = render_table(["h", "h"], rows, widths=(5, 5))

    letters = sorted(letter for row in rows for cell in row for letter in cell)
    below = re.sub("[ \u2068\u2069]", "", "".join(table.splitlines()[2:]))
    assert sorted(below) == letters
    assert all(line == line.rstrip() for line in table.splitlines())


def test_a_cell_from_right_to_left_turns_no_other_cell_around() -> None:
    table = render_table(["name", "n"], [["مواعيد العمل", "طبيب"]], widths=(20,))

    assert table.splitlines()[-1] == "\u2068مواعيد العمل\u2069  \u2068طبيب\u2069"


def test_an_indented_text_is_wrapped_and_its_own_lines_are_kept() -> None:
    lines = indent("short\n\n" + "word " * 40, 4).splitlines()

    assert lines[:2] == ["    short", ""]
    assert lines[2].startswith("    word")
    assert lines[3].startswith("      word")
    assert all(len(line) <= LINE for line in lines)


def test_a_table_that_has_no_room_is_a_list() -> None:
    rows = [["First", "10", "-"], ["", "20", "a long text that is wrapped"]]

    text = render_table(["name", "trials", "note"], rows, widths=(), room=20)

    assert text.splitlines() == [
        "First",
        "  trials: 10",
        "",
        "  trials: 20",
        "  note: a long text",
        "    that is wrapped",
    ]


def test_a_row_of_one_cell_is_a_heading_as_wide_as_the_table() -> None:
    rows = [["A long title"], ["a", "10"]]

    assert render_table(["name", "trials"], rows, widths=(4,)).splitlines()[2:] == ["A long title", "a     10"]
    assert render_table(["name", "trials"], rows, widths=(4,), room=9).splitlines() == [
        *("A long", "title", "", "a", "  trials:", "    10")
    ]


def test_the_names_of_options_are_not_broken_at_their_hyphens() -> None:
    assert indent("add --accept-changes to it", 0, width=18).splitlines() == ["add", "  --accept-changes", "  to it"]
