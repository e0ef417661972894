"""An app whose answers are all empty is judged as any other, and that is told."""

import logging

import pytest

from simeval import AppResponse
from simeval.engine.actors.app_line import EMPTY
from tests.support.suites import Engine, scenario

pytestmark = pytest.mark.anyio


def says_nothing(message: str) -> str:
    return " "


def calls_a_tool(message: str) -> AppResponse:
    return AppResponse("", tool_calls=[{"name": "look_up"}])


async def test_it_is_told_once_after_the_first_few_and_stands_in_the_report(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="simeval"):
        result = await Engine(seed=1).evaluate([scenario()], says_nothing)

    assert [record.getMessage() for record in caplog.records].count(EMPTY) == 1
    assert result.run.notes[-1] == EMPTY


async def test_an_answer_that_calls_a_tool_is_not_empty() -> None:
    result = await Engine(seed=1).evaluate([scenario()], calls_a_tool)

    assert EMPTY not in result.run.notes


async def test_one_answer_with_a_text_is_enough() -> None:
    answers = iter(["hello"])

    result = await Engine(seed=1).evaluate([scenario()], lambda message: next(answers, ""))

    assert EMPTY not in result.run.notes
