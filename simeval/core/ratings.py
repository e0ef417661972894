"""A judge's ratings of one conversation, as scores keep them beside their mean."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from statistics import mean

from simeval.core.trial import Score

DETAIL = "ratings"  # where the details of a score keep them


@dataclass(frozen=True, slots=True, kw_only=True)
class Rating:
    """What one judge gave a conversation, with its reasons; `repeat` counts that judge's ratings of it from 0."""

    judge: str
    repeat: int
    score: float
    reasoning: str = ""


def mean_rating(ratings: Sequence[Rating]) -> Score:
    """Return the score that several ratings of one conversation make: their mean, with each of them in its details.

    A single rating is the score itself.
    """
    first = ratings[0]
    if len(ratings) == 1:
        return Score(value=first.score, reasoning=first.reasoning)
    several = len({rating.judge for rating in ratings}) > 1
    shown = [f"{rating.score:g} ({rating.judge})" if several else f"{rating.score:g}" for rating in ratings]
    reasons = [f"{name}: {rating.reasoning}" for name, rating in zip(shown, ratings, strict=True)]
    return Score(
        value=mean(rating.score for rating in ratings),  # exact, so that equal ratings give themselves
        reasoning="\n".join([f"the mean of {', '.join(shown)}", *dict.fromkeys(reasons)]),
        details={DETAIL: [asdict(rating) for rating in ratings]},
    )


def ratings_of(score: Score) -> tuple[Rating, ...]:
    """Return the ratings a score is the mean of; none where it is no mean of ratings."""
    found = score.details.get(DETAIL)
    names = {field.name for field in fields(Rating)}
    if not isinstance(found, (list, tuple)) or not all(isinstance(r, Mapping) and r.keys() == names for r in found):
        return ()  # a scorer's own details
    return tuple(Rating(**rating) for rating in found)


GOOD, TURNS = "good_turns", "turns"  # where the details of a score keep them
