"""A mix of users through the whole engine: who is told what, and what is said of an app that fails one of them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simeval import AppResponse, UserMix, UserPersona, WritingStyleConfig
from simeval.errors import DefinitionError
from simeval.extras.populations.axes import AXES
from simeval.extras.populations.fitting import read_habits
from simeval.models.protocol.model import Request
from simeval.models.protocol.prompts import GradeRequest, UserTurn
from simeval.testing import ScriptedModel, judge_reply, user_reply
from tests.support.suites import Engine, scenario

pytestmark = pytest.mark.anyio

COMMUTER = UserPersona(persona="You sit in a train.", share=0.5, name="commuter", style={"tone": "Impatient."})
NEWCOMER = UserPersona(persona="You have never done this.", share=0.5, name="newcomer")
MIXED = scenario(users=UserMix([COMMUTER, NEWCOMER]), sample_size=60)


def model() -> ScriptedModel:
    """Return a model whose user says who it is, and whose judge goes by the answer."""

    def user(request: Request) -> Any:
        assert isinstance(request, UserTurn)
        if request.history:
            return user_reply("")
        return user_reply("From the train: what can you do?" if "train" in request.given else "What can you do?")

    def judge(request: Request) -> Any:
        assert isinstance(request, GradeRequest)
        return judge_reply(9 if "orders" in request.conversation[-1].content else 2)

    return ScriptedModel({"user": user, "judge": judge})


async def app(message: str, state: dict[str, Any]) -> AppResponse:
    return AppResponse("Pardon." if "train" in message else "I track orders.", state)


async def evaluated(asked: ScriptedModel, **settings: Any) -> Any:
    return await Engine(asked, seed=7, **settings).evaluate(MIXED, app)


async def test_an_app_that_fails_one_persona_is_told_so() -> None:
    result = await evaluated(model())

    commuter, newcomer = result.expectations[0].personas
    assert (commuter.name, commuter.met, newcomer.met) == ("commuter", 0, newcomer.n)
    assert commuter.n + newcomer.n == 60
    assert commuter.is_worse
    assert not newcomer.is_worse
    assert "worse than with the others: commuter (p = " in " ".join(str(result).split())


async def test_the_user_is_told_who_it_is_and_the_judge_is_not() -> None:
    asked = model()
    await evaluated(asked, writing_style_config=WritingStyleConfig(enabled=False))

    users = [request for request in asked.requests if isinstance(request, UserTurn)]
    judged = [request for request in asked.requests if isinstance(request, GradeRequest)]
    styles = {"You sit in a train." in request.given: request.writing_style for request in users}
    assert styles == {True: {"tone": "Impatient."}, False: None}
    assert all(request.given.endswith((COMMUTER.persona, NEWCOMER.persona)) for request in users)
    assert {request.given for request in judged} == {MIXED.given}


async def test_personas_do_not_depend_on_how_many_trials_are_under_way() -> None:
    one, many = [await evaluated(model(), concurrency=concurrency) for concurrency in (1, 30)]

    assert one.conversations[0].writing_style["persona"] in ("commuter", "newcomer")
    assert [each.writing_style for each in one.conversations] == [each.writing_style for each in many.conversations]


async def test_a_mix_is_part_of_what_was_run_and_a_stored_run_tells_the_same(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    result = await evaluated(model(), store=store)

    stored = await evaluated(model(), store=store, resume="last")
    others = UserMix([COMMUTER, replace(NEWCOMER, persona="You have done this often.")])
    with pytest.raises(DefinitionError, match="users"):
        await Engine(model(), seed=7, store=store, resume="last").evaluate(replace(MIXED, users=others), app)
    assert stored.expectations[0].personas == result.expectations[0].personas


async def test_who_is_held_anew_stays_who_it_is() -> None:
    asked = model()
    once = await evaluated(asked)

    def errs(request: Request) -> Any:
        assert isinstance(request, UserTurn)
        return user_reply("How can I help you today?")

    again = await evaluated(
        ScriptedModel({"user": errs, "judge": [judge_reply(9)]}), on_user_fault="retry", max_user_fault_rate=1
    )

    assert again.users.held_anew > 0
    assert [each.writing_style["persona"] for each in again.conversations] == [
        each.writing_style["persona"] for each in once.conversations
    ]


@pytest.mark.parametrize(("on_app_error", "of_all"), [("fail", 60), ("exclude", None)])
async def test_failures_of_the_app_that_are_left_out_are_no_figures_of_personas(
    on_app_error: Any, of_all: int | None
) -> None:
    async def breaking(message: str, state: dict[str, Any]) -> AppResponse:
        if "train" in message:
            raise ValueError("no trains")
        return AppResponse("I track orders.", state)

    made = Engine(model(), seed=7, on_app_error=on_app_error, max_error_rate=1.0)
    result = await made.evaluate(MIXED, breaking)

    [verdict], personas = result.verdicts, result.expectations[0].personas
    assert sum(each.n for each in personas) == verdict.n == (of_all or 60 - verdict.left_out)
    assert ("commuter" in [each.name for each in personas]) == (of_all is not None)


@pytest.mark.parametrize("name", ["typing", "courtesy"])
async def test_the_embedded_user_writes_as_fitted_users_are_told(name: str) -> None:
    place, axis = next((place, each) for place, each in enumerate(AXES) if each.name == name)
    traits = [*axis.traits.values()]
    everybody = UserPersona(persona="You are you.", share=1, style={name: {each: 1 / len(traits) for each in traits}})
    asked = scenario(when="The user asks where it is. The user asks who has it.", users=UserMix([everybody]))

    result = await Engine(seed=7).evaluate(replace(asked, sample_size=80), lambda message, state: f"Echo: {message}")

    held = result.conversations
    told = [(each.writing_style or {})[name] for each in held]
    assert [axis.told(each.traits[place]) for each in read_habits(held)] == told
    assert {*told} == {*traits}
