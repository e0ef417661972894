"""People's feedback on a run's trials, in the form that a scorer reads: by trial, then by key."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from simeval.core.feedback import PERSON, Feedback
from simeval.errors import DefinitionError

Place = tuple[str, int]  # a scenario's title and a trial


def said_by_people(feedback: Iterable[Feedback], keys: Sequence[str]) -> Mapping[Place, Mapping[str, Any]]:
    """Return people's feedback under all these keys, for the trials that have every one of them.

    Each key has the mean `score`, how many `people` gave one, and `said`, each person's score. The last score of a
    person counts; feedback by models and programs does not, nor any without a score. Raises DefinitionError if nothing
    is left, and if trials were drawn with different probabilities: a mean over these is none over the run.
    """
    counted = [each for each in feedback if each.labeller == PERSON and each.score is not None and each.key in keys]
    drawn = {each.inclusion for each in counted}
    if None in drawn and len(drawn) > 1:
        found = "some of its trials were drawn by `simeval people label`, and others chosen by those who scored them"
        do = "use a key of its own for each, or `simeval people agree` for what was drawn"
        raise DefinitionError("feedback", found=found, do=do)
    if len(drawn) > 1:
        found = "its trials were drawn with different probabilities, which a plain mean does not know of"
        raise DefinitionError("feedback", found=found, do="use `simeval people agree`, which weighs them")
    by_trial: defaultdict[Place, defaultdict[str, list[Feedback]]]
    by_trial = defaultdict(lambda: defaultdict(list))
    for each in counted:
        by_trial[each.scenario, each.trial or 0][each.key].append(each)
    whole = {place: _means(found) for place, found in by_trial.items() if len(found) == len(set(keys))}
    if not whole:
        do = "give it with `simeval people feedback --labeller person`, or label trials with `simeval people label`"
        raise DefinitionError("feedback", found=f"no person has scored a trial under {', '.join(keys)}", do=do)
    return whole


def _means(found: Mapping[str, Sequence[Feedback]]) -> Mapping[str, Any]:
    return {key: _mean(given) for key, given in found.items()}


def _mean(given: Sequence[Feedback]) -> Mapping[str, Any]:
    last = {each.source or each.feedback_id: each for each in given}  # an unnamed person is someone else each time
    scores = [each.score for each in last.values() if each.score is not None]
    said = "; ".join(f"{each.source or 'someone'}: {each.score}" for each in last.values())
    return {"score": scores[0] if len(scores) == 1 else fmean(scores), "people": len(scores), "said": said}
