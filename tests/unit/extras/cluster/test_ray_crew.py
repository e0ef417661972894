"""The actors of a run on Ray, played by objects: those that cannot work are let go, and the others work."""

from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import anyio
import anyio.lowlevel
import pytest

from simeval.core.trial import Trial
from simeval.engine.executors import Assignment, Delivery
from simeval.errors import DefinitionError
from simeval.extras.cluster.ray_workers import _Crew

pytestmark = pytest.mark.anyio

ASSIGNMENT = Assignment(trial=Trial(0, 0, 1))


class Gone(Exception):
    """An actor has ended."""


def actor(problem: str | Exception) -> Any:
    """Return an actor that is ready, says why it cannot be, or ends before."""

    async def ready() -> str:
        await anyio.lowlevel.checkpoint()
        if isinstance(problem, Exception):
            raise problem
        return problem

    async def do(_assignment: Assignment) -> Delivery:
        assert not problem
        return Delivery()

    return SimpleNamespace(ready=SimpleNamespace(remote=ready), do=SimpleNamespace(remote=do))


def crew_of(problems: Sequence[str | Exception], killed: list[Any]) -> _Crew:
    """Return a crew whose actors have these problems, one after the other."""
    actors = iter([actor(problem) for problem in problems])
    ray = SimpleNamespace(exceptions=SimpleNamespace(RayActorError=Gone), kill=killed.append)
    return _Crew(cast("Any", ray), partial(next, actors), 10)


@pytest.mark.parametrize("problems", [("its key is missing", ""), ("", "its key is missing"), (Gone("killed"), "", "")])
async def test_an_actor_that_cannot_work_gets_no_trial(problems: Sequence[str | Exception]) -> None:
    killed: list[Any] = []
    crew = crew_of(problems, killed)
    async with anyio.create_task_group() as tasks:
        crew.join = lambda: tasks.start_soon(crew.recruit)
        for _ in range(2):
            crew.add()
        await crew.first_is_ready()
        made = [await crew.do(ASSIGNMENT) for _ in range(5)]

    assert made == [Delivery()] * 5
    assert len(killed) == problems.count("its key is missing")


async def test_where_none_can_work_that_is_said_when_all_have_tried() -> None:
    killed: list[Any] = []
    crew = crew_of(["its key is missing"] * 3, killed)

    async def begin() -> None:
        async with anyio.create_task_group() as tasks:
            crew.join = lambda: tasks.start_soon(crew.recruit)
            for _ in range(3):
                crew.add()
            with pytest.raises(DefinitionError, match="executor: its key is missing; see the logs of Ray"):
                await crew.first_is_ready()

    await begin()

    assert len(killed) == 3
