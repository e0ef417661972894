"""Trials with a world and a script on workers of a store: they come to what one process comes to."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from scenarios import telecom
from simeval import Engine, Expectation, ProportionEvaluator, ScenarioTest, SuiteResult
from simeval.core.conversation import WORLD
from simeval.suites import Check, Step
from simeval.suites.files import load_file
from tests.support.ending_early import findings
from tests.support.postgres import PostgresHandle

pytestmark = pytest.mark.anyio
TELECOM = load_file(Path(__file__).resolve().parents[2] / "scenarios" / "telecom.yaml").scenarios
SCRIPTED = ScenarioTest(
    title="Given and simulated turns in a world",
    given="A customer whose phone shows no mobile data",
    when="The customer wants mobile data to work again.",
    world=telecom.Telecom,
    script=[
        Step(user="No data since this morning."),
        Step(check="Bot says that data was added"),
        Step(check=Check(state={"line.data_left_gb": 2})),
        Step(simulate=1),
    ],
    then=Expectation(state={"line.bill": 4}, evaluator=ProportionEvaluator(min_proportion=0.5)),
    sample_size=12,
)


def engine(where: str | None, **options: Any) -> Engine:
    return Engine(seed=7, display="none", early_stopping=False, store=where, rubric_folder=None, **options)


async def by_workers(where: str, suite: Sequence[ScenarioTest], app: Any) -> SuiteResult:
    """Have a suite run by two workers, each with a connection of its own."""
    workers = [engine(where, executor="workers") for _ in range(2)]
    async with anyio.create_task_group() as tasks:
        for each in workers:
            tasks.start_soon(each.work, suite, app)
        found = await engine(where, executor="workers").evaluate(suite, app)
        for each in workers:
            each.end()
    return found


def worlds(result: SuiteResult) -> list[Any]:
    """Return what each world was at the end of its trial, and what was done in it."""
    talks = [talk for each in result for talk in each.conversations]
    return [[(said.tool_calls, said.metadata.get(WORLD)) for said in talk.messages] for talk in talks]


@pytest.mark.parametrize("app", [telecom.helper, telecom.claimer])
async def test_worlds_on_workers_come_to_what_they_come_to_here(postgres_server: PostgresHandle, app: Any) -> None:
    here = await engine(None).evaluate(TELECOM, app)

    elsewhere = await by_workers(postgres_server.fresh(), TELECOM, app)

    assert (findings(elsewhere), worlds(elsewhere)) == (findings(here), worlds(here))
    assert elsewhere[0].claims == here[0].claims
    assert elsewhere.passed is (app is telecom.helper)


@pytest.mark.parametrize(("app", "ended"), [(telecom.helper, {"script_over"}), (telecom.claimer, {"check_failed"})])
async def test_checks_in_a_world_are_made_by_workers(
    postgres_server: PostgresHandle, app: Any, ended: set[str]
) -> None:
    here = await engine(None).evaluate([SCRIPTED], app)

    elsewhere = await by_workers(postgres_server.fresh(), [SCRIPTED], app)

    assert (findings(elsewhere), worlds(elsewhere)) == (findings(here), worlds(here))
    assert {each.ended for each in elsewhere[0].conversations} == ended
