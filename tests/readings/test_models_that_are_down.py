"""A model that cannot be reached in the whole run is an error, as an app that never answers is."""

import json
from pathlib import Path
from typing import Any

import pytest

from simeval import Expectation, ProportionEvaluator, RetryConfig, dataset_of
from simeval.errors import ModelError, ModelUnusable
from simeval.scorers import Correctness
from simeval.testing import ScriptedModel
from tests.support.command_line import SHOP, SUITE, simeval
from tests.support.suites import SUCCESS, Engine, good_app, scenario

pytestmark = pytest.mark.anyio

AT_ONCE = RetryConfig(max_attempts=2, backoff_multiplier=0)
LEVELS = {level: f"level {level}" for level in range(1, 11)}
TOLD = "nothing was measured: scripted/down cannot be used (connection): Connection refused"
NOBODY = "http://127.0.0.1:9/v1"


def down() -> ScriptedModel:
    """Return a model that cannot be reached, as whatever it is asked."""
    refusal = ModelError("scripted/down", kind="connection", problem="Connection refused (127.0.0.1:9)")
    roles = ("user", "judge", "rubric", "control", "scorer", "app")
    return ScriptedModel({role: [refusal] for role in roles}, name="scripted/down")


def user() -> ScriptedModel:
    return ScriptedModel({"user": [{"status": "satisfied", "message": "Hi"}]}, name="scripted/user")


def judge() -> ScriptedModel:
    return ScriptedModel({"judge": [{"reasoning": "it did", "score": 9}]}, name="scripted/judge")


@pytest.mark.parametrize("case", ["the judge, which writes the rubric", "the judge", "the user"])
async def test_a_model_that_is_down_makes_an_error(case: str) -> None:
    levels = LEVELS if case == "the judge" else None
    then = Expectation(expected_behavior="Bot tracks orders", rubric=levels, evaluator=SUCCESS)
    models = (judge(), down()) if case == "the user" else (down(), user())
    engine = Engine(*models, retry_config=AT_ONCE)

    with pytest.raises(ModelUnusable) as raised:
        await engine.evaluate(scenario(sample_size=10, then=then), good_app)

    [result] = raised.value.partial
    [verdict] = result.verdicts
    assert (result.outcome, verdict.outcome, verdict.p_value, verdict.n) == ("error", "error", None, 0)
    assert verdict.why.startswith(TOLD)
    assert TOLD in " ".join(raised.value.partial.text().split())


async def test_a_scorers_model_that_is_down_makes_an_error() -> None:
    then = Expectation(scorer=Correctness(model=down()), evaluator=ProportionEvaluator(threshold=1, min_proportion=0.5))
    rows = [{"input": "Capital of France?", "output": "Paris", "reference": "Paris"}] * 10

    with pytest.raises(ModelUnusable) as raised:
        await Engine(judge(), retry_config=AT_ONCE).experiment(dataset_of(rows, recorded="output"), then=then)

    assert raised.value.partial.outcome == "error"
    assert TOLD in " ".join(raised.value.partial.text().split())


async def test_what_was_measured_before_a_model_went_down_still_counts() -> None:
    asked = 0

    def answers_for_a_while(_: Any) -> Any:
        nonlocal asked
        asked += 1
        gone = ModelUnusable("scripted/judge", kind="server", problem="it has failed every call for 600 s")
        return {"reasoning": "it did", "score": 9} if asked <= 5 else gone

    model = ScriptedModel({"judge": answers_for_a_while}, name="scripted/judge")
    engine = Engine(model, user(), concurrency=1)

    with pytest.raises(ModelUnusable) as raised:
        await engine.evaluate([scenario()], good_app)

    [result] = raised.value.partial
    assert (result.outcome, result.average_score) == ("inconclusive", 9)


def test_the_command_line_says_error_and_ends_with_three(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(SHOP, encoding="utf-8")
    (tmp_path / "suite.yaml").write_text(SUITE, encoding="utf-8")
    there = ["--judge-model", "openai-compatible/x", "--judge-option", f"api_base={NOBODY}"]

    done = simeval(tmp_path, "run", "suite.yaml", "--app", "shop:good", *there, "--json", "found.json")

    assert done.returncode == 3
    assert "ERROR  nothing was measured: openai-compatible/x cannot be used (connection)" in done.stdout
    assert "INCONCLUSIVE" not in done.stdout
    assert json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))["outcome"] == "error"
