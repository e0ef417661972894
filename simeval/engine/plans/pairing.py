"""Runs that are held against another one: whether their trials are pairs, and what else is not as it was there."""

from collections.abc import Sequence

from simeval.engine.plans.scenario_plan import RunPlan
from simeval.errors import DefinitionError
from simeval.evaluators.not_worse import NotWorseEvaluator


def pairing_warnings(plans: Sequence[RunPlan], *, seed: int, judge: str, user: str) -> list[str]:
    """Say which models are not those of the run that plans are held against.

    Raises DefinitionError where trials are no pairs, because the seed is another.
    """
    held = [
        each
        for plan in plans
        for measure in plan.measures
        for each in measure.evaluators
        if isinstance(each, NotWorseEvaluator)
    ]
    said: dict[str, None] = {}
    for each in held:
        if each.seed != seed:
            do = f"give the engine that seed (seed={each.seed})"
            raise DefinitionError(f"against run {each.run_id}", found=f"its seed is {each.seed}, not {seed}", do=do)
        for role, before, now in (("judge", each.judge, judge), ("user", each.user, user)):
            if before != now:
                said[
                    f"run {each.run_id} had the {role} model {before}, and this one has {now}: what changed may be the "
                    f"{role}, not the app"
                ] = None
    return [*said]
