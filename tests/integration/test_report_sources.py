"""A report's source: of an experiment that is at hand and of the same one in its store, the same stands in it."""

from pathlib import Path
from typing import Any

import pytest

from simeval import Engine, Expectation, ProportionEvaluator, dataset_of
from simeval.results.experiment import ExperimentSource
from simeval.results.html.source import Source
from simeval.results.html.trials import in_short, required_of, worst_first
from simeval.scorers import Contains, metrics
from simeval.store.opening import open_database
from simeval.store.reports import StoredSource

pytestmark = pytest.mark.anyio


def told(source: Source) -> tuple[list[int], Any]:
    """Return the trials of a source in the order of its report, and the reason of each by its index."""
    required = required_of(source.labels(0), source.document.scenarios[0].expectations)
    outlines = source.outlines(0)
    found = in_short(outlines, required)
    reasons = {index: found["alike"][place]["reason"] for index, place in found["trials"]}
    return worst_first(outlines, required), reasons


@pytest.mark.parametrize("is_concluded", [True, False])
async def test_answers_are_told_alike_at_hand_and_from_the_store(tmp_path: Path, is_concluded: bool) -> None:
    def app(question: str) -> str:
        if question == "q3":
            raise KeyError(question)
        return "no" if question == "q5" else "yes"

    dataset = dataset_of([{"question": f"q{n}"} for n in range(8)])
    then = [Expectation(scorer=Contains(texts=["yes"]), evaluator=ProportionEvaluator(min_proportion=0.5))]
    engine = Engine(store=tmp_path / "runs.db", seed=1, display="none")
    result = await engine.experiment(dataset, app, scorers=[metrics.response_length], then=then if is_concluded else ())

    database = open_database(str(tmp_path / "runs.db"), must_exist=True)
    order, reasons = told(ExperimentSource(result))
    stored = told(StoredSource(database, result.run.run_id))
    database.close()

    assert (order, reasons) == stored
    assert "The app failed" in reasons[3]
    assert order[:2] == ([3, 5] if is_concluded else [0, 1])
