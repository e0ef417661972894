"""What a user writes against the faces: it runs, and passes `mypy --strict`, with only the wheel installed."""

import sys
from typing import Any

import anyio

import simeval
from simeval import AppResponse, Engine, Expectation, ScenarioResult, ScenarioTest, Verdict, dataset_of, scorer
from simeval.analysis import Comparison, compare
from simeval.datasets import Dataset
from simeval.errors import DefinitionError
from simeval.evaluators import MeanEvaluator, ProportionEvaluator, SuccessRateEvaluator
from simeval.models import Completion, Model, Request
from simeval.results import encode_experiment
from simeval.scorers import ExactMatch, response_latency
from simeval.stats import binomial
from simeval.store import JsonLinesJournal
from simeval.suites import load_suite, plan
from simeval.testing import ScriptedModel, judge_reply, user_reply


class Echo:
    """A model of the user's own."""

    name = "mine/echo"

    async def complete(self, request: Request) -> Completion:
        return Completion(text=request.messages()[-1]["content"])

    async def close(self) -> None:
        """Nothing is open."""


@scorer
def is_short(output: str) -> bool:
    """Whether an answer is short."""
    return len(output) < 100


async def handler(message: str, state: dict[str, Any]) -> AppResponse:
    """Answer as the app under test."""
    return AppResponse(f"You said: {message}", {**state, "last": message})


SCENARIO = ScenarioTest(
    title="Bot repeats",
    given="A user",
    when="The user says something",
    sample_size=12,
    max_turns=1,
    then=[
        Expectation(expected_behavior="Bot repeats it", evaluator=SuccessRateEvaluator(min_proportion=0.5)),
        Expectation(scorer=is_short, evaluator=ProportionEvaluator(min_proportion=0.5)),
        Expectation(scorer=response_latency, evaluator=MeanEvaluator(at_most=50, bounds=(0, 60))),
    ],
)


async def main() -> None:
    """Evaluate a scenario and a dataset."""
    echo: Model = Echo()
    model = ScriptedModel({"user": [user_reply("Hello")], "judge": [judge_reply(9)]})
    engine = Engine(judge_model=model, seed=7, store=None, rubric_folder=None, display="none")
    result: ScenarioResult = await engine.evaluate(SCENARIO, handler)
    verdict: Verdict = result.verdicts[0]
    assert result.passed, f"{result} {verdict.p_value}"

    rows: Dataset = dataset_of([{"input": "Rome", "reference": "You said: Rome"}] * 3, name="cities")
    found = await engine.evaluate(rows, handler, scorers=[ExactMatch()])
    assert encode_experiment(found, version=simeval.__version__)["outcome"] == found.outcome, echo.name


if __name__ == "__main__":
    assert simeval.__version__
    assert all(map(callable, (load_suite, plan, compare, Comparison, JsonLinesJournal)))
    assert binomial.clopper_pearson(29, 30, 0.05)[0] > 0.8
    try:
        SuccessRateEvaluator(min_proportion=2)
    except DefinitionError as error:
        sys.stdout.write(f"{error}\n")
    anyio.run(main)
