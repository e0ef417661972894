"""The order of trials: a rank for each scenario. The lowest is dealt first, those of one rank in rounds.

A rank decides when a trial is held, and never which or its result: seeds derive from a scenario's title, and its test
takes its own trials in their order. So results of the past may choose ranks, though they may not enter a test.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from simeval.core.journal import Journal
from simeval.core.setting_choices import Order
from simeval.core.trial import Outcome
from simeval.engine.plans.scenario_plan import RunPlan, ScenarioPlan
from simeval.evaluators.base import Evaluator
from simeval.evaluators.not_worse import NotWorseEvaluator
from simeval.store.opening import as_database

if TYPE_CHECKING:
    from simeval.store.history import PastOutcome

_SUSPICION: dict[Outcome, int] = {"fail": 0, "error": 0, "inconclusive": 1}
_CHANGED, _TRUSTED = 2, 3  # it passes, but did not the time before, or is new; it passed both times


def ranks_of(plans: Sequence[RunPlan], order: Order, store: Journal | None) -> list[int]:
    """Return the rank of each plan; may block. Raises DefinitionError if history is wanted and there is no database.

    By history the worse a scenario was at its last decision, the lower its rank; those that passed the last two times
    share the last rank.
    """
    if order != "history":
        return [place if order == "file" else 0 for place in range(len(plans))]
    from simeval.store.history import past_outcomes  # SQLAlchemy takes a while to load

    past: dict[str, list[PastOutcome]] = defaultdict(list)
    for title, found in chain.from_iterable(each.items() for each in past_outcomes(as_database(store, "order"))):
        past[title].append(found)
    return _ranks([_suspicion([each.outcome for each in past[plan.title] if each.is_decided]) for plan in plans])


def earlier_runs(plans: Sequence[ScenarioPlan], app: str, store: Journal | None) -> Mapping[str, int]:
    """Return how often each scenario was run since it last passed, as far as a database knows; may block."""
    if not callable(getattr(store, "read", None)):
        return {}
    from simeval.store.history import Asked, runs_since_pass  # SQLAlchemy takes a while to load

    asked = {
        plan.title: Asked(
            plan.scenario.given,
            plan.scenario.when,
            frozenset((one.label, *_asked(each)) for one in plan.measures for each in one.evaluators),
        )
        for plan in plans
    }
    return runs_since_pass(as_database(store, "earlier runs"), app, asked)


def _asked(evaluator: Evaluator) -> tuple[str, str]:
    """Return a requirement in words, and the other side if it is compared with one."""
    if isinstance(evaluator, NotWorseEvaluator):
        return evaluator.requirement.describe(), evaluator.run_id
    return evaluator.describe(), ""


def _suspicion(outcomes: Sequence[Outcome]) -> int:
    """Return how suspect a scenario is by its past outcomes, the newest first."""
    if not outcomes:
        return _CHANGED
    if outcomes[0] != "pass":
        return _SUSPICION[outcomes[0]]
    return _CHANGED if any(outcome != "pass" for outcome in outcomes[1:2]) else _TRUSTED


def _ranks(suspicions: Sequence[int]) -> list[int]:
    """Return a rank of its own for each that is suspected, the most first, and one after them for all others."""
    suspects = [place for place in range(len(suspicions)) if suspicions[place] < _TRUSTED]
    order = sorted(suspects, key=lambda place: suspicions[place])
    ranks = dict(zip(order, range(len(order)), strict=True))
    return [ranks.get(place, len(order)) for place in range(len(suspicions))]
