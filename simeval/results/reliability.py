"""Several ratings of one conversation: their mean, and the evidence in them about the judge."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from statistics import mean

from simeval.core.trial import Failure, Rating, Score
from simeval.stats.agreement import krippendorff_alpha
from simeval.stats.reliability import JudgeVariance, judge_variance, repeats_worth_paying

COST_RATIOS = (1.0, 5.0, 10.0)  # the possible cost of holding a conversation, in ratings of one
LEAST_FOR_ADVICE = 20  # conversations; variances are too rough with fewer


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """How many ratings a conversation pay where holding one costs `cost_ratio` times as much as rating it.

    `saving` is the part of the cost that they save at equal precision of the mean, against one rating each.
    """

    cost_ratio: float
    repeats: int
    saving: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """How far the ratings of one expectation agree with each other. It does not measure whether they are right.

    `icc` is the part of a single rating's variance that is due to conversations, and not to the judge: 1 for one that
    never contradicts itself, None if all ratings are equal or one conversation was rated. Of a panel it is that of any
    rating, whichever judge gives it, and `alpha` is the agreement of the judges (Krippendorff's, interval level, each
    judge's mean over its repeats); None for one judge. `advice` is for one judge's repeats only, from 20 conversations
    on.
    """

    judges: tuple[str, ...]
    repeats: int
    conversations: int
    icc: float | None
    variance_judge: float | None
    variance_conversations: float | None
    alpha: float | None
    advice: tuple[Advice, ...] = ()

    def __str__(self) -> str:
        size = "one conversation" if self.conversations == 1 else f"{self.conversations} conversations"
        if self.icc is None:
            why = f"because all ratings of {size} are equal" if self.variance_judge == 0 else f"from {size}"
            return f"no ICC, {why}"
        icc, over = f"ICC {show_coefficient(self.icc)}", f"over {self.repeats} repeats ({size})"
        if len(self.judges) == 1:
            return f"{icc} {over}; {self._advise()}"
        agreed = f"alpha {show_coefficient(self.alpha)} between {len(self.judges)} judges"
        return f"{agreed}, {icc} of a single rating {over if self.repeats > 1 else f'({size})'}"

    def _advise(self) -> str:
        if not self.advice:
            return f"fewer than {LEAST_FOR_ADVICE} give no advice on repeats"
        if all(advice.repeats == 1 for advice in self.advice):
            return "one rating a conversation is enough"
        counts = [f"{advice.repeats}" for advice in self.advice]
        ratios = [f"{advice.cost_ratio:g}" for advice in self.advice]
        return (
            f"worth paying: {_listed(counts)} ratings where a conversation costs as much as {_listed(ratios)} of them"
        )


def reliability_of(results: Sequence[Score | Failure]) -> Reliability | None:
    """Return how far the ratings behind an expectation's scores agree; None if none is a mean of several."""
    rated = [result.ratings for result in results if isinstance(result, Score) and len(result.ratings) > 1]
    if not rated:
        return None
    judges = tuple(dict.fromkeys(rating.judge for ratings in rated for rating in ratings))
    if all({rating.judge for rating in ratings} != set(judges) for ratings in rated):
        return None  # one escalates to the other: their own conversations are not comparable
    places = dict.fromkeys((rating.judge, rating.repeat) for ratings in rated for rating in ratings)
    found = judge_variance([_row(ratings, list(places)) for ratings in rated])
    return Reliability(
        judges=judges,
        repeats=len({repeat for _, repeat in places}),
        conversations=len(rated),
        icc=_known(found.icc1),
        variance_judge=_known(found.judge),
        variance_conversations=_known(found.conversation),
        alpha=_agreement(rated, judges) if len(judges) > 1 else None,
        advice=_advice(found) if len(judges) == 1 and len(rated) >= LEAST_FOR_ADVICE else (),
    )


def show_coefficient(value: float | None) -> str:
    """Write a coefficient that cannot be above 1, as .93; "undefined" for NaN or None."""
    return "undefined" if value is None or isnan(value) else f"{value:.2f}".replace("0.", ".", 1)


def _row(ratings: Sequence[Rating], places: Sequence[tuple[str, int]]) -> list[float | None]:
    scores = {(rating.judge, rating.repeat): rating.score for rating in ratings}
    return [scores.get(place) for place in places]


def _known(value: float) -> float | None:
    return None if isnan(value) else value


def _agreement(rated: Sequence[Sequence[Rating]], judges: Sequence[str]) -> float | None:
    own = [[[rating.score for rating in ratings if rating.judge == judge] for ratings in rated] for judge in judges]
    means = [[mean(scores) if scores else None for scores in row] for row in own]
    return _known(krippendorff_alpha(means, level="interval").value)


def _advice(found: JudgeVariance) -> tuple[Advice, ...]:
    if isnan(found.icc1):
        return ()
    best = [(ratio, repeats_worth_paying(found.judge, found.conversation, cost_ratio=ratio)) for ratio in COST_RATIOS]
    return tuple(Advice(cost_ratio=ratio, repeats=each.count, saving=each.saving) for ratio, each in best)


def _listed(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"
