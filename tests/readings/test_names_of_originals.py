"""Names and arguments of the tools that people come from: each says what it is called here."""

import importlib
import re
from collections.abc import Mapping
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

import simeval
from simeval import (
    Expectation,
    ProportionEvaluator,
    RatingProportionEvaluator,
    ScenarioTest,
    Scorer,
    SuccessRateEvaluator,
    compare,
    dataset_of,
)
from simeval.core.originals import ARGUMENTS, NAMES
from simeval.errors import DefinitionError
from simeval.scorers import EmbeddingSimilarity, HallucinationFree
from simeval.suites import load_suite
from tests.support.experiments import engine, values

pytestmark = pytest.mark.anyio

PAGE = (Path(__file__).resolve().parents[2] / "docs/reference/originals.md").read_text(encoding="utf-8")
ROWS = [row.strip("|").split(" | ") for row in PAGE.splitlines() if row.startswith("| ")]
SUITE = """
scenarios:
  - title: Refunds
    given: A customer
    when: They ask for a refund
    then:
      expected_behavior: [The bot asks for the order., It then refunds it.]
      rubric: {1: It does neither., "7.5": It asks., 10: It does both.}
      evaluator: {type: success_rate, min_proportion: 0.9}
"""


def quoted(cell: str) -> set[str]:
    return {each.split("(")[0] for each in re.findall(r"`([^`]+)`", cell)}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_in_the_page_beside_what_it_is_here(name: str) -> None:
    beside = [quoted(here) for there, here in ROWS if name in quoted(there)]

    here = set(re.findall(r"[A-Z]\w+(?:\.\w+)?", NAMES[name].replace("MeanEvaluator, or better ", "")))
    assert beside
    assert any(here <= found for found in beside)


def test_each_class_in_the_page_that_is_none_here_answers() -> None:
    classes = {name for there, _ in ROWS for name in quoted(there) if re.fullmatch(r"[A-Z]\w+", name)}

    assert {name for name in classes if not hasattr(simeval, name)} <= NAMES.keys()
    assert all(name in PAGE for name in ARGUMENTS if name in ("client", "model_id", "target_column"))


@pytest.mark.parametrize(
    ("package", "name", "here"),
    [
        ("simeval", "SigmaEval", "Engine"),
        ("simeval", "BehavioralTest", "ScenarioTest"),
        ("simeval", "RatingMeanEvaluator", "MeanEvaluator"),
        ("simeval.scorers", "ValidJSONScorer", "ValidJSON"),
        ("simeval.scorers", "HallucinationFreeScorer", "HallucinationFree"),
        ("simeval.evaluators", "RatingMeanEvaluator", "MeanEvaluator"),
    ],
)
def test_a_name_that_is_used_or_imported_says_what_it_is_called_here(package: str, name: str, here: str) -> None:
    module = importlib.import_module(package)

    assert not hasattr(module, name)
    with pytest.raises(AttributeError, match=rf"{package}.{name}: in simeval it is {here}"):
        getattr(module, name)
    with pytest.raises(ImportError, match=rf"{package}.{name}: in simeval it is {here}"):
        exec(f"from {package} import {name}")


@pytest.mark.parametrize(
    ("made", "given", "here"),
    [
        (engine, {"client": object()}, "client=: in simeval it is judge_model="),
        (engine, {"num_repetitions": 3}, "num_repetitions=: in simeval it is Engine.experiment"),
        (SuccessRateEvaluator, {"proportion": 0.8}, "proportion=: in simeval it is min_proportion="),
        (RatingProportionEvaluator, {"min_score": 6}, "min_score=: in simeval it is threshold=, or min_rating="),
        (ScenarioTest, {"evaluator": None}, "evaluator=: in simeval it is then=Expectation"),
        (Expectation, {"metric": "turn_count"}, "metric=: in simeval it is scorer="),
    ],
)
def test_an_argument_that_engines_evaluators_and_scenarios_have_elsewhere_says_what_it_is_called_here(
    made: Any, given: Mapping[str, Any], here: str
) -> None:
    with pytest.raises((TypeError, DefinitionError), match=here):
        made(**given)


def test_a_scenario_that_is_made_of_its_title_alone_says_what_it_takes() -> None:
    made: Any = ScenarioTest

    with pytest.raises(TypeError, match=r"ScenarioTest\(title=..., given=..., when=..., then=...\)"):
        made("Refunds")


def test_an_evaluator_of_ones_own_may_have_an_argument_that_an_original_has() -> None:
    class Mostly(ProportionEvaluator):
        def __init__(self, proportion: float) -> None:
            super().__init__(min_proportion=proportion)

    assert Mostly(proportion=0.8).required_share == 0.8
    assert list(signature(ScenarioTest).parameters)[:2] == ["title", "given"]


@pytest.mark.parametrize("name", ["Enginee", "nonsense"])
def test_a_name_of_nobody_is_an_error_as_before(name: str) -> None:
    with pytest.raises(AttributeError, match=name):
        getattr(simeval, name)
    with pytest.raises(ImportError, match=f"cannot import name '{name}'"):
        exec(f"from simeval import {name}")


@pytest.mark.parametrize(
    ("made", "argument", "here"),
    [
        (HallucinationFree, "client", "model="),
        (HallucinationFree, "model_id", "model="),
        (EmbeddingSimilarity, "target_column", 'column_map={"reference": COLUMN}'),
        (simeval.ValidJSON, "model_id", "model="),
    ],
)
def test_an_argument_says_what_it_is_called_here(made: Any, argument: str, here: str) -> None:
    told = f"{made.__name__}() takes no argument {argument}=: in simeval it is {here}"
    with pytest.raises(TypeError, match=re.escape(told)):
        made(**{argument: "x"})


def test_three_runs_are_compared_by_another_function() -> None:
    with pytest.raises(DefinitionError, match=r"found 3 runs.*compare_many\(baseline, \[candidate"):
        compare({}, {}, {})


class SummarizationScorer(Scorer):
    model_id: str
    system_prompt: str = "Evaluate whether the summary is good."

    def score(self, output: str, text: str) -> Mapping[str, Any]:
        return {"summary_quality": float(output in text), "by": self.model_id}


async def test_a_scorer_is_made_with_the_fields_that_its_class_annotates() -> None:
    dataset = dataset_of([{"text": "Foxes jump over dogs."}])
    made = SummarizationScorer(model_id="o2")

    result = await engine().experiment(dataset, lambda text: "Foxes jump", scorers=[made])

    assert (made.model_id, made.system_prompt) == ("o2", "Evaluate whether the summary is good.")
    assert values(result, "SummarizationScorer.summary_quality") == [1]
    with pytest.raises(TypeError, match=r"SummarizationScorer\(\) is missing 'model_id'"):
        SummarizationScorer()
    with pytest.raises(TypeError, match=r"SummarizationScorer\(\) got an unexpected keyword argument 'modelid'"):
        SummarizationScorer(model_id="o2", modelid="o2")


def test_a_scorer_with_a_constructor_of_its_own_sets_its_fields_itself() -> None:
    class Own(Scorer):
        model_id: str

        def __init__(self, model_id: str) -> None:
            super().__init__()
            self.model_id = model_id

    assert Own(model_id="o2").model_id == Own("o2").model_id == "o2"


@pytest.mark.parametrize("answer", ["Paris", {"city": "Paris"}])
async def test_an_evaluator_of_inputs_outputs_and_reference_outputs_is_a_scorer(answer: Any) -> None:
    seen: list[Any] = []

    def correct(inputs: dict[str, Any], outputs: dict[str, Any], reference_outputs: dict[str, Any]) -> dict[str, Any]:
        seen.append((inputs, outputs, reference_outputs))
        return {"key": "correct", "score": reference_outputs["answer"] in outputs.values()}

    dataset = dataset_of([{"inputs": {"question": "Capital?"}, "outputs": {"answer": "Paris"}}])
    result = await engine().experiment(dataset, lambda inputs: answer, scorers=[correct])

    outputs = answer if isinstance(answer, dict) else {"output": answer}
    assert seen == [({"question": "Capital?"}, outputs, {"answer": "Paris"})]
    assert values(result, "correct.correct") == [1]


def test_an_expected_behaviour_may_be_sentences_and_a_level_between_two_ratings(tmp_path: Path) -> None:
    rubric: Mapping[Any, str] = {1: "Neither.", "7.5": "It asks.", 10: "Both."}
    evaluator = SuccessRateEvaluator(min_proportion=0.9)
    made = Expectation(expected_behavior=["It asks.", "It refunds."], rubric=rubric, evaluator=evaluator)
    (tmp_path / "suite.yaml").write_text(SUITE, encoding="utf-8")
    (scenario,) = load_suite(str(tmp_path / "suite.yaml"))

    assert (made.expected_behavior, made.judged) == ("It asks. It refunds.",) * 2
    assert made.levels == {"1": "Neither.", "7.5": "It asks.", "10": "Both."}
    assert scenario.expectations[0].judged == "The bot asks for the order. It then refunds it."
    assert list(scenario.expectations[0].levels or ()) == ["1", "7.5", "10"]


@pytest.mark.parametrize("wrong", [[], ["It asks.", ""], ["It asks.", 3]])
def test_sentences_that_are_none_are_refused(wrong: Any) -> None:
    with pytest.raises(DefinitionError, match=r"Expectation.expected_behavior: found"):
        Expectation(expected_behavior=wrong, evaluator=SuccessRateEvaluator(min_proportion=0.9))
