"""Canaries of a run: counted apart from its trials, within its budget, and ended with it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from simeval import Engine, Expectation, RetryConfig, ScenarioTest, SuccessRateEvaluator
from simeval.core.run_records import total
from simeval.errors import DefinitionError, ModelError
from simeval.models.protocol.model import Completion, Request
from simeval.testing import ScriptedModel, judge_reply, rubric_reply

pytestmark = pytest.mark.anyio

CANARY = 24  # calls: eight conversations, three times
SCENARIO = ScenarioTest(
    title="Hours",
    given="A customer",
    when="They ask when the shop opens",
    then=Expectation(
        expected_behavior="It says nine", controls=False, evaluator=SuccessRateEvaluator(min_proportion=0.5)
    ),
    sample_size=20,
    max_turns=1,
)
OF_A_RUN = 1 + 2 * 20  # calls: its rubric, and of each trial the user's and the judge's


async def app(message: str, state: Any) -> str:
    return "At nine."


def judge() -> ScriptedModel:
    return ScriptedModel({"judge": [judge_reply(9)], "rubric": [rubric_reply()]})


def engine(model: ScriptedModel, folder: Path, **options: Any) -> Engine:
    return Engine(
        model,
        "offline/user",
        **{
            "store": None,
            "rubric_folder": None,
            "canary_folder": folder,
            "early_stopping": False,
            "seed": 1,
            "retry_config": RetryConfig(enabled=False),
            **options,
        },
    )


async def test_they_have_a_role_of_their_own(tmp_path: Path) -> None:
    result = await engine(judge(), tmp_path).evaluate(SCENARIO, app)

    assert (result.run.usage["canary"].calls, result.run.usage["judge"].calls) == (CANARY, 20)
    assert "its answers are kept from now on" in " ".join(result.run.notes)


async def test_what_they_took_is_not_in_the_mean_of_trials(tmp_path: Path) -> None:
    def heavy(request: Request) -> Completion:
        text = '{"reasoning": "half right", "score": 5}'
        return Completion(text=text, prompt_tokens=2_000 if request.role == "canary" else 1_000)

    dear = ScriptedModel({"judge": heavy, "rubric": [rubric_reply()]})
    result = await engine(dear, tmp_path, max_tokens=80_000, concurrency=1).evaluate(SCENARIO, app)

    assert (result.trials, result.run.stopped) == (20, "")


@pytest.mark.parametrize("short", [1, 20, 38])
async def test_a_budget_pays_for_them_first(tmp_path: Path, short: int) -> None:
    most = CANARY + OF_A_RUN - short
    result = await engine(judge(), tmp_path, max_calls=most).evaluate(SCENARIO, app)

    assert most - 2 < total(result.run.usage).calls <= most
    assert result.run.usage["canary"].calls == CANARY


async def test_a_budget_that_pays_for_no_trial_after_them_is_refused_before_any_call(tmp_path: Path) -> None:
    model = judge()

    with pytest.raises(DefinitionError, match="after canaries, rubrics and controls, which take 25"):
        await engine(model, tmp_path, max_calls=26).evaluate(SCENARIO, app)

    assert model.calls == 0


async def test_a_resumed_run_that_cannot_pay_for_them_does_not_ask(tmp_path: Path) -> None:
    options = {"store": tmp_path / "runs.db", "max_calls": CANARY + 11}
    first = await engine(judge(), tmp_path, **options).evaluate(SCENARIO, app)
    again = await engine(judge(), tmp_path, resume="last", **options).evaluate(SCENARIO, app)

    assert total(again.run.usage).calls == total(first.run.usage).calls == CANARY + 11
    assert "canaries were not asked: max_calls of 35 is reached" in " ".join(again.run.notes)


@pytest.mark.parametrize("way", ["stop", "end"])
async def test_an_end_or_a_stop_ends_them(tmp_path: Path, way: str) -> None:
    async def for_ever(request: Request) -> Mapping[str, Any]:
        getattr(running, way)("enough")
        await anyio.sleep_forever()
        raise AssertionError

    running = engine(ScriptedModel({"judge": for_ever}), tmp_path / "kept")
    with anyio.fail_after(60):
        result = await running.evaluate(SCENARIO, app)

    assert (result.trials, result.run.stopped) == (0, "enough")
    assert result.run.usage["canary"].ended_calls > 0
    assert list((tmp_path / "kept").iterdir()) == []


async def test_a_kept_file_that_is_damaged_is_named_before_any_call(tmp_path: Path) -> None:
    await engine(judge(), tmp_path).evaluate(SCENARIO, app)
    [kept] = tmp_path.glob("*.json")  # noqa: ASYNC240
    kept.write_text(kept.read_text()[:-9], encoding="utf-8")
    model = judge()

    with pytest.raises(DefinitionError, match=r"canary .*\.json: it cannot be used"):
        await engine(model, tmp_path).evaluate(SCENARIO, app)

    assert model.calls == 0


async def test_a_run_goes_on_where_they_have_no_reply(tmp_path: Path) -> None:
    late = ModelError("scripted/model", kind="timeout", problem="too late")
    model = ScriptedModel({"canary": [late], "judge": [judge_reply(9)], "rubric": [rubric_reply()]})

    result = await engine(model, tmp_path).evaluate(SCENARIO, app)

    assert result.trials == 20
    assert "it could not be asked (scripted/model failed (timeout)" in " ".join(result.run.notes)
    assert list(tmp_path.iterdir()) == []  # noqa: ASYNC240
