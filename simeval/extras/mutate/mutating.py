"""Test a suite by mutants of an app: one run of all, the unchanged app first, and the report on it.

suite, app ──► AlteredApp for each mutant ──► one run, the same seeds ──► Watch ends what is noticed ──► report_of
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

from simeval.core.app_handler import AppHandler
from simeval.core.event_loops import advised
from simeval.core.logs import log
from simeval.core.run_records import total
from simeval.core.terminal import counted_of
from simeval.core.validation import require, require_size
from simeval.engine.actors.app import AlteredApp
from simeval.engine.engine import Engine
from simeval.engine.plans.cost_forecast import CostForecast, about
from simeval.engine.plans.scenario_plan import ScenarioPlan
from simeval.engine.run_context import RunContext
from simeval.engine.suite_run import Contest, simulate
from simeval.errors import DefinitionError
from simeval.extras.mutate.mutants import Mutant, by_model, leaking, named
from simeval.extras.mutate.noticing import SPARE, Extent, Watch, least_trials
from simeval.extras.mutate.report import MutationReport, report_of
from simeval.models.protocol.model import is_embedded
from simeval.models.protocol.prompts import ChatRequest, chat_of
from simeval.suites.files import Suite
from simeval.suites.scenario import Expectation, ScenarioTest, by_case

OWN_TRIALS = ("app", "user", "judge", "escalation", "audit", "scorer")  # the roles that trials ask


@advised("mutate was not awaited: write `await mutate(suite, app)`")
async def mutate(
    suite: ScenarioTest | Sequence[ScenarioTest],
    app: AppHandler,
    *,
    engine: Engine | None = None,
    mutants: Sequence[str | Callable[..., Any]] = (),
    samples: int | None = None,
    system_prompt: str = "",
    models: bool = False,
) -> MutationReport:
    """Test a suite by mutants: put its scenarios to deliberately worse apps, and report which of them it notices.

    The app is any that `Engine.evaluate` takes. `mutants` are names of standard ones, functions of an answer (and the
    messages before it) that return another, or MODULE:FUNCTION; without any, all standard ones. Each has at most
    `samples` conversations of a scenario, by default the fewest that prove it and two more. `system_prompt` is the text
    that the mutant leaks. With `models` the user's model writes the changes of facts, numbers and policies.

    Nothing is in the store. Raises as `Engine.evaluate`.
    """
    require_size(samples, "samples", optional=True)
    engine = engine or Engine(settings=suite.settings if isinstance(suite, Suite) else None)
    resumed = engine.settings.resume
    require(resumed is None, "mutate: resume", found=resumed, do="leave it out: nothing of it is in a store")
    found = [
        leaking(system_prompt) if each.name == "leaks-instructions" and system_prompt else each
        for each in named(mutants)
    ]
    work = partial(_work, mutants=found, samples=samples, models=models)
    return await engine.held("mutate", suite, [app], work, keeps=False)


async def _work(
    context: RunContext,
    suite: Sequence[ScenarioTest],
    apps: Sequence[Any],
    *,
    mutants: Sequence[Mutant],
    samples: int | None,
    models: bool,
) -> MutationReport:
    alpha = context.settings.significance_level
    mutants = [by_model(each, _writer(context)) for each in mutants] if models else mutants
    rules = sum(len(each.evaluators) for scenario in suite for each in scenario.expectations)
    least = least_trials(len(mutants) * rules, alpha)
    sized = [_sized(each, samples or least + SPARE) for each in by_case(suite)]
    outlook = _Outlook(context)
    contest = Contest(
        where="mutate",
        others=[AlteredApp(each.name, apps[0], each) for each in mutants],
        conclusion=partial(Watch, mutants=mutants, on_outlook=outlook.tell),
        preview=partial(_preview, mutants=len(mutants)),
    )
    run = await simulate(context, sized, apps[0], contest)
    return report_of(
        run,
        mutants,
        [each.title for each in sized],
        alpha=alpha,
        on_app_error=context.settings.on_app_error,
        foretold=outlook.calls,
    )


@dataclass(slots=True)
class _Outlook:
    """The foretold `calls` of a whole run, None before the mutants."""

    context: RunContext
    calls: float | None = None
    _spent: int = 0

    def tell(self, seen: Extent, left: Extent) -> None:
        """Foretell the calls that are left from those since the last time, and log both."""
        usage = self.context.meter.usage()
        spent = sum(used.calls for role, used in usage.items() if role in OWN_TRIALS)
        new, self._spent = spent - self._spent, spent
        more = left.steps * new / max(1, seen.steps)
        who, then = ("the unchanged app", "the mutants take") if self.calls is None else ("the mutants", "they take")
        most, when = ("up to ", ", if they are as long") if self.calls is None else ("", " more")
        self.calls = total(usage).calls + more
        log.info(
            f"{who} took {new:,} model calls in {counted_of(seen.trials, 'conversation')}; "
            f"{then} about {about(more)} in {most}{left.trials:,}{when}"
        )


def _preview(plans: Sequence[ScenarioPlan], foreseen: CostForecast, *, mutants: int) -> str:
    """Describe the run before it begins."""
    size, calls = len(plans) // (mutants + 1), total(foreseen.typical).calls
    most = f"at most {foreseen.trials_at_most:,} conversations, about {about(calls)} model calls"
    return f"{counted_of(mutants, 'mutant')} in {counted_of(size, 'scenario')}: {most}; the unchanged app comes first"


def _sized(scenario: ScenarioTest, size: int) -> ScenarioTest:
    """Return a scenario of so many trials, whose requirements are on the judge's rates."""
    return replace(scenario, sample_size=size, then=[_of_judge(each) for each in scenario.expectations])


def _of_judge(expectation: Expectation) -> Expectation:
    rules = [replace(each, standard="judge", labels=None, early_stopping=False) for each in expectation.evaluators]
    return replace(expectation, evaluator=rules)


class _Rewriting(ChatRequest):
    """Asks a model for another answer: its failure is the tester's, and not the app's."""

    role: ClassVar[str] = "user"


def _writer(context: RunContext) -> Callable[[str, str], Awaitable[str]]:
    """Return a function that lets the user's model change an answer by an order. Raises DefinitionError."""
    model = context.shared.user
    if is_embedded(model.name):
        do = "name a model (--user-model), or leave it out: rules change the answers then"
        raise DefinitionError("mutate-by-model", found=f"{model.name} cannot write", do=do)
    caller = context.caller(model, "user")

    async def rewrite(order: str, answer: str) -> str:
        system = f"You change the answer of an assistant. {order} Write the changed answer alone, in its language."
        request = _Rewriting(history=chat_of(system, answer), seed=context.seed, temperature=0.0)
        return (await caller.completed(request)).text.strip() or answer

    return rewrite
