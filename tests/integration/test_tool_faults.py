"""Trials whose tools have faults, through the whole engine."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scenarios.refunds import RefundDesk, careful, eager
from simeval import Engine, Expectation, ProportionEvaluator, ScenarioTest
from simeval.suites import Step
from simeval.suites.files import load_file

pytestmark = pytest.mark.anyio
SUITE = Path(__file__).resolve().parents[2] / "scenarios" / "refunds.yaml"
ENGINE: dict[str, Any] = {"seed": 7, "store": None, "date": "2026-01-01"}


async def test_an_agent_that_repeats_a_refund_fails_only_under_faults() -> None:
    [scenario] = load_file(SUITE)

    under_faults = await Engine(**ENGINE).evaluate(scenario, eager)
    without = await Engine(**ENGINE).evaluate(replace(scenario, faults=()), eager)
    looking = await Engine(**ENGINE).evaluate(scenario, careful)

    assert [each.outcome for each in (under_faults, without, looking)] == ["fail", "pass", "pass"]


async def test_conversations_are_the_same_at_any_concurrency() -> None:
    [scenario] = load_file(SUITE)

    one, many = [
        await Engine(**ENGINE, concurrency=concurrency, early_stopping=False).evaluate(scenario, eager)
        for concurrency in (1, 16)
    ]

    said = [[[(m.content, m.tool_calls) for m in c.messages] for c in result.conversations] for result in (one, many)]
    worlds = [[c.world for c in result.conversations] for result in (one, many)]
    assert said[0] == said[1]
    assert worlds[0] == worlds[1]
    assert any(world["state"]["tool_faults"] for world in worlds[0] if world)


async def test_a_state_is_looked_at_after_each_answer() -> None:
    async def undoes(message: str, state: dict[str, Any], *, tools: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        await tools["refund"](order="F1001", amount=-49.0 if state else 49.0)
        return "Done.", {"turn": 1}

    share = ProportionEvaluator(min_proportion=0.5)
    total = {"refunds.*.amount": {"sum": {"at_most": 0}}}
    scenario = ScenarioTest(
        title="Nothing is paid",
        given="A customer",
        when="The user wants a refund of order F1001",
        script=[Step(user="Refund F1001."), Step(user="Take it back.")],
        world=RefundDesk,
        sample_size=10,
        then=[
            Expectation(state=total, evaluator=share, always=True, label="always"),
            Expectation(state=total, evaluator=share, label="at the end"),
        ],
    )

    found = await Engine(**ENGINE, stop="verdict").evaluate(scenario, undoes)

    assert [each.outcome for each in found.verdicts] == ["fail", "pass"]
    assert "after turn 1: refunds.*.amount is [49.0], not sum at_most 0" in " ".join(str(found).split())
