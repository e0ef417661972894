"""What cannot be used in a file is told before the run."""

import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

from simeval.cli.main import main
from simeval.scorers.metrics import SCORERS

RATE = "{type: success_rate, min_proportion: 0.9}"
SHARE = "{type: proportion, min_proportion: 0.9}"
IS_YES_OR_NO = "is yes or no; use proportion"
NO_SHARE = "use a share strictly between 0 and 1"

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


def told(folder: Path, scenario: str, *options: str, top: str = "") -> list[str]:
    file = folder / "suite.yaml"
    file.write_text(f"{top}scenarios:\n  - title: A\n    given: a\n    when: b\n    {scenario}\n")
    done = CliRunner().invoke(main, ["run", str(file), *options])
    assert done.exit_code == 2, done.output
    return [line for line in done.stderr.splitlines() if " INFO " not in line]


def test_scenarios_under_a_misspelt_name_are_told_by_it(tmp_path: Path) -> None:
    file = tmp_path / "suite.yaml"
    file.write_text(f"scenario:\n  - title: A\n    given: a\n    when: b\n    {WRONG}\n")

    done = CliRunner().invoke(main, ["run", str(file), "--app", "offline/app"])

    assert "line 1, field scenario: there is no field 'scenario'; did you mean 'scenarios'?" in done.stderr


def test_a_scenario_without_its_dash_is_read(tmp_path: Path) -> None:
    file = tmp_path / "suite.yaml"
    file.write_text(f"scenarios:\n  title: A\n  given: a\n  {WRONG}\n")

    done = CliRunner().invoke(main, ["run", str(file), "--app", "offline/app"])

    assert "begin each scenario with a dash" in done.stderr


def test_a_percentage_is_told_as_the_number_it_is(tmp_path: Path) -> None:
    [line] = told(tmp_path, f"significance_level: 5%\n    {FINE}", "--app", "offline/app")

    assert "found '5%'; use a number, such as 0.05." in line


def test_a_variable_that_is_not_set_is_told_where_it_stands(tmp_path: Path) -> None:
    app = 'app:\n  url: http://127.0.0.1:1\n  headers: {Authorization: "Bearer ${NOT_SET_HERE}"}\n'

    [line] = told(tmp_path, FINE, top=app)

    assert "line 3, field app.headers: the environment variable NOT_SET_HERE is not set" in line


@pytest.mark.parametrize("misfit", MISFITS)
def test_what_does_not_fit_is_told_before_the_run(tmp_path: Path, misfit: str) -> None:
    then, said = MISFITS[misfit]

    [line] = told(tmp_path, f"then: {then}", "--app", "offline/app")

    assert said in line


@pytest.mark.parametrize("name", sorted({*SCORERS.names} - {"criteria", "each_turn", "peoples_feedback"}))
def test_no_scorer_of_simevals_own_that_its_name_makes_gives_ratings(tmp_path: Path, name: str) -> None:
    [line] = told(tmp_path, f"then: {{scorer: {name}, evaluator: {RATE}}}", "--app", "offline/app")

    cannot_be_made = "field scenarios.0.then.scorer"  # by its name alone
    misfits = ("it is for a judge's ratings from 1 to 10, and", "every score from 1 to 5 misses it", cannot_be_made)
    assert any(misfit in line for misfit in misfits)


@pytest.mark.parametrize("score", ["min", "max", "turns"])
def test_what_every_turn_gives_is_no_mistake(tmp_path: Path, score: str) -> None:
    scorer = "{type: each_turn, scorer: {type: contains, texts: [a]}}"

    lines = told(tmp_path, f"then: {{scorer: {scorer}, score: {score}, evaluator: {SHARE}}}", "--app", "nowhere")

    assert "app 'nowhere'" in lines[0]


@pytest.mark.parametrize(
    ("world", "top", "said"),
    [
        ("world: probes", "", "found 'no probe'"),
        ("wrold: probes", "", "did you mean 'world'?"),
        ("tags: [a]", "world: builtins:Nothing\n", "builtins has no 'Nothing'"),
    ],
)
def test_what_follows_from_a_mistake_is_not_told(tmp_path: Path, world: str, top: str, said: str) -> None:
    scenario = f"{world}\n    then: {{state: {{a: 1}}, evaluator: {SHARE}}}"

    [line] = told(tmp_path, scenario, "--app", "offline/app", top=top)

    assert said in line


def test_a_title_with_a_colon_is_no_place(tmp_path: Path) -> None:
    file = tmp_path / "suite.yaml"
    scenario = {"title": "x: given: y", "given": "a", "when": "b", "then": {"state": {"a": 1}, "evaluator": SHARE}}
    file.write_text(str([scenario]).replace(f"'{SHARE}'", SHARE))

    done = CliRunner().invoke(main, ["run", str(file), "--app", "offline/app"])

    assert "field 0.then: found a state to be and no world" in done.stderr


def test_what_is_given_does_not_hide_the_mistakes_of_a_file(tmp_path: Path) -> None:
    [line] = told(tmp_path, WRONG, "--app", "offline/app", "--model-option", "seed=1", top="judge_model: nope/x\n")

    assert NO_SHARE in line


def test_mistakes_of_one_line_are_told_in_its_order(tmp_path: Path) -> None:
    settings = "{concurrency: lots, seed: x, on_app_error: ignore, order: random}"

    lines = told(tmp_path, FINE, "--app", "offline/app", top=f"settings: {settings}\n")

    names = [line.partition("settings.")[2].partition(":")[0] for line in lines]
    assert names == ["concurrency", "seed", "on_app_error", "order"]


def test_a_thread_of_the_program_that_calls_a_command_does_not_end_it_with_the_command(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text("scenario: []\n")
    over = threading.Event()
    waiting = threading.Thread(target=over.wait, daemon=False)
    waiting.start()

    try:
        done = CliRunner().invoke(main, ["run", str(tmp_path / "suite.yaml"), "--app", "offline/app"])
    finally:
        over.set()

    assert done.exit_code == 2
