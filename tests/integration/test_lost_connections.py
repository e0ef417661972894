"""A model whose connection is lost: what it costs where the model has answered before, whoever asked."""

import json
from dataclasses import dataclass

import anyio.lowlevel
import pytest

from simeval import Engine, HallucinationFree, Helpfulness, RetryConfig
from simeval.datasets.dataset import Dataset, Example, check_dataset
from simeval.errors import ModelError, ModelUnusable
from simeval.models.protocol.model import Completion, Request
from simeval.models.providers.offline import scorer_reply
from simeval.results.experiment import ExperimentResult

pytestmark = pytest.mark.anyio

EXAMPLES = 30
AT_ONCE = RetryConfig(max_attempts=3, backoff_multiplier=0)


@dataclass(slots=True)
class Grader:
    """Answers scorers; loses the connection at each request whose prompt holds all of some texts."""

    lost: tuple[str, ...]
    name: str = "my/model"

    async def complete(self, request: Request) -> Completion:
        await anyio.lowlevel.checkpoint()
        system, user = (message["content"] for message in request.messages())
        if all(text in system + user for text in self.lost):
            raise ModelError(self.name, kind="connection", problem="connection reset by peer")
        return Completion(text=json.dumps(scorer_reply(system, user)))

    async def close(self) -> None:
        pass


def questions() -> Dataset:
    inputs = [{"input": f"What is case {number}?", "context": f"Case {number} is one."} for number in range(EXAMPLES)]
    return check_dataset(lambda: [Example(inputs=each) for each in inputs], name="questions")


async def app(input: str) -> str:
    return f"You ask: {input}"


async def score(grader: Grader) -> ExperimentResult:
    engine = Engine("offline/judge", retry_config=AT_ONCE, seed=1, concurrency=1, store=None, display="none")
    return await engine.evaluate(questions(), app, scorers=[HallucinationFree(model=grader), Helpfulness(model=grader)])


@pytest.mark.parametrize("hit", [0, 1, 7, EXAMPLES - 1])
async def test_one_lost_connection_costs_one_measurement_whichever_request_it_hits(hit: int) -> None:
    result = await score(Grader(lost=("is helpful to who asked", f"What is case {hit}?")))

    assert result.answers == EXAMPLES
    assert sum(result.failures.values()) == 1
    assert "failed (connection) after 3 attempts" in next(iter(result.failures))


async def test_a_model_that_never_answers_and_cannot_be_reached_ends_the_run() -> None:
    with pytest.raises(ModelUnusable, match="connection reset by peer") as raised:
        await score(Grader(lost=()))

    assert raised.value.kind == "connection"
