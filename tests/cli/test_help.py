"""`simeval help`: pages of the documentation on the terminal."""

from pathlib import Path

import pytest

from simeval.cli.pages import QUESTIONS
from tests.support.command_line import simeval

ROOT = Path(__file__).resolve().parents[2]


def test_the_topics_fit_on_a_screen_and_the_questions_of_a_first_week_come_first(tmp_path: Path) -> None:
    shown = simeval(tmp_path, "help").stdout.splitlines()

    assert [line.split()[0] for line in shown[2:9]] == list(QUESTIONS)
    assert shown[3].endswith("My app is rate-limited")
    assert len(shown) <= 24


@pytest.mark.parametrize("page", [ROOT / "docs/start.md", *sorted((ROOT / "docs/guides").glob("*.md"))], ids=str)
def test_every_guide_is_a_page_without_the_addresses_of_its_links(page: Path, tmp_path: Path) -> None:
    done = simeval(tmp_path, "help", page.stem)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(page.read_text(encoding="utf-8").partition("\n")[0].partition(" { #")[0])
    assert ".md)" not in done.stdout


def test_code_of_a_page_stays_as_it_is(tmp_path: Path) -> None:
    shown = simeval(tmp_path, "help", "suites").stdout

    assert "```yaml\ntitle: The support bot" in shown


def test_a_command_is_a_topic_with_its_own_help(tmp_path: Path) -> None:
    assert simeval(tmp_path, "help", "runs").stdout == simeval(tmp_path, "runs", "--help").stdout
