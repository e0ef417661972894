"""A run of very many trials, whose conversations are not kept in memory: it gives what any other gives."""

from pathlib import Path

import pytest

from simeval import Engine, Expectation, ScenarioTest, SuccessRateEvaluator, SuiteResult
from simeval.core.spill import Spilled
from simeval.engine.actors import statistician
from simeval.results.suite import encode_suite

pytestmark = pytest.mark.anyio


def suite() -> list[ScenarioTest]:
    return [
        ScenarioTest(
            title=f"scenario {number}",
            given="A customer who wants to return an item",
            when="The user asks how to return it",
            sample_size=12,
            max_turns=3,
            then=[
                Expectation(expected_behavior=behaviour, evaluator=SuccessRateEvaluator(min_proportion=0.6))
                for behaviour in ("Asks for the order number", "Apologizes")
            ],
        )
        for number in range(3)
    ]


def app(messages: list[dict[str, str]]) -> str:
    if len(messages) > 3 and "please" in messages[-1]["content"]:
        raise RuntimeError("overloaded")
    return "What is your order number? I apologize."


async def run() -> SuiteResult:
    return await Engine(seed=3, store=None, display="none").evaluate(suite(), app)


def told(result: SuiteResult) -> str:
    """Return the JSON of a result, without what a clock measured."""
    found = encode_suite(result.results, result.run, version="")
    for scenario in found["scenarios"]:
        for conversation in scenario["conversations"]:
            for message in conversation["turns"]:
                for of_the_clock in ("started", "seconds"):
                    message.pop(of_the_clock, None)
    return str(found["scenarios"])


async def test_its_verdicts_conversations_and_reports_are_those_of_a_run_in_memory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    in_memory = await run()
    monkeypatch.setattr(statistician, "MOST_IN_MEMORY", 10)

    on_disk = await run()

    assert all(isinstance(each.judgements, Spilled) for each in on_disk)
    assert not any(isinstance(each.judgements, Spilled) for each in in_memory)
    assert told(on_disk) == told(in_memory)
    assert [each.conversations[0].output for each in on_disk] == [each.conversations[0].output for each in in_memory]
    for one, other in zip(on_disk, in_memory, strict=True):
        assert [each.results for each in one.expectations] == [each.results for each in other.expectations]
        assert [list(each.scores) for each in one.rows] == [list(each.scores) for each in other.rows]
    lines, before = (str(each).splitlines()[:8] for each in (on_disk, in_memory))
    assert lines == before
    for name, result in (("disk.html", on_disk), ("memory.html", in_memory)):
        result.to_html(tmp_path / name)
    assert (tmp_path / "disk.html").stat().st_size == pytest.approx((tmp_path / "memory.html").stat().st_size, rel=0.02)
