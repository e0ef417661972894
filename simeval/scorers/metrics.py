"""Metrics: scorers that read timestamps and texts; and scorers by their names, such as valid_json.

Metrics of single turns are given as one value for each conversation (max, median, mean, 90th percentile, the
share of turns under a bound), because turns of one conversation are not independent. The maximum, "every turn",
is the default.
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from simeval.core.conversation import FIRST_TEXT, Conversation, Message
from simeval.core.direction import COUNT, UNIT, BoundsByPath, Direction, Directions, by_path, direction_at
from simeval.core.faces import Registry
from simeval.errors import DefinitionError
from simeval.scorers.base import ColumnScorer, Scorer


@dataclass(frozen=True, slots=True)
class TurnMetric(Scorer):
    """A number of each of the app's turns, summed up as `max`, `median`, `mean` and `p90`."""

    metric: str
    of: Callable[[Message], float]
    direction: Directions = "none"
    bounds = COUNT
    default_score = "max"
    paths = ("max", "median", "mean", "p90")
    quick = True
    gives_ratings = False

    @property
    def name(self) -> str:
        return self.metric

    def score(self, conversation: Conversation) -> Mapping[str, float]:
        """Return the summary over the app's turns.

        Raises ValueError if the app sent no text, or an answer was recorded without its response time.
        """
        return _summary(_known([self.of(message) for message in conversation.responses]))


@dataclass(frozen=True, slots=True)
class TurnsWithin(Scorer):
    """The share of the app's turns with a metric of at most `limit`, and whether all of them are."""

    metric: TurnMetric
    limit: float
    default_score = "share"
    paths = ("share", "all")
    direction = by_path(higher=["share", "all"], none=[""])
    bounds: ClassVar[BoundsByPath] = {"share": UNIT, "all": UNIT, "": COUNT}
    quick = True
    gives_ratings = False

    @property
    def name(self) -> str:
        return f"{self.metric.name} <= {self.limit:g}"

    def score(self, conversation: Conversation) -> Mapping[str, float]:
        """Return the share, and the counts it is made of.

        Raises ValueError if the app sent no text, or an answer was recorded without its response time.
        """
        values = _known([self.metric.of(message) for message in conversation.responses])
        good = sum(value <= self.limit for value in values)
        return {
            "share": good / len(values),
            "all": float(good == len(values)),
            "good_turns": good,
            "turns": len(values),
        }


@dataclass(frozen=True, slots=True)
class ConversationMetric(Scorer):
    """One number for a whole conversation."""

    metric: str
    of: Callable[[Conversation], float]
    direction: Directions = "none"
    bounds = COUNT
    quick = True
    gives_ratings = False

    @property
    def name(self) -> str:
        return self.metric

    def score(self, conversation: Conversation) -> float:
        """Return the number. Raises ValueError where an answer was recorded without the time it took."""
        return _known([self.of(conversation)])[0]


def _known(values: Sequence[float]) -> Sequence[float]:
    if not values:
        raise ValueError("there is no answer to measure")
    if any(value != value for value in values):
        raise ValueError("an answer was recorded without the time it took")
    return values


def _summary(values: Sequence[float]) -> Mapping[str, float]:
    return {
        "max": max(values),
        "median": _quantile(values, 0.5),
        "mean": sum(values) / len(values),
        "p90": _quantile(values, 0.9),
    }


def _quantile(values: Sequence[float], share: float) -> float:
    """Return a quantile as numpy does by default, between the nearest two values; of a few, in a tenth of its time."""
    ranked = sorted(values)
    place = share * (len(ranked) - 1)
    below = int(place)
    above = min(below + 1, len(ranked) - 1)
    return ranked[below] + (place - below) * (ranked[above] - ranked[below])


response_latency = TurnMetric("response_latency", lambda message: message.seconds, direction="lower")
"""Seconds from the user's message to the app's answer, measured around the handler."""

time_to_first_token = TurnMetric(
    "time_to_first_token",
    lambda message: float(message.metadata.get(FIRST_TEXT, message.seconds)),
    direction="lower",
)
"""Seconds until a handler that streams has yielded its first text; of another, until its whole answer."""

response_length = TurnMetric("response_length", lambda message: float(len(message.content)))
"""Characters in the app's answer."""

turn_count = ConversationMetric("turn_count", lambda conversation: float(len(conversation.responses)))
"""Number of the app's answers."""

total_response_time = ConversationMetric(
    "total_response_time",
    lambda conversation: sum(message.seconds for message in conversation.responses),
    direction="lower",
)
"""Seconds the app took for all of its answers together."""

total_response_length = ConversationMetric(
    "total_response_length",
    lambda conversation: float(sum(len(message.content) for message in conversation.responses)),
)
"""Characters in all of the app's answers together."""

BOUNDED = "METRIC <= NUMBER"
BOUNDED_NAME = r"(\w+) *([<>=≤≥]+) *(.*)"
METRICS: Mapping[str, Scorer] = {
    scorer.name: scorer
    for scorer in (
        response_latency,
        time_to_first_token,
        response_length,
        turn_count,
        total_response_time,
        total_response_length,
    )
}
"""Every metric by its name, as suite files use it."""

_OF_TURNS = [each.name for each in METRICS.values() if isinstance(each, TurnMetric)]
TURN_METRICS = f"{', '.join(_OF_TURNS[:-1])} and {_OF_TURNS[-1]}"


def turns_within(metric: TurnMetric, limit: float) -> TurnsWithin:
    """Return the scorer of the share of turns with a metric of at most `limit`, in the metric's unit.

    With MeanEvaluator(at_least=0.9) on its "share", on average at least 90% of a conversation's turns are within
    the limit; with ProportionEvaluator(min_proportion=0.9) on "all", every turn is in at least 90% of conversations.
    """
    return TurnsWithin(metric, limit)


def find_metric(name: str) -> Scorer | None:
    """Return the metric of this name, or of the form "response_latency <= 1.5"; None for any other name.

    Raises DefinitionError for a name with a sign whose metric, sign or number cannot be used.
    """
    if name in METRICS:
        return METRICS[name]
    bounded = re.fullmatch(BOUNDED_NAME, name)
    if bounded is None:
        return None
    metric = METRICS.get(bounded[1])
    if not isinstance(metric, TurnMetric):
        raise DefinitionError("scorer", found=f"found {name!r}", do=f"write {BOUNDED} with one of {TURN_METRICS}")
    if bounded[2] != "<=":
        raise DefinitionError(
            "scorer", found=f"found the sign {bounded[2]!r} in {name!r}", do=f"write {BOUNDED}: the sign is always <="
        )
    if not re.fullmatch(r"\d+(?:\.\d+)?", bounded[3]):
        raise DefinitionError(
            "scorer",
            found=f"found {bounded[3]!r} as the number in {name!r}",
            do=f"write {BOUNDED} with a number like 3 or 1.5, which is not below 0",
        )
    return turns_within(metric, float(bounded[3]))


def _can_be_made(kind: type) -> bool:
    """Return whether a class is a scorer with a name of its own choice, and no base of others."""
    return issubclass(kind, ColumnScorer) and hasattr(kind, "score") and not inspect.isabstract(kind)


LISTED = "`simeval help scorers` lists them"
SCORERS = Registry("simeval.scorers", _can_be_made, suffix="Scorer")


def direction_by_name(name: str, path: str) -> Direction | None:
    """Return which way a value is better of a scorer known by its name alone; None if that is unknown.

    The name is a registered one or a class, perhaps with a number, as results of older versions have it.
    """
    plain = re.sub(r" \(\d+\)$", "", name)
    if plain in METRICS:
        return METRICS[plain].direction_of(path)
    if re.fullmatch(BOUNDED_NAME, plain):
        return direction_at(TurnsWithin.direction, path)
    kind = SCORERS.find(plain) or SCORERS.find_class(plain)
    return None if kind is None or not issubclass(kind, Scorer) else direction_at(kind.direction, path)
