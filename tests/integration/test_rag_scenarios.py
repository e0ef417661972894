"""A simulated conversation with an app that retrieves: every answer is judged by its own context."""

from pathlib import Path
from typing import Any

import pytest

from scenarios import rag_bot
from simeval import AppResponse, Expectation, MeanEvaluator, ProportionEvaluator, ScenarioResult, ScenarioTest
from simeval.scorers import ContextEntityRecall, ContextRelevancy, DocumentRelevance, EachTurn, Faithfulness
from simeval.suites import load_suite
from tests.support.experiments import engine

pytestmark = pytest.mark.anyio
SUITE = Path(rag_bot.__file__).with_name("rag.yaml")


async def judged(app: Any, *expectations: Expectation) -> ScenarioResult:
    scenario = ScenarioTest(
        title="Repairs",
        given="A customer.",
        when="You ask what a repair of a torn jacket costs. You ask how to wash jackets.",
        sample_size=5,
        then=list(expectations),
    )
    return await engine(early_stopping=False).evaluate(scenario, app)


def by_turn(scorer: Any, **options: Any) -> Expectation:
    return Expectation(scorer=EachTurn(scorer), evaluator=MeanEvaluator(at_least=0.5), **options)


async def test_the_suite_finds_the_answers_that_stand_in_no_document() -> None:
    suite = load_suite(str(SUITE))

    tents, repairs = await engine(seed=7).evaluate(suite, rag_bot.handle)

    assert (tents.outcome, repairs.outcome) == ("pass", "fail")
    score: Any = repairs.judgements[0].results[0]
    claims = [claim for turn in score.details["each"] for claim in turn.get("measured", {}).get("claims", ())]
    unsupported = [claim["claim"] for claim in claims if not claim["supported"]]
    assert unsupported == [rag_bot.PROMISE.rstrip(".")]
    assert "scorer offline/judge: a lexical heuristic" in repairs.run.notes[0]


async def test_each_scorer_of_retrieval_judges_turn_by_turn() -> None:
    found = await judged(
        rag_bot.handle,
        by_turn(DocumentRelevance(model="offline/judge"), label="documents"),
        by_turn(ContextRelevancy(model="offline/judge"), label="context"),
        by_turn(
            ContextEntityRecall(model="offline/judge", column_map={"reference": "output"}),
            label="entities",
            score="context_entity_recall.mean",
        ),
    )

    assert [len(expectation.scores) for expectation in found.expectations] == [5, 5, 5]
    assert all(0 <= score <= 1 for expectation in found.expectations for score in expectation.scores)


async def test_a_scorer_of_the_whole_conversation_reads_the_last_answers_context() -> None:
    async def app(message: str) -> AppResponse:
        return AppResponse("Twenty euros.", context=["A repair costs twenty euros."], metadata={"pages": [1, 2]})

    cited = Expectation(
        scorer=Faithfulness(model="offline/judge"), evaluator=ProportionEvaluator(threshold=1, min_proportion=0.4)
    )
    found = await judged(app, cited)

    assert found.expectations[0].scores == (1.0,) * 5
    assert found.rows.to_pandas()["output"].tolist() == ["Twenty euros."] * 5


async def test_an_app_that_gives_no_context_is_a_named_failure_of_the_scorer() -> None:
    found = await judged(lambda message: "Twenty euros.", by_turn(Faithfulness(model="offline/judge")))

    [failure] = {failure.error for _, failure in found.failures}
    assert "the app gave no context with its answer; return AppResponse(text, context=[...])" in failure
    assert found.outcome == "error"


async def test_what_an_app_retrieved_may_be_records_of_its_own() -> None:
    from pydantic import BaseModel

    class Document(BaseModel):
        page_content: str

    async def app(message: str) -> AppResponse:
        return AppResponse("Twenty euros.", metadata={"documents": [Document(page_content="It costs twenty euros.")]})

    paths = {"context": "response.metadata.documents.page_content"}
    faithful = Faithfulness(model="offline/judge", column_map=paths)
    found = await judged(app, by_turn(faithful))

    assert found.expectations[0].scores == (1.0,) * 5
