"""Resuming: what a stored run has, held against the suite that is to go on with it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from simeval.core.run_records import ResumableRun, TrialKey
from simeval.core.settings import OnAppError
from simeval.core.trial import Score, Trial, TrialConversation
from simeval.engine.plans.fingerprint import changes, numbered
from simeval.engine.plans.scenario_plan import RunPlan
from simeval.errors import DefinitionError

MOST_CHANGES = 5  # named in an error or a note


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredTrials:
    """What need not be paid for again: finished conversations, and scores by their expectation's position.

    `notes` say where it comes from; `from_another` is set where it was made by a run that is not gone on with but
    taken over, because something has changed.
    """

    held: Mapping[TrialKey, TrialConversation] = field(default_factory=dict)
    scores: Mapping[TrialKey, Mapping[int, Score]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    from_another: bool = False

    def conversation(self, trial: Trial) -> TrialConversation | None:
        """Return the conversation of a trial, where it is known."""
        return self.held.get((trial.scenario, trial.index))

    def scores_of(self, trial: Trial) -> Mapping[int, Score]:
        """Return the scores of a trial that are known."""
        return self.scores.get((trial.scenario, trial.index), {})


def restore(
    past: ResumableRun,
    plans: Sequence[RunPlan],
    definition: Mapping[str, Any],
    *,
    on_app_error: OnAppError,
    accept_changes: bool,
) -> RestoredTrials:
    """Return what a stored run has of these plans.

    Raises DefinitionError where the run is still going on elsewhere, or something that its results depend on has
    changed and `accept_changes` is not set.
    """
    where = f"resume {past.run_id}"
    if past.owner:
        raise DefinitionError(where, found=f"it is being run by {past.owner}", do="wait for it, or stop it")
    changed = changes(past.definition, definition)
    if changed and not accept_changes:
        raise DefinitionError(
            where,
            found="; ".join([*changed[:MOST_CHANGES], *_more(changed)]),
            do="resume with what it was started with, or accept the changes (--accept-changes): a new run then takes "
            "over what there is",
        )
    held = {key: each for key, each in past.held.items() if each.failure is None or on_app_error != "stop"}
    known = RestoredTrials(held=held, scores=past.scores)
    if not changed:
        return replace(known, notes=(f"resumed: {_count(known)} were there",))
    known = _moved(known, past.definition, plans)
    said = "; ".join([*changed[:MOST_CHANGES], *_more(changed)])
    note = f"taken over from run {past.run_id}: {_count(known)}, as they were, although {said}"
    return replace(known, notes=(note,), from_another=True)


def _more(changed: Sequence[str]) -> list[str]:
    return [f"{len(changed) - MOST_CHANGES} more changes"] if len(changed) > MOST_CHANGES else []


def _count(known: RestoredTrials) -> str:
    return f"{len(known.held)} conversations and {sum(map(len, known.scores.values()))} scores"


def _moved(known: RestoredTrials, definition: Mapping[str, Any], plans: Sequence[RunPlan]) -> RestoredTrials:
    """Return what is known under the places that scenarios and expectations have now, found by title and label."""
    then = numbered(scenario["title"] for scenario in definition["scenarios"])
    before = {key: position for position, key in enumerate(then)}
    titles = numbered(plan.key for plan in plans)
    held: dict[TrialKey, TrialConversation] = {}
    scores: dict[TrialKey, Mapping[int, Score]] = {}
    for plan, key in zip(plans, titles, strict=True):
        if key not in before:
            continue
        old = before[key]
        labels = numbered(each["title"] for each in definition["scenarios"][old]["then"])
        now = numbered(measure.label for measure in plan.measures)
        slots = {labels.index(label): place for place, label in enumerate(now) if label in labels}
        for (position, index), each in known.held.items():
            if position == old:
                held[plan.position, index] = replace(each, trial=plan.trial(index))
        for (position, index), found in known.scores.items():
            if position == old:
                kept = {slots[place]: score for place, score in found.items() if place in slots}
                scores[plan.position, index] = kept
    return replace(known, held=held, scores=scores)
