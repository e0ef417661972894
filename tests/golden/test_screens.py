"""The screen after a run at several widths, as it was looked at: a change of it is to be looked at, too.

`SIMEVAL_NEW_SCREENS=1 pytest tests/golden/test_screens.py` writes the files anew.
"""

import os
import re
from pathlib import Path

import anyio
import pytest
from wcwidth import width as cells

from simeval.analysis.comparison_report import Comparison, comparison_text
from simeval.core.terminal import Terminal
from simeval.results.document import RunDocument
from simeval.results.screen.report import run_text
from tests.support.screens import compared, demo, in_many_scripts

FOLDER = Path(__file__).parent / "screens"
WIDTHS = (40, 80, 120, 200)
COLOUR = re.compile("\x1b\\[[0-9;]*m")


@pytest.fixture(scope="module")
def pages() -> dict[str, RunDocument]:
    return {"demo": anyio.run(demo), "scripts": in_many_scripts()}


def looked_at(name: str, text: str) -> str:
    """Return the screen of this name as it was looked at; a new one is written where that is wanted."""
    path = FOLDER / f"{name}.txt"
    if os.environ.get("SIMEVAL_NEW_SCREENS"):
        path.write_text(text, encoding="utf-8", newline="\n")
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("colour", [False, True], ids=["plain", "colour"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["demo", "scripts"])
def test_the_screen_after_a_run_is_as_it_was_looked_at(
    pages: dict[str, RunDocument], name: str, width: int, colour: bool
) -> None:
    text = run_text(pages[name], Terminal(width=width, colour=colour)) + "\n"

    assert text == looked_at(f"{name}-{width}{'-colour' if colour else ''}", text)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["demo", "scripts"])
def test_no_line_is_wider_than_the_terminal_and_colours_change_no_character(
    pages: dict[str, RunDocument], name: str, width: int
) -> None:
    plain = run_text(pages[name], Terminal(width=width))
    coloured = run_text(pages[name], Terminal(width=width, colour=True))

    assert max(cells(line) for line in plain.splitlines()) <= width
    assert COLOUR.sub("", coloured) == plain


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return anyio.run(compared)


@pytest.mark.parametrize("colour", [False, True], ids=["plain", "colour"])
@pytest.mark.parametrize("width", WIDTHS)
def test_a_comparison_is_as_it_was_looked_at(comparison: Comparison, width: int, colour: bool) -> None:
    text = comparison_text(comparison, Terminal(width=width, colour=colour)) + "\n"

    assert text == looked_at(f"compared-{width}{'-colour' if colour else ''}", text)
    assert max(cells(COLOUR.sub("", line)) for line in text.splitlines()) <= width


def test_a_terminal_that_cannot_draw_gets_ascii(pages: dict[str, RunDocument]) -> None:
    assert run_text(pages["demo"], Terminal(draws=False)).isascii()


def test_an_app_cannot_rewrite_the_terminal(pages: dict[str, RunDocument]) -> None:
    assert "\x1b" not in run_text(pages["scripts"])
    assert "\x07" not in run_text(pages["scripts"])


def test_the_readme_shows_the_demo(pages: dict[str, RunDocument]) -> None:
    readme = (FOLDER.parents[2] / "README.md").read_text(encoding="utf-8")
    shown = readme.split("```text\n")[1].split("```")[0].splitlines()

    text = run_text(pages["demo"], Terminal(width=80)).splitlines()
    assert shown == text[: len(shown)]
