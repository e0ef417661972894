"""A model that answers by a script."""

import json
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from simeval import Engine, Expectation, ScenarioTest, SuccessRateEvaluator
from simeval.errors import DefinitionError, ModelError, ModelUnusable
from simeval.models import Completion, Model, Request
from simeval.testing import ScriptedModel, judge_reply, rubric_reply, user_reply
from tests.support.doubles import any_request, failure

pytestmark = pytest.mark.anyio

SCENARIO = ScenarioTest(
    title="Bot greets",
    given="A user",
    when="They say hello",
    sample_size=6,
    max_turns=1,
    then=Expectation(expected_behavior="Bot greets back", evaluator=SuccessRateEvaluator(min_proportion=0.5)),
)


async def texts(model: Model, times: int) -> list[str]:
    return [(await model.complete(any_request())).text for _ in range(times)]


async def test_answers_come_in_turn_and_the_last_for_ever() -> None:
    assert await texts(ScriptedModel(["one", "two"]), 4) == ["one", "two", "two", "two"]


async def test_a_mapping_is_sent_as_json_and_a_completion_as_it_is() -> None:
    whole = Completion(text="counted", completion_tokens=3)
    model = ScriptedModel([judge_reply(7, "fine"), whole])

    assert json.loads((await model.complete(any_request())).text) == {"reasoning": "fine", "score": 7}
    assert await model.complete(any_request()) is whole


async def test_an_exception_is_raised_in_its_turn() -> None:
    model = ScriptedModel(["fine", failure("timeout"), "again"])
    await texts(model, 1)

    with pytest.raises(ModelError, match="timeout"):
        await texts(model, 1)
    assert await texts(model, 1) == ["again"]


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_function_answers_by_the_request(is_async: bool) -> None:
    def by_seed(request: Request) -> str:
        return f"seed {request.seed}"

    async def later(request: Request) -> str:
        return by_seed(request)

    model = ScriptedModel(later if is_async else by_seed)

    assert (await model.complete(any_request(3))).text == "seed 3"
    assert [request.seed for request in model.requests] == [3]


async def test_each_role_has_a_script_and_a_turn_of_its_own() -> None:
    ratings = [judge_reply(9), judge_reply(3), judge_reply(9)]
    model = ScriptedModel({"user": [user_reply("Hello")], "judge": ratings})

    engine = Engine(model, seed=1, concurrency=1, store=None, rubric_folder=None, display="none", early_stopping=False)
    result = await engine.evaluate(SCENARIO, lambda message, state: "Hello!")

    assert sorted(result.expectations[0].scores) == [3, 9, 9, 9, 9, 9]
    assert [request.role for request in model.requests].count("rubric") == 1


async def test_a_rubric_has_plain_levels_where_none_are_scripted() -> None:
    reply = (await ScriptedModel({"user": [user_reply("Hello")]}).complete(any_request())).text

    assert json.loads(reply) == rubric_reply()
    assert list(json.loads(reply)["levels"]) == [str(level) for level in range(1, 11)]


async def test_a_role_without_a_script_ends_the_run() -> None:
    engine = Engine(ScriptedModel({"user": [user_reply("Hello")]}), store=None, rubric_folder=None, display="none")

    with pytest.raises(ModelUnusable, match="no script for the role 'judge'"):
        await engine.evaluate(SCENARIO, lambda message, state: "Hello!")


@pytest.mark.parametrize(("script", "said"), [([], "list of answers"), ("hello", "list"), ({"jugde": ["x"]}, "jugde")])
def test_a_script_that_cannot_answer_is_refused(script: Any, said: str) -> None:
    with pytest.raises(DefinitionError, match=said):
        ScriptedModel(script)


async def test_it_counts_what_is_under_way() -> None:
    opened = anyio.Event()

    async def wait(_: Request) -> str:
        await opened.wait()
        return "done"

    model = ScriptedModel(wait)
    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(model.complete, any_request())
        while model.under_way < 3:
            await anyio.lowlevel.checkpoint()
        opened.set()

    assert (model.calls, model.peak, model.under_way, model.closed) == (3, 3, 0, False)
    await model.close()
    assert model.closed
