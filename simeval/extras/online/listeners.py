"""Listeners: the callbacks for scores, and for metrics that have dropped."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from simeval.core.capture import Caught
from simeval.core.logs import warn_all
from simeval.core.trial import Failure, Score
from simeval.engine.actors.handler import is_async
from simeval.engine.executors import failure_to_measure
from simeval.extras.online.isolation import Isolation
from simeval.extras.online.running_estimate import RunningEstimate
from simeval.extras.online.submission import Columns

OnScore = Callable[[str, Score | Failure, Columns], Any]
OnDrop = Callable[[str, RunningEstimate], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listeners:
    """Calls the listeners of one scorer; an error in a callback costs the app and other conversations nothing."""

    on_score: OnScore | None
    on_drop: OnDrop | None
    isolation: Isolation
    clean: Callable[[str], str]

    async def scored(self, scorer: str, score: Score | Failure, columns: Columns) -> None:
        """Report a score, or why it is missing."""
        if self.on_score is not None:
            await self._call(self.on_score, scorer, score, columns)

    async def dropped(self, metric: str, estimate: RunningEstimate) -> None:
        """Log that a metric has dropped below its bar, and report it."""
        warn_all(f"{metric} has dropped below its bar, after {estimate.n} conversations with a value")
        if self.on_drop is not None:
            await self._call(self.on_drop, metric, estimate)

    async def _call(self, callback: Callable[..., Any], *told: Any) -> None:
        async def call() -> None:
            answer = callback(*told)
            if inspect.isawaitable(answer):
                await answer

        made = await self.isolation.run(call, is_apart=is_async(callback))
        if isinstance(made, Caught):
            error = failure_to_measure(made.error, clean=self.clean).error
            self.isolation.warn("callback", f"a callback raised {error}; it goes on being called")
