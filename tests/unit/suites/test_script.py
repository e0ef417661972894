"""Scripts as suite files write them, and their mistakes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simeval.errors import DefinitionError
from simeval.scorers import ToolRules
from simeval.suites.script import Check, Step
from tests.support.suite_files import load, mistake, suite

SCRIPT = """\
    script:
      - user: Hello
      - app: How can I help?
      - simulate: 2
      - check: Bot asks for the number
      - check: {contains: number}
      - check: {tools: {required: [look_up]}}
      - simulate: to_end
"""


def test_a_file_has_the_steps_that_python_has(tmp_path: Path) -> None:
    (scenario,) = load(tmp_path / "suite.yaml", suite(scenario=SCRIPT))

    checks = [step.checks for step in scenario.script if step.checks]
    assert [*scenario.script][:3] == [Step(user="Hello"), Step(app="How can I help?"), Step(simulate=2)]
    assert checks[:2] == [Check(judged="Bot asks for the number"), Check(contains="number")]
    assert isinstance(checks[2].tools, ToolRules)
    assert scenario.script[-1] == Step(simulate="to_end")


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ("hello", "script"),
        ("[{say: hello}]", "there is no field 'say'"),
        ("[{user: a, app: b}]", "found user and app; give either user, app, simulate, attack or check"),
        ("[{}]", "found nothing; give either user, app, simulate, attack or check"),
        ("[{app: b}]", "found an answer to nothing; put `app:` right after the `user:` it answers"),
        ("[{user: a}, {simulate: 0}]", "give the number of turns, or to_end"),
        ("[{user: a}, {simulate: all}]", "simulate"),
        ("[{check: {contains: x}}, {user: a}]", "found a check of an answer before any; put a turn before it"),
        ("[{user: a}, {check: {contains: x, matches: y}}]", "found contains and matches"),
        ("[{user: a}, {check: {matches: '('}}]", "is no regular expression"),
        ("[{user: a}, {check: {state: {a: 1}}}]", "found a state to be and no world"),
        ("[{check: Bot is kind}]", "found no turn; give a `user:`, a `simulate:` or an `attack:`"),
        ("[{user: a}, {check: {tools: {require: [x]}}}]", "did you mean 'required'?"),
    ],
)
def test_a_script_that_cannot_be_held_is_told_with_its_line(tmp_path: Path, steps: str, said: str) -> None:
    error = mistake(tmp_path / "suite.yaml", suite(scenario=f"    script: {steps}\n"))

    assert said in str(error)
    assert error.line >= 3


@pytest.mark.parametrize(
    ("step", "shown"),
    [
        (Step(user="My key is sk-1"), {"user": "My key is ***"}),
        (Step(simulate=2), {"simulate": 2}),
        (Step(check="Bot says sk-1"), {"check": {"judged": "Bot says ***"}}),
        (Step(check=Check(contains=["sk-1"])), {"check": {"contains": ["***"]}}),
        (Step(check=Check(state={"key": "sk-1"})), {"check": {"state": {"key": "***"}}}),
    ],
)
def test_what_is_kept_of_a_step_has_no_secret(step: Step, shown: dict[str, Any]) -> None:
    assert step.cleaned(lambda text: text.replace("sk-1", "***")).shown() == shown


def test_two_scripts_are_told_apart_by_the_rules_of_their_checks() -> None:
    one, other = (Step(check=Check(tools=ToolRules(required=[name]))) for name in ("a", "b"))

    assert one.shown() != other.shown()


def test_a_check_that_is_no_text_is_refused() -> None:
    with pytest.raises(DefinitionError, match="give a text that is not empty"):
        Check(contains=" ")


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lambda: Check(contains=[]), "check.contains"),
        (lambda: Check(contains=5), "check.contains"),  # type: ignore[arg-type]
        (lambda: Check(tools={"required": ["a"]}), "give ToolRules"),  # type: ignore[arg-type]
        (lambda: Step(check=5), "give a sentence, or a Check"),  # type: ignore[arg-type]
    ],
)
def test_a_check_that_would_check_nothing_or_break_in_the_run_is_refused(made: Callable[[], object], says: str) -> None:
    with pytest.raises(DefinitionError, match=says):
        made()
