"""What tests of models ask and raise."""

from dataclasses import dataclass, field

import anyio
import anyio.lowlevel

from simeval.errors import ModelError, ModelErrorKind
from simeval.models.caller import Caller
from simeval.models.limits.governor import Governed
from simeval.models.limits.traffic import Budget, Traffic
from simeval.models.protocol.model import Completion, Model, Request
from simeval.models.protocol.prompts import RubricRequest
from simeval.testing import ScriptedModel

LEVELS = {str(level): f"level {level}" for level in range(1, 11)}


@dataclass(slots=True)
class TimedModel(ScriptedModel):
    """A scripted model that keeps when it was asked."""

    times: list[float] = field(default_factory=list, init=False)

    async def complete(self, request: Request) -> Completion:
        self.times.append(anyio.current_time())
        return await ScriptedModel.complete(self, request)


async def work(_request: Request) -> str:
    """Answer after some turns of the event loop."""
    for _ in range(5):
        await anyio.lowlevel.checkpoint()
    return "done"


async def never(_request: Request) -> str:
    """Answer nothing."""
    await anyio.sleep_forever()
    raise AssertionError


def failure(kind: ModelErrorKind, *, retry_after: float | None = None) -> ModelError:
    """Return an error as a model raises it."""
    return ModelError("scripted/model", kind=kind, problem="as scripted", retry_after=retry_after)


def any_request(seed: int = 0) -> RubricRequest:
    """Return a request of no importance."""
    return RubricRequest(given="a user", when="asks", expected_behavior="it answers", seed=seed)


def no_caller(named: object) -> Caller:
    """Stand for what asks a scorer's model, where no scorer asks one."""
    raise AssertionError(f"a scorer asked for the model {named!r}")


def governed(model: Model, most: int = 4, requests: Budget | None = None) -> Governed:
    """Return a model with limits that are learnt."""
    return Governed(model, Traffic(most, requests), outage_seconds=60, clean=str)
