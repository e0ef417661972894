"""Texts compared by the vectors that a model or an encoder makes of them."""

from collections.abc import Sequence
from typing import Any

import pytest

from simeval.core.settings import Settings
from simeval.errors import DefinitionError, MalformedReply
from simeval.models.kinds import Embedding
from simeval.models.protocol.model import Model
from simeval.models.registry import Models
from simeval.scorers.llm.embeddings import EmbeddingSimilarity, cosine
from simeval.testing import ScriptedModel
from tests.support.grading import ready

pytestmark = pytest.mark.anyio


class Counting:
    """An encoder of two numbers: how often there is an a, and how often a b."""

    def __init__(self) -> None:
        self.batches: list[Sequence[str]] = []

    def encode(self, texts: Sequence[str]) -> list[list[float]]:
        self.batches.append(texts)
        return [[text.count("a"), text.count("b")] for text in texts]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((1.0, 0.0), (1.0, 0.0), 1.0),
        ((1.0, 0.0), (0.0, 2.0), 0.0),
        ((1.0, 0.0), (-3.0, 0.0), -1.0),
        ((1e200, 1e200), (1e200, 0.0), 2**-0.5),
        ((1e-200, 0.0), (1e-200, 0.0), 1.0),
        ((0.1, 0.2, 0.3), (0.1, 0.2, 0.3), 1.0),
    ],
)
def test_a_cosine_is_that_of_the_angle_whatever_the_lengths(
    one: tuple[float, ...], other: tuple[float, ...], expected: float
) -> None:
    found = cosine(one, other)

    assert found == pytest.approx(expected)
    assert -1 <= found <= 1


async def test_a_similarity_at_the_threshold_is_one() -> None:
    scorer = EmbeddingSimilarity(model=ScriptedModel(['{"vectors": [[3, 4], [4, 3]]}']), threshold=0.96)

    found = await scorer.score(output="a", reference="b")

    assert found == {"similarity_score": pytest.approx(0.96), "is_similar": True}


@pytest.mark.parametrize(
    "vectors",
    ["[]", "[[1, 0]]", "[[1, 0], [1]]", "[[], []]", "[[1], [NaN]]", "[[1], [Infinity]]", '[[1], ["one"]]', "[[1]] * 3"],
)
async def test_vectors_that_cannot_be_compared_are_malformed(vectors: str) -> None:
    with pytest.raises(MalformedReply):
        await ready(EmbeddingSimilarity(model="x"), f'{{"vectors": {vectors}}}').score(output="a", reference="b")


@pytest.mark.parametrize("threshold", [1.5, -1.01, float("nan"), "0.5", None, True])
def test_a_threshold_that_no_cosine_has_is_refused_when_it_is_made(threshold: Any) -> None:
    with pytest.raises(DefinitionError, match="threshold"):
        EmbeddingSimilarity(model="x", threshold=threshold)


@pytest.mark.parametrize("model", [None, 3])
def test_an_embedding_model_must_be_named(model: Any) -> None:
    with pytest.raises(DefinitionError, match="name one, such as openai/text-embedding-3-small"):
        EmbeddingSimilarity(model=model)


async def test_an_encoder_of_ones_own_gets_both_texts_at_once() -> None:
    encoder = Counting()

    found = await EmbeddingSimilarity(model=encoder).score(output="aab", reference="aabb")

    assert found["similarity_score"] == pytest.approx(0.948683298)
    assert encoder.batches == [["aab", "aabb"]]


async def test_one_encoder_serves_several_scorers_of_a_run_and_two_encoders_are_two() -> None:
    one, other = Counting(), Counting()
    models = Models(Settings())

    found = [models.get(Embedding(encoder)) for encoder in (one, one, other)]

    assert found[0] is found[1]
    assert found[0] is not found[2]


async def test_vectors_of_the_largest_models_fit_a_reply() -> None:
    class Large:
        def encode(self, texts: Sequence[str]) -> list[list[float]]:
            return [[-1 / (1e5 + place + number) for number in range(5000)] for place in range(len(texts))]

    found = await EmbeddingSimilarity(model=Large()).score(output="a", reference="b")

    assert found["is_similar"] is True


async def test_a_model_of_another_kind_gets_what_says_where_it_is_and_not_how_to_chat() -> None:
    given: list[Any] = []

    class Kind:
        key = "kind"

        def make(self, options: Any, *, timeout_seconds: float) -> Model:
            given.append(dict(options))
            return ScriptedModel(["x"])

    options = {"api_base": "http://x", "api_key": "k", "extra_headers": {"a": "b"}, "temperature": 1, "max_tokens": 9}
    models = Models(Settings(model_options=options))

    assert models.get(Kind()) is models.get(Kind())

    assert given == [{"api_base": "http://x", "api_key": "k", "extra_headers": {"a": "b"}}]
