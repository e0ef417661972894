"""The examples of Weave's page on scorers, with simeval: what is changed beside the imports has a comment."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from pydantic import BaseModel

from simeval import Dataset, Engine, Estimate, ExperimentResult, Scored, Scorer, dataset_of
from simeval import scorer as op
from simeval.models import Request
from simeval.scorers import (
    ContextEntityRecall,
    ContextRelevancy,
    EmbeddingSimilarity,
    HallucinationFree,
    Moderation,
    PydanticScorer,
    Summarization,
)
from simeval.scorers import ValidJSON as ValidJSONScorer
from simeval.scorers import ValidXML as ValidXMLScorer
from simeval.testing import ScriptedModel

pytestmark = pytest.mark.anyio

Rows = list[dict[str, Any]]


async def evaluate(dataset: Rows, scorers: Sequence[object], model: Any) -> ExperimentResult:
    """weave.Evaluation(dataset=..., scorers=...).evaluate(model), with a name for the dataset and no files kept."""
    named: Dataset = dataset_of(dataset, name="examples")
    return await Engine(store=None, display="none", seed=1).experiment(named, model, scorers=scorers)


def mean(result: ExperimentResult, metric: str) -> float | None:
    return result.metric(metric).estimate.value


def echo(input: str) -> str:
    return input


def says(answer: str) -> Callable[[str], str]:
    def model(input: str) -> str:
        return answer

    return model


async def test_a_function_is_a_scorer() -> None:
    @op
    def evaluate_uppercase(text: str) -> dict[str, Any]:
        return {"text_is_uppercase": text.isupper()}

    result = await evaluate([{"text": "HELLO WORLD"}], [evaluate_uppercase], lambda text: text)

    assert mean(result, "evaluate_uppercase.text_is_uppercase") == 1.0


class SummarizationScorer(Scorer):
    model_id: str = "gpt-4o"
    system_prompt: str = "Evaluate whether the summary is good."

    def some_complicated_preprocessing(self, text: str) -> str:  # no decorator
        return "Original text: \n" + text + "\n"

    async def call_llm(self, summary: str, processed_text: str) -> dict[str, Any]:
        return {"summary_quality": float(summary in processed_text)}  # in the place of a client: tests have no network

    async def score(self, output: str, text: str) -> dict[str, Any]:
        """Score the summary quality."""
        processed_text = self.some_complicated_preprocessing(text)
        eval_result = await self.call_llm(summary=output, processed_text=processed_text)
        return {"summary_quality": eval_result}


async def test_a_class_is_a_scorer() -> None:
    dataset = [{"text": "The quick brown fox jumps over the lazy dog."}]

    result = await evaluate(dataset, [SummarizationScorer()], lambda text: text[:19])

    assert mean(result, "SummarizationScorer.summary_quality.summary_quality") == 1.0


class MySummarizationScorer(SummarizationScorer):
    async def score(self, output: str, news_article: str) -> dict[str, Any]:
        return await super().score(output=output, text=news_article)


@pytest.mark.parametrize(
    "scorer", [SummarizationScorer(column_map={"text": "news_article"}), MySummarizationScorer()], ids=["map", "class"]
)
async def test_columns_are_mapped(scorer: Scorer) -> None:
    dataset = [{"news_article": "The news today was great...", "date": "2030-04-20", "source": "Bright Sky Network"}]

    result = await evaluate(dataset, [scorer], lambda news_article: news_article[:8])

    assert mean(result, f"{scorer.name}.summary_quality.summary_quality") == 1.0


class MyBinaryScorer(Scorer):
    def score(self, output: str, target: str) -> dict[str, Any]:
        return {"match": output == target}

    def summarize(self, score_rows: Sequence[Scored]) -> Mapping[str, Estimate]:  # not rows: also what failed
        full_match = all(row.measured["match"] for row in score_rows if isinstance(row.measured, Mapping))
        return {"full_match": Estimate(value=float(full_match), n=len(score_rows))}  # a number with its n


@pytest.mark.parametrize(("target", "full"), [("b", 1.0), ("c", 0.0)])
async def test_a_class_sums_up_all_rows(target: str, full: float) -> None:
    rows = [{"input": "a", "target": "a"}, {"input": "b", "target": target}]

    result = await evaluate(rows, [MyBinaryScorer()], echo)

    assert result.summaries["MyBinaryScorer"]["full_match"].value == full
    assert mean(result, "MyBinaryScorer.match") == (1 + full) / 2  # the true_fraction of auto_summarize


async def test_hallucinations() -> None:
    def invents(request: Request) -> dict[str, Any]:
        return {"reasoning": "cheddar is not in the context", "met": False}

    hallucination_scorer = HallucinationFree(  # HallucinationFreeScorer
        model=ScriptedModel(invents),  # client=llm_client, model_id="gpt-4o"
        column_map={"context": "input"},
    )
    dataset = [
        {"input": "John likes various types of cheese."},
        {"input": "Pepe likes various types of cheese."},
    ]

    def model(input: str) -> str:  # no decorator
        return "The person's favorite cheese is cheddar."

    result = await evaluate(dataset, [hallucination_scorer], model)

    assert mean(result, "HallucinationFree.hallucination_free") == 0.0  # has_hallucination: 1.0


async def test_summaries() -> None:
    def answer(request: Request) -> dict[str, Any]:
        entities = '"entities"' in request.messages()[0]["content"]
        return {"entities": []} if entities else {"reasoning": "it says nothing", "grade": "poor"}

    summarization_scorer = Summarization(model=ScriptedModel(answer))  # client=llm_client, model_id="gpt-4o"
    dataset = [
        {"input": "The quick brown fox jumps over the lazy dog."},
        {"input": "Artificial Intelligence is revolutionizing various industries."},
    ]

    async def predict(input: str) -> str:  # a function, not a method of a weave.Model
        return "This is a summary of the input text."

    result = await evaluate(dataset, [summarization_scorer], predict)

    assert mean(result, "Summarization.is_entity_dense") == 0.0
    assert mean(result, "Summarization.quality") == 0.0  # summarization_eval_score
    assert mean(result, "Summarization.entity_density") == 0.0


async def test_moderation() -> None:
    def answer(request: Any) -> dict[str, Any]:
        hurts = "hurt" in request.text
        return {"flagged": hurts, "categories": {"violence": hurts}, "scores": {"violence": 0.9 if hurts else 0.0}}

    moderation_scorer = Moderation(model=ScriptedModel(answer))  # client=client
    dataset = [{"input": "I love puppies and kittens!"}, {"input": "I hate everyone and want to hurt them."}]

    result = await evaluate(dataset, [moderation_scorer], echo)

    assert mean(result, "Moderation.flagged") == 0.5
    assert mean(result, "Moderation.categories.violence") == 0.5  # of both rows, not of those flagged


class Names:
    """Stands for an embedding model: it knows who is spoken of."""

    def encode(self, texts: Sequence[str]) -> list[list[float]]:
        return [[1.0, 0.0] if "John" in text else [0.8, 0.6] for text in texts]


async def test_similarity() -> None:
    similarity_scorer = EmbeddingSimilarity(
        model=Names(),  # client=client
        threshold=0.9,  # for this stand-in
        column_map={"reference": "reference"},  # the parameter is called reference, not target
    )
    dataset = [
        {"input": "He's name is John", "reference": "John likes various types of cheese."},
        {"input": "He's name is Pepe.", "reference": "Pepe likes various types of cheese."},
    ]

    result = await evaluate(dataset, [similarity_scorer], says("John likes various types of cheese."))

    assert mean(result, "EmbeddingSimilarity.is_similar") == 0.5
    assert mean(result, "EmbeddingSimilarity.similarity_score") == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("scorer", "said"),
    [(ValidJSONScorer(), '{"key": "value"}'), (ValidXMLScorer(), "<root><element>value</element></root>")],
)
async def test_formats(scorer: Scorer, said: str) -> None:
    dataset = [{"input": "Generate a JSON object with a key and value"}, {"input": "Create an invalid JSON"}]

    result = await evaluate(dataset, [scorer], says(said))

    assert mean(result, f"{scorer.name}.valid") == 1.0  # json_valid, xml_valid


async def test_a_schema() -> None:
    class FinancialReport(BaseModel):
        revenue: int
        year: str

    pydantic_scorer = PydanticScorer(model=FinancialReport)

    result = await evaluate(
        [{"year": "2030"}], [pydantic_scorer], lambda year: json.dumps({"revenue": 1, "year": year})
    )

    assert mean(result, "PydanticScorer.valid") == 1.0  # valid_pydantic


async def test_retrieval() -> None:
    relevancy_prompt = """
        Given the following question and context, rate the relevancy of the context to the question
        on a scale from 0 to 1.

        Question: {question}
        Context: {context}
        Relevancy Score (0-1):
        """
    shown: list[str] = []

    def answer(request: Request) -> dict[str, Any]:
        system, user = (message["content"] for message in request.messages())
        if '"entities"' in system:
            return {"entities": [name for name in ("Paris", "France", "William Shakespeare") if name in user]}
        shown.append(user)
        return {"reasoning": "it names it", "score": 1.0 if "Paris" in user else 0.0}

    llm_client = ScriptedModel(answer)
    entity_recall_scorer = ContextEntityRecall(
        model=llm_client,  # client=client, model_id="gpt-4o"
        column_map={"reference": "output"},  # whose entities are looked for: the original's are the output's
    )
    relevancy_scorer = ContextRelevancy(
        model=llm_client,
        user_prompt=relevancy_prompt,  # relevancy_prompt
        column_map={"input": "question"},
    )
    dataset = [
        {"question": "What is the capital of France?", "context": "Paris is the capital city of France."},
        {"question": "Who wrote Romeo and Juliet?", "context": "William Shakespeare wrote many famous plays."},
    ]

    async def predict(question: str) -> str:  # a function, not a method of a weave.Model
        return "Paris is the capital of France."

    result = await evaluate(dataset, [entity_recall_scorer, relevancy_scorer], predict)

    assert mean(result, "ContextEntityRecall.context_entity_recall") == 0.5  # recall
    assert mean(result, "ContextRelevancy.relevancy_score") == 0.5
    assert "rate the relevancy of the context to the question" in shown[0]
    assert "<question>\nWhat is the capital of France?\n</question>" in "".join(shown)
