"""Runs that are held against another one: whether their trials are pairs, and what else is not as it was there."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from simeval.engine.plans.scenario_plan import Measure, RunPlan, ScenarioPlan
from simeval.errors import DefinitionError
from simeval.evaluators.not_worse import NotWorseEvaluator


def pairing_warnings(plans: Sequence[RunPlan], *, seed: int, judge: str, user: str) -> list[str]:
    """Say which models are not those of the run that plans are held against.

    Raises DefinitionError where trials are no pairs, because the seed is another.
    """
    said: dict[str, None] = {}
    for each in comparisons(plans):
        if each.other is not None:
            continue
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


def other_app(plans: Sequence[RunPlan]) -> object | None:
    """Return the app that plans are held against, and that is to be asked in their trials; None where there is none.

    Raises DefinitionError where it is not one and the same for all requirements.
    """
    compared = list(comparisons(plans))
    if not any(each.other for each in compared):
        return None
    found = {id(each.other and each.other.handler): each.run_id for each in compared}
    others = sum(len(measure.evaluators) for plan in plans for measure in plan.measures) > len(compared)
    if len(found) > 1 or others:
        named = ", ".join([*found.values(), *(["the bar of a requirement"] if others else [])])
        raise DefinitionError("against an app", found=f"trials are held against {named}", do="give one for all")
    return next(each.other.handler for each in compared if each.other)


def without_comparison(plans: Sequence[ScenarioPlan]) -> tuple[ScenarioPlan, ...]:
    """Return plans with the requirements themselves in the place of comparisons, tested on whole samples."""
    return tuple(replace(plan, measures=tuple(map(_by_itself, plan.measures))) for plan in plans)


def _by_itself(measure: Measure) -> Measure:
    own = tuple(
        replace(
            each.requirement,
            significance_level=each.significance_level,
            min_trials=each.min_trials,
            early_stopping=False,
        )
        if isinstance(each, NotWorseEvaluator)
        else each
        for each in measure.evaluators
    )
    return replace(measure, evaluators=own)


def comparisons(plans: Sequence[RunPlan]) -> Iterator[NotWorseEvaluator]:
    """Yield the comparisons among the requirements of plans."""
    for plan in plans:
        for measure in plan.measures:
            yield from (each for each in measure.evaluators if isinstance(each, NotWorseEvaluator))
