"""The guide to choose: every leaf of its tree leads to a snippet, and every snippet runs."""

import re
from pathlib import Path
from typing import Any

import pytest

from simeval import AppResponse, Engine, ScenarioTest
from simeval.suites.files import load_expectations, load_suite

pytestmark = pytest.mark.anyio

PAGE = (Path(__file__).resolve().parents[2] / "docs/guides/choosing.md").read_text(encoding="utf-8")
TREE = PAGE.partition("## The tree")[2].partition("\n## ")[0]
LEAVES = re.findall(r"(?:: |\*\* )\[([^\]]+)\]\(#([\w-]+)\)$", TREE, re.MULTILINE)
SECTIONS = {
    re.sub(r"[^\w -]", "", title).lower().replace(" ", "-"): text
    for title, text in re.findall(r"^### (.+)\n((?:(?!^##).*\n)*)", PAGE, re.MULTILINE)
}
SNIPPET = re.compile(r"^```(yaml|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SCENARIO: dict[str, Any] = {
    "title": "Bot takes a return",
    "given": "A customer",
    "when": "They ask how to send shoes back",
}


def test_every_line_of_the_tree_is_a_question_or_a_leaf() -> None:
    lines = [line for line in TREE.splitlines() if line.lstrip().startswith("- ")]

    assert len(LEAVES) == 17
    assert len([line for line in lines if not line.startswith("- ")]) == len(LEAVES) - 1  # "how many?" has one only


@pytest.mark.parametrize(("leaf", "anchor"), LEAVES)
def test_a_leaf_ends_in_one_snippet(leaf: str, anchor: str) -> None:
    assert len(SNIPPET.findall(SECTIONS[anchor])) == 1, leaf


def test_nothing_hangs_off_the_tree() -> None:
    assert {anchor for _, anchor in LEAVES} == set(SECTIONS)


@pytest.mark.parametrize("anchor", [name for name, text in SECTIONS.items() if SNIPPET.findall(text)[0][0] == "yaml"])
async def test_a_snippet_in_yaml_runs(anchor: str, tmp_path: Path) -> None:
    [(_, code)] = SNIPPET.findall(SECTIONS[anchor])
    path = tmp_path / "written.yaml"
    path.write_text(code, encoding="utf-8")

    scenarios = load_suite(str(path)) if code.startswith("scenarios:") else [expecting(path)]
    result = await Engine(store=None, seed=3, display="none").evaluate(scenarios[0], app)

    assert result.verdicts
    assert "error" not in {verdict.outcome for verdict in result.verdicts}, str(result)


def expecting(path: Path) -> ScenarioTest:
    return ScenarioTest(**SCENARIO, sample_size=8, then=load_expectations(path))


def app(message: str) -> AppResponse:
    return AppResponse("Please give me the order number.", context=["Ask for the order number before a return."])
