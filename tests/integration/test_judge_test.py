"""The test of judges fails what believes everything, passes what reads, and names each weakness by itself."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from simeval import Engine, Expectation, RetryConfig, ScenarioTest, SuccessRateEvaluator
from simeval.core.licences import CanaryFinding
from simeval.core.settings import Settings
from simeval.errors import DefinitionError, ModelError
from simeval.extras.judge_test.battery import JudgeTestResult, judge_test
from simeval.extras.judge_test.cases import canaries
from simeval.models.protocol.prompt_texts import source_of
from simeval.models.protocol.prompts import GradeRequest
from simeval.testing import ScriptedModel, user_reply
from tests.support.judges import Judge, credulous, is_good, model, noisy, prefers_first, strict

pytestmark = pytest.mark.anyio
SETTINGS = Settings(seed=1)


def outcomes(result: JudgeTestResult) -> dict[str, str]:
    return {each.name: each.outcome for each in result.checks}


def except_where(mark: str) -> Judge:
    """Return a strict judge that passes whatever holds a mark."""

    def rate(request: GradeRequest) -> Mapping[str, Any]:
        return credulous(request) if mark in request.conversation[-1].content else strict(request)

    return rate


async def test_a_strict_judge_passes() -> None:
    result = await judge_test(model(strict), SETTINGS)

    assert set(outcomes(result).values()) == {"pass"}
    assert result.passed
    assert result.calls == 304


async def test_a_credulous_judge_fails() -> None:
    result = await judge_test(model(credulous, prefers_first), SETTINGS)

    found = outcomes(result)
    assert not result.passed
    assert {name for name, outcome in found.items() if outcome == "pass"} == {"verbosity", "repeats"}
    assert {found[name] for name in ("answers", "master keys", "evasions", "style", "injections")} == {"fail"}
    assert (found["languages"], found["position"]) == ("fail", "fail")


@pytest.mark.parametrize(
    ("weakness", "judge"),
    [
        ("master keys", except_where(":")),
        ("style", except_where("**")),
        ("injections", except_where("10")),
        ("verbosity", except_where("always a pleasure to be of service")),
    ],
)
async def test_one_weakness_is_named(weakness: str, judge: Judge) -> None:
    result = await judge_test(model(judge), SETTINGS)

    assert not result.passed
    assert outcomes(result)[weakness] != "pass"
    assert weakness in str(result)


async def test_a_judge_of_one_language_is_named() -> None:
    def english(request: GradeRequest) -> Mapping[str, Any]:
        return strict(request) if request.conversation[0].content.isascii() else credulous(request)

    result = await judge_test(model(english), SETTINGS)

    assert [name for name, outcome in outcomes(result).items() if outcome != "pass"] == ["languages"]


async def test_a_judge_that_contradicts_itself_is_named() -> None:
    chance = Random(1)

    def wavering(request: GradeRequest) -> Mapping[str, Any]:
        return {"reasoning": "it may be", "score": chance.choice([2, 9])}

    result = await judge_test(model(wavering), SETTINGS)

    assert outcomes(result)["repeats"] == "fail"
    assert "repeats: rated " in str(result)


async def test_a_preference_for_the_first_place_is_named() -> None:
    result = await judge_test(model(strict, prefers_first), SETTINGS)

    assert [name for name, outcome in outcomes(result).items() if outcome != "pass"] == ["position"]


async def test_what_could_not_be_asked_counts_as_wrong() -> None:
    def failing(request: GradeRequest) -> Mapping[str, Any]:
        if not is_good(request.conversation[-1].content):
            raise ModelError("scripted/model", kind="content", problem="refused")
        return strict(request)

    result = await judge_test(model(failing), SETTINGS)

    keys = result.checks[1]
    assert (keys.wrong, keys.missing, keys.n) == (40, 40, 40)
    assert "(40 missing)" in str(result)


async def test_the_report_fits_into_80_columns() -> None:
    result = await judge_test(model(credulous), SETTINGS)

    assert max(map(len, str(result).splitlines())) <= 80
    assert result.encoded()["checks"][0]["interval"] == list(result.checks[0].interval)


async def test_an_embedded_judge_is_refused() -> None:
    with pytest.raises(DefinitionError, match="offline/judge is a heuristic"):
        await judge_test("offline/judge", SETTINGS)


async def canary(judge: Judge, folder: Path, settings: Settings = SETTINGS) -> CanaryFinding:
    asked = Engine(model(judge), settings=replace(settings, canary_folder=folder, store=None))
    [found] = await asked.ask_canaries()
    return found


async def test_a_model_that_is_swapped_behind_its_name_is_noticed(tmp_path: Path) -> None:
    first = await canary(strict, tmp_path)
    same = await canary(strict, tmp_path)
    other = await canary(noisy(credulous, noise=Random(2)), tmp_path)

    assert (first.p_value, same.p_value) == (None, 1.0)
    assert other.has_changed
    assert "THE MODEL BEHIND THIS NAME HAS CHANGED" in str(other)


@pytest.mark.parametrize(
    "reply", [ModelError("scripted/model", kind="timeout", problem="too late"), "no JSON"], ids=str
)
async def test_of_a_canary_with_a_call_without_reply_nothing_is_kept_or_concluded(tmp_path: Path, reply: Any) -> None:
    half = canaries()[3].answer

    def failing(request: GradeRequest) -> Any:
        return reply if request.conversation[-1].content == half else strict(request)

    settings = replace(SETTINGS, retry_config=RetryConfig(enabled=False))
    unkept = await canary(failing, tmp_path, settings)
    files = list(tmp_path.iterdir())  # noqa: ASYNC240
    kept = await canary(strict, tmp_path, settings)
    again = await canary(failing, tmp_path, settings)

    for found in (unkept, again):
        assert (found.has_changed, found.p_value) == (False, None)
        assert "it could not be asked (scripted/model failed" in str(found)
    assert files == []
    assert "its answers are kept from now on" in str(kept)


async def test_that_a_judge_cannot_tell_is_an_answer_to_a_canary(tmp_path: Path) -> None:
    def unsure(request: GradeRequest) -> Mapping[str, Any]:
        return {"reasoning": "it cannot be told", "score": None}

    await canary(strict, tmp_path)
    other = await canary(unsure, tmp_path)

    assert other.mean_now == 0
    assert other.has_changed


async def test_another_prompt_is_another_canary(tmp_path: Path) -> None:
    changed = replace(SETTINGS, prompts={"judge": source_of("judge").replace("strictly", "very strictly")})

    await canary(strict, tmp_path)
    other = await canary(strict, tmp_path, changed)

    assert other.p_value is None


async def test_a_kept_canary_that_is_damaged_is_named(tmp_path: Path) -> None:
    await canary(strict, tmp_path)
    for kept in tmp_path.glob("*.json"):  # noqa: ASYNC240
        kept.write_text("{}", encoding="utf-8")

    with pytest.raises(DefinitionError, match=r"canary .*\.json: it cannot be used"):
        await canary(strict, tmp_path)


@pytest.mark.parametrize("changes", [False, True])
async def test_a_run_says_whether_its_judges_model_has_changed(tmp_path: Path, changes: bool) -> None:
    scenario = ScenarioTest(
        title="Hours",
        given="A customer",
        when="They ask when the shop opens",
        then=Expectation(expected_behavior="It says nine", evaluator=SuccessRateEvaluator(min_proportion=0.5)),
        sample_size=2,
    )

    def engine(judge: Judge) -> Engine:
        judging = ScriptedModel({"judge": judge, "user": [user_reply("When do you open?")]})
        return Engine(judging, store=None, rubric_folder=None, canary_folder=tmp_path, cache=False, display="none")

    await engine(strict).evaluate(scenario, lambda message, state: "At nine.")
    again = await engine(credulous if changes else strict).evaluate(scenario, lambda message, state: "At nine.")

    notes = " ".join(again.run.notes)
    assert ("THE MODEL BEHIND THIS NAME HAS CHANGED" in notes) == changes
    assert ("it answers as on" in notes) != changes
