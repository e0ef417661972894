"""A model whose calls are counted."""

from dataclasses import dataclass

from anyio import get_cancelled_exc_class

from simeval.core.usage import Ledger
from simeval.errors import ModelError
from simeval.models.protocol.model import Completion, Request, SharedModel, Wrapped


@dataclass(slots=True)
class Metered(Wrapped):
    """A model whose calls are summed in a ledger by the role they serve."""

    model: SharedModel
    ledger: Ledger

    @property
    def answers(self) -> int:
        """How many requests the model has answered, whoever asked."""
        return self.model.answers

    async def complete(self, request: Request) -> Completion:
        """Answer and count, whether the answer is a success, a failure, or not waited for."""
        usage = self.ledger.of(request.role)
        try:
            completion = await self.model.complete(request)
        except ModelError:
            usage.calls += 1
            usage.failed_calls += 1
            raise
        except get_cancelled_exc_class():
            usage.ended_calls += 1
            raise
        usage.calls += 1
        usage.prompt_tokens += completion.prompt_tokens
        usage.completion_tokens += completion.completion_tokens
        if completion.cost_usd is not None:
            usage.cost_usd = (usage.cost_usd or 0.0) + completion.cost_usd
        return completion
