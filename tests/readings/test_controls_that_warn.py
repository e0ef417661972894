"""A judge that failed its controls and rated all the same proves no pass."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from simeval import Engine, Expectation, ScenarioResult, ScenarioTest, SuccessRateEvaluator
from simeval.core.setting_field import Gate
from simeval.results.guarantee import NO_RATE
from simeval.results.junit import junit_xml
from simeval.results.suite import SuiteResult, encode_suite
from simeval.testing import ScriptedModel, judge_reply, user_reply
from tests.support.command_line import simeval

pytestmark = pytest.mark.anyio

SUITE = """
sample_size: 20
scenarios:
  - title: Capital
    given: A pupil
    when: The pupil asks for the capital of France
    then:
      expected_behavior: Names Paris
      counterexample: The capital of France is Paris
      evaluator: {type: success_rate, min_proportion: 0.8}
"""
APP = """
async def app(message, state):
    return "The capital of France is Paris"
"""


def _asking(request: Any) -> Mapping[str, Any]:
    question = "" if request.history else "Which is the capital of France?"
    return user_reply(question, goes_on=not request.history)


async def credulous(**options: Any) -> ScenarioResult:
    """Return what a judge comes to that gives everything ten of ten."""
    judge = ScriptedModel({"judge": [judge_reply(10)], "control": [judge_reply(10)]}, name="scripted/judge")
    user = ScriptedModel({"user": _asking}, name="scripted/user")
    then = Expectation(expected_behavior="Names Paris", evaluator=SuccessRateEvaluator(min_proportion=0.8))
    scenario = ScenarioTest(title="Capital", given="A pupil", when="asks for the capital", sample_size=20, then=then)
    engine = Engine(judge, user, store=None, rubric_folder=None, on_failed_control="warn", display="none", **options)
    return await engine.evaluate(scenario, lambda message: "Cheese")


@pytest.mark.parametrize("gate", ["pass", "not_fail"])
async def test_it_gets_through_no_gate(gate: Gate) -> None:
    result = await credulous(gate=gate)

    assert (result.passed, result.outcome, result.verdicts[0].outcome) == (False, "inconclusive", "pass")
    assert not SuiteResult((result,), result.run).meets(gate)
    assert encode_suite([result], result.run, version="1")["gate_met"] is False
    with pytest.raises(AssertionError, match="failed the controls"):
        result.assert_passed()


async def test_the_headline_and_the_guarantee_say_so() -> None:
    result = await credulous()

    headline = " ".join(str(result).split("\n\n")[0].split())
    assert "scripted/judge failed the controls, so its ratings prove no pass" in headline
    assert not headline.startswith("PASS")
    assert f"{NO_RATE} scripted/judge failed the controls (--on-failed-control warn)." in " ".join(str(result).split())


async def test_its_case_is_a_failure_in_junit() -> None:
    result = await credulous()

    failure = ET.fromstring(junit_xml([result], result.run)).find(".//failure")

    assert failure is not None
    assert "is not to be trusted" in failure.attrib["message"]


def test_the_exit_status_is_not_that_of_a_pass(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text(SUITE)
    (tmp_path / "shop.py").write_text(APP)
    options = ("--app", "shop:app", "--on-failed-control", "warn", "--json", "found.json")

    done = simeval(tmp_path, "run", "suite.yaml", *options)

    found = json.loads((tmp_path / "found.json").read_text())
    assert found["scenarios"][0]["expectations"][0]["verdicts"][0]["outcome"] == "pass"
    assert (done.returncode, found["gate_met"]) == (1, False)
    assert "failed the controls" in done.stdout.split("\n\n")[0]
