"""Which words of logs are slips: found by the logs themselves, so in any language whose words have spaces.

A word that hardly anybody writes, and which is a common word of the same logs but for a letter that is missing or too
many within it, or for two that changed places, is taken for a slip of that. A rare word may be so by mistake.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from rapidfuzz import process
from rapidfuzz.distance import DamerauLevenshtein

from simeval.core.phrases import stem
from simeval.core.wording import words

RARE = 2  # of a word in all logs, at most
COMMON = 20  # of a word in all logs, at least
LEAST_LETTERS = 5  # shorter words are near to too many others
LEAST_WITH_ALL = 6  # letters of a word that may lack one
_BARE = frozenset(
    {
        "dont",
        "doesnt",
        "didnt",
        "cant",
        "couldnt",
        "wouldnt",
        "shouldnt",
        "isnt",
        "wasnt",
        "arent",
        "wont",
        "im",
        "ive",
        "thats",
        "whats",
        "youre",
        "theyre",
    }
)  # English words that lost their apostrophe


@dataclass(frozen=True, slots=True)
class Spelling:
    """The slips that there are in some logs."""

    slips: frozenset[str]

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Spelling":
        """Return the slips of these texts."""
        counts = Counter(word for text in texts for word in words(text))
        common = [word for word, count in counts.items() if count >= COMMON and _is_looked_at(word)]
        rare = [word for word, count in counts.items() if count <= RARE and _is_looked_at(word)]
        return cls(frozenset(word for word in rare if _is_slip(word, common)))

    def is_slip(self, word: str) -> bool:
        """Return whether a word, in small letters, is a slip."""
        return word in self.slips or word in _BARE


def _is_looked_at(word: str) -> bool:
    return len(word) >= LEAST_LETTERS and word.isalpha()


def _is_slip(word: str, common: list[str]) -> bool:
    """Return whether a common word is meant; another form of the word itself is none."""
    near = process.extract(word, common, scorer=DamerauLevenshtein.distance, score_cutoff=1, limit=None)
    return any(_is_meant(word, meant) and stem(meant) != stem(word) for meant, *_ in near)


def _is_meant(word: str, meant: str) -> bool:
    """Return whether the letters of a word that is near were swapped, or one within is missing or too many."""
    if len(word) == len(meant):
        return sorted(word) == sorted(meant)
    return len(meant) >= LEAST_WITH_ALL and (word[0], word[-1]) == (meant[0], meant[-1])
