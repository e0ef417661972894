"""`simeval persona` as a user meets it: a persona begun, checked, and recorded sessions held against a file of bars."""

import json
from pathlib import Path

import pytest

from tests.support.command_line import simeval

SESSIONS = [
    {"session_id": f"s{n}", "turn": turn, "user": "Well?", "assistant": said}
    for n in range(12)
    for turn, said in enumerate(["Happy to take a look. That's on us.", "Acme? A new one ships today."])
]
CHECKS = """
then:
  - label: voice
    scorer:
      type: alignment
      persona: persona.yaml
      encoder: hashed
      weights: {authenticity: 0.6, safety: 0.3, stability: 0.1}
    evaluator: {type: mean, at_least: BAR, bounds: [0, 1]}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sessions.jsonl").write_text("\n".join(map(json.dumps, SESSIONS)), encoding="utf-8")
    assert simeval(tmp_path, "persona", "init").returncode == 0
    return tmp_path


def test_what_init_writes_is_a_persona_of_which_everything_is_measured(folder: Path) -> None:
    done = simeval(folder, "persona", "check", "persona.yaml")

    assert done.returncode == 0, done.stderr
    assert "traits     business_casual, friendly, professional, concise" in done.stdout
    assert "lexicon    3 preferred, 2 avoided" in done.stdout
    assert "not measured" not in done.stdout


def test_init_overwrites_nothing(folder: Path) -> None:
    (folder / "persona.yaml").write_text("id: mine\n", encoding="utf-8")

    done = simeval(folder, "persona", "init")

    assert (done.returncode, (folder / "persona.yaml").read_text(encoding="utf-8")) == (2, "id: mine\n")


def test_check_says_what_is_not_measured_and_why(folder: Path) -> None:
    (folder / "bare.yaml").write_text("id: bare\ntraits: {tone: [wise]}\nlexicon: {avoided: [lol]}\n", encoding="utf-8")

    said = simeval(folder, "persona", "check", "bare.yaml").stdout

    assert "style      not measured: there are no examples" in said
    assert "traits     not measured" in said
    assert "no detector has them: wise" in said
    assert "lexicon    not measured: there are no preferred words (1 avoided)" in said


def test_a_mistake_is_told_with_its_line(folder: Path) -> None:
    (folder / "wrong.yaml").write_text("id: wrong\nexample: [a]\n", encoding="utf-8")

    done = simeval(folder, "persona", "check", "wrong.yaml")

    assert done.returncode == 2
    assert "wrong.yaml, line 2, field example" in done.stderr


@pytest.mark.parametrize(("bar", "status"), [("0.3", 0), ("0.95", 1)])
def test_weights_and_bars_of_recorded_sessions_stand_in_a_file(folder: Path, bar: str, status: int) -> None:
    (folder / "checks.yaml").write_text(CHECKS.replace("BAR", bar), encoding="utf-8")

    arguments = ("--then", "checks.yaml", "--store", "none", "--json", "out.json")
    done = simeval(folder, "score", "sessions.jsonl", *arguments)

    found = json.loads((folder / "out.json").read_text(encoding="utf-8"))
    values = {metric["name"]: metric["value"] for metric in found["metrics"]}
    parts = [values[f"alignment.{part}.{part}"] for part in ("authenticity", "safety", "stability")]
    assert done.returncode == status, done.stderr
    weighted = 0.6 * parts[0] + 0.3 * parts[1] + 0.1 * parts[2]
    assert values["alignment.alignment"] == pytest.approx(weighted)


def test_a_mistake_in_the_file_is_told_with_its_line(folder: Path) -> None:
    (folder / "checks.yaml").write_text(CHECKS.replace("weights", "weight"), encoding="utf-8")

    done = simeval(folder, "score", "sessions.jsonl", "--then", "checks.yaml", "--store", "none")

    assert done.returncode == 2
    assert "checks.yaml, line 8, field then.0.scorer.weight" in done.stderr


def test_something_has_to_be_measured(folder: Path) -> None:
    done = simeval(folder, "score", "sessions.jsonl", "--store", "none")

    assert done.returncode == 2
    assert "--then" in done.stderr
