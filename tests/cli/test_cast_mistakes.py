"""Who plays in a suite: whoever cannot is told with the line, each judge and each part of an app."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from simeval.cli.main import main

SCENARIO = """
scenarios:
  - title: A
    given: a
    when: b
    then: {expected_behavior: well, evaluator: {type: success_rate, min_proportion: 0.9}}
"""
CASES = {
    "each of several judges": (
        "app: offline/app\njudge_model: [nope/x, nada/y]\nuser_model: none/z",
        ["2, field judge_model: model 'nope/x'"],
    ),
    "the judge that the first hands on to": (
        "app: offline/app\njudge: {first: nope/x, escalate: {to: nada/y, when: rating 4..8}}",
        ["2, field judge: model 'nope/x'"],
    ),
    "the keys of two judges": (
        "app: offline/app\njudge_model: [openai/gpt-5, anthropic/claude]",
        ["2, field judge_model: model 'openai/gpt-5': its key"],
    ),
    "a judge without a name beside a rule that cannot be": (
        "app: offline/app\njudge: {first: '', escalate: {to: offline/judge, when: rating 9..2}}",
        ["2, field judge.first: found ''", "2, field judge.escalate.when"],
    ),
    "names of nothing but spaces": (
        "app: offline/app\njudge: {first: ' ', escalate: {to: '', when: rating 4..8}}\nuser_model: ' '",
        ["2, field judge.first: found ' '; give a text that", "2, field judge.escalate.to", "3, field user_model"],
    ),
    "a judge, misspelt, among the settings, and an empty prompt": (
        "app: offline/app\nsettings: {jugde: x, prompts: {judge: ''}}",
        ["2, field settings.jugde: there is no field 'jugde'; did you mean 'judge'? put", "2, field settings.prompts:"],
    ),
    **{
        f"the address {address}": (f"app: '{address}'", ["1, field app: "])
        for address in ("a2a:htp://x", "agui:", "wss://", "https://", "openai-responses:x#m", "a2a:http://h:port")
    },
    "a request beside a misspelt address": (
        "app: {ulr: http://x, request: 3}",
        ["1, field app.ulr: there is no field 'ulr'"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_whoever_cannot_play_is_told(tmp_path: Path, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    top, said = CASES[case]
    file = tmp_path / "suite.yaml"
    file.write_text(top + SCENARIO)

    done = CliRunner().invoke(main, ["run", str(file)])

    lines = [line for line in done.stderr.splitlines() if " INFO " not in line]
    assert done.exit_code == 2
    assert all(f"line {each}" in line for each, line in zip(said, lines, strict=True)), lines
