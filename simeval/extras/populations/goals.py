"""The goals of users: groups of conversations whose openings share words, each named by its words.

Openings are compared by the words that few of them have (TF-IDF, cosine), and grouped from the nearest pair on (average
linkage). Synonyms are not known, so one goal in quite other words is another group.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist

from simeval.core.conversation import Conversation
from simeval.core.languages import is_common
from simeval.core.phrases import content_stems, stem
from simeval.core.wording import told_words
from simeval.extras.populations.habits import GREETING
from simeval.stats.binomial import clopper_pearson

MOST_READ = 2_000  # openings, evenly spread over all: every one is compared with every other
MOST_GOALS = 10
OPENING = 2  # messages of the user: the first is often a greeting
LEAST_PEOPLE = 3  # of a group, and with a word that names one: a word of one person names no group
APART = 0.9  # the mean distance, at most 1, up to which groups are one
NAMED_BY = 3  # words
EACH_SIDE = 0.025

Opening = Mapping[str, str]  # the words of an opening, by their stems


@dataclass(frozen=True, slots=True)
class Goal:
    """Words that openings have in common, in how many of those that were read, and the exact 95% interval."""

    words: tuple[str, ...]
    count: int
    of: int
    interval: tuple[float, float]

    def __str__(self) -> str:
        lower, upper = self.interval
        return f"{' '.join(self.words)}: {self.count} of {self.of} ({lower:.0%} to {upper:.0%})"


def goals_of(conversations: Sequence[Conversation]) -> tuple[Goal, ...]:
    """Return the goals of most users of conversations, the commonest first; rare ones are left out."""
    openings = sorted(filter(None, map(_opening, _spread(conversations))), key=lambda opening: sorted(opening.items()))
    counts = Counter(found for opening in openings for found in opening)
    groups = [each for each in _grouped(openings, counts) if len(each) >= LEAST_PEOPLE]
    named = [(_name(group, counts), len(group)) for group in sorted(groups, key=len, reverse=True)]
    return tuple(
        Goal(name, count, len(openings), clopper_pearson(count, len(openings), EACH_SIDE))
        for name, count in [each for each in named if each[0]][:MOST_GOALS]
    )


def _spread(conversations: Sequence[Conversation]) -> Sequence[Conversation]:
    n = len(conversations)
    return [conversations[at * n // MOST_READ] for at in range(MOST_READ)] if n > MOST_READ else conversations


def _opening(conversation: Conversation) -> Opening:
    """Return the words that a user opens with, by their stems, without courtesies, numbers and common words."""
    said = [message.content for message in conversation.messages if message.role == "user"][:OPENING]
    wanted = [GREETING.sub("", text.lower()) for text in said]
    typed = [word for text in wanted for word in told_words(text) if word.isalpha() and len(word) > 2]
    return {stem(word): word for word in typed if not is_common(word) and (not word.isascii() or content_stems(word))}


def _grouped(openings: Sequence[Opening], counts: Mapping[str, int]) -> list[list[Opening]]:
    """Group openings that share words with others."""
    places = {found: place for place, found in enumerate(found for found, count in counts.items() if count > 1)}
    sharing = [opening for opening in openings if places.keys() & opening.keys()]
    if len(sharing) < LEAST_PEOPLE:
        return []
    vectors = np.zeros((len(sharing), len(places)))
    for row, opening in enumerate(sharing):
        for found in opening.keys() & places.keys():
            vectors[row, places[found]] = np.log(len(openings) / counts[found]) + 1
    groups: dict[int, list[Opening]] = {}
    labels = fcluster(linkage(pdist(vectors, "cosine"), "average"), APART, "distance")
    for label, opening in zip(labels, sharing, strict=True):
        groups.setdefault(int(label), []).append(opening)
    return list(groups.values())


def _name(group: Sequence[Opening], counts: Mapping[str, int]) -> tuple[str, ...]:
    """Return the words that most of a group have, and few others; none that fewer people wrote than name one."""
    within = Counter(found for opening in group for found in opening)
    telling = sorted(within, key=lambda found: (-(within[found] ** 2) / counts[found], found))
    forms = {found: word for opening in group for found, word in opening.items()}
    return tuple(forms[found] for found in telling if within[found] >= LEAST_PEOPLE)[:NAMED_BY]
