"""Response relevancy, context precision and answer similarity, as RAGAS and Azure's evaluators define them."""

from collections.abc import Sequence
from typing import Any

import pytest

from simeval.errors import DefinitionError, MalformedReply
from simeval.scorers.llm.base import ModelScorer
from simeval.scorers.llm.rag import AnswerSimilarity, ContextPrecision, ResponseRelevancy
from simeval.testing import ScriptedModel
from tests.support.grading import Listening, ready

pytestmark = pytest.mark.anyio

COLUMNS = {"output": "o", "input": "i", "context": ["c", "d", "e"], "reference": "r"}
VECTORS = {"i": (1.0, 0.0), "near": (0.6, 0.8), "same": (1.0, 0.0), "other": (0.0, 2.0)}


class Table:
    def encode(self, texts: Sequence[str]) -> list[tuple[float, float]]:
        return [VECTORS[text] for text in texts]


def relevancy(questions: Sequence[str], noncommittal: bool = False) -> ResponseRelevancy:
    reply = {"noncommittal": noncommittal, "questions": list(questions)}
    return ResponseRelevancy(model=ScriptedModel([reply]), encoder=Table())


def ruled(*met: bool) -> dict[str, Any]:
    return {"rulings": {str(place): {"reasoning": f"r{place}", "met": each} for place, each in enumerate(met, 1)}}


async def test_relevancy_is_the_mean_cosine_of_the_input_to_what_the_output_answers() -> None:
    found = await relevancy(["same", "near", "other"]).measure(COLUMNS)

    assert found["response_relevancy"] == pytest.approx((1 + 0.6 + 0) / 3)
    assert found["questions"] == ["same", "near", "other"]


async def test_an_answer_that_evades_has_no_relevancy() -> None:
    assert (await relevancy(["same"], noncommittal=True).measure(COLUMNS))["response_relevancy"] == 0.0


async def test_the_model_is_not_shown_what_was_asked() -> None:
    heard = Listening('{"noncommittal": false, "questions": ["same"]}')

    await ResponseRelevancy(model=heard.model, encoder=Table(), questions=2).measure({**COLUMNS, "output": "said"})

    assert "said" in heard.shown
    assert "<input>" not in heard.shown
    assert "Write 2 different questions" in heard.shown


@pytest.mark.parametrize(
    ("met", "expected"),
    [
        ((True, True, True), 1.0),
        ((True, False, True), (1 + 2 / 3) / 2),
        ((False, False, True), 1 / 3),
        ((False, False, False), 0.0),
    ],
)
async def test_context_precision_is_higher_the_earlier_what_helps_stands(met: Sequence[bool], expected: float) -> None:
    found = await ContextPrecision(model=ScriptedModel([ruled(*met)])).measure(COLUMNS)

    assert found["context_precision"] == pytest.approx(expected)
    assert found["relevant"] == list(met)
    assert found["reasoning"] == ["r1", "r2", "r3"]


async def test_similarity_is_a_rating_of_one_to_five() -> None:
    found = await ready(AnswerSimilarity(), '{"reasoning": "nearly", "score": 4}').measure(COLUMNS)

    assert found == {"answer_similarity": 4, "reasoning": "nearly"}


@pytest.mark.parametrize("score", ["0", "6", "3.5", '"4/10"'])
async def test_no_other_rating_is_read_as_one(score: str) -> None:
    with pytest.raises(MalformedReply):
        await ready(AnswerSimilarity(), f'{{"reasoning": "r", "score": {score}}}').measure(COLUMNS)


@pytest.mark.parametrize(
    ("scorer", "column"),
    [
        (ResponseRelevancy(encoder="hashed"), "output"),
        (ResponseRelevancy(encoder="hashed"), "input"),
        (ContextPrecision(), "context"),
        (ContextPrecision(), "reference"),
        (AnswerSimilarity(), "output"),
        (AnswerSimilarity(), "reference"),
    ],
)
async def test_nothing_is_measured_of_an_empty_text(scorer: ModelScorer, column: str) -> None:
    with pytest.raises(ValueError, match=f"nothing in '{column}'"):
        await ready(scorer, "{}").measure({**COLUMNS, column: ""})


@pytest.mark.parametrize(
    ("scorer", "path", "better", "worse"),
    [
        (
            ResponseRelevancy(model="offline/judge", encoder="hashed"),
            "response_relevancy",
            {"output": "Paris lies on the river Seine", "input": "On which river lies Paris?"},
            {"output": "Bread is baked daily", "input": "On which river lies Paris?"},
        ),
        (
            ContextPrecision(model="offline/judge"),
            "context_precision",
            {"context": ["Paris lies on the Seine", "Bread is baked"], "reference": "the river Seine"},
            {"context": ["Bread is baked", "Paris lies on the Seine"], "reference": "the river Seine"},
        ),
        (
            AnswerSimilarity(model="offline/judge"),
            "answer_similarity",
            {"output": "the river Seine", "reference": "the river Seine"},
            {"output": "the Thames", "reference": "the river Seine"},
        ),
    ],
)
async def test_the_embedded_judge_tells_the_better_by_words(
    scorer: ModelScorer, path: str, better: dict[str, Any], worse: dict[str, Any]
) -> None:
    assert (await scorer.measure(better))[path] > (await scorer.measure(worse))[path]


def test_a_number_of_questions_is_whole_and_above_zero() -> None:
    with pytest.raises(DefinitionError, match="questions"):
        ResponseRelevancy(encoder="hashed", questions=0)
