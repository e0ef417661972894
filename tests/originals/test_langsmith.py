"""What LangSmith's page on evaluation concepts describes, and its guides show, with simeval.

The page has no code of its own: each test names the concept, and shows the guide's code where there is one.
"""

from typing import Any

import pytest

from simeval import Engine, OnlineEvaluator, compare, dataset_of, scorer
from simeval.datasets import import_log
from simeval.scorers import (
    Classification,
    Correctness,
    Criteria,
    DocumentRelevance,
    ExactMatch,
    FactualAccuracy,
    Faithfulness,
    Helpfulness,
    Preference,
)
from simeval.testing import ScriptedModel
from tests.support.samples import written

pytestmark = pytest.mark.anyio

ROWS = [
    {"inputs": {"text": "Shut up, idiot"}, "outputs": {"label": "Toxic"}},
    {"inputs": {"text": "You're a wonderful person"}, "outputs": {"label": "Not toxic"}},
    {"inputs": {"text": "This is the worst thing ever"}, "outputs": {"label": "Toxic"}},
    {"inputs": {"text": "I had a great day today"}, "outputs": {"label": "Not toxic"}},
]
DATASET = dataset_of(ROWS, name="Toxic Queries")  # client.create_dataset, client.create_examples


def toxicity_classifier(inputs: dict[str, Any]) -> dict[str, Any]:
    return {"class": "Toxic" if "idiot" in inputs["text"] else "Not toxic"}


def engine() -> Engine:
    return Engine(store=None, display="none", seed=1)


async def test_an_experiment_of_a_dataset_and_an_evaluator() -> None:
    @scorer(column_map={"outputs": "output"})  # what the app returned is called output
    def correct(inputs: dict[str, Any], outputs: dict[str, Any], reference_outputs: dict[str, Any]) -> bool:
        return bool(outputs["class"] == reference_outputs["label"])

    results = await engine().experiment(  # client.evaluate
        DATASET,
        toxicity_classifier,
        scorers=[correct],  # evaluators
        metadata={"experiment": "gpt-4o-mini, baseline"},  # experiment_prefix
    )

    assert results.metric("correct").estimate.value == 0.75
    assert [row.scores["correct"].value for row in results.rows] == [True, True, False, True]  # in the dataset's order


async def test_an_evaluator_result_is_a_key_a_score_and_a_comment() -> None:
    @scorer
    def evaluator(output: str) -> dict[str, Any]:
        return {"key": "concise", "score": len(output) < 10, "comment": f"{len(output)} characters"}

    results = await engine().experiment(DATASET, lambda text: text[:9], scorers=[evaluator])

    assert results.metric("evaluator.concise").estimate.value == 1.0
    assert next(iter(results.rows)).scores["evaluator.concise"].comment == "9 characters"


async def test_datasets_are_kv_llm_or_chat() -> None:
    messages = [{"role": "user", "content": "Hi"}]

    assert DATASET.kind == "kv"
    assert dataset_of([{"inputs": {"input": "Hi"}, "outputs": {"output": "Hello"}}], name="l", kind="llm").kind == "llm"
    assert dataset_of([{"inputs": {"input": messages}}], name="c", kind="chat").kind == "chat"


async def test_repetitions_and_a_comparison_of_two_experiments() -> None:
    right = scorer(lambda output, reference: output["class"] == reference, name="right", direction="higher")
    before = await engine().experiment(DATASET, toxicity_classifier, scorers=[right], repetitions=2)
    after = await engine().experiment(DATASET, lambda text: {"class": "Toxic"}, scorers=[right], repetitions=2)

    comparison = compare(before, after)

    assert (before.metric("right").estimate.value, after.metric("right").estimate.value) == (0.75, 0.5)
    assert "right" in str(comparison)


async def test_classification_by_the_standard_definitions() -> None:
    measured = Classification(labels=["Toxic", "Not toxic"], positive="Toxic", column_map={"output": "output.class"})

    results = await engine().experiment(DATASET, toxicity_classifier, scorers=[measured])

    found = results.summaries["Classification"]
    assert {name: found[name].value for name in ("accuracy", "precision", "recall")} == {
        "accuracy": 0.75,
        "precision": 1.0,
        "recall": 0.5,
    }


def says_yes(input: str) -> str:
    return "Yes"


async def test_pairwise() -> None:
    def shorter(input: str, first: str, second: str) -> str:
        return "first" if len(first) < len(second) else "second"

    rows = [{"input": "Well?", "baseline": "It is, I should say, so."}, {"input": "When?", "baseline": "On Monday."}]

    results = await engine().experiment(dataset_of(rows, name="pairs"), says_yes, scorers=[Preference(prefer=shorter)])

    assert results.metric("Preference.preference").estimate.value == 1.0


async def test_backtesting_of_a_log(tmp_path: Any) -> None:
    turns = [{"role": "user", "content": "Open?"}, {"role": "assistant", "content": "No."}]
    log = import_log(written(tmp_path, {"messages": turns})).dataset  # client.list_runs, client.create_dataset
    opens = scorer(lambda output: output == "Yes.", name="opens")

    before = await engine().experiment(log, scorers=[opens])
    after = await engine().experiment(log, lambda message, state: ("Yes.", state), scorers=[opens])

    assert (before.metric("opens").estimate.value, after.metric("opens").estimate.value) == (0.0, 1.0)


YES = {"reasoning": "it does", "met": True}
CLAIMS = {"claims": [{"claim": "c", "reasoning": "it says so", "supported": True}]}
COLUMNS = {"input": "Open?", "output": "Yes.", "context": "We are open.", "reference": "Yes"}


@pytest.mark.parametrize(
    ("judge", "path"),
    [
        (DocumentRelevance(model=ScriptedModel([{"rulings": {"1": YES}}])), "relevant_share"),  # document relevance
        (Faithfulness(model=ScriptedModel([CLAIMS])), "faithfulness"),  # answer faithfulness
        (Helpfulness(model=ScriptedModel([YES])), "helpful"),  # answer helpfulness
        (Correctness(model=ScriptedModel([YES])), "correct"),  # answer correctness
        (FactualAccuracy(model=ScriptedModel([CLAIMS])), "factual_accuracy"),  # of a summary
        (Criteria(criteria={"polite": "It is."}, model=ScriptedModel([{"rulings": {"polite": YES}}])), "polite"),
    ],
)
async def test_llm_judges_of_retrieval_summaries_and_criteria(judge: Any, path: str) -> None:
    assert float((await judge.measure(COLUMNS))[path]) == 1.0


async def test_an_online_evaluator_needs_no_reference() -> None:
    polite = scorer(lambda output: "please" in output, name="polite")

    async with OnlineEvaluator([polite]) as online:
        online.submit(input="Well?", output="Wait, please.")

    assert online.estimates()["polite"].mean == 1.0


async def test_a_heuristic_evaluator_with_a_reference() -> None:
    assert ExactMatch(column_map={"output": "output.class"}).score("Toxic", "Toxic")
