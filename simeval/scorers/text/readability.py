"""Readability: how hard an English text is to read, by the formulas of Flesch and Kincaid.

R. Flesch (1948), "A new readability yardstick", Journal of Applied Psychology 32; J. P. Kincaid and others (1975),
"Derivation of new readability formulas for Navy enlisted personnel".
"""

import re
from dataclasses import dataclass
from typing import ClassVar

from simeval.core.bounds import COUNT, BoundsByPath
from simeval.core.direction import by_path
from simeval.scorers.base import ColumnScorer
from simeval.scorers.values import text_of

_SENTENCE = re.compile(r"""(?<![.!?])[.!?]++["'\u2019\u201d)\]]*+(?=\s|$)|(?<!\n)\n{2,}""")
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
_VOWELS = re.compile(r"[aeiouy]+")
_SILENT = re.compile(r"(?:[^laeiouy]es|[^tdaeiouy]ed|[^laeiouy]e)$")


@dataclass(kw_only=True, eq=False)
class Readability(ColumnScorer):
    """How easy the output is to read, from the lengths of its sentences and words.

    "reading_ease" is Flesch's: 90 and more is very easy, 60 to 70 plain, 30 and less hard; it has no bounds. "grade" is
    Kincaid's, in years of school in the USA. Both were made for English prose of some length: they mean little for a
    few words, and nothing for lists and code. Syllables are counted by a rule of thumb.
    """

    gives_ratings = False

    default_score = "reading_ease"
    paths = ("reading_ease", "grade", "words_per_sentence", "syllables_per_word")
    direction = by_path(higher=["reading_ease"], lower=["grade"], none=[""])
    bounds: ClassVar[BoundsByPath] = {"words_per_sentence": COUNT, "syllables_per_word": COUNT}
    quick: ClassVar[bool] = True

    def score(self, output: object) -> dict[str, float]:
        """Return the two formulas and their inputs. Raises ValueError for a text without words."""
        text = text_of(output)
        words = _WORD.findall(text)
        if not words:
            raise ValueError("the output has no words, so there is nothing to read")
        sentences = sum(_WORD.search(part) is not None for part in _SENTENCE.split(text))
        a_sentence = len(words) / max(sentences, 1)
        a_word = sum(map(syllables, words)) / len(words)
        return {
            "reading_ease": 206.835 - 1.015 * a_sentence - 84.6 * a_word,
            "grade": 0.39 * a_sentence + 11.8 * a_word - 15.59,
            "words_per_sentence": a_sentence,
            "syllables_per_word": a_word,
        }


def syllables(word: str) -> int:
    """Count the syllables of an English word: its groups of vowels, less a silent ending, at least 1."""
    plain = word.lower()
    count = len(_VOWELS.findall(plain))
    return max(1, count - (_SILENT.search(plain) is not None))
