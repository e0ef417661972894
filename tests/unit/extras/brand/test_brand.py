"""Brand alignment: three parts in one number, with a letter, over recorded sessions."""

from typing import Any

import pytest

from simeval import Engine
from simeval.core.conversation import Conversation, Message
from simeval.core.settings import RetryConfig
from simeval.datasets.dataset import Example
from simeval.datasets.files import dataset_of
from simeval.errors import DefinitionError, ModelError
from simeval.extras.brand.alignment import Alignment, letter_grade
from simeval.extras.brand.authenticity import Authenticity
from simeval.extras.brand.persona import Persona, Policy
from simeval.extras.brand.safety import Safety
from simeval.extras.brand.stability import Stability
from simeval.models.caller import Caller
from simeval.testing import ScriptedModel
from tests.support.encoders import Table

pytestmark = pytest.mark.anyio

RIVALS = Policy(name="rivals", severity="medium", phrases=["Acme"])
PERSONA = Persona(id="a", examples=["x"], policies=[RIVALS])
VECTORS = {"x": [1.0, 0.0], "near": [0.8, 0.6], "far": [0.0, 1.0], "Acme": [0.6, 0.8]}


def session(*responses: str) -> Conversation:
    said = [Message(role="user", content="?"), *(Message(role="assistant", content=text) for text in responses)]
    return Conversation(messages=tuple(said), ended="recorded")


def alignment(table: Table | None = None, **options: Any) -> Alignment:
    return Alignment(**{"persona": PERSONA, "encoder": table or Table(VECTORS), **options})


async def test_the_score_is_the_weighted_mean_of_the_three_parts() -> None:
    found: Any = await alignment().score(conversation=session("near", "Acme"))

    assert found["authenticity"]["authenticity"] == pytest.approx(0.7)
    assert found["safety"]["safety"] == pytest.approx(0.8)
    assert found["stability"]["stability"] == pytest.approx(0.96)
    assert found["alignment"] == pytest.approx(0.5 * 0.7 + 0.3 * 0.8 + 0.2 * 0.96)
    assert found["grade"] == "C"


async def test_weights_are_scaled_and_a_part_without_one_is_not_measured() -> None:
    found: Any = await alignment(weights={"authenticity": 3, "safety": 1}).score(conversation=session("near", "Acme"))

    assert found["alignment"] == pytest.approx(0.75 * 0.7 + 0.25 * 0.8)
    assert "stability" not in found
    assert found["left_out"] == ["stability"]


async def test_one_response_leaves_stability_out_which_is_said() -> None:
    found: Any = await alignment().score(output="near")

    assert found["left_out"] == ["stability"]
    assert found["stability"]["single_response"]
    assert found["alignment"] == pytest.approx((0.5 * 0.8 + 0.3 * 1.0) / 0.8)
    with pytest.raises(ValueError, match="the only part"):
        await alignment(weights={"stability": 1}).score(output="near")


async def test_responses_are_encoded_once_for_both_parts() -> None:
    table = Table(VECTORS)

    await alignment(table).score(conversation=session("near", "far"))

    assert table.asked == [["near", "far"], ["x"]]


async def test_authenticity_may_be_given_as_it_shall_be() -> None:
    own = Authenticity(persona=PERSONA, encoder=Table(VECTORS), weights={"style": 1})

    found: Any = await Alignment(authenticity=own, weights={"authenticity": 1}).score(output="near")

    assert found["alignment"] == pytest.approx(0.8)


async def test_stability_may_have_an_encoder_of_its_own() -> None:
    own = Table({"near": [1.0], "far": [1.0]})

    found: Any = await alignment(stability=Stability(encoder=own)).score(conversation=session("near", "far"))

    assert found["stability"]["stability"] == pytest.approx(1.0)


async def test_a_part_that_cannot_be_measured_makes_all_missing() -> None:
    scorer = alignment(safety=Safety(model=ScriptedModel(["no rating"])))

    assert scorer.calls == 1
    bound = scorer.bind(lambda model: Caller(model, RetryConfig(enabled=False)))
    with pytest.raises(ModelError):
        await bound.score(output="near")


@pytest.mark.parametrize(
    ("score", "letter"),
    [(1, "A"), (0.9, "A"), (0.3 * 3, "A"), (0.895, "B"), (0.8, "B"), (0.7, "C"), (0.69, "D"), (0.6, "D"), (0.59, "F")],
)
def test_a_score_has_a_letter(score: float, letter: str) -> None:
    assert letter_grade(score) == letter


@pytest.mark.parametrize("score", [-0.1, 1.1, float("nan"), True, None])
def test_what_is_no_score_has_no_letter(score: Any) -> None:
    with pytest.raises(DefinitionError, match="from 0 to 1"):
        letter_grade(score)


@pytest.mark.parametrize(
    "options",
    [
        {"authenticity": Authenticity(persona=PERSONA, encoder="hashed")},
        {"persona": None},
        {"weights": {"voice": 1}},
        {"weights": {"safety": 0}},
        {"safety": 3},
        {"stability": Safety()},
    ],
)
def test_what_cannot_be_used_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(DefinitionError, match="Alignment"):
        alignment(**options)


async def test_an_experiment_over_recorded_sessions_gives_the_mean_with_its_interval_and_letter() -> None:
    sessions = [session("near", "near"), session("near", "far"), session("Acme", "near"), session("near")]
    dataset = dataset_of([Example(conversation=each) for each in sessions], name="sessions")
    engine = Engine(store=None, seed=7, display="none")

    result = await engine.evaluate(dataset, scorers=[alignment()])

    found = result.summaries["Alignment"]
    metrics = {metric.path: metric.estimate for metric in result.metrics}
    assert found["alignment"].value == pytest.approx(metrics["alignment"].value)
    assert found["alignment"].interval == metrics["alignment"].interval
    assert found["alignment"].method.startswith("Gaffke, 0 to 1; from ")
    assert found["stability"].n == 3
    assert "grade" in str(result)
