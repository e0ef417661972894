"""Limits that several processes share: each takes allowances for its calls from one place, as many at once as wait."""

from dataclasses import dataclass, field
from typing import Protocol

import anyio

from simeval.models.limits.traffic import EXPECTED_TOKENS, SMOOTH
from simeval.models.protocol.model import Completion, Request, SharedModel, Wrapped

MOST_AT_ONCE = 64
SHORTEST_NAP_SECONDS = 0.005


class Allowances(Protocol):
    """Grants allowances for calls, for all processes together."""

    async def take(self, account: str, wanted: int, *, tokens_each: float, correction: float) -> tuple[int, float]:
        """Take up to so many; return how many are granted and, if none is, after how many seconds to ask again.

        Each is charged `tokens_each`; `correction` is the use of earlier calls above their charge.
        """


@dataclass(slots=True)
class Allowed(Wrapped):
    """A model each of whose calls takes an allowance of its account."""

    model: SharedModel
    account: str
    allowances: Allowances
    _line: anyio.Lock = field(default_factory=lambda: anyio.Lock(fast_acquire=True), init=False)
    _left: int = field(default=0, init=False)
    _waiting: int = field(default=0, init=False)
    _mean: float = field(default=EXPECTED_TOKENS, init=False)
    _each: float = field(default=EXPECTED_TOKENS, init=False)  # the charge of each one left
    _correction: float = field(default=0.0, init=False)

    @property
    def answers(self) -> int:
        """How many requests the model has answered here."""
        return self.model.answers

    async def complete(self, request: Request) -> Completion:
        """Wait for an allowance, then answer."""
        self._waiting += 1
        try:
            async with self._line:
                charged = await self._taken()
        finally:
            self._waiting -= 1
        used = 0
        try:
            completion = await self.model.complete(request)
            used = completion.prompt_tokens + completion.completion_tokens
        finally:
            self._correction += used - charged
            self._mean += SMOOTH * (used - self._mean) if used else 0.0
        return completion

    async def _taken(self) -> float:
        """Take one allowance, and some for the callers behind; return its charge."""
        while not self._left:
            correction, self._correction, self._each = self._correction, 0.0, self._mean
            wanted = min(self._waiting, MOST_AT_ONCE)
            self._left, seconds = await self.allowances.take(
                self.account, wanted, tokens_each=self._each, correction=correction
            )
            if not self._left:
                await anyio.sleep(max(seconds, SHORTEST_NAP_SECONDS))
        self._left -= 1
        return self._each
