"""Graded scorers, embeddings and moderation over real HTTP, each through LiteLLM and through simeval's own client."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest

from simeval.core.run_records import Ledger
from simeval.core.settings import RetryConfig, Settings
from simeval.errors import ModelError, ModelUnusable
from simeval.models.kinds import Embedding, ModerationEndpoint
from simeval.models.protocol.model import Model, ModelKind
from simeval.models.registry import Models
from simeval.scorers.base import Callers
from simeval.scorers.llm.base import ModelScorer
from simeval.scorers.llm.embeddings import EmbeddingSimilarity
from simeval.scorers.llm.graded import (
    ContextRelevancy,
    Correctness,
    Criteria,
    DocumentRelevance,
    FactualAccuracy,
    Faithfulness,
    HallucinationFree,
    Helpfulness,
)
from simeval.scorers.llm.moderation import Moderation
from simeval.scorers.llm.rag import ContextEntityRecall, Summarization
from simeval.testing import FakeEndpoint, Fault
from simeval.testing.replies import vector
from tests.support.http_runs import KEY, MAX_ATTEMPTS

pytestmark = pytest.mark.anyio

ROUTES = ("openai", "openai-compatible")
FAILING: Sequence[Fault] = ("error_500", "malformed", "truncated", "html", "reset", "rate_limited")

CONTEXT = "Marie Curie discovered radium in Paris. She received two prizes."
QUESTION = "What did Curie discover?"
Case = tuple[str, Callable[..., ModelScorer], dict[str, Any], dict[str, Any]]
CASES: Sequence[Case] = (
    (
        "hallucination-free",
        HallucinationFree,
        {"output": "Curie discovered radium.", "context": CONTEXT},
        {"hallucination_free": True, "reasoning": "its words"},
    ),
    (
        "a hallucination",
        HallucinationFree,
        {"output": "Curie discovered uranium.", "context": [CONTEXT, "Nothing else."]},
        {"hallucination_free": False, "reasoning": "its words"},
    ),
    (
        "correctness",
        Correctness,
        {"output": "radium", "reference": "Radium.", "input": QUESTION},
        {"correct": True, "reasoning": "its words"},
    ),
    (
        "helpfulness",
        Helpfulness,
        {"output": "Ask another person.", "input": QUESTION},
        {"helpful": False, "reasoning": "its words"},
    ),
    (
        "faithfulness",
        Faithfulness,
        {"output": "Curie discovered radium. Curie lived in Sweden.", "context": CONTEXT},
        {
            "faithfulness": 0.5,
            "claims": [
                {"claim": "Curie discovered radium", "reasoning": "its words", "supported": True},
                {"claim": "Curie lived in Sweden", "reasoning": "its words", "supported": False},
            ],
        },
    ),
    (
        "factual accuracy",
        FactualAccuracy,
        {"output": "Radium.", "input": CONTEXT},
        {"factual_accuracy": 1.0, "claims": [{"claim": "Radium", "reasoning": "its words", "supported": True}]},
    ),
    (
        "document relevance",
        DocumentRelevance,
        {"context": [CONTEXT, "Bread is baked.", "To discover is to find."], "input": QUESTION},
        {"relevant_share": 2 / 3, "relevant": [True, False, True], "reasoning": ["its words"] * 3},
    ),
    (
        "relevance of one document",
        DocumentRelevance,
        {"context": "Bread is baked.", "input": QUESTION},
        {"relevant_share": 0.0, "relevant": [False], "reasoning": ["its words"]},
    ),
    (
        "context relevancy",
        ContextRelevancy,
        {"context": CONTEXT, "input": QUESTION},
        {"relevancy_score": 1 / 3, "reasoning": "its words"},
    ),
    (
        "criteria",
        lambda **options: Criteria(criteria={"greets": "It says hello.", "offers a refund": "refund"}, **options),
        {"output": "hello there"},
        {
            "greets": True,
            "offers a refund": False,
            "reasoning": {"greets": "its words", "offers a refund": "its words"},
        },
    ),
    (
        "summarization",
        Summarization,
        {"output": "Curie discovered radium in Paris, by Curie.", "input": CONTEXT},
        {
            "quality": 1.0,
            "grade": "excellent",
            "reasoning": "its words",
            "entity_density": 2 / 7,
            "is_entity_dense": True,
            "entities": ["curie", "paris"],
        },
    ),
    (
        "context entity recall",
        ContextEntityRecall,
        {"context": "CURIE was a chemist. Paris is in France, said Marie.", "reference": "Curie lived in Paris."},
        {
            "context_entity_recall": 0.5,
            "context_entity_precision": 1 / 3,
            "found": ["paris"],
            "missing": ["curie"],
        },
    ),
)


@pytest.fixture(params=ROUTES)
def route(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


@pytest.fixture
async def callers(llm: FakeEndpoint, ledger: Ledger) -> AsyncIterator[Callers]:
    """What an engine gives its scorers, with the server's address among its options."""
    retry = RetryConfig(max_attempts=MAX_ATTEMPTS, backoff_multiplier=0.01, max_backoff_seconds=0.02)
    options = {"api_base": llm.base_url, "api_key": KEY, "top_p": 0.5}
    models = Models(Settings(retry_config=retry, model_timeout_seconds=300, model_options=options))
    models.open()
    yield lambda model: models.caller(models.get(model), ledger)
    await models.close()


def bound(scorer: ModelScorer, callers: Callers) -> Any:
    return scorer.bind(callers)


def similarity(route: str) -> EmbeddingSimilarity:
    return EmbeddingSimilarity(model=f"{route}/test-embedding")


def moderation(route: str) -> Moderation:
    return Moderation(model=f"{route}/test-moderation")


@pytest.mark.parametrize(("make", "columns", "expected"), [pytest.param(*rest, id=name) for name, *rest in CASES])
async def test_a_graded_scorer_measures(
    callers: Callers,
    ledger: Ledger,
    route: str,
    make: Callable[..., ModelScorer],
    columns: dict[str, Any],
    expected: dict[str, Any],
) -> None:
    scorer = bound(make(model=f"{route}/test-scorer"), callers)

    found = await scorer.score(**columns)

    assert found == expected
    assert ledger.of("scorer").calls == scorer.calls


@pytest.mark.parametrize(("make", "columns", "expected"), [pytest.param(*rest, id=name) for name, *rest in CASES])
async def test_a_malformed_reply_is_asked_for_again(
    callers: Callers,
    llm: FakeEndpoint,
    ledger: Ledger,
    route: str,
    make: Callable[..., ModelScorer],
    columns: dict[str, Any],
    expected: dict[str, Any],
) -> None:
    llm.behaviour.first_faults = ("malformed", "malformed")
    scorer = bound(make(model=f"{route}/test-scorer"), callers)

    found = await scorer.score(**columns)

    assert found == expected
    assert ledger.of("scorer").calls == llm.stats.requests == scorer.calls + 2


@pytest.mark.parametrize(("make", "columns", "_expected"), [pytest.param(*rest, id=name) for name, *rest in CASES])
async def test_a_reply_that_stays_malformed_is_no_score(
    callers: Callers,
    llm: FakeEndpoint,
    route: str,
    make: Callable[..., ModelScorer],
    columns: dict[str, Any],
    _expected: dict[str, Any],
) -> None:
    llm.behaviour.malformed = 1.0

    with pytest.raises(ModelError, match="malformed") as raised:
        await bound(make(model=f"{route}/test-scorer"), callers).score(**columns)

    assert (raised.value.attempts, raised.value.role) == (MAX_ATTEMPTS, "scorer")


@pytest.mark.parametrize("fault", [*FAILING, "huge"])
async def test_a_graded_scorer_survives_a_fault(callers: Callers, llm: FakeEndpoint, route: str, fault: Fault) -> None:
    llm.behaviour.first_faults = (fault,)
    scorer = bound(HallucinationFree(model=f"{route}/test-scorer"), callers)

    found = await scorer.score(output="radium", context=CONTEXT)

    assert found["hallucination_free"] is True
    assert (llm.stats.requests, llm.stats.faults[fault]) == (2, 1)


async def test_embeddings_of_both_texts_are_asked_for_in_one_call(
    callers: Callers, llm: FakeEndpoint, ledger: Ledger, route: str
) -> None:
    one, other = "the cat sat on the mat", "a cat sat on a mat"

    found = await bound(similarity(route), callers).score(output=one, reference=other)

    cosine = sum(a * b for a, b in zip(vector(one), vector(other), strict=True))
    assert found == {"similarity_score": pytest.approx(cosine, abs=1e-8), "is_similar": True}
    assert cosine < 0.9
    assert llm.stats.requests == 1
    assert (ledger.of("scorer").calls, ledger.of("scorer").prompt_tokens) == (1, 10)
    assert llm.stats.saw_authorization


async def test_a_text_without_a_direction_is_no_score(callers: Callers, route: str) -> None:
    with pytest.raises(ValueError, match="zero vector"):
        await bound(similarity(route), callers).score(output="???", reference="a cat")


async def test_an_output_is_moderated(callers: Callers, llm: FakeEndpoint, ledger: Ledger, route: str) -> None:
    found = await bound(moderation(route), callers).score(output="I will kill the process")

    assert found == {
        "flagged": True,
        "passed": False,
        "categories": {"violence": True, "hate": False, "self_harm_intent": False},
        "scores": {"violence": 0.9, "hate": 0.01, "self_harm_intent": 0.01},
    }
    assert (llm.stats.requests, ledger.of("scorer").calls) == (1, 1)


async def test_a_harmless_output_passes(callers: Callers, route: str) -> None:
    found = await bound(moderation(route), callers).score(output="Naïve — 好")

    assert (found["flagged"], found["passed"]) == (False, True)


@pytest.mark.parametrize("fault", FAILING)
async def test_embeddings_are_asked_for_again_after_a_fault_and_by_us_alone(
    callers: Callers, llm: FakeEndpoint, ledger: Ledger, route: str, fault: Fault
) -> None:
    llm.behaviour.first_faults = (fault, fault)

    found = await bound(similarity(route), callers).score(output="a cat", reference="a cat")

    assert found == {"similarity_score": pytest.approx(1), "is_similar": True}
    assert llm.stats.requests == ledger.of("scorer").calls == 3


@pytest.mark.parametrize("fault", FAILING)
async def test_a_moderation_is_asked_for_again_after_a_fault_and_by_us_alone(
    callers: Callers, llm: FakeEndpoint, ledger: Ledger, route: str, fault: Fault
) -> None:
    llm.behaviour.first_faults = (fault, fault)

    found = await bound(moderation(route), callers).score(output="a cat")

    assert found["passed"] is True
    assert llm.stats.requests == ledger.of("scorer").calls == 3


@pytest.mark.parametrize("make", [similarity, moderation])
async def test_vectors_and_moderations_that_stay_malformed_are_no_score(
    callers: Callers, llm: FakeEndpoint, route: str, make: Callable[[str], ModelScorer]
) -> None:
    llm.behaviour.malformed = 1.0
    columns = {"output": "a cat", "reference": "a cat"}

    with pytest.raises(ModelError, match="malformed") as raised:
        await bound(make(route), callers).measure(columns)

    assert raised.value.attempts == llm.stats.requests == MAX_ATTEMPTS


@pytest.mark.parametrize("make", [similarity, moderation])
async def test_a_refused_key_ends_the_run_and_is_not_shown(
    callers: Callers, llm: FakeEndpoint, route: str, make: Callable[[str], ModelScorer]
) -> None:
    llm.behaviour.auth, llm.behaviour.echo_key = 1.0, True

    with pytest.raises(ModelUnusable, match="check the provider's API key") as raised:
        await bound(make(route), callers).measure({"output": "a cat", "reference": "a cat"})

    assert KEY not in str(raised.value)
    assert llm.stats.requests == 1


@pytest.mark.parametrize("make", [similarity, moderation])
async def test_without_a_key_the_message_says_so(
    route: str, llm: FakeEndpoint, make: Callable[[str], ModelScorer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", llm.base_url)
    llm.behaviour.auth = 1.0  # what a server says to the client that calls it without one

    with pytest.raises(ModelUnusable, match="check the provider's API key"):
        await make(route).measure({"output": "a cat", "reference": "a cat"})


async def test_a_chat_model_an_embedding_model_and_a_moderation_model_may_have_one_name(
    callers: Callers, llm: FakeEndpoint, route: str
) -> None:
    name = f"{route}/test-model"

    helpful = await bound(Helpfulness(model=name), callers).score(output="cat", input="cats")
    similar = await bound(EmbeddingSimilarity(model=name), callers).score(output="cat", reference="cat")
    passed = await bound(Moderation(model=name), callers).score(output="cat")

    assert (helpful["helpful"], similar["is_similar"], passed["passed"]) == (True, True, True)
    assert llm.stats.requests == 3


@pytest.mark.parametrize(
    "make",
    [
        lambda model: HallucinationFree(model=model),
        lambda model: EmbeddingSimilarity(model=model),
        lambda model: Moderation(model=model),
    ],
)
async def test_a_scorer_by_itself_opens_and_closes_its_own_connections(
    llm: FakeEndpoint, route: str, make: Callable[[Any], ModelScorer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", llm.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    found = await make(f"{route}/test-model").measure({"output": "a cat", "context": "a cat", "reference": "a cat"})

    assert True in found.values()
    assert (llm.stats.requests, llm.stats.saw_authorization) == (1, True)


@pytest.mark.parametrize("kind", [Embedding, ModerationEndpoint])
async def test_a_model_with_options_of_its_own_can_be_given(
    llm: FakeEndpoint, route: str, kind: Callable[[str], ModelKind]
) -> None:
    model: Model = kind(f"{route}/test-model").make({"api_base": llm.base_url, "api_key": KEY}, timeout_seconds=300)
    scorer = EmbeddingSimilarity(model=model) if kind is Embedding else Moderation(model=model)

    found = await scorer.measure({"output": "a cat", "reference": "a cat"})

    assert True in found.values()
