"""A judge that is refused after trials: a run began without controls, goes on with them, and its judge is wrong."""

import logging
from pathlib import Path
from typing import Any

import pytest

from simeval import Engine, Expectation, ScenarioTest, SuccessRateEvaluator
from simeval.core.trial import Score
from simeval.testing import ScriptedModel, judge_reply
from tests.support.experiments import sums

pytestmark = pytest.mark.anyio

EXPECTED = Expectation(expected_behavior="Bot says Paris", evaluator=SuccessRateEvaluator(min_proportion=0.5))
CAPITAL = ScenarioTest(
    title="Capital",
    given="A pupil",
    when="The user asks for the capital of France",
    then=EXPECTED,
    sample_size=30,
    max_turns=1,
)
ANSWER = "It is Paris, on the Seine."
STARTED_AND_RESUMED: list[dict[str, Any]] = [
    {"seed": 1, "on_failed_control": "off"},
    {"resume": "last", "on_failed_control": "refuse"},
]


@pytest.fixture
def options(tmp_path: Path) -> dict[str, Any]:
    return {"rubric_folder": None, "store": tmp_path / "store.db", "concurrency": 1}


def judge() -> ScriptedModel:
    """Return a judge that passes everything, controls too."""
    replies = [judge_reply(9, "It says Paris.")]
    return ScriptedModel({"judge": replies, "control": replies})


async def test_known_trials_stay_visible_and_nothing_more_is_paid_for(options: dict[str, Any]) -> None:
    first, again = (Engine(judge(), "offline/user", **options, **more) for more in STARTED_AND_RESUMED)
    begun = 0

    async def stops(message: str, state: Any) -> str:
        nonlocal begun
        begun += 1
        if begun == 3:
            first.stop("enough")
        return ANSWER

    stopped = await first.evaluate(CAPITAL, stops)
    result = await again.evaluate(CAPITAL, stops)

    assert (stopped.trials, result.trials, begun) == (3, 3, 3)
    assert [each.value for each in result.expectations[0].results if isinstance(each, Score)] == [9, 9, 9]
    assert (result.outcome, result.verdicts[0].n, result.run.stopped) == ("error", 0, "")
    assert "so nothing is concluded on the 3 trials there are" in result.verdicts[0].explanation
    assert result.run.usage["judge"] == stopped.run.usage["judge"]


async def test_the_log_says_why_a_judge_is_refused(options: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    engine = Engine(judge(), "offline/user", **options, on_failed_control="refuse")

    with caplog.at_level(logging.WARNING, logger="simeval"):
        await engine.evaluate(CAPITAL, lambda message, state: ANSWER)

    [told] = [each.getMessage() for each in caplog.records]
    assert told.startswith("Capital: Bot says Paris: scripted/model is not to be trusted here, it gives 9 of 10")


async def test_known_answers_of_a_dataset_do_too(options: dict[str, Any]) -> None:
    first, again = (Engine(judge(), **options, **more) for more in STARTED_AND_RESUMED)
    dataset = sums(9)
    begun = 0

    def stops(n: int) -> str:
        nonlocal begun
        begun += 1
        if begun == 3:
            first.stop("enough")
        return ANSWER

    stopped = await first.evaluate(dataset, stops, then=EXPECTED)
    result = await again.evaluate(dataset, stops, then=EXPECTED)

    assert (stopped.answers, result.answers, begun) == (3, 3, 3)
    assert (result.outcome, result.run.stopped) == ("error", "")
    assert "so nothing is concluded on the 3 trials there are" in result.verdicts[0].explanation
