"""Runs compared with another one: whether their trials are pairs, and the other changes since that run."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from simeval.core.serialization import Json
from simeval.core.terminal import counted_of
from simeval.engine.plans.fingerprint import changes
from simeval.engine.plans.resume import RestoredTrials
from simeval.engine.plans.scenario_plan import Measure, RunPlan, ScenarioPlan
from simeval.errors import DefinitionError
from simeval.evaluators.not_worse import NotWorseEvaluator
from simeval.results.conditions import conditions_of, not_kept

MOST_NAMED = 3  # changes in a warning
_OF_JUDGING = ("escalate", "judge examples", "criteria calls")  # another one is another measurement


def pairing_warnings(
    plans: Sequence[RunPlan], *, seed: int, judge: str, user: str, definition: Mapping[str, Any]
) -> list[str]:
    """Describe the changes since the run that plans are compared with, apart from the app.

    Raises DefinitionError if trials are no pairs, because the seed is another, or if another judge, rubric or scorer
    measured that run: its outcomes are of something else.
    """
    said: dict[str, None] = {}
    for each in comparisons(plans):
        if each.other is not None:
            continue
        where = f"against run {each.run_id}"
        if each.seed != seed:
            do = f"give the engine that seed (seed={each.seed})"
            raise DefinitionError(where, found=f"its seed is {each.seed}, not {seed}", do=do)
        measured, others = _changed(each.conditions, definition)
        measured = [*([f"judge was {each.judge!r} and is {judge!r}"] if each.judge != judge else []), *measured]
        if measured:
            do = "measure that run by this judge first (`simeval run` again, or --rerun), or this one by that"
            raise DefinitionError(where, found=f"it was measured otherwise: {'; '.join(measured[:MOST_NAMED])}", do=do)
        if each.conditions is None:
            said[not_kept(each.run_id)] = None
        others = [*([f"user was {each.user!r} and is {user!r}"] if each.user != user else []), *others]
        if others:
            more = f"; and {len(others) - MOST_NAMED} more" if len(others) > MOST_NAMED else ""
            named = "; ".join(others[:MOST_NAMED])
            said[f"since run {each.run_id} not the app alone has changed: {named}{more}"] = None
    return [*said]


def pairs_of(plans: Sequence[ScenarioPlan], known: RestoredTrials) -> tuple[ScenarioPlan, ...]:
    """Return plans whose comparisons lack the pairs whose sides have different seeds.

    Such trials were dealt again, because a run was interrupted before them.
    """
    return tuple(replace(plan, measures=tuple(_paired(plan, each, known) for each in plan.measures)) for plan in plans)


def _paired(plan: ScenarioPlan, measure: Measure, known: RestoredTrials) -> Measure:
    if not any(isinstance(each, NotWorseEvaluator) for each in measure.evaluators):
        return measure
    seeds = [known.seed_of(plan, index) for index in range(plan.sample_size)]
    evaluators = [
        each.with_seeds(seeds) if isinstance(each, NotWorseEvaluator) else each for each in measure.evaluators
    ]
    return replace(measure, evaluators=tuple(evaluators))


def lost_pairs(plans: Sequence[ScenarioPlan], paired: Sequence[ScenarioPlan]) -> list[str]:
    """Say how many pairs the plans of `pairs_of` have lost."""
    was, now = ([_missing(plan) for plan in side] for side in (plans, paired))
    if not (lost := sum(now) - sum(was)):
        return []
    why = "the run was cut off, and what came after was dealt anew by other seeds"
    return [f"the other side of {counted_of(lost, 'trial')} is missing, which counts against both findings: {why}"]


def _missing(plan: ScenarioPlan) -> int:
    """Count the trials that lack the other side of their pairs for all requirements."""
    found = [each.before.count("?") for each in comparisons([plan])]
    return min(found, default=0)


def _changed(before: Mapping[str, Any] | None, definition: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the changes in how trials are measured, and the other changes; empty if unknown."""
    if before is None:
        return [], []
    then, now = _in_common(dict(before), conditions_of(definition))
    measuring, others = ([part(each) for each in (then, now)] for part in (_measuring, _others))
    return changes(*measuring), changes(*others)


def _in_common(before: Json, now: Json) -> tuple[Json, Json]:
    """Return conditions of those scenarios and expectations alone that both have."""
    both = [{each["title"]: each for each in side["scenarios"]} for side in (before, now)]
    found: list[list[Json]] = [[], []]
    for title in both[1]:
        if title in both[0]:
            labels = [{one["title"]: one for one in side[title]["then"]} for side in both]
            shared = [label for label in labels[1] if label in labels[0]]
            for place, side in enumerate(both):
                found[place].append({**side[title], "then": [labels[place][label] for label in shared]})
    return {**before, "scenarios": found[0]}, {**now, "scenarios": found[1]}


def _measuring(conditions: Json) -> Json:
    """Return the part of conditions that affects measurements."""
    scenarios = [{"title": each["title"], "then": each["then"]} for each in conditions["scenarios"]]
    return {**{name: conditions.get(name) for name in _OF_JUDGING}, "scenarios": scenarios}


def _others(conditions: Json) -> Json:
    scenarios = [{name: each[name] for name in each if name != "then"} for each in conditions["scenarios"]]
    return {**{name: value for name, value in conditions.items() if name not in _OF_JUDGING}, "scenarios": scenarios}


def other_app(plans: Sequence[RunPlan]) -> object | None:
    """Return the app that plans are compared with in the same trials; None without one.

    Raises DefinitionError if it is not one and the same for all requirements.
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
