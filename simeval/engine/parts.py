"""Parts of a run: features that a setting switches on, a class each; an unused one is not imported.

check ──► requests, notes ──► around ──► before_trials ──► trials ──► end
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from simeval.core.faces import load
from simeval.models.protocol.model import is_embedded

if TYPE_CHECKING:
    from simeval.engine.executors import Executor
    from simeval.engine.flow import Demand
    from simeval.engine.plans.cost_forecast import Spending
    from simeval.engine.plans.scenario_plan import RunPlan
    from simeval.engine.run_context import RunContext
    from simeval.models.protocol.prompts import GradeRequest
    from simeval.results.suite import RunRecord
    from simeval.store.journal import RunResult


class RunPart:
    """One feature of a run. Each hook does nothing by default."""

    def __init__(self, context: RunContext, plans: Sequence[RunPlan]) -> None:
        self.context, self.plans = context, plans

    async def check(self) -> None:
        """Look whether it can work, before any call is made. Raises DefinitionError."""

    def requests(self) -> Sequence[GradeRequest]:
        """Return the requests that each judge gets before the first trial, for the forecast."""
        return ()

    def notes(self) -> Sequence[str]:
        """Return lines for the record of the run."""
        return ()

    @asynccontextmanager
    async def around(self, executor: Executor, run: RunRecord, demand: Demand) -> AsyncIterator[Executor]:  # noqa: ARG002
        """Yield the executor of the trials, which may wrap the one given."""
        yield executor

    async def before_trials(self, spending: Spending) -> Sequence[str]:  # noqa: ARG002
        """Do the work before the first trial, within the budget; return further lines for the record."""
        return ()

    def end(self, result: RunResult) -> None:
        """Take the result of the run."""


def _has_judges(context: RunContext, plans: Sequence[RunPlan]) -> bool:
    return any(plan.judged for plan in plans) and not all(map(is_embedded, context.judge_names))


# A new one is a class and a row here: when a run has it, and where it is. In the order of their calls.
PARTS: tuple[tuple[Callable[[RunContext, Sequence[RunPlan]], bool], str], ...] = (
    (_has_judges, "simeval.extras.judge_test.licences:LicencePart"),
    (
        lambda context, plans: context.settings.canary_folder is not None and _has_judges(context, plans),
        "simeval.extras.judge_test.canaries:CanaryPart",
    ),
    (lambda context, _: context.settings.trace_in is not None, "simeval.extras.telemetry.joining:JoiningPart"),
    (lambda context, _: context.settings.trace_out is not None, "simeval.extras.telemetry.tracing:TracingPart"),
)


@dataclass(slots=True)
class RunParts:
    """The parts of a run, by its settings. `are_begun` means that nothing more is asked before the first trial."""

    parts: Sequence[RunPart]
    are_begun: bool = False

    @classmethod
    async def of(cls, context: RunContext, plans: Sequence[RunPlan]) -> Self:
        """Return the parts of a run, checked. Raises DefinitionError."""
        parts: list[RunPart] = [load(place)(context, plans) for is_used, place in PARTS if is_used(context, plans)]
        for part in parts:
            await part.check()
        return cls(parts)

    def requests(self) -> Sequence[GradeRequest]:
        """Return all requests that each judge gets before the first trial."""
        return [each for part in self.parts for each in part.requests()]

    def notes(self) -> Sequence[str]:
        """Return the lines of all parts."""
        return [each for part in self.parts for each in part.notes()]

    @asynccontextmanager
    async def around(self, executor: Executor, run: RunRecord, demand: Demand) -> AsyncIterator[Executor]:
        """Yield the executor with all parts around it, the last outermost."""
        async with AsyncExitStack() as stack:
            for part in self.parts:
                executor = await stack.enter_async_context(part.around(executor, run, demand))
            yield executor

    async def before_trials(self, spending: Spending) -> Sequence[str]:
        """Let all parts do their work before the first trial."""
        try:
            return [line for part in self.parts for line in await part.before_trials(spending)]
        finally:
            self.are_begun = True

    def end(self, result: RunResult) -> None:
        """Pass the result to all parts."""
        for part in self.parts:
            part.end(result)
