"""Forms that people write at once, of apps, scripts, tools, users and scorers."""

import sys
from pathlib import Path
from typing import Any

import pytest

from simeval.errors import SuiteFileError
from simeval.suites.apps.named import app_of, load_object
from simeval.suites.files import load_suite

SUITE = """
scenarios:
  - title: First
    given: {given}
    when: They book
    {more}
    then: {then}
"""
BOT = "def handle_in_{folder}(message):\n    return 'It answers'\n"
THEN = "{expected_behavior: It books, evaluator: {type: success_rate, min_proportion: 0.9}}"


def scenario(folder: Path, *, given: str = "A guest", more: str = "", then: str = THEN) -> Any:
    path = folder / "suite.yaml"
    path.write_text(SUITE.format(given=given, more=more, then=then), encoding="utf-8")
    return load_suite(str(path)).scenarios[0]


@pytest.mark.parametrize(
    ("named", "folder"),
    [("../usual_proj/usual_bot:handle_in_usual_proj", "usual_proj"), ("sub/usual_inner.py:handle_in_sub", "sub")],
)
def test_an_app_may_be_named_by_its_file(
    named: str, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    for path in (tmp_path / "usual_proj/usual_bot.py", here / "sub/usual_inner.py"):
        path.parent.mkdir(parents=True)
        path.write_text(BOT.format(folder=path.parent.name), encoding="utf-8")
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(here)

    app: Any = app_of(named)

    assert app.__name__ == f"handle_in_{folder}"


def test_a_scorer_may_be_named_by_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, here = tmp_path / "usual_scorers/usual_words.py", tmp_path / "here"
    for folder in (file.parent, here):
        folder.mkdir()
    file.write_text("def has_words(output):\n    return bool(output)\n", encoding="utf-8")
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(here)

    found = load_object("../usual_scorers/usual_words:has_words", what="scorer")

    assert found("two words")


def test_a_text_in_a_script_is_what_the_user_says(tmp_path: Path) -> None:
    plain = scenario(tmp_path, more="script: [hello, {check: It greets}]")
    written = scenario(tmp_path, more="script: [{user: hello}, {check: It greets}]")

    assert plain.script == written.script
    assert plain.script[0].user == "hello"


@pytest.mark.parametrize("tools", ["[book_room]", "book_room"])
def test_a_list_of_tools_is_what_is_required(tools: str, tmp_path: Path) -> None:
    rule = "evaluator: {type: proportion, min_proportion: 0.9}"
    plain = scenario(tmp_path, then=f"{{tools: {tools}, {rule}}}")
    written = scenario(tmp_path, then=f"{{tools: {{required: [book_room]}}, {rule}}}")

    assert plain.expectations[0].tools.required == ["book_room"]
    assert repr(plain.expectations) == repr(written.expectations)


@pytest.mark.parametrize("given", ["", "''", "' '", "~"])
def test_a_scenario_with_nothing_given_has_any_user(given: str, tmp_path: Path) -> None:
    assert scenario(tmp_path, given=given).given == "A user"


@pytest.mark.parametrize(
    ("there", "here"),
    [
        ("{type: llm-rubric, value: is polite}", "{type: criteria, criteria: {value: is polite}}"),
        ("{type: contains, value: Friday}", "{type: contains, texts: [Friday]}"),
        ("{type: regex, value: F1+}", "{type: regex_match, pattern: F1+}"),
    ],
)
def test_a_scorer_of_promptfoo_may_have_its_value(there: str, here: str, tmp_path: Path) -> None:
    rule = "evaluator: {type: proportion, threshold: 0.5, min_proportion: 0.9}"
    one, other = (scenario(tmp_path, then=f"{{scorer: {name}, {rule}}}") for name in (there, here))

    assert repr(one.expectations[0].scorer) == repr(other.expectations[0].scorer)


@pytest.mark.parametrize(("there", "here"), [("is-json", "valid_json"), ("is-xml", "valid_xml")])
def test_a_scorer_may_have_its_name_in_another_tool(there: str, here: str, tmp_path: Path) -> None:
    rule = "evaluator: {type: proportion, min_proportion: 0.9}"
    one, other = (scenario(tmp_path, then=f"{{scorer: {name}, {rule}}}") for name in (there, here))

    assert type(one.expectations[0].scorer) is type(other.expectations[0].scorer)


def test_a_file_of_promptfoo_is_recognized(tmp_path: Path) -> None:
    path = tmp_path / "promptfooconfig.yaml"
    path.write_text("prompts: ['{{topic}}']\nproviders: [openai:gpt-4]\ntests: [{vars: {topic: x}}]\n")

    with pytest.raises(SuiteFileError, match="a file of promptfoo; write its tests as a scenario's cases"):
        load_suite(str(path))
