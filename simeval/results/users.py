"""The simulated users of a run: how their conversations ended, their faults, and in which trials."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from simeval.core.conversation import Ending
from simeval.core.feedback import PASSING
from simeval.core.terminal import counted_of
from simeval.core.trial import Failure, Score, TrialResult

HOW_THEY_ENDED = {
    "goal_satisfied": "reached their goal",
    "gave_up": "gave up",
    "handed_off": "were handed over",
    "not_in_scenario": "were asked for what the scenario does not say",
    "turn_limit": "ran out of turns",
}
ENDINGS: Mapping[Ending, str] = {  # how one conversation ended
    "goal_satisfied": "the user reached the goal",
    "gave_up": "the user gave up",
    "handed_off": "the user was handed over",
    "not_in_scenario": "the app asked for what the scenario does not say",
    "turn_limit": "the turns ran out",
    "app_error": "the app failed",
    "not_asked": "the app could not be asked",
    "model_error": "a model failed",
    "world_error": "the world failed",
    "script_over": "the script was over",
    "check_failed": "a check did not hold",
    "settled": "its verdict was settled before",
    "recorded": "it is a recording",
    "cut": "the run was cut off",
    "user": "the user left",
    "max_turns": "the turns ran out",
}
_OF_USERS = tuple(HOW_THEY_ENDED)
MOST_SCENARIOS = 20  # whose faults are named in print
MOST_TRIALS = 5  # named in a line
STATE = "state"  # in the details of a score: the found state, if it differs from the required one
Results = Sequence[Score | Failure]


@dataclass(frozen=True, slots=True, kw_only=True)
class UserConduct:
    """The conduct of the simulated users of some trials.

    `ends` counts how conversations ended, `faults` holds the trials of each kind of fault, `faulty` counts the trials
    with any, and `held_anew` how often a trial was held again because of one.
    """

    trials: int
    faulty: int = 0
    held_anew: int = 0
    ends: Mapping[str, int] = field(default_factory=dict)
    faults: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, judgements: Sequence[TrialResult]) -> Self:
        """Return the conduct of the users of these trials."""
        faults: dict[str, tuple[int, ...]] = {}
        for judgement in judgements:
            for kind in judgement.conversation.user_faults:
                faults[kind] = (*faults.get(kind, ()), judgement.trial.index)
        return cls(
            trials=len(judgements),
            faulty=sum(bool(judgement.conversation.user_faults) for judgement in judgements),
            held_anew=sum(len(judgement.conversation.held_anew) for judgement in judgements),
            ends=dict(Counter(judgement.conversation.ended for judgement in judgements)),
            faults=faults,
        )

    @property
    def rate(self) -> float | None:
        """The share of trials whose user did not do its part."""
        return self.faulty / self.trials if self.trials else None


def show_conduct(conducts: Sequence[tuple[str, UserConduct]]) -> list[str]:
    """Write simulated users' conduct, each scenario's with its title: how all ended, and whose faults there were."""
    ends = Counter[str]()
    for _, conduct in conducts:
        ends.update(conduct.ends)
    lines = []
    if any(ends[each] for each in _OF_USERS):
        lines.append("users: " + ", ".join(f"{ends[each]} {HOW_THEY_ENDED[each]}" for each in _OF_USERS if ends[each]))
    trials, faulty = (sum(getattr(each, name) for _, each in conducts) for name in ("trials", "faulty"))
    anew = sum(conduct.held_anew for _, conduct in conducts)
    if anew:
        lines.append(f"held anew because of a simulated user's fault: {counted_of(anew, 'conversation')}")
    if faulty:
        lines.append(f"simulated users' faults: {faulty} of {trials} trials ({faulty / trials:.1%})")
        lines += [f"{title}: {_show_faults(conduct)}" for title, conduct in conducts if conduct.faulty][:MOST_SCENARIOS]
    return lines


def _show_faults(conduct: UserConduct) -> str:
    return ", ".join(f"{kind} {named_trials(trials)}" for kind, trials in conduct.faults.items())


def named_trials(trials: Sequence[int]) -> str:
    """Return the first few trials by their numbers, in brackets."""
    more = f" and {len(trials) - MOST_TRIALS} more" if len(trials) > MOST_TRIALS else ""
    return f"(trial{'s' if len(trials) > 1 else ''} {', '.join(map(str, trials[:MOST_TRIALS]))}{more})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """Of so many trials that a judge and a state measured both, those whose `judged` rating passes.

    In those of `refuted`, by their index, the state of the world is not as it is to be.
    """

    both: int = 0
    judged: int = 0
    refuted: tuple[int, ...] = ()

    @classmethod
    def of(cls, judgements: Sequence[TrialResult], results: Sequence[Results], judged: Sequence[Results]) -> Self:
        """Return those of these trials: from the results of all expectations, and of those that a judge rates."""
        both, passing, refuted = 0, 0, []
        for place, judgement in enumerate(judgements):
            states = [
                each.value >= 1 for each in _scores(results, place) if isinstance(each.details.get(STATE), Mapping)
            ]
            ratings = [each.value for each in _scores(judged, place)]
            if not ratings or not states:
                continue
            is_satisfied = all(rating >= PASSING for rating in ratings)
            both, passing = both + 1, passing + is_satisfied
            if is_satisfied and not all(states):
                refuted.append(judgement.trial.index)
        return cls(both=both, judged=passing, refuted=tuple(refuted))

    def __str__(self) -> str:
        counts = f"{len(self.refuted)} of the {self.judged} trials that satisfy the judge"
        return f"said done, state disagrees: {counts} {named_trials(self.refuted)}" if self.refuted else ""


def _scores(results: Sequence[Results], place: int) -> list[Score]:
    return [found for each in results if isinstance(found := each[place], Score)]
