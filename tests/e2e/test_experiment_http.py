"""Experiments whose scorers ask models over HTTP: faults cost a score at most, and every call is counted."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from simeval import (
    Correctness,
    EmbeddingSimilarity,
    Engine,
    Expectation,
    HallucinationFree,
    Moderation,
    Preference,
    ProportionEvaluator,
    RetryConfig,
    Summarization,
    dataset_of,
)
from simeval.core.run_records import total
from simeval.datasets.dataset import Dataset
from simeval.testing import Behaviour, FakeEndpoint, fake_endpoint
from tests.support.http_runs import KEY

pytestmark = pytest.mark.anyio

CONTEXT = "Marie Curie discovered radium in Paris. She received two prizes."
ANSWERS = ("Curie discovered radium.", "Curie discovered uranium.")


def questions(count: int) -> Dataset:
    rows = [
        {"question": f"What did Curie discover? ({number})", "context": CONTEXT, "ideal": "Curie discovered radium."}
        for number in range(count)
    ]
    return dataset_of(rows, name="curie", outputs=["ideal"])


def answer(question: str) -> str:
    return ANSWERS[int(question.split("(")[1].rstrip(")")) % 4 == 3]


def engine(llm: FakeEndpoint, **options: Any) -> Engine:
    defaults: dict[str, Any] = {
        "judge_model": "openai-compatible/test-judge",
        "model_options": {"api_base": llm.base_url, "api_key": KEY},
        "retry_config": RetryConfig(max_attempts=4, backoff_multiplier=0.01, max_backoff_seconds=0.05),
        "store": None,
        "seed": 3,
        "display": "none",
    }
    return Engine(**{**defaults, **options})


def graders() -> Sequence[object]:
    embedding = "openai-compatible/test-embedding"
    return [
        HallucinationFree(),
        Correctness(column_map={"input": "question"}),
        Summarization(column_map={"input": "context"}),
        EmbeddingSimilarity(model=embedding, column_map={"reference": "ideal"}),
        Moderation(model="openai-compatible/test-moderation"),
        Preference(column_map={"baseline": "ideal", "input": "question"}),
    ]


async def test_every_grader_measures_every_answer_and_one_of_them_is_concluded_on() -> None:
    bar = ProportionEvaluator(threshold=1, min_proportion=0.5)
    with fake_endpoint() as llm:
        result = await engine(llm).evaluate(
            questions(40), answer, scorers=graders(), then=Expectation(scorer="HallucinationFree", evaluator=bar)
        )

    assert result.passed
    assert result.metric("HallucinationFree.hallucination_free").estimate.value == 0.75
    assert result.metric("Moderation.passed").estimate.value == 1
    assert result.metric("EmbeddingSimilarity.similarity_score").estimate.n == 40
    assert all(metric.missing == 0 for metric in result.metrics)
    assert llm.stats.requests == total(result.run.usage).calls == 40 * (1 + 1 + 2 + 1 + 1 + 2)
    assert llm.stats.saw_authorization


async def test_among_faults_what_is_missing_is_counted_and_never_a_score() -> None:
    faults = Behaviour(malformed=0.35, error_500=0.15, truncated=0.1)
    with fake_endpoint(faults) as llm:
        result = await engine(llm, max_error_rate=1).evaluate(questions(40), answer, scorers=graders())

    free = result.metric("HallucinationFree.hallucination_free")
    known = [value for value in result.values[free.name] if value == value]
    right = [answer(f"({number})") == ANSWERS[0] for number in range(40)]
    assert 0 < free.missing < 40
    assert free.estimate.n == len(known) == 40 - free.missing
    assert all(
        value == expected for value, expected in zip(result.values[free.name], right, strict=True) if value == value
    )
    assert {text.split(":")[0] for text in result.failures} == {"scorer"}


async def test_a_run_that_is_cut_off_pays_only_for_the_scores_that_are_missing(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    with fake_endpoint(Behaviour(latency_seconds=0.01)) as llm:
        first = await engine(llm, store=store, max_calls=60).evaluate(questions(40), answer, scorers=[graders()[0]])
        cut = await engine(llm, store=store, max_calls=20).evaluate(questions(40), answer, scorers=[graders()[0]])
        whole = await engine(llm, store=store, resume="last").evaluate(questions(40), answer, scorers=[graders()[0]])

    assert first.answers == 40
    assert cut.answers == 20
    assert whole.answers == 40
    assert llm.stats.requests == 80
    assert [list(values) for values in whole.values.values()] == [list(values) for values in first.values.values()]


async def test_the_key_reaches_neither_result_nor_store(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    with fake_endpoint(Behaviour(auth=0.0, error_500=1.0, echo_key=True)) as llm:
        result = await engine(llm, store=store, max_error_rate=1).evaluate(
            questions(3), answer, scorers=[graders()[0]], metadata={"note": KEY}
        )

    assert result.failures
    assert KEY not in repr(result)
    assert KEY not in str(result)
    assert KEY.encode() not in store.read_bytes()
