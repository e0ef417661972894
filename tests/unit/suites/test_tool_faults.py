"""Faults of a world's tools: what the app gets, what the world keeps, and where each is refused."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from scenarios.refunds import RefundDesk
from simeval.core.world import made_world, name_of_world
from simeval.errors import DefinitionError, WorldError
from simeval.suites.tool_faults import FAULTS, ToolFaults, faulty_world
from tests.support.suite_files import load, mistake, suite

REFUND = {"order": "F1001", "amount": 49.0}
SCENARIO = "    world: scenarios.refunds:RefundDesk\n"
STATE = "      state: {refunds: {count: 1}}\n"
RULE = "{type: proportion, min_proportion: 0.9}"


async def calls(faults: ToolFaults, *asked: tuple[str, dict[str, Any]], seed: int = 1) -> tuple[list[Any], Any]:
    """Return what the app gets for each call, a time-out as its text, and the state afterwards."""
    got: list[Any] = []
    async with made_world(faulty_world(RefundDesk, [faults]), seed=seed) as world:
        for tool, arguments in asked:
            try:
                got.append(await world.tools[tool](**arguments))
            except TimeoutError as error:
                got.append(str(error))
        return got, await world.state()


@pytest.mark.anyio
async def test_a_call_that_times_out_has_done_its_work() -> None:
    got, state = await calls(
        ToolFaults(timeout=1, tools=["refund"]), ("refund", REFUND), ("look_up", {"order": "F1001"})
    )

    assert got == ["refund did not answer in time", [REFUND]]
    assert state == {FAULTS: [{"tool": "refund", "call": 1, "fault": "timeout"}], "refunds": [REFUND]}


@pytest.mark.anyio
async def test_a_stale_read_gives_the_last_answer_to_the_same_call() -> None:
    look_up = ("look_up", {"order": "F1001"})

    got, state = await calls(
        ToolFaults(stale=1, tools=["look_up"]), look_up, ("refund", REFUND), look_up, ("look_up", {"order": "F7"})
    )

    assert got == [[], {"done": True}, [], []]
    assert state[FAULTS] == [{"tool": "look_up", "call": 2, "fault": "stale"}]


@pytest.mark.anyio
async def test_an_answer_that_is_delivered_twice_is_that_of_the_next_call_too() -> None:
    other = {"order": "F1002", "amount": 7.0}

    got, state = await calls(
        ToolFaults(twice=1, tools=["look_up"]),
        ("refund", other),
        ("look_up", {"order": "F1001"}),
        ("look_up", {"order": "F1002"}),
        ("look_up", {"order": "F1002"}),
    )

    assert got == [{"done": True}, [], [], [other]]
    assert state[FAULTS] == [{"tool": "look_up", "call": 2, "fault": "twice"}]


@pytest.mark.anyio
async def test_a_malformed_answer_is_the_first_part_of_its_text() -> None:
    got, state = await calls(ToolFaults(malformed=1), ("refund", REFUND))

    assert got == ['{"done"']
    assert state["refunds"] == [REFUND]


@pytest.mark.anyio
async def test_plain_tools_have_faults_too() -> None:
    class Plain(RefundDesk):
        @property
        def tools(self) -> Mapping[str, Any]:
            return {"count": lambda: len(self.refunds), "later": lambda: self.look_up("F1001")}

    async with made_world(faulty_world(Plain, [ToolFaults(stale=1)]), seed=1) as world:
        tools = world.tools
        first = (tools["count"](), await tools["later"]())
        await world.world.refund(**REFUND)

        assert (tools["count"](), await tools["later"]()) == first == (0, [])


@pytest.mark.anyio
async def test_faults_depend_on_the_seed_and_come_at_their_rate() -> None:
    faults = ToolFaults(timeout=0.2, malformed=0.1)
    asked = [("refund", REFUND)] * 1000

    (_, first), (_, again), (_, other) = [await calls(faults, *asked, seed=seed) for seed in (1, 1, 2)]
    had = [each["fault"] for each in first[FAULTS]]

    assert first == again != other
    assert 160 <= had.count("timeout") <= 240
    assert 70 <= had.count("malformed") <= 130


@pytest.mark.anyio
async def test_a_tool_that_a_world_does_not_have_is_told() -> None:
    with pytest.raises(WorldError, match="has no tool pay, which `faults` names; it has refund, look_up"):
        await calls(ToolFaults(timeout=1, tools=["pay"]))


def test_rates_that_are_one_together_as_written_are_taken() -> None:
    faults = ToolFaults(timeout=0.2, stale=0.4, twice=0.3, malformed=0.1)

    assert str(faults) == "timeout 0.2, stale 0.4, twice 0.3, malformed 0.1 of all tools"


@pytest.mark.parametrize(
    "wrong", [{}, {"timeout": 2}, {"timeout": 0.6, "stale": 0.6}, {"stale": -1}, {"timeout": 1, "tools": "refund"}]
)
def test_rates_that_are_no_shares_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(DefinitionError, match="ToolFaults"):
        ToolFaults(**wrong)


@pytest.mark.parametrize(
    ("top", "written"),
    [
        ("", "    faults: {timeout: 0.2, tools: [refund]}\n"),
        ("faults: [{timeout: 0.2, tools: [refund]}]\n", ""),
    ],
)
def test_a_file_has_faults_beside_a_world(tmp_path: Path, top: str, written: str) -> None:
    text = suite(top=top, scenario=SCENARIO + written, then=STATE, evaluator=RULE)

    (scenario,) = load(tmp_path / "suite.yaml", text)

    assert scenario.surroundings is not None
    assert name_of_world(scenario.surroundings) == ("scenarios.refunds:RefundDesk with faults (timeout 0.2 of refund)")


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("    faults: {timeout: 0.2}\n", "give the scenario a world, whose tools have them"),
        (SCENARIO + "    faults: {timeout: 2}\n", "use a share from 0 to 1"),
        (SCENARIO + "    faults: {late: 0.2}\n", "there is no field 'late'"),
    ],
)
def test_faults_that_cannot_be_are_told(tmp_path: Path, written: str, said: str) -> None:
    assert said in str(mistake(tmp_path / "suite.yaml", suite(scenario=written)))
