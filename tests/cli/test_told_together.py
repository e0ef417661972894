"""No mistake of a file hides another: each pair is told in one go, in the order of the file."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from simeval.cli.main import main
from simeval.scorers.registry import SCORERS

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
    "a share of 90, and nothing to measure": (f"{{evaluator: {NO_RATE}}}", ("found nothing to measure", NO_SHARE)),
    "a label that is no text, and one evaluator of two that does not fit": (
        f"{{expected_behavior: well, label: 3, evaluator: [{RATE}, {SHARE}]}}",
        ("give a text, in quotes", "every score from 1 to 10 meets it"),
    ),
    "two evaluators that do not fit": (
        f"{{scorer: {{type: contains, texts: [a]}}, evaluator: [{RATE}, {RATE}]}}",
        ("evaluator.0: it is for a judge", "evaluator.1: it is for a judge"),
    ),
    "a misspelt scorer, and two ways to measure": (
        f"{{expected_behavior: well, scorer: contains2, evaluator: {RATE}}}",
        ("did you mean 'contains'?", "found expected_behavior and scorer"),
    ),
    "a misspelt share, and two settings of the test": (
        "{expected_behavior: well, evaluator: {type: success_rate, min_proporton: 0.9, min_trials: 0, "
        "significance_level: 7}}",
        ("did you mean 'min_proportion'?", "min_trials: found 0", "significance_level: found 7"),
    ),
    "no share, and a setting of the test": (
        "{expected_behavior: well, evaluator: {type: success_rate, min_trials: 0}}",
        ("min_proportion: the field is missing", "min_trials: found 0"),
    ),
    "two arguments that an evaluator must have": (
        "{expected_behavior: well, evaluator: {type: rating_proportion, min_rating: 11, min_proportion: 90}}",
        ("min_rating: found 11", NO_SHARE),
    ),
    "a number of times, and a share of 90": (
        "{expected_behavior: well, evaluator: {type: pass_hat_k, k: 0, at_least: 90}}",
        ("k: found 0", NO_SHARE),
    ),
    "a quantile of 9, and two bars": (
        "{scorer: response_latency, evaluator: {type: quantile, quantile: 9, at_least: 1, at_most: 2}}",
        ("quantile: found 9", "found both at_least and at_most"),
    ),
    "a share under the name of a direction, and no share": (
        "{expected_behavior: well, evaluator: {type: proportion, at_least: 0.9, threshold: 6}}",
        ("at_least: found 0.9", "found neither min_proportion nor max_proportion"),
    ),
    "a bar that is no number, beside bounds that can be": (
        "{expected_behavior: well, evaluator: {type: mean, at_least: x, bounds: [1, 10], min_trials: 0}}",
        ("at_least: found 'x'", "min_trials: found 0"),
    ),
    "no evaluator, and nothing to measure": ("{label: a}", ("the field is missing", "found nothing to measure")),
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
MEANT = {
    "a type of evaluators": (
        "{expected_behavior: well, evaluator: {type: succes_rate, min_proportion: 90}}",
        ("did you mean 'success_rate'?", NO_SHARE),
    ),
    "the field of a type": (
        "{expected_behavior: well, evaluator: {typ: success_rate, min_proportion: 90}}",
        ("did you mean 'type'?", NO_SHARE),
    ),
    "a type of scorers, and an argument": (
        f"{{scorer: {{type: regex, patern: a}}, evaluator: {SHARE}}}",
        ("did you mean 'regex_match'?", "did you mean 'pattern'?"),
    ),
    "both fields": (
        "{expected_behaviour: well, evaluators: {type: success_rate, min_proportion: 90}}",
        ("did you mean 'expected_behavior'?", "did you mean 'evaluator'?", NO_SHARE),
    ),
}
MISFITS = {
    "every turn that has a text, as a rating": (
        f"{{scorer: {{type: each_turn, scorer: {{type: contains, texts: [a]}}}}, evaluator: {RATE}}}",
        f"each_turn {IS_YES_OR_NO}",
    ),
    "every turn that has a text, and a bar of 5": (
        "{scorer: {type: each_turn, scorer: {type: contains, texts: [a]}}, "
        "evaluator: {type: proportion, min_proportion: 0.9, threshold: 5}}",
        "every score from 0 to 1 misses it",
    ),
    "a share of turns, and a bar of 5": (
        "{scorer: response_latency <= 1, evaluator: {type: proportion, min_proportion: 0.9, threshold: 5}}",
        "every score from 0 to 1 misses it",
    ),
    "seconds, as ratings in a row": (
        "{scorer: response_latency, evaluator: {type: pass_hat_k, k: 2, at_least: 0.9}}",
        "response_latency is better when it is lower, and this asks for 6 or more; use proportion, with a threshold",
    ),
    "a likeness, as a rating": (
        f"{{scorer: {{type: language, expected: en}}, evaluator: {RATE}}}",
        "language is a metric; use proportion",
    ),
    "a path of what is yes or no": (
        f"{{scorer: {{type: contains, texts: [a]}}, score: foo, evaluator: {SHARE}}}",
        "contains gives yes or no, and no 'foo'; leave it out",
    ),
    "a path of one number": (
        "{scorer: turn_count, score: foo, evaluator: {type: mean, at_least: 0.5, bounds: [0, 9]}}",
        "turn_count gives one number, and no 'foo'; leave it out",
    ),
    "a path that no turn has": (
        f"{{scorer: {{type: each_turn, scorer: {{type: contains, texts: [a]}}}}, score: foo, evaluator: {SHARE}}}",
        "each_turn gives no 'foo'; use one of min, mean, max, turns, not_measured",
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


@pytest.mark.parametrize("pair", [*PAIRS, *MEANT])
def test_what_is_wrong_with_an_expectation_is_told_at_once(tmp_path: Path, pair: str) -> None:
    then, said = {**PAIRS, **MEANT}[pair]

    lines = told(tmp_path, f"then: {then}", "--app", "offline/app")

    assert len(lines) == len(said)
    assert all(any(each in line for line in lines) for each in said)


def test_scenarios_under_a_misspelt_name_are_read(tmp_path: Path) -> None:
    file = tmp_path / "suite.yaml"
    file.write_text(f"scenario:\n  - title: A\n    given: a\n    when: b\n    {WRONG}\n")

    done = CliRunner().invoke(main, ["run", str(file), "--app", "offline/app"])

    [name, share] = done.stderr.splitlines()
    assert "line 1, field scenario: there is no field 'scenario'; did you mean 'scenarios'?" in name
    assert "line 5, field scenario.0.then.evaluator.min_proportion: found 90" in share


def test_a_scenario_without_its_dash_is_read(tmp_path: Path) -> None:
    file = tmp_path / "suite.yaml"
    file.write_text(f"scenarios:\n  title: A\n  given: a\n  {WRONG}\n")

    done = CliRunner().invoke(main, ["run", str(file), "--app", "offline/app"])

    said = ["scenarios.when: the field is missing", "begin each scenario with a dash", NO_SHARE]
    assert all(each in line for each, line in zip(said, done.stderr.splitlines(), strict=True))


def test_a_percentage_is_told_as_the_number_it_is(tmp_path: Path) -> None:
    [line] = told(tmp_path, f"significance_level: 5%\n    {FINE}", "--app", "offline/app")

    assert "found '5%'; use a number, such as 0.05." in line


@pytest.mark.parametrize("scenario", [FINE, WRONG], ids=["right", "wrong"])
def test_a_variable_that_is_not_set_is_told_where_it_stands(tmp_path: Path, scenario: str) -> None:
    app = 'app:\n  url: http://127.0.0.1:1\n  headers: {Authorization: "Bearer ${NOT_SET_HERE}"}\n'

    lines = told(tmp_path, scenario, top=app)

    assert "line 3, field app.headers: the environment variable NOT_SET_HERE is not set" in lines[0]
    assert len(lines) == (1 if scenario is FINE else 2)


@pytest.mark.parametrize("misfit", MISFITS)
def test_what_does_not_fit_is_told_before_the_run(tmp_path: Path, misfit: str) -> None:
    then, said = MISFITS[misfit]

    [line] = told(tmp_path, f"then: {then}", "--app", "offline/app")

    assert said in line


@pytest.mark.parametrize("name", sorted({*SCORERS.names} - {"criteria", "each_turn", "peoples_feedback"}))
def test_no_scorer_of_simevals_own_gives_ratings(tmp_path: Path, name: str) -> None:
    lines = told(tmp_path, f"then: {{scorer: {name}, evaluator: {RATE}}}", "--app", "offline/app")

    misfits = ("it is for a judge's ratings from 1 to 10, and", "every score from 1 to 5 misses it")
    assert any(misfit in line for line in lines for misfit in misfits)


@pytest.mark.parametrize("score", ["min", "max", "turns"])
def test_what_every_turn_gives_is_no_mistake(tmp_path: Path, score: str) -> None:
    scorer = "{type: each_turn, scorer: {type: contains, texts: [a]}}"

    lines = told(tmp_path, f"then: {{scorer: {scorer}, score: {score}, evaluator: {SHARE}}}", "--app", "nowhere")

    assert "app 'nowhere'" in lines[0]


@pytest.mark.parametrize("around", AROUND)
def test_what_is_wrong_with_a_scenario_is_told_at_once(tmp_path: Path, around: str) -> None:
    scenario, said = AROUND[around]

    lines = told(tmp_path, scenario, "--app", "offline/app")

    assert len(lines) == len(said)
    assert all(any(each in line for line in lines) for each in said)


@pytest.mark.parametrize(
    ("world", "top", "said"),
    [
        ("world: probes", "", "found 'no probe'"),
        ("wrold: probes", "", "did you mean 'world'?"),
        ("tags: [a]", "world: builtins:Nothing\n", "builtins has no 'Nothing'"),
    ],
)
@pytest.mark.parametrize(("evaluator", "more"), [(SHARE, []), (NO_SHARES, [NO_SHARE])], ids=["right", "wrong"])
def test_what_follows_from_a_mistake_is_not_told(
    tmp_path: Path, world: str, top: str, said: str, evaluator: str, more: list[str]
) -> None:
    scenario = f"{world}\n    then: {{state: {{a: 1}}, evaluator: {evaluator}}}"

    lines = told(tmp_path, scenario, "--app", "offline/app", top=top)

    assert all(each in line for each, line in zip([said, *more], lines, strict=True))


def test_a_title_with_a_colon_is_no_place(tmp_path: Path) -> None:
    file = tmp_path / "suite.yaml"
    scenario = {"title": "x: given: y", "given": "a", "when": "b", "then": {"state": {"a": 1}, "evaluator": SHARE}}
    file.write_text(str([scenario]).replace(f"'{SHARE}'", SHARE))

    done = CliRunner().invoke(main, ["run", str(file), "--app", "offline/app"])

    assert "field 0.then: found a state to be and no world" in done.stderr


def test_what_is_given_does_not_hide_the_mistakes_of_a_file(tmp_path: Path) -> None:
    [line] = told(tmp_path, WRONG, "--app", "offline/app", "--model-option", "seed=1", top="judge_model: nope/x\n")

    assert NO_SHARE in line


def test_settings_that_cannot_be_used_are_told_with_all_else(tmp_path: Path) -> None:
    files = "prompts: {usr: x, judge: none.txt}, judge_examples: no.csv"
    top = f"judge_model: offline/judge\nsettings: {{escalate: cannot tell, {files}}}\n"

    lines = told(tmp_path, WRONG, "--app", "offline/app", top=top)

    said = [
        "settings.prompts.usr: there is no prompt",
        "settings.prompts.judge: it cannot be read",
        "settings.judge_examples: it",
    ]
    assert all(each in line for each, line in zip([*said, "the judges are", NO_SHARE], lines, strict=True))


def test_mistakes_of_one_line_are_told_in_its_order(tmp_path: Path) -> None:
    settings = "{concurrency: lots, seed: x, on_app_error: ignore, order: random}"

    lines = told(tmp_path, FINE, "--app", "offline/app", top=f"settings: {settings}\n")

    names = [line.partition("settings.")[2].partition(":")[0] for line in lines]
    assert names == ["concurrency", "seed", "on_app_error", "order"]


@pytest.mark.parametrize("seed", ["1", '"x"'], ids=["right", "wrong"])
def test_who_cannot_play_is_told_with_the_mistakes_of_the_project(
    tmp_path: Path, seed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    project = f'[tool.simeval]\napp = "shopp:handle"\njudge_model = "offline/jugde"\nseed = {seed}\n'
    Path("pyproject.toml").write_text(project)

    lines = told(tmp_path, FINE)

    assert ["'shopp:handle'" in lines[0], "'offline/jugde'" in lines[1]] == [True, True]
    assert [line for line in lines[2:] if "tool.simeval.seed: found 'x'" in line] == lines[2:]
    assert len(lines) == (2 if seed == "1" else 3)


def test_a_key_that_is_missing_is_told_beside_an_app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    lines = told(tmp_path, FINE, top="app: shopp:handle\njudge_model: openai/gpt-5\n")

    assert ["'shopp:handle'" in lines[0], "OPENAI_API_KEY is not set" in lines[1], len(lines)] == [True, True, 2]


def test_a_judge_that_is_said_twice_is_told_beside_the_scenarios(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "some-key")
    judge = "judge: {first: offline/judge, escalate: {to: openai/gpt-5, when: rating 4..8}}"

    lines = told(tmp_path, WRONG, "--app", "offline/app", top=f"{judge}\njudge_model: offline/judge\n")

    assert ["leave judge_model out" in lines[0], NO_SHARE in lines[1], len(lines)] == [True, True, 2]


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


def test_all_files_of_a_folder_tell_their_mistakes_file_by_file(tmp_path: Path) -> None:
    top = "user_model: nope/x\njudge_model: offline/judge\n"
    (tmp_path / "c.yaml").write_text(f"{top}scenarios:\n  - {{title: A, given: a, when: b, {FINE}}}\n")
    for name in ("b", "a"):
        wrong = f"scenarios:\n  - {{title: A, given: a, when: b, {WRONG}}}\n"
        (tmp_path / f"{name}.yaml").write_text(f"app: shop{name}:handle\n{wrong}settings: {{escalate: rating 4..8}}\n")

    done = CliRunner().invoke(main, ["run", str(tmp_path)])

    lines = [line for line in done.stderr.splitlines() if " INFO " not in line]
    said = ["a.yaml, line 1, field app", "a.yaml, line 3", "b.yaml, line 1, field app", "b.yaml, line 3"]
    said.append("c.yaml, line 1, field user_model")
    assert all(each in line for each, line in zip(said, lines, strict=True))
