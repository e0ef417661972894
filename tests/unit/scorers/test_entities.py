"""What is measured by the entities that a model lists in texts: density and recall."""

import json
from typing import Any

import pytest

from simeval.errors import DefinitionError, ModelError
from simeval.models.protocol.model import Model, Request
from simeval.scorers.llm.judge import at_once
from simeval.scorers.llm.rag import ContextEntityRecall, Summarization, normalised
from simeval.scorers.returned import metrics_of
from simeval.testing import ScriptedModel
from tests.support.doubles import any_request
from tests.support.grading import ENTITIES, ready

pytestmark = pytest.mark.anyio

QUALITY = json.dumps({"reasoning": "r", "grade": "ok"})


def by_prompt(**answers: str) -> Model:
    """Return a model that answers by a word of the system prompt, whatever order it is asked in."""

    async def act(request: Request) -> str:
        system = request.messages()[0]["content"]
        return next(answer for word, answer in answers.items() if f'"{word}"' in system)

    return ScriptedModel(act)


async def test_entities_are_one_whatever_their_case_width_and_spacing() -> None:
    summary = "Zoë went to the\u00a0NASA in ＰＡＲＩＳ on a day in May"
    entities = json.dumps({"entities": ["Zoë", "ZOE\u0308", "NASA", "nasa ", "Paris", "ＰＡＲＩＳ", "", " "]})
    model = by_prompt(entities=entities, grade=QUALITY)

    found = await Summarization(model=model).score(output=summary, input="a source")

    assert found["entities"] == ["zoë", "nasa", "paris"]
    assert found["entity_density"] == pytest.approx(3 / 12)
    assert normalised(" İ  Ltd. ") == normalised("i\u0307 ltd.")


async def test_the_density_at_the_bar_is_dense() -> None:
    model = by_prompt(entities=ENTITIES, grade=QUALITY)

    found = await Summarization(model=model, dense_from=0.25).score(output="Paris is a city", input="a source")

    assert (found["entity_density"], found["is_entity_dense"], found["quality"]) == (0.25, True, 0.5)


@pytest.mark.parametrize("bar", [0, -1, 1.5, float("nan"), "0.08"])
def test_a_bar_of_density_that_is_none_is_refused(bar: Any) -> None:
    with pytest.raises(DefinitionError, match="dense_from"):
        Summarization(dense_from=bar)


async def test_recall_is_of_the_references_entities_and_precision_of_the_contexts() -> None:
    async def act(request: Request) -> str:
        user = request.messages()[1]["content"]
        return json.dumps({"entities": ["A", "B", "C"] if "the context" in user else ["c", "D"]})

    found = await ContextEntityRecall(model=ScriptedModel(act)).score(context="the context", reference="the reference")

    assert found == {
        "context_entity_recall": 0.5,
        "context_entity_precision": pytest.approx(1 / 3),
        "found": ["c"],
        "missing": ["d"],
    }


async def test_a_context_without_entities_recalls_none_and_has_no_precision() -> None:
    async def act(request: Request) -> str:
        return '{"entities": []}' if "the context" in request.messages()[1]["content"] else ENTITIES

    found = await ContextEntityRecall(model=ScriptedModel(act)).score(context="the context", reference="the reference")

    assert metrics_of(found) == {"context_entity_recall": 0}


async def test_a_reference_without_entities_has_no_recall() -> None:
    with pytest.raises(ValueError, match="names no entity"):
        await ready(ContextEntityRecall(), '{"entities": []}').score(context="c", reference="r")


async def test_of_two_calls_the_first_that_fails_is_what_is_raised() -> None:
    async def fail() -> None:
        raise ModelError("m", kind="content", problem="refused")

    async def wait() -> None:
        await ScriptedModel(["x"]).complete(any_request())

    with pytest.raises(ModelError, match="refused"):
        await at_once([wait, fail])
