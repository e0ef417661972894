"""No mistake of a file hides another: each pair is told in one go, in the order of the file."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from simeval.cli.main import main

RATE = "{type: success_rate, min_proportion: 0.9}"
SHARE = "{type: proportion, min_proportion: 0.9}"
NO_RATE = "{type: success_rate, min_proportion: 90}"
IS_YES_OR_NO = "is yes or no; use proportion"
NO_SHARES = NO_RATE.replace("success_rate", "proportion")
NO_SHARE = "use a share strictly between 0 and 1"

PAIRS = {
    "a scorer without what it looks for, and an evaluator of ratings": (
        f"{{scorer: {{type: contains}}, evaluator: {RATE}}}",
        ("found no texts", f"contains {IS_YES_OR_NO}"),
    ),
    "a scorer without what it looks for, and a share of 90": (
        f"{{scorer: {{type: contains}}, evaluator: {NO_RATE}}}",
        ("found no texts", NO_SHARE, f"contains {IS_YES_OR_NO}"),
    ),
    "a scorer that cannot be made, and an evaluator of ratings": (
        f"{{scorer: {{type: regex_match, pattern: '('}}, evaluator: {RATE}}}",
        ("unterminated", f"regex_match {IS_YES_OR_NO}"),
    ),
    "a scorer of no column, and an evaluator of ratings": (
        f"{{scorer: exact_match, evaluator: {RATE}}}",
        ("no column for ['reference']", f"exact_match {IS_YES_OR_NO}"),
    ),
    "a share of 90, and an evaluator of ratings": (
        f"{{scorer: {{type: contains, texts: [a]}}, evaluator: {NO_RATE}}}",
        (NO_SHARE, f"contains {IS_YES_OR_NO}"),
    ),
    "one of two evaluators cannot be made, and the other does not fit": (
        f"{{scorer: {{type: contains, texts: [a]}}, evaluator: [{NO_SHARES}, {RATE}]}}",
        (NO_SHARE, f"contains {IS_YES_OR_NO}"),
    ),
    "rules of tools that cannot be, and an evaluator of ratings": (
        f"{{tools: {{requird: [a]}}, evaluator: {RATE}}}",
        ("no field 'requird'", "tools is a metric"),
    ),
    "a behaviour without a text, and a bar that no rating meets": (
        "{expected_behavior: '', evaluator: {type: proportion, min_proportion: 0.9, threshold: 90}}",
        ("a text that is not empty", "every score from 1 to 10 misses it"),
    ),
    "a share of 90, and the path of a score for a judge": (
        f"{{expected_behavior: well, score: a, evaluator: {NO_RATE}}}",
        ("a rating is one number", NO_SHARE),
    ),
    "a share of 90, and two ways to measure": (
        f"{{expected_behavior: well, tools: {{required: [a]}}, evaluator: {NO_RATE}}}",
        ("found expected_behavior and tools", NO_SHARE),
    ),
    "a share of 90, and nothing to measure": (f"{{evaluator: {NO_RATE}}}", ("found none of them", NO_SHARE)),
    "no evaluator, and nothing to measure": ("{label: a}", ("the field is missing", "found none of them")),
}
AROUND = {
    "two equal labels beside a share of 90, and a script that cannot be": (
        f"script: [{{app: hello}}]\n    then:\n    - {{expected_behavior: a, label: x, evaluator: {NO_RATE}}}\n"
        f"    - {{expected_behavior: b, label: x, evaluator: {RATE}}}",
        ("an answer to nothing", "two expectations with the label 'x'", NO_SHARE),
    ),
    "a state without a world, beside a share of 90": (
        f"then: {{state: {{a: 1}}, evaluator: {NO_SHARES}}}",
        ("no world that has one", NO_SHARE),
    ),
}
FINE = f"then: {{expected_behavior: well, evaluator: {RATE}}}"
WRONG = FINE.replace("0.9", "90")
CAST = "app: shopp:handle\njudge_model: nope/x\nuser_model: openaai/gpt-5\n"


def told(folder: Path, scenario: str, *options: str, top: str = "") -> list[str]:
    file = folder / "suite.yaml"
    file.write_text(f"{top}scenarios:\n  - title: A\n    given: a\n    when: b\n    {scenario}\n")
    done = CliRunner().invoke(main, ["run", str(file), *options])
    assert done.exit_code == 2, done.output
    return [line for line in done.stderr.splitlines() if " INFO " not in line]


@pytest.mark.parametrize("pair", PAIRS)
def test_what_is_wrong_with_an_expectation_is_told_at_once(tmp_path: Path, pair: str) -> None:
    then, said = PAIRS[pair]

    lines = told(tmp_path, f"then: {then}", "--app", "offline/app")

    assert len(lines) == len(said)
    assert all(any(each in line for line in lines) for each in said)


@pytest.mark.parametrize("around", AROUND)
def test_what_is_wrong_with_a_scenario_is_told_at_once(tmp_path: Path, around: str) -> None:
    scenario, said = AROUND[around]

    lines = told(tmp_path, scenario, "--app", "offline/app")

    assert len(lines) == len(said)
    assert all(any(each in line for line in lines) for each in said)


def test_what_follows_from_a_mistake_is_not_told(tmp_path: Path) -> None:
    state = f"{{state: {{a: 1}}, evaluator: {SHARE}}}"

    [line] = told(tmp_path, f"world: probes\n    then: {state}", "--app", "offline/app")

    assert "found 'no probe'" in line


@pytest.mark.parametrize(("scenario", "more"), [(FINE, []), (WRONG, [NO_SHARE])], ids=["right", "wrong"])
def test_who_cannot_play_is_told_at_once_with_the_mistakes_of_scenarios(
    tmp_path: Path, scenario: str, more: list[str]
) -> None:
    lines = told(tmp_path, scenario, top=CAST)

    who = ["line 1, field app: 'shopp:handle'", "line 2, field judge_model: model 'nope/x'", "'openaai/gpt-5'"]
    assert all(said in line for said, line in zip([*who, *more], lines, strict=True))


@pytest.mark.parametrize("scenario", [FINE, WRONG], ids=["right", "wrong"])
def test_whom_the_command_line_replaces_is_not_told(tmp_path: Path, scenario: str) -> None:
    lines = told(tmp_path, scenario, "--app", "offline/app", "--judge-model", "offline/judge", top=CAST)

    assert not any("shopp" in line or "nope" in line for line in lines)
    assert "'openaai/gpt-5'" in lines[0]


def test_models_of_a_file_are_told_together_where_its_app_is_right(tmp_path: Path) -> None:
    lines = told(tmp_path, FINE, top=CAST.replace("shopp:handle", "offline/app"))

    assert ["nope/x" in lines[0], "openaai/gpt-5" in lines[1], len(lines)] == [True, True, 2]


def test_who_plays_is_told_beside_settings_that_cannot_be_used(tmp_path: Path) -> None:
    lines = told(tmp_path, FINE, top=f"{CAST}settings:\n  concurrency: 0\n")

    assert ["shopp" in lines[0], "concurrency" in lines[-1]] == [True, True]
