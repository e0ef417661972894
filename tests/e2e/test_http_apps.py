"""Runs over HTTP of an app that fails, hangs or answers nonsense."""

from collections.abc import Callable
from functools import partial
from typing import Any

import anyio
import pytest

from simeval import AppResponse
from simeval.errors import RunStopped
from simeval.testing import FakeEndpoint
from tests.support.http_runs import MakeEngine, scenario

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("trouble", ["raises", "hangs", "wrong type"])
async def test_a_handler_in_trouble_costs_only_its_own_trials(
    trouble: str, llm: FakeEndpoint, make_engine: MakeEngine
) -> None:
    engine = make_engine(llm, app_timeout_seconds=0.2)
    result = await engine.evaluate(scenario(30), troubled_app(trouble, every=3))

    failed = [index for index, failure in result.failures if failure.stage == "app"]
    assert len(failed) == len(result.failures) == 10
    assert result.expectations[0].scores == (8,) * 20
    assert result.expectations[0].verdicts[0].n == 30
    assert result.outcome == "fail"
    assert all("turn 2" in failure.error for _, failure in result.failures)


async def test_trials_of_a_failing_app_are_left_out_where_that_is_asked_for(
    llm: FakeEndpoint, make_engine: MakeEngine
) -> None:
    engine = make_engine(llm, on_app_error="exclude", max_error_rate=0.5)
    result = await engine.evaluate(scenario(45), troubled_app("raises", every=3))

    assert len(result.failures) == 15
    assert result.expectations[0].verdicts[0].n == 30
    assert result.passed


async def test_a_failing_app_stops_the_run_where_that_is_asked_for(llm: FakeEndpoint, make_engine: MakeEngine) -> None:
    engine = make_engine(llm, on_app_error="stop", concurrency=3)
    with pytest.raises(RunStopped, match="lost its way"):
        await engine.evaluate(scenario(100), troubled_app("raises", every=3))

    assert llm.stats.requests < 50


def troubled_app(trouble: str, *, every: int) -> Callable[[str, dict[str, Any]], Any]:
    """Return an app that fails at the second turn of one conversation in `every`."""
    started = 0

    async def handler(message: str, state: dict[str, Any]) -> Any:
        nonlocal started
        if not state:
            started += 1
            return AppResponse("Hello.", {"number": started})
        if state["number"] % every == 0:
            return await TROUBLES[trouble]()
        return AppResponse("I answer questions.", state)

    return handler


async def _raise() -> AppResponse:
    raise ValueError("lost its way")


async def _return_a_number() -> int:
    return 42


TROUBLES: dict[str, Callable[[], Any]] = {
    "raises": _raise,
    "hangs": partial(anyio.sleep, 60),
    "wrong type": _return_a_number,
}
