"""Mistakes in the project's table of settings: all are told at once, each with its line."""

from pathlib import Path

import pytest

from simeval.core.settings import DEFAULTS
from simeval.errors import DefinitionError
from simeval.suites.project import read_project


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '[project]\nname = "x"\n[tool.simeval]\nap = "x"\nseed = "x"\nconcurrency = 0\n',
            "pyproject.toml, line 4, field tool.simeval.ap: there is no field 'ap'; did you mean 'app'?\n"
            "pyproject.toml, line 5, field tool.simeval.seed: found 'x'; use a whole number, such as 30.\n"
            "pyproject.toml, line 6, field tool.simeval.concurrency: found 0; use a whole number of 1 or more.",
        ),
        (
            "[tool.simevl]\nseed = 1\n",
            "pyproject.toml: there is a table [tool.simevl], and none for simeval; did you mean [tool.simeval]?",
        ),
        (
            "[tool.simevel]\nseed = 1\n",
            "pyproject.toml: there is a table [tool.simevel], and none for simeval; did you mean [tool.simeval]?",
        ),
        (
            "[tool]\nsimeval = {budget = 3}\n",
            "pyproject.toml, line 2, field tool.simeval.budget: there is no field 'budget' here; did you mean "
            "'max_cost_usd'?",
        ),
        (
            "[tool.simeval]\napp = hotel:handle\n",
            'pyproject.toml, line 2: app is hotel:handle, without quotes; write it as app = "hotel:handle".',
        ),
        (
            "[tool.simeval]\nearly_stopping = True\n",
            "pyproject.toml, line 2: early_stopping is True, with a capital letter; write it as early_stopping = true.",
        ),
        (
            '[tool.simeval]\napp = "hotel:handle\n',
            'pyproject.toml, line 2: a quote is not closed in app = "hotel:handle; close it.',
        ),
        (
            "[tool.simeval]\nstore = [\n",
            "pyproject.toml, line 2: this is not TOML (invalid value); close the bracket: store = [.",
        ),
        (
            "[project]\ndependencies = [\n]\n[tool.simeval]\nseed =",
            "pyproject.toml, line 5: this is not TOML (invalid value); correct it: seed =.",
        ),
        (
            '[tool.simeval]\nmax_turns = "x"\n',
            "pyproject.toml, line 2, field tool.simeval.max_turns: there is no field 'max_turns' here; put it in the "
            "file of a suite.",
        ),
        (
            "tool = 3\n",
            "pyproject.toml: found 3; write [tool.simeval], and settings below it.",
        ),
        (
            "[simeval]\nseed = 1\n",
            "pyproject.toml: there is a table [simeval]; call it [tool.simeval].",
        ),
        (
            '\n[tool.simeval]\nseed = 1\n\n[tool.simeval.app]\nurl = "nope"\n',
            "pyproject.toml, line 6, field tool.simeval.app.url: found 'nope'; write one that begins with http:// or "
            "https://.",
        ),
        (
            "[tool.simeval]\nseed: 1\n",
            "pyproject.toml, line 2: this is not TOML (expected '=' after a key in a key/value pair); correct it: "
            "seed: 1.",
        ),
    ],
)
def test_all_mistakes_of_a_project_are_told(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)

    with pytest.raises(DefinitionError) as raised:
        read_project(tmp_path)

    assert str(raised.value).replace(f"{tmp_path}/", "") == said


def test_a_table_below_that_there_is_not_is_told_with_its_own_line(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.simeval]\nseed = 1\n[tool.simeval.sttore]\nx = 1\n")

    with pytest.raises(DefinitionError, match=r"line 3, field tool\.simeval\.sttore: .* did you mean 'store'"):
        read_project(tmp_path)


@pytest.mark.parametrize("none", ["none", "None"])
def test_a_project_can_do_without_a_store(tmp_path: Path, none: str) -> None:
    (tmp_path / "pyproject.toml").write_text(f'[tool.simeval]\nstore = "{none}"\n')

    assert read_project(tmp_path).settings.store is None


@pytest.mark.parametrize("text", ["[project]\nname = 'x'\n", "[tool.simeval]\nseed = 1\n"])
def test_a_project_that_says_nothing_of_the_store_keeps_runs(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)

    assert read_project(tmp_path).settings.store == DEFAULTS.store


def test_the_table_of_another_tool_is_no_mistake(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.eval]\nseed = 1\n[tool.seval]\nx = 1\n")

    assert read_project(tmp_path).settings.seed is None
