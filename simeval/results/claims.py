"""False claims of success: trials with a satisfied judge, though the state of the world disagrees."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from simeval.core.labelled_examples import PASSING
from simeval.core.trial import Failure, Judgement, Score
from simeval.results.users import named_trials

STATE = "state"  # in the details of a score: the found state, if it differs from the required one

Results = Sequence[Score | Failure]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """Of so many trials that a judge and a state measured both, those whose `judged` rating passes.

    In those of `refuted`, by their index, the state of the world is not as it is to be.
    """

    both: int = 0
    judged: int = 0
    refuted: tuple[int, ...] = ()

    @classmethod
    def of(cls, judgements: Sequence[Judgement], results: Sequence[Results], judged: Sequence[Results]) -> Self:
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


def _scores(results: Sequence[Results], place: int) -> list[Score]:
    return [found for each in results if isinstance(found := each[place], Score)]


def show_claims(claims: Sequence[tuple[str, Claims]]) -> list[str]:
    """Write, for each scenario with its title, how often the judge was satisfied and the state disagreed."""
    return [
        f"{title}: said done, state disagrees: {len(each.refuted)} of the {each.judged} trials that satisfy the judge "
        f"{named_trials(each.refuted)}"
        for title, each in claims
        if each.refuted
    ]
