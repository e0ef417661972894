"""`simeval judge-test`: exit status, table and JSON, against an endpoint on this machine."""

import json
from pathlib import Path

from simeval.testing import fake_endpoint
from tests.support.command_line import simeval


def test_a_judge_has_to_be_named_and_to_be_one(tmp_path: Path) -> None:
    unnamed = simeval(tmp_path, "judge-test")
    embedded = simeval(tmp_path, "judge-test", "--judge-model", "offline/judge")

    assert (unnamed.returncode, embedded.returncode) == (2, 2)
    assert "--judge-model" in unnamed.stderr
    assert "offline/judge is a heuristic" in embedded.stderr


def test_a_judge_that_passes_all_ends_with_status_1(tmp_path: Path) -> None:
    with fake_endpoint() as endpoint:
        judge = f"api_base={endpoint.base_url}"
        named = ("--judge-model", "openai-compatible/fake", "--judge-option", judge)
        done = simeval(
            tmp_path, "judge-test", *named, "--json", "found.json", "--canary", "kept", OPENAI_API_KEY="none"
        )

    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert done.returncode == 1, done.stderr
    assert "master keys   FAIL" in done.stdout
    assert "NOT PASSED: judge openai-compatible/fake, 328 calls" in done.stdout
    assert {each["name"]: each["outcome"] for each in found["checks"]}["answers"] == "fail"
    assert found["canary"]["p_value"] is None
    assert len(list((tmp_path / "kept").iterdir())) == 1
