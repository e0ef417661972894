"""Rubrics of a suite: given, kept or written, and shown before a run."""

import json
from pathlib import Path
from typing import Any

import pytest

from simeval import Engine, Expectation, ProportionEvaluator, RetryConfig, ScenarioTest, SuccessRateEvaluator
from simeval.engine.rubrics import ExpectationRubric
from simeval.errors import DefinitionError
from simeval.scorers.metrics import response_latency
from simeval.testing import ScriptedModel
from tests.support.command_line import SUITE, simeval
from tests.support.doubles import LEVELS, failure

pytestmark = pytest.mark.anyio

RULE = SuccessRateEvaluator(min_proportion=0.5)
OWN = Expectation(expected_behavior="It is kind", label="kind", evaluator=RULE, rubric=["It is rude.", "It is kind."])
WRITTEN = Expectation(expected_behavior="It answers", label="answers", evaluator=RULE)
SCENARIO = ScenarioTest(
    title="One",
    given="A user",
    when="They ask",
    then=[OWN, WRITTEN, Expectation(scorer=response_latency, evaluator=ProportionEvaluator(60, 0.5, at_least=False))],
)


async def listed(judge: ScriptedModel, folder: Path | None, *, write: bool = False) -> list[ExpectationRubric]:
    engine = Engine(judge, rubric_folder=folder, retry_config=RetryConfig(enabled=False))
    return list(await engine.rubrics([SCENARIO], write=write))


async def test_one_that_is_not_written_yet_is_named_and_costs_nothing(tmp_path: Path) -> None:
    judge = ScriptedModel({"rubric": [{"levels": LEVELS}]})

    own, written = await listed(judge, tmp_path)

    assert own.rubric is not None
    assert (own.expectation, own.rubric.levels, own.rubric.model) == ("kind", OWN.levels, "")
    assert (written.expectation, written.rubric, written.problem) == ("answers", None, "it is not written yet")
    assert judge.calls == 0


async def test_what_was_written_once_is_kept_and_shown(tmp_path: Path) -> None:
    judge = ScriptedModel({"rubric": [{"levels": LEVELS}]})

    first = await listed(judge, tmp_path, write=True)
    again = await listed(judge, tmp_path)

    assert first == again
    assert again[1].rubric is not None
    assert (again[1].rubric.levels, again[1].rubric.model) == (LEVELS, "scripted/model")
    assert judge.calls == 1


async def test_a_judge_of_no_known_provider_is_refused_where_it_has_to_write_one(tmp_path: Path) -> None:
    engine = Engine("opnai/gpt-5-nano", rubric_folder=tmp_path)

    with pytest.raises(DefinitionError, match="model 'opnai/gpt-5-nano': LiteLLM knows no provider of this name"):
        await engine.rubrics([SCENARIO])


async def test_a_key_is_not_needed_to_see_which_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    _, written = await Engine("openai/gpt-5-nano", rubric_folder=tmp_path).rubrics([SCENARIO])

    assert written.problem == "it is not written yet"


@pytest.mark.parametrize("option", [{"cache": True}, {"resume": "last"}], ids=["cache", "resume"])
async def test_options_of_a_store_are_of_no_account_where_nothing_is_kept(option: dict[str, Any]) -> None:
    engine = Engine(ScriptedModel({"rubric": [{"levels": LEVELS}]}), rubric_folder=None, **option)

    own, written = await engine.rubrics([SCENARIO], write=True)

    assert own.rubric is not None
    assert written.rubric is not None
    assert written.rubric.levels == LEVELS


async def test_why_one_could_not_be_written_is_said() -> None:
    own, written = await listed(ScriptedModel({"rubric": [failure("content")]}), None, write=True)

    assert own.rubric is not None
    assert written.rubric is None
    assert "failed (content)" in written.problem


class TestCommandLine:
    def test_rubrics_are_printed_with_where_they_come_from(self, tmp_path: Path) -> None:
        own = SUITE.replace("returns\n", "returns\n      rubric: [It names nothing., It names both.]\n")
        (tmp_path / "own.yaml").write_text(own)
        (tmp_path / "suite.yaml").write_text(SUITE)

        given, written = (
            simeval(tmp_path, "rubric", name, "--json", f"{name}.json") for name in ("own.yaml", "suite.yaml")
        )

        found = json.loads((tmp_path / "own.yaml.json").read_text())["rubrics"][0]["rubric"]
        assert (given.returncode, written.returncode) == (0, 0)
        assert "given by the suite" in given.stdout
        assert "10  It names both." in given.stdout
        assert (found["by"], found["levels"]["1"]) == ("suite", "It names nothing.")
        assert "written by offline/judge" in written.stdout

    def test_a_rubric_that_is_missing_has_status_1(self, tmp_path: Path) -> None:
        (tmp_path / "suite.yaml").write_text(SUITE)

        done = simeval(tmp_path, "rubric", "suite.yaml", "--judge-model", "openai/gpt-5-nano")

        assert done.returncode == 1
        assert "--write asks the judge for it" in done.stdout
