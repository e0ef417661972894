"""Stability: distances between the responses of one session."""

from math import sqrt
from typing import Any

import pytest

from simeval.core.conversation import Conversation, Message
from simeval.core.trial import Scored
from simeval.errors import DefinitionError
from simeval.extras.brand.stability import Stability
from tests.support.encoders import Table

pytestmark = pytest.mark.anyio

TABLE = Table({"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [0.6, 0.8], "-a": [-1.0, 0.0], "z": [0.0, 0.0]})


def session(said: str) -> Conversation:
    return Conversation(messages=tuple(Message(role="assistant", content=text) for text in said.split()))


async def measured(said: str, **options: Any) -> dict[str, Any]:
    return await Stability(encoder=TABLE, **options).score(conversation=session(said))


@pytest.mark.parametrize(
    ("said", "stability"),
    [("a a a", 1.0), ("a b", 0.0), ("a c", 0.6), ("a -a", 0.0), ("a a b", 1 - 2 / 3)],
)
async def test_it_is_one_less_the_mean_distance_of_any_two_responses(said: str, stability: float) -> None:
    found = await measured(said)

    assert found["stability"] == pytest.approx(stability)
    assert not found["single_response"]


async def test_the_documented_spread_cannot_tell_two_responses_apart() -> None:
    pairwise, documented = await measured("a b"), await measured("a b", spread="documented")

    assert documented["stability"] == pytest.approx(1.0)
    assert pairwise["stability"] == pytest.approx(0.0)


async def test_the_documented_spread_is_the_deviation_of_distances_to_the_mean() -> None:
    found = await measured("a a b", spread="documented", widest=0.5)

    distances = [1 - 2 / sqrt(5), 1 - 2 / sqrt(5), 1 - 1 / sqrt(5)]
    mean = sum(distances) / 3
    deviation = sqrt(sum((each - mean) ** 2 for each in distances) / 3)
    assert found["spread"] == pytest.approx(deviation)
    assert found["stability"] == pytest.approx(1 - deviation / 0.5)
    assert found["method"] == "1 - standard deviation of distances to the mean / 0.5, at least 0"


async def test_how_it_is_normalised_can_be_set_and_is_stated() -> None:
    found = await measured("a c", widest=0.8)

    assert found["stability"] == pytest.approx(0.5)
    assert found["method"] == "1 - mean pairwise distance / 0.8, at least 0"


async def test_drift_tells_moving_away_from_mere_variation() -> None:
    moved, varied = await measured("a a b b"), await measured("a b a b")

    assert moved["drift"] == pytest.approx(1.0)
    assert varied["drift"] == pytest.approx(-0.5)
    assert moved["stability"] == pytest.approx(varied["stability"])
    assert (await measured("a b c"))["drift"] is None


async def test_one_response_is_stable_by_definition_and_flagged_and_needs_no_encoder() -> None:
    found = await Stability(encoder=Table({})).score(output="only this")

    assert found["stability"] == 1.0
    assert found["single_response"]


async def test_no_response_is_an_error() -> None:
    with pytest.raises(ValueError, match="said nothing"):
        await measured("")


async def test_a_vector_without_a_direction_is_an_error() -> None:
    with pytest.raises(ValueError, match="no direction"):
        await measured("a z")


async def test_the_summary_is_over_the_sessions_that_say_something_of_it() -> None:
    sessions = [await measured(said) for said in ("a b", "a a", "a")]
    rows = [Scored(example=place, columns={}, measured=found) for place, found in enumerate(sessions)]

    found = Stability(encoder=TABLE).summarize(rows)["stability"]

    assert found.value == pytest.approx(0.5)
    assert found.n == 2
    assert "1 of 3 sessions without a value" in found.method


@pytest.mark.parametrize("options", [{"spread": "wide"}, {"widest": 0}, {"widest": 3}, {"widest": True}])
def test_what_cannot_be_used_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(DefinitionError):
        Stability(**options)
