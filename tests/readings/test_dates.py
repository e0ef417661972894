"""The judge knows on which day a conversation took place, and scenarios name days by it."""

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from simeval import AppResponse, Expectation, ProportionEvaluator, ScenarioTest, dataset_of
from simeval.core.conversation import Message
from simeval.core.setting_field import dated, day_of
from simeval.errors import DefinitionError
from simeval.models.protocol.model import Reply
from simeval.models.protocol.prompts import CriteriaRequest, GradeRequest, LabelGradeRequest, LabelRulingRequest
from simeval.testing import ScriptedModel
from tests.support.suites import SUCCESS, Engine, good_app

pytestmark = pytest.mark.anyio

THURSDAY = date(2026, 11, 26)
NOON = datetime(2026, 11, 26, 12, tzinfo=UTC)
TOLD = "The conversation took place on Thursday, 2026-11-26."
ASKED: dict[str, Any] = {"given": "a", "when": "b", "seed": 1}
REQUESTS: list[Any] = [
    lambda **said: GradeRequest(**ASKED, **said, expected_behavior="c", levels={"1": "bad"}),
    lambda **said: LabelGradeRequest(**ASKED, **said, expected_behavior="c", levels={"1": "bad"}),
    lambda **said: CriteriaRequest(**ASKED, **said, criteria={"1": "c"}, reply=Reply),
    lambda **said: LabelRulingRequest(**ASKED, **said, criterion="c"),
]


@pytest.mark.parametrize("request_of", REQUESTS)
def test_every_judge_reads_the_day_of_the_conversation(request_of: Any) -> None:
    def prompt(started: datetime | None, **more: Any) -> str:
        said = (Message(role="user", content="Hi", started=started),)
        text: str = request_of(conversation=said, **more).messages()[-1]["content"]
        return text

    assert TOLD in prompt(NOON)
    assert TOLD in prompt(datetime(2020, 1, 1, tzinfo=UTC), held_on="2026-11-26")
    assert "took place" not in prompt(None)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("on {today}", "on 2026-11-26"),
        ("{today+3} or { today + 5 }", "2026-11-29 or 2026-12-01"),
        ("since {today-26}", "since 2026-10-31"),
        ("{Today}", "2026-11-26"),
        ('{"a": 1} {name}', '{"a": 1} {name}'),
        ("no day", "no day"),
    ],
)
def test_days_are_named_by_the_day_of_the_run(text: str, told: str) -> None:
    assert dated(text, THURSDAY) == told


@pytest.mark.parametrize("text", ["{tomorrow}", "{yesterday}", "{today+}", "{today + three}", "{today+1d}"])
def test_a_day_that_is_named_otherwise_is_refused(text: str) -> None:
    with pytest.raises(DefinitionError, match=r"write .*\{today"):
        dated(f"It comes {text}", THURSDAY)


def dated_scenario(**more: Any) -> ScenarioTest:
    then = Expectation(expected_behavior="Bot says that it comes on {today+3}", evaluator=SUCCESS)
    return ScenarioTest(
        title="When does it come",
        given="A customer who ordered on {today-2}",
        when="The user asks when the order arrives",
        facts="It arrives on {today+3}",
        then=then,
        sample_size=3,
        **more,
    )


def model() -> ScriptedModel:
    judged = {"reasoning": "it says so", "score": 9}
    return ScriptedModel({"user": [{"status": "satisfied", "message": "When does it come?"}], "judge": [judged]})


def prompts_of(asked: ScriptedModel, role: str) -> str:
    return "\n".join(m["content"] for each in asked.requests if each.role == role for m in each.messages())


async def test_user_rubric_and_judge_read_the_same_days() -> None:
    asked = model()

    result = await Engine(asked, date="2026-11-26", rubric_folder=None).evaluate(dated_scenario(), good_app)

    assert "ordered on 2026-11-24" in prompts_of(asked, "user")
    assert "comes on 2026-11-29" in prompts_of(asked, "rubric")
    judge = prompts_of(asked, "judge")
    assert TOLD in judge
    assert "It arrives on 2026-11-29" in judge
    assert "{today" not in judge
    assert result.expectations[0].label == "Bot says that it comes on {today+3}"


async def test_without_a_date_it_is_the_day_of_the_run() -> None:
    asked = model()

    await Engine(asked).evaluate(dated_scenario(), good_app)

    today = day_of(datetime.now(UTC)).isoformat()
    assert f", {today}." in prompts_of(asked, "judge")


async def test_an_expectation_without_a_day_has_the_same_rubric_on_every_day(tmp_path: Path) -> None:
    written = []
    for day in ("2026-11-26", "2026-12-24"):
        asked = model()
        for behaviour in ("Bot tracks orders", "Bot names {today}"):
            then = Expectation(expected_behavior=behaviour, evaluator=SUCCESS)
            scenario = ScenarioTest(title="t", given="A user", when="The user asks", then=then, sample_size=2)
            await Engine(asked, date=day, rubric_folder=tmp_path).evaluate(scenario, good_app)
        written.append(sum(each.role == "rubric" for each in asked.requests))

    assert written == [2, 1]


async def test_the_state_of_a_world_may_name_a_day() -> None:
    class World:
        async def __aenter__(self) -> "World":
            return self

        async def __aexit__(self, *error: object) -> None: ...

        async def state(self) -> dict[str, Any]:
            return {"order": {"arrives": "2026-11-29"}}

    evaluator = ProportionEvaluator(threshold=1, min_proportion=0.5)
    then = Expectation(state={"order.arrives": "{today+3}"}, evaluator=evaluator)
    scenario = ScenarioTest(title="t", given="A", when="The user asks", then=then, world=World, sample_size=3)

    async def app(message: str, state: object) -> AppResponse:
        return AppResponse("It comes on Sunday.", state)

    result = await Engine(model(), date="2026-11-26").evaluate(scenario, app)

    assert result.expectations[0].scores == (1, 1, 1)


@pytest.mark.parametrize("day", ["tomorrow", "26.11.2026", 20261126])
def test_a_date_that_is_none_is_refused(day: Any) -> None:
    with pytest.raises(DefinitionError, match="write it as 2026-11-26"):
        Engine(date=day)


async def test_the_expectations_of_a_dataset_name_days_too() -> None:
    prompts: list[str] = []

    def judge(request: Any) -> Any:
        prompts.append(request.messages()[-1]["content"])
        return {"reasoning": "it does", "score": 9}

    then = Expectation(expected_behavior="It promises delivery on {today+1}.", evaluator=SUCCESS, controls=False)
    rows = dataset_of([{"input": "When?", "output": "Tomorrow."}] * 3, recorded="output")

    result = await Engine(ScriptedModel({"judge": judge}), date="2026-11-26").experiment(rows, then=then)

    assert result.expectations[0].label == "It promises delivery on {today+1}."
    assert prompts
    assert all("on 2026-11-27." in each for each in prompts)
