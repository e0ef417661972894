"""What a project sets, and a suite, holds for every command that reads a suite or asks a model."""

from pathlib import Path

import pytest

from tests.support.command_line import simeval

SUITE = """
scenarios:
  - title: It answers
    given: A user
    when: The user asks something
    then:
      expected_behavior: Bot answers
      evaluator: {type: success_rate, min_proportion: 0.9}
"""
STRICT = "[tool.simeval]\nsample_size = 60\nsignificance_level = 0.01\n"
NOBODY = "openai/nobody"  # whose key there is not


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "suite.yaml").write_text(SUITE)
    (tmp_path / "rows.jsonl").write_text('{"input": "q", "output": "a", "reference": "a"}\n' * 3)
    return tmp_path


def test_a_plan_is_made_by_the_settings_of_the_project(folder: Path) -> None:
    usual = simeval(folder, "plan", "suite.yaml")
    (folder / "pyproject.toml").write_text(STRICT)
    ours = simeval(folder, "plan", "suite.yaml")
    bar = simeval(folder, "plan", "--bar", "0.9", "--rate", "0.97")

    assert "at most 30 trials" in usual.stdout
    assert "at most 60 trials" in ours.stdout
    assert bar.stdout.startswith("to prove a rate of at least 90% at level 0.01,")


def test_rubrics_are_those_of_the_judge_that_the_suite_or_the_project_names(folder: Path) -> None:
    usual = simeval(folder, "rubric", "suite.yaml")
    (folder / "pyproject.toml").write_text(f'[tool.simeval]\njudge_model = "{NOBODY}"\n')
    project = simeval(folder, "rubric", "suite.yaml")
    given = simeval(folder, "rubric", "suite.yaml", "--judge-model", "offline/judge")
    (folder / "pyproject.toml").unlink()
    (folder / "suite.yaml").write_text(f"judge_model: {NOBODY}\n{SUITE}")
    suite = simeval(folder, "rubric", "suite.yaml")

    assert "written by offline/judge" in usual.stdout
    assert given.stdout == usual.stdout
    assert suite.stdout == project.stdout
    assert (suite.returncode, "it is not written yet" in suite.stdout) == (1, True)


def test_a_file_is_scored_by_the_judge_and_the_limits_of_the_project(folder: Path) -> None:
    (folder / "then.yaml").write_text(f"then:\n{SUITE.partition('then:')[2]}")
    command = ("score", "rows.jsonl", "--then", "then.yaml", "--recorded", "output", "--store", "none")
    (folder / "pyproject.toml").write_text("[tool.simeval]\nmax_calls = 1\n")
    stopped = simeval(folder, *command)
    (folder / "pyproject.toml").write_text(f'[tool.simeval]\njudge_model = "{NOBODY}"\n')
    keyless = simeval(folder, *command, OPENAI_API_KEY="")
    unasked = simeval(
        folder, "score", "rows.jsonl", "--scorers", "exact_match", "--recorded", "output", OPENAI_API_KEY=""
    )

    assert stopped.returncode == 2, stopped.stdout
    assert "max_calls: 1 cannot pay one trial" in stopped.stderr
    assert keyless.returncode == 2, keyless.stdout
    assert f"pyproject.toml, line 2, field tool.simeval.judge_model: model '{NOBODY}': its key is" in keyless.stderr
    assert unasked.returncode == 0, unasked.stderr


def test_one_judge_that_is_named_is_not_one_of_two(folder: Path) -> None:
    (folder / "then.yaml").write_text(f"then:\n{SUITE.partition('then:')[2]}")
    judges = f'judge_model = ["offline/judge", "{NOBODY}"]\nescalate = "rating 4..8"\n'
    (folder / "pyproject.toml").write_text(f"[tool.simeval]\n{judges}")

    command = ("score", "rows.jsonl", "--then", "then.yaml", "--recorded", "output", "--judge-model", "offline/judge")
    scored, rubrics = simeval(folder, *command), simeval(folder, "rubric", "suite.yaml")

    assert scored.returncode == 1, scored.stderr
    assert rubrics.returncode == 0, rubrics.stderr


def test_the_app_of_the_project_is_probed(folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[tool.simeval]\napp = "shop:handle"\n')
    (folder / "shop.py").write_text("def handle(message):\n    return message\n")

    done = simeval(folder, "probe", "suite.yaml")

    assert done.returncode == 0, done.stderr
    assert "app         shop:handle (shop.py, line 1)" in done.stdout
    assert "reply       Which code word did I give you?" in done.stdout


def test_runs_are_compared_and_judges_agree_at_the_level_of_the_project(folder: Path) -> None:
    (folder / "shop.py").write_text("def handle(message):\n    return 'Bot answers'\n")
    for name in ("a", "b"):
        simeval(folder, "run", "suite.yaml", "--app", "shop:handle", "--seed", "1", "--json", f"{name}.json")
    usual = simeval(folder, "compare", "a.json", "b.json")
    (folder / "pyproject.toml").write_text(STRICT)
    ours = simeval(folder, "compare", "a.json", "b.json")
    given = simeval(folder, "compare", "a.json", "b.json", "--alpha", "0.05")

    assert "90% confidence" in usual.stdout
    assert "98% confidence" in ours.stdout
    assert given.stdout == usual.stdout


def test_one_conversation_is_held_here_however_a_project_runs_suites(folder: Path) -> None:
    (folder / "shop.py").write_text("def handle(message):\n    return 'Bot answers'\n")
    (folder / "pyproject.toml").write_text('[tool.simeval]\nexecutor = "ray"\nshard = "1/2"\nseed = 3\n')

    done = simeval(folder, "try", "suite.yaml", "--app", "shop:handle")

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("setting", ['executor = "ray"', 'shard = "1/2"'])
def test_how_suites_are_run_here_is_nothing_to_a_file_that_is_scored(folder: Path, setting: str) -> None:
    (folder / "pyproject.toml").write_text(f"[tool.simeval]\n{setting}\n")

    done = simeval(folder, "score", "rows.jsonl", "--scorers", "exact_match", "--recorded", "output", "--store", "none")

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "arguments", [("plan", "suite.yaml"), ("rubric", "suite.yaml"), ("score", "rows.jsonl", "--scorers", "exact_match")]
)
def test_a_mistake_of_the_project_is_told_by_every_command(folder: Path, arguments: tuple[str, ...]) -> None:
    (folder / "pyproject.toml").write_text("[tool.simeval]\nsed = 5\n")

    done = simeval(folder, *arguments)

    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no field 'sed'; did you mean 'seed'?" in done.stderr
