"""Anomalies in a judge's ratings: found in its ratings, at no cost.

None of them proves anything. Each is reported with its numbers, once for each judge and expectation.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from simeval.core.conversation import Conversation
from simeval.core.markdown import shortened
from simeval.core.trial import ControlRecord, Rating, Score
from simeval.models.protocol.model import is_embedded

ONLY = ""  # the judge of a score that is a single rating, which does not name it
FEWEST = 10  # ratings, or different conversations, the least for a sign
SHOWN = 60  # characters of a reasoning
_TOKEN = re.compile(r"[^\W_]+")
_STEM = 5  # letters that distinguish words: those of "orders" and "ordered" are the same
_SHORTEST = 4  # letters of a word that is about something
_WITHOUT_SPACES = "\u2e80"  # from here on scripts do not put spaces between words, so each character is one


@dataclass(slots=True)
class _OfAJudge:
    """One judge's ratings so far; `said_of` has the conversations of each reasoning."""

    count: int = 0
    ratings: set[float] = field(default_factory=set)
    conversations: set[int] = field(default_factory=set)
    said_of: dict[str, set[int]] = field(default_factory=dict)
    unrelated: int = 0


@dataclass(slots=True)
class Signs:
    """Gathers the signs of the judges of one expectation; `about` are the texts that a reasoning may be about."""

    about: Sequence[str]
    _judges: dict[str, _OfAJudge] = field(default_factory=dict)

    def take(self, score: Score, conversation: Conversation) -> None:
        """Add the score of a conversation."""
        ratings = score.ratings or (Rating(judge=ONLY, repeat=0, score=score.value, reasoning=score.reasoning),)
        said = [message.content for message in conversation.messages]
        told = hash(tuple(said))
        for rating in ratings:
            found = self._judges.setdefault(rating.judge, _OfAJudge())
            found.count += 1
            found.ratings.add(rating.score)
            found.conversations.add(told)
            if not rating.reasoning:  # a label alone has none
                continue
            found.said_of.setdefault(" ".join(rating.reasoning.split()), set()).add(told)
            meant = words_of(rating.reasoning)
            found.unrelated += all(meant.isdisjoint(words_of(text)) for text in (*self.about, *said))

    def warnings(self, only_judge: str, controls: Sequence[ControlRecord] = ()) -> tuple[str, ...]:
        """Return for each judge the evidence against it; an embedded one is known not to understand.

        `only_judge` is the name of a judge that rated each conversation once. Judges' ratings of `controls` show
        whether they separate bad from good.
        """
        named = {judge or only_judge: found for judge, found in self._judges.items()}
        return tuple(
            f"{judge} {sign}"
            for judge, found in named.items()
            if not is_embedded(judge)
            for sign in _signs(found, {control.score for control in controls if control.judge == judge})
        )


def _signs(found: _OfAJudge, given_to_controls: set[float]) -> list[str]:
    signs = []
    if found.count >= FEWEST and len(found.ratings | given_to_controls) == 1:
        [rating] = found.ratings
        signs.append(f"gave each of {found.count} conversations {rating:g}: look whether it tells bad from good")
    reasoning, repeated = max(found.said_of.items(), key=lambda each: len(each[1]), default=("", set[int]()))
    if len(repeated) >= FEWEST and 2 * len(repeated) > len(found.conversations):
        signs.append(
            f"gave one and the same reasoning for {len(repeated)} of {len(found.conversations)} different "
            f'conversations ("{shortened(reasoning, SHOWN)}"): look whether it reads them'
        )
    if found.count >= FEWEST and 2 * found.unrelated > found.count:
        signs.append(
            "gave reasons without a word of conversation or expectation for "
            f"{found.unrelated} of {found.count} ratings: look whether it reads them"
        )
    return signs


@lru_cache(maxsize=2_000)
def words_of(text: str) -> frozenset[str]:
    """Return the beginnings of the words of a text that are about something: long ones, and those with a digit."""
    found: set[str] = set()
    for token in _TOKEN.findall(text.casefold()):
        if token[0] >= _WITHOUT_SPACES:
            found.update(token)
        elif len(token) >= _SHORTEST or any(map(str.isdigit, token)):
            found.add(token[:_STEM])
    return frozenset(found)
