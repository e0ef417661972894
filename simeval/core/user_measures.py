"""The measures of a user in one conversation, used to compare simulated users with people.

words a turn      words of a message, on average
told at once      of the numbers, dates, addresses and names the user gives, the share in its first message
questions         the share of its messages that ask
push-back         the share of its later messages that do not accept the app's reply as it is
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev

from simeval.core.conversation import GIVEN, Conversation

WORDS, AT_ONCE, QUESTIONS, PUSH_BACK = MEASURES = ("words_a_turn", "told_at_once", "questions", "push_back")
_MARKS = ("?", "？", "؟")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The mean and standard deviation of a measure over `n` conversations that have it."""

    mean: float
    deviation: float
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """People to compare users with: who they are, how many of their conversations, and the spread of each measure.

    `shared` is the share of the variance that conversations about one task have in common, and `error` the standard
    error of the mean; by default that of conversations that have nothing in common.
    """

    name: str
    conversations: int
    spreads: Mapping[str, Spread]
    error: Mapping[str, float]
    shared: Mapping[str, float]


def measure_user(conversation: Conversation) -> dict[str, float]:
    """Return the measures of a user that a conversation has; none where somebody else wrote its messages."""
    from simeval.core.phrases import details, has, told_details, typed  # 50 ms of patterns, which reports do without
    from simeval.core.wording import words

    messages = [message for message in conversation.messages if message.role == "user"]
    said = [message.content for message in messages if words(message.content)]
    if not said or any(GIVEN in message.metadata for message in messages):
        return {}
    everything = "\n".join(said)
    told = details(everything)
    found = {WORDS: fmean(len(words(text)) for text in said)}
    if told:
        found[AT_ONCE] = len(told_details(everything, said[0])) / len(told)
    found[QUESTIONS] = fmean(any(mark in text for mark in _MARKS) for text in said)
    if len(said) > 1:
        found[PUSH_BACK] = fmean(has("pushes back", typed(text)) for text in said[1:])
    return found


def spreads_of(measured: Iterable[Mapping[str, float]]) -> dict[str, Spread]:
    """Return the spread of each measure that any of these conversations has."""
    rows = list(measured)
    values = {name: [row[name] for row in rows if name in row] for name in MEASURES}
    return {name: _spread(found) for name, found in values.items() if found}


def _spread(values: Sequence[float]) -> Spread:
    return Spread(mean=fmean(values), deviation=pstdev(values), n=len(values))
