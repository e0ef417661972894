"""An app that never answered: an error that says so, and no verdict on the app."""

import json
import logging
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import pytest

from simeval import AppResponse, Expectation, ProportionEvaluator, dataset_of
from simeval.core.logs import event_of
from simeval.engine.actors.app_line import FIRST_FEW
from simeval.scorers import ValidJSON
from simeval.suites.apps.remote_app import AppFailure
from tests.support.suites import Engine, scenario

pytestmark = pytest.mark.anyio
SUITE = [scenario(title="One"), scenario(title="Two")]


async def parses(message: str, state: dict[str, Any]) -> str:
    return str(json.loads("{")["x"])


async def test_nothing_is_concluded_on_an_app_that_never_answered() -> None:
    result = await Engine(seed=1).evaluate(SUITE, parses)

    assert [each.outcome for each in result] == ["error", "error"]
    assert all(verdict.p_value_fail is None for each in result for verdict in each.verdicts)
    assert str(result).startswith("ERROR  your app never answered in 10 conversations: JSONDecodeError: ")


async def test_what_an_app_that_never_answered_was_to_do_is_not_measured() -> None:
    result = await Engine(seed=1).evaluate(SUITE[:1], parses)

    assert ": not measured; required: " in str(result)
    assert " 0 of " not in str(result)


async def test_the_line_of_the_users_own_file_is_named() -> None:
    result = await Engine(seed=1).evaluate(SUITE, parses)

    line = parses.__code__.co_firstlineno + 1
    assert f"({Path(__file__).name}:{line} in parses)" in result[0].verdicts[0].explanation


async def test_it_is_told_once_after_the_first_few(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="simeval"):
        await Engine(seed=1).evaluate(SUITE, parses)

    told = [record.getMessage() for record in caplog.records if "not answered once" in record.getMessage()]
    assert len(told) == 1
    assert told[0].startswith("your app has not answered once in 5 conversations: JSONDecodeError: ")


async def test_the_traceback_is_in_the_log_at_debug(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="simeval"):
        await Engine(seed=1).evaluate(scenario(sample_size=1), parses)

    [fields] = [record.fields for record in caplog.records if event_of(record) == "traceback"]  # type: ignore[attr-defined]
    assert "json.loads" in fields["text"]
    assert "JSONDecodeError" in fields["text"]


@pytest.mark.parametrize(
    "said",
    [
        "HTTP 422: {'detail': 'no question in %s'} (it wants another request)",
        "there is nothing at $.text of its answer {'reply': '%s'}",
        "no text is found in its answer {'heard': '%s'}; say where with `reply:`",
        "it answered with a page of HTML and not with JSON or text: <p>%s</p>",
    ],
)
async def test_errors_that_differ_in_what_an_app_sent_are_one(said: str) -> None:
    async def echoes(message: str, state: dict[str, Any]) -> str:
        raise AppFailure(said % message)

    assert (await Engine(seed=1).evaluate(SUITE, echoes)).outcome == "error"


async def test_errors_that_differ_in_a_number_are_one() -> None:
    numbers = iter(range(1_000))

    async def numbered(message: str, state: dict[str, Any]) -> str:
        raise RuntimeError(f"request {next(numbers)} was refused")

    assert (await Engine(seed=1).evaluate(scenario(), numbered)).outcome == "error"


async def test_errors_of_one_line_that_differ_in_what_they_quote_are_one() -> None:
    async def looks_up(message: str, state: dict[str, Any]) -> str:
        return {"hello": "Hello."}[f"{message} {uuid4().hex}"]

    result = await Engine(seed=1).evaluate(scenario(), looks_up)

    assert result.outcome == "error"
    assert "your app never answered" in str(result)


@pytest.mark.parametrize("repetitions", [1, 2])
async def test_nothing_is_concluded_on_an_app_that_never_answered_a_dataset(repetitions: int) -> None:
    def searches(question: str) -> str:
        raise RuntimeError("there is no database")

    dataset = dataset_of([{"question": f"q{number}"} for number in range(40)], name="asked")
    then = Expectation(scorer=ValidJSON(), evaluator=ProportionEvaluator(threshold=1, min_proportion=0.8))

    found = await Engine(seed=1).experiment(dataset, searches, then=then, repetitions=repetitions)

    line = searches.__code__.co_firstlineno + 1
    assert (found.outcome, found.verdicts[0].p_value_fail, found.verdicts[0].estimate) == ("error", None, None)
    assert found.verdicts[0].explanation == (
        f"your app never answered in {40 * repetitions} examples: RuntimeError: there is no database "
        f"({Path(__file__).name}:{line} in searches)"
    )


async def test_the_line_is_named_of_what_python_turns_into_another_error() -> None:
    async def looks(message: str, state: dict[str, Any]) -> str:
        return next(each for each in ("a", "b") if each == message)

    def looks_in_a_thread(message: str, state: dict[str, Any]) -> str:
        return next(each for each in ("a", "b") if each == message)

    for app in (looks, looks_in_a_thread):
        result = await Engine(seed=1).evaluate(scenario(sample_size=2), app)
        line = app.__code__.co_firstlineno + 1
        assert f"({Path(__file__).name}:{line} in {app.__name__})" in result.verdicts[0].explanation


@pytest.mark.parametrize("leaves", [pytest.fail, pytest.skip, pytest.exit])
async def test_what_is_raised_to_end_a_test_ends_no_run(leaves: Any) -> None:
    async def app(message: str, state: dict[str, Any]) -> str:
        return str(leaves("the bot is down"))

    def plain(message: str, state: dict[str, Any]) -> str:
        return str(leaves("the bot is down"))

    for handler in (app, plain):
        result = await Engine(seed=1).evaluate(scenario(sample_size=2), handler)
        assert result.outcome == "error"
        assert "the bot is down" in result.verdicts[0].explanation


async def test_one_answer_is_enough_for_a_verdict() -> None:
    numbers = iter(range(1_000))

    async def answers_once(message: str, state: dict[str, Any]) -> str:
        if next(numbers) == 3:
            return "No idea."
        raise RuntimeError("no")

    assert (await Engine(seed=1).evaluate(scenario(), answers_once)).outcome == "fail"


async def test_its_cause_stands_in_the_report_once() -> None:
    result = await Engine(seed=1).evaluate(SUITE, parses)

    assert str(result).count("JSONDecodeError") == 1


async def test_it_is_not_said_of_one_that_answers_in_conversations_under_way(caplog: pytest.LogCaptureFixture) -> None:
    suite = [scenario(title="Fees", when="asks for the fee"), scenario(title="Days", when="asks for the day")]
    failed, answered = anyio.Event(), anyio.Event()
    failures: list[str] = []

    async def app(message: str, state: dict[str, Any]) -> AppResponse:
        if "fee" in message:
            await answered.wait()
            failures.append(message)
            if len(failures) > 2 * FIRST_FEW:
                failed.set()
            raise ValueError("no fees")
        answered.set()
        if state:
            await failed.wait()  # no conversation has ended before the failures are counted
        return AppResponse("Tuesday. What else?", {"turns": 1})

    with caplog.at_level(logging.WARNING, logger="simeval"):
        result = await Engine(seed=1, app_timeout_seconds=300).evaluate(suite, app)

    assert not any("has not answered once" in record.getMessage() for record in caplog.records)
    assert len(failures) == 30
    assert result["Days"].conversations[0].responses
