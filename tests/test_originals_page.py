"""The page for those who come from another tool: a feature has a name that exists, or a reason why it is left out."""

import inspect
import re
from pathlib import Path
from typing import Any

import click
import pytest

import simeval
from simeval.cli.main import main
from simeval.core import originals

PAGE = Path(__file__).resolve().parents[1] / "docs/reference/originals.md"
SECTIONS = ["SigmaEval", "audacia-llm-evaluation", "W&B Weave", "LangSmith", "Alignmenter"]
FACES = [simeval, *(getattr(simeval, name) for name in ("analysis", "datasets", "engine", "evaluators", "models"))]
FACES += [getattr(simeval, name) for name in ("results", "scorers", "store", "suites", "testing")]
NAME = re.compile(r"(?P<name>\w+)(?:\.(?P<member>\w+))?(?:\((?P<arguments>[^)]*)\))?")
WORDS = {"repetitions", "notes", "output", "inputs", "reference_outputs", "logging", "simeval"}  # no names of Python's


def rows() -> list[tuple[str, str, str]]:
    found, section = [], ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        section = line.removeprefix("## ") if line.startswith("## ") else section
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| ") and not line.startswith(("| there", "| ---")):
            found.append((section, cells[0], cells[1]))
    return found


ROWS = rows()
QUOTED = sorted({quoted for _, _, here in ROWS for quoted in re.findall(r"`([^`]+)`", here)} - WORDS)


def test_the_page_has_every_name_and_argument_that_is_answered() -> None:
    page = PAGE.read_text(encoding="utf-8")
    tables = (originals.NAMES, originals.ARGUMENTS, originals.OF_ENGINES, originals.OF_EVALUATORS)
    answered = set().union(*tables, originals.OF_EXPECTATIONS, originals.OF_SCENARIOS)

    assert [name for name in sorted(answered) if not re.search(rf"`[^`]*\b{name}\b[^`]*`", page)] == []


def test_every_original_has_its_features() -> None:
    assert list(dict.fromkeys(section for section, _, _ in ROWS)) == SECTIONS
    assert all(sum(of == section for of, _, _ in ROWS) >= 20 for section in SECTIONS)


@pytest.mark.parametrize(("there", "here"), [(there, here) for _, there, here in ROWS])
def test_a_feature_has_a_name_here_or_a_reason_why_it_is_left_out(there: str, here: str) -> None:
    named = set(re.findall(r"`([^`]+)`", here)) - WORDS

    assert named or "left out, because " in here or "`simeval`" in here


@pytest.mark.parametrize("quoted", [each for each in QUOTED if not each.startswith("simeval ")])
def test_a_name_of_python_exists_with_its_arguments(quoted: str) -> None:
    match = NAME.fullmatch(quoted)
    assert match is not None
    found: Any = next((getattr(face, match["name"]) for face in FACES if hasattr(face, match["name"])), None)

    assert found is not None
    if match["member"]:
        assert hasattr(found, match["member"]) or match["member"] in inspect.signature(found).parameters
    if given := re.findall(r"(\w+)=", match["arguments"] or ""):
        assert set(given) <= set(inspect.signature(found).parameters)


@pytest.mark.parametrize("quoted", [each for each in QUOTED if each.startswith("simeval ")])
def test_a_command_exists_with_its_options(quoted: str) -> None:
    command: Any = main
    for word in quoted.split()[1:]:
        if word.startswith("--"):
            assert word in {option for parameter in command.params for option in parameter.opts}
        else:
            command = command.get_command(click.Context(command), word)
            assert command is not None
