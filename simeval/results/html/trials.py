"""Conversations of a report: their order by evidence against the requirements, and the data shown of each."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from typing import Any

from simeval.core.conversation import FIRST_TEXT, STATUS, USER_FAULTS, Message, encode_message, named_data
from simeval.core.markdown import shortened
from simeval.core.serialization import Json, plain
from simeval.core.trial import CANNOT_TELL, Failure, Score, TrialResult
from simeval.core.trial import UNNEEDED as NOT_NEEDED
from simeval.results.document import ExpectationDocument, FailureKind, Requirement
from simeval.results.guarantee import ENDINGS
from simeval.results.text import without_turn

_Standing = tuple[tuple[str, ...], tuple[str, ...]]  # the groups of a trial, and its states

SHOWN_METADATA = (STATUS, USER_FAULTS, FIRST_TEXT, "model")  # of a message
FAULTS = "the simulated user: "  # before the kinds of faults, in the failure of a trial
LONGEST_CAUSE = 140  # characters of a failure, as the name of a group
MET, MISSED, MISSING, UNNEEDED, MEASURED = "met", "missed", "missing", "unneeded", "measured"
STAGES = {
    "app": "The app failed",
    "app_access": "The app could not be asked",
    "app_model": "The app's model could not be asked",  # of older runs
    "simulator": "The simulated user could not be asked",
    "judge": "The judge could not rate it",
    "rubric": "There was no rubric to judge by",
    "scorer": "It could not be measured",
    "world": "The trial's world failed",
    "check": "A check of the script failed",
    "engine": "simeval itself failed",
    "run": "The run ended before",
}


@dataclass(frozen=True, slots=True)
class Required:
    """One result of a trial by its label, with its requirement: some numbers of an experiment have none.

    `kinds` are those of its misses, by the indexes of their trials.
    """

    label: str
    requirements: Sequence[Requirement] = ()
    kinds: Mapping[int, FailureKind] = field(default_factory=dict)

    @property
    def is_required(self) -> bool:
        """Whether anything is required."""
        return bool(self.requirements)

    def state(self, result: Score | Failure) -> str:
        """Return the state of a result for its requirement."""
        if result is NOT_NEEDED:  # what most results of an experiment are, and quicker told so than by their cause
            return UNNEEDED
        if isinstance(result, Failure):
            return UNNEEDED if result.is_unneeded else MISSED if result.is_of_app else MISSING
        if not self.is_required:
            return MEASURED
        return MET if all(each.is_met_by(result.value) for each in self.requirements) else MISSED

    def badness(self, result: Score | Failure) -> tuple[int, float]:
        """Order results from harmless to damning."""
        state = self.state(result)
        if isinstance(result, Failure):
            return {MISSED: 3, MISSING: 1}.get(state, 0), 0.0
        cut = next((each.cut for each in self.requirements if each.cut), None)
        beyond = 0.0 if cut is None else (cut.score - result.value) * (1 if cut.sign.startswith(">") else -1)
        return (2 if state == MISSED else 0), beyond


def worst_first(outlines: Sequence[TrialResult], required: Sequence[Required]) -> list[int]:
    """Return the indexes of trials: the worst of each requirement in turn, then those without evidence against one."""
    columns = [list(_against(outlines, place, each)) for place, each in enumerate(required) if each.is_required]
    in_turn = chain.from_iterable(zip_longest(*columns))
    first = dict.fromkeys(index for index in in_turn if index is not None)
    return [*first, *(index for index in (each.trial.index for each in outlines) if index not in first)]


def _against(outlines: Sequence[TrialResult], place: int, required: Required) -> Iterator[int]:
    found = [
        (required.badness(each.results[place]), each.trial.index) for each in outlines if place < len(each.results)
    ]
    found.sort(key=lambda each: (-each[0][0], -each[0][1], each[1]))
    return (index for (rank, _), index in found if rank)


def report_trial(judgement: TrialResult, required: Sequence[Required]) -> Json:
    """Return a report's data of a trial: its conversation, scores with reasons, and the reason for its place.

    The states are for each result whether its requirement is met, "missed" or "missing".
    """
    found = zip(required, judgement.results, strict=False)
    talk = judgement.conversation
    return {
        "index": judgement.trial.index,
        **_stands(*_standing(judgement, required)),
        "scores": {each.label: _score(result) for each, result in found if isinstance(result, Score)},
        "turns": [_turn(message) for message in talk.messages],
        "ended": ENDINGS.get(talk.ended, talk.ended),
        "seed": str(judgement.trial.seed or ""),
        "style": dict(talk.writing_style or {}),
        "failures": [f"{failure.stage}: {failure.error}" for failure in judgement.failures],
        "pair": None,
    }


def in_short(outlines: Iterable[TrialResult], required: Sequence[Required]) -> dict[str, Any]:
    """Return many trials, each as its index and the place of the data it shares with others."""
    places: dict[_Standing, int] = {}
    trials = [(each.trial.index, places.setdefault(_standing(each, required), len(places))) for each in outlines]
    return {"alike": [_stands(*standing) for standing in places], "trials": trials}


def _standing(outline: TrialResult, required: Sequence[Required]) -> _Standing:
    """Return the groups of a trial, each the reason why it is evidence against a requirement, and its states."""
    states = tuple(each.state(result) for each, result in zip(required, outline.results, strict=False))
    return tuple(dict.fromkeys(_groups(outline, required, states))), states


def _stands(groups: Sequence[str], states: Sequence[str]) -> dict[str, Any]:
    """Return the known data of a trial before its messages are read."""
    is_against = MISSED in states or MISSING in states
    return {"reason": "; ".join(groups), "groups": groups, "worst": is_against, "states": states}


def _groups(outline: TrialResult, required: Sequence[Required], states: Sequence[str]) -> Iterator[str]:
    index = outline.trial.index
    if outline.failure is not None:
        yield _why(outline.failure, next((each.kinds[index] for each in required if index in each.kinds), None))
        return
    are_many = sum(each.is_required for each in required) > 1
    for each, result, state in zip(required, outline.results, states, strict=False):
        if isinstance(result, Failure) and state in (MISSED, MISSING):
            yield _why(result, each.kinds.get(index))
        elif state == MISSED:
            kind = each.kinds.get(index)
            yield f"Not met: {each.label}" if kind is None else f"{each.label}: {kind.said}" if are_many else kind.said


def _why(failure: Failure, kind: FailureKind | None) -> str:
    """Return the name of the group of a failure: by its kind if it is a miss, so that both have the same counts."""
    if failure.is_user_fault:
        return f"The simulated user did not do its part: {failure.error.removeprefix(FAULTS).replace('_', ' ')}"
    if failure.cause == CANNOT_TELL:
        return "The judge could not tell"
    said = without_turn(failure.error) if kind is None else kind.said
    return shortened(" ".join(f"{STAGES.get(failure.stage, failure.stage)}: {said}".split()), LONGEST_CAUSE)


def _score(score: Score) -> dict[str, Any]:
    ratings = [{"judge": each.judge, "score": plain(each.score), "reasoning": each.reasoning} for each in score.ratings]
    return {"score": plain(score.value), "reasoning": score.reasoning} | ({"ratings": ratings} if ratings else {})


def _turn(message: Message) -> dict[str, Any]:
    encoded = encode_message(message)
    metadata: Mapping[str, Any] = encoded.pop("metadata", {})
    known = {name: metadata[name] for name in SHOWN_METADATA if name in metadata}
    del encoded["started"]
    return encoded | {"content": named_data(message.content)} | ({"metadata": known} if known else {})


def required_of(labels: Iterable[str], expectations: Sequence[ExpectationDocument]) -> list[Required]:
    """Return the requirements on the results with these labels."""
    found: dict[str, list[Requirement]] = {}
    kinds: dict[str, dict[int, FailureKind]] = {}
    for each in expectations:
        found.setdefault(each.label, []).extend(each.verdicts)
        kinds.setdefault(each.label, {}).update((index, kind) for kind in each.kinds for index in kind.trials)
    return [Required(label, found.get(label, ()), kinds.get(label, {})) for label in labels]
