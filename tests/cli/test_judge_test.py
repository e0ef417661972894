"""`simeval judge-test`: exit status, table and JSON, against an endpoint on this machine."""

import json
from pathlib import Path

from simeval.testing import fake_endpoint
from tests.support.command_line import simeval

SUITE = """
scenarios:
  - title: Hours
    given: A customer
    when: They ask when the shop opens
    sample_size: 20
    then:
      expected_behavior: The assistant says that the shop opens at nine
      evaluator: {type: success_rate, min_proportion: 0.5}
"""


def test_a_judge_has_to_be_named_and_to_be_one(tmp_path: Path) -> None:
    unnamed = simeval(tmp_path, "judge-test")
    embedded = simeval(tmp_path, "judge-test", "--judge-model", "offline/judge")

    assert (unnamed.returncode, embedded.returncode) == (2, 2)
    assert "--judge-model" in unnamed.stderr
    assert "offline/judge is a heuristic" in embedded.stderr


def test_a_judge_that_is_licensed_or_not_is_kept_in_the_store_for_its_runs(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text(SUITE, encoding="utf-8")
    (tmp_path / "app.py").write_text("def handle(message, state):\n    return 'At nine.'\n", encoding="utf-8")
    with fake_endpoint() as endpoint:
        judge = f"api_base={endpoint.base_url}"
        named = ("suite.yaml", "--judge-model", "openai-compatible/fake", "--judge-option", judge)
        found = simeval(tmp_path, "judge-test", *named, "--json", "found.json", OPENAI_API_KEY="none")
        run = ("run", *named, "--app", "app:handle", "--require-judge-test")
        refused = simeval(tmp_path, *run, OPENAI_API_KEY="none")

    [licence] = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))["licences"]
    assert found.returncode == 1, found.stderr
    assert "NOT LICENSED: judge openai-compatible/fake (rating)" in found.stdout
    assert (licence["form"], licence["licensed"], licence["right_answers"]["passed"]) == ("rating", False, False)
    assert refused.returncode == 2
    assert "judge openai-compatible/fake (rating): NOT LICENSED" in " ".join(refused.stderr.split())


def test_a_judge_is_tested_in_each_language_of_its_suite(tmp_path: Path) -> None:
    german = SUITE.replace(
        "The assistant says that the shop opens at nine", "Der Bot sagt, dass der Laden um 9 Uhr öffnet"
    )
    text = SUITE + german.partition("scenarios:\n")[2].replace("Hours", "Uhrzeit")
    (tmp_path / "suite.yaml").write_text(text, encoding="utf-8")
    with fake_endpoint() as endpoint:
        judge = f"api_base={endpoint.base_url}"
        named = ("suite.yaml", "--judge-model", "openai-compatible/fake", "--judge-option", judge)
        simeval(tmp_path, "judge-test", *named, "--json", "found.json", OPENAI_API_KEY="none")

    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))["licences"]
    assert [each["form"] for each in found] == ["rating", "rating in German"]


def test_the_weaknesses_of_a_judge_that_passes_all_are_named(tmp_path: Path) -> None:
    with fake_endpoint() as endpoint:
        judge = f"api_base={endpoint.base_url}"
        named = ("--judge-model", "openai-compatible/fake", "--judge-option", judge)
        done = simeval(
            tmp_path,
            "judge-test",
            "--weaknesses",
            *named,
            "--json",
            "found.json",
            "--canary",
            "kept",
            OPENAI_API_KEY="none",
        )

    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert done.returncode == 1, done.stderr
    assert "master keys   FAIL" in done.stdout
    assert "NOT PASSED: judge openai-compatible/fake, 304 calls" in done.stdout
    assert "its answers are kept from now on" in done.stdout
    assert {each["name"]: each["outcome"] for each in found["checks"]}["answers"] == "fail"
    assert found["canary"]["p_value"] is None
    assert len(list((tmp_path / "kept").iterdir())) == 1
