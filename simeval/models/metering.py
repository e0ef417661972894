"""A model whose calls are counted."""

from collections.abc import Callable
from dataclasses import dataclass
from time import time_ns

from anyio import get_cancelled_exc_class

from simeval.core.usage import Ledger, ModelCall
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
        if self.ledger.on_call is None:
            return await self._counted(request)
        return await self._told(request, self.ledger.on_call)

    async def _told(self, request: Request, on_call: Callable[[ModelCall], None]) -> Completion:
        """Answer and count, and report the call."""
        started, completion, error = time_ns(), Completion(text=""), "cancelled"
        try:
            completion = await self._counted(request)
            error = ""
        except ModelError as failure:
            error = failure.kind
            raise
        finally:
            on_call(
                ModelCall(
                    role=request.role,
                    model=self.name,
                    started=started,
                    ended=time_ns(),
                    asked=request.messages,
                    answered=completion.text,
                    is_cut=completion.is_cut,
                    prompt_tokens=completion.prompt_tokens,
                    completion_tokens=completion.completion_tokens,
                    error=error,
                )
            )
        return completion

    async def _counted(self, request: Request) -> Completion:
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
        usage.cached_tokens += completion.cached_tokens
        usage.reasoning_tokens += completion.reasoning_tokens
        if completion.cost_usd is not None:
            usage.cost_usd = (usage.cost_usd or 0.0) + completion.cost_usd
        return completion
