"""Graded scorers, similarity and moderation as recorded from Weave 0.54.0 and openevals, and as documented."""

import json
from typing import Any

import pytest

from simeval.core.settings import RetryConfig
from simeval.errors import DefinitionError, MalformedReply
from simeval.models.caller import Caller
from simeval.models.protocol.model import Request
from simeval.models.providers.moderation import CompatibleModeration
from simeval.scorers.llm.base import ModelScorer
from simeval.scorers.llm.embeddings import EmbeddingSimilarity
from simeval.scorers.llm.graded import ContextRelevancy, HallucinationFree
from simeval.scorers.llm.moderation import Moderation
from simeval.scorers.llm.rag import QUALITY, ContextEntityRecall, Summarization
from simeval.testing import ScriptedModel
from tests.support.golden_cases import TOLERANCE, cases_in, chosen, ids

pytestmark = pytest.mark.anyio

SIMILARITIES = ids("weave", 34, 36, 37, 38, 39, 40, 41)
RECALLS = ids("weave", 43, 44, 45, 46)
RELEVANCIES = ids("weave", 48, 50, 51)
SUMMARIES = ids("weave", 54, 56, 57, 58, 59)
HALLUCINATIONS = ids("weave", 60)
MODERATIONS = ids("weave", 61, 62)
OF_WEAVE = SIMILARITIES | RECALLS | RELEVANCIES | SUMMARIES | HALLUCINATIONS | MODERATIONS
DENSITIES, QUALITIES, DOCUMENTED_RECALLS = ids("doc", 54, 55), ids("doc", 57, 58), ids("doc", 60, 61)
OF_LANGSMITH = ids("langsmith", 26)
COVERED = {"weave": OF_WEAVE, "documented": DENSITIES | QUALITIES | DOCUMENTED_RECALLS, "langsmith": OF_LANGSMITH}

WRONG = {
    "weave-038": "the zero vector has no direction: an error, and no score of NaN that counts as not similar",
    "weave-043": "Paris and paris are one entity",
    "weave-044": "without entities there is no share of them: an error, and no score of 0",
    "weave-045": "an entity that is named twice is one: recall is of sets",
    "weave-050": "a relevancy of 2 is none: it goes from 0 to 1",
    "weave-051": "a relevancy of 0.5 is one: it goes from 0 to 1",
    "weave-054": "a and A are one entity: density is of different ones, as Weave's own document says",
    "weave-060": "a scorer called HallucinationFree says whether there is none: true is good",
    "weave-061": "every category has its flag, those with / and - in their names too, so that each can be concluded on",
    "weave-062": "every category has its flag, so that one that was not raised is no missing value",
    "langsmith-026": "an inner product grows with the vectors' lengths, so that no threshold fits it: it is the cosine",
}
EXPECTED_INSTEAD: dict[str, object] = {
    "weave-038": "raises",
    "weave-043": {"recall": 1.0},
    "weave-044": "raises",
    "weave-045": {"recall": 1.0},
    "weave-050": "raises",
    "weave-051": {"reasoning": "r", "relevancy_score": 0.5},
    "weave-054": {
        "summarization_eval_score": 1.0,
        "llm_eval_reasoning": "t",
        "is_entity_dense": True,
        "entity_density": 0.2,
    },
    "weave-060": {"hallucination_free": False, "reasoning": "x"},
    "weave-061": {
        "passed": False,
        "categories": {"hate": True, "violence": False, "sexual_minors": True, "self_harm": True},
    },
    "weave-062": {"passed": True, "categories": {"hate": False}},
    "langsmith-026": pytest.approx(0.96),
}


async def measured(scorer: ModelScorer, columns: dict[str, Any]) -> Any:
    """Return what a scorer returns, asked once; "raises" where it raises what becomes a Failure."""
    ready = scorer.bind(lambda named: Caller(named, RetryConfig(enabled=False)))
    try:
        return await ready.measure(columns)
    except (ValueError, MalformedReply):
        return "raises"


async def of_similarity(given: dict[str, Any]) -> object:
    if "embedding_output" not in given:
        try:
            return EmbeddingSimilarity(model="x", threshold=given["threshold"])
        except DefinitionError:
            return "raises"
    model = ScriptedModel([json.dumps({"vectors": [given["embedding_output"], given["embedding_target"]]})])
    return await measured(
        EmbeddingSimilarity(model=model, threshold=given["threshold"]), {"output": "o", "reference": "r"}
    )


async def of_recall(given: dict[str, Any]) -> object:
    """Their recall is of the output's entities: here the output stands in for the reference."""
    output = given.get("entities_output", given.get("output_entities"))
    context = given.get("entities_context", given.get("context_entities"))

    async def act(request: Request) -> str:
        return json.dumps({"entities": output if "the output" in request.messages()[1]["content"] else context})

    scorer = ContextEntityRecall(model=ScriptedModel(act), column_map={"reference": "output"})
    found = await measured(scorer, {"output": "the output", "context": "the context"})
    return found if found == "raises" else {"recall": found["context_entity_recall"]}


async def of_relevancy(given: dict[str, Any]) -> object:
    model = ScriptedModel([json.dumps({"reasoning": "r", "score": given["llm_relevancy_score"]})])
    return await measured(ContextRelevancy(model=model), {"context": "c", "input": "i"})


async def of_summary(given: dict[str, Any]) -> object:
    async def act(request: Request) -> str:
        is_entities = '"entities"' in request.messages()[0]["content"]
        graded = {"reasoning": "t", "grade": given["llm_grade"]}
        return json.dumps({"entities": given["llm_entities"]} if is_entities else graded)

    found = await measured(Summarization(model=ScriptedModel(act)), {"output": given["output"], "input": "i"})
    if found == "raises":
        return found
    return {
        "summarization_eval_score": found["quality"],
        "llm_eval_reasoning": found["reasoning"],
        "is_entity_dense": found["is_entity_dense"],
        "entity_density": found["entity_density"],
    }


async def of_hallucination(given: dict[str, Any]) -> object:
    model = ScriptedModel([json.dumps({"reasoning": "x", "met": not given["llm_has_hallucination"]})])
    return await measured(HallucinationFree(model=model), {"output": "o", "context": "c"})


async def of_moderation(given: dict[str, Any]) -> object:
    flags = given["api_categories"]
    result = {"flagged": given["api_flagged"], "categories": flags, "category_scores": dict.fromkeys(flags, 0.5)}
    read = CompatibleModeration("openai-compatible/x")._read(json.dumps({"results": [result]}))
    found = await measured(Moderation(model=ScriptedModel([read.text])), {"output": "o"})
    return {"passed": found["passed"], "categories": found["categories"]}


async def of_density(given: dict[str, Any]) -> object:
    words = " ".join(["w"] * given["words"])
    asked = {"llm_grade": "ok", "llm_entities": given["entities"], "output": words}
    found: Any = await of_summary(asked)
    return found["entity_density"]


async def of_quality(given: dict[str, Any]) -> object:
    return QUALITY[given["grade"]]


async def of_documented_recall(given: dict[str, Any]) -> object:
    found: Any = await of_recall(given)
    return found["recall"]


async def of_vectors(given: dict[str, Any]) -> object:
    found: Any = await of_similarity({"embedding_output": given["a"], "embedding_target": given["b"], "threshold": 0})
    return round(found["similarity_score"], 2)


ANSWERS = [
    (SIMILARITIES, of_similarity),
    (RECALLS, of_recall),
    (RELEVANCIES, of_relevancy),
    (SUMMARIES, of_summary),
    (HALLUCINATIONS, of_hallucination),
    (MODERATIONS, of_moderation),
    (DENSITIES, of_density),
    (QUALITIES, of_quality),
    (DOCUMENTED_RECALLS, of_documented_recall),
    (OF_LANGSMITH, of_vectors),
]
CASES = [case for file, wanted in COVERED.items() for case in chosen(file, wanted)]


async def ours(case: dict[str, Any]) -> object:
    return await next(answer for group, answer in ANSWERS if case["id"] in group)(case["inputs"])


def agrees(found: object, expected: object) -> bool:
    if isinstance(expected, dict) and "raises" in expected:
        return found == "raises"
    return bool(found == pytest.approx(expected, abs=TOLERANCE)) if not _is_nested(expected) else found == expected


def _is_nested(expected: object) -> bool:
    return isinstance(expected, dict) and any(isinstance(value, (dict, list, str)) for value in expected.values())


@pytest.mark.parametrize("case", CASES)
async def test_a_case_comes_out_the_same_where_no_reason_is_given(case: dict[str, Any]) -> None:
    found = await ours(case)

    assert agrees(found, case["expected"]) == (case["id"] not in WRONG)
    assert found == EXPECTED_INSTEAD.get(case["id"], found)


def test_each_reason_is_of_a_case_and_says_what_is_right() -> None:
    assert WRONG.keys() == EXPECTED_INSTEAD.keys()
    assert WRONG.keys() <= {case for wanted in COVERED.values() for case in wanted}
    assert all(not cases_in(file) or cases_in(file).keys() >= wanted for file, wanted in COVERED.items())
