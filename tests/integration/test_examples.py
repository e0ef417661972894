"""Examples that teach: each finds the defect that its app has, as its page shows, and passes the app without it."""

from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from scenarios import handbook_bot, order_line
from simeval import Engine
from simeval.suites.files import load_file
from tests.support.console import Reader

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = ROOT / "scenarios"
PAGES = sorted((ROOT / "docs" / "examples").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_who_follows_an_example_sees_the_defect_found(page: Path, tmp_path: Path) -> None:
    copytree(SCENARIOS, tmp_path / "scenarios")
    text = page.read_text(encoding="utf-8")

    Reader(tmp_path).follow(text)

    assert "\nFAIL  " in text
    assert "$ echo $?\n1\n" in text


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("suite", "app", "outcomes"),
    [
        ("order_line", order_line.handle, ["pass", "pass"]),
        ("order_line", order_line.in_capitals, ["pass", "fail"]),
        ("handbook", handbook_bot.current, ["pass", "pass"]),
        ("handbook", handbook_bot.outdated, ["fail", "pass"]),
    ],
)
async def test_a_suite_passes_an_app_but_for_its_defect(suite: str, app: Any, outcomes: list[str]) -> None:
    found = await Engine(seed=7, display="none", store=None).evaluate(load_file(SCENARIOS / f"{suite}.yaml"), app)

    assert [each.outcome for each in found] == outcomes


@pytest.mark.anyio
async def test_the_mix_that_passes_names_the_users_whom_the_app_fails() -> None:
    suite = load_file(SCENARIOS / "order_line.yaml").scenarios[:1]

    [found] = await Engine(seed=7, display="none", store=None).evaluate(suite, order_line.in_capitals)

    assert found.outcome == "pass"
    assert [each.name for each in found.expectations[0].personas if each.is_worse] == ["hurried"]
