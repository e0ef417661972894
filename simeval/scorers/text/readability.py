"""Readability: how hard an English text is to read, by the formulas of Flesch and Kincaid.

R. Flesch (1948), "A new readability yardstick", Journal of Applied Psychology 32; J. P. Kincaid and others (1975),
"Derivation of new readability formulas for Navy enlisted personnel".
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from typing import Any, ClassVar

from simeval.core.direction import COUNT, UNIT, BoundsByPath, by_path
from simeval.core.validation import is_number, require
from simeval.errors import DefinitionError
from simeval.scorers.base import ColumnScorer
from simeval.scorers.values import text_of

_SENTENCE = re.compile(r"""(?<![.!?])[.!?]++["'\u2019\u201d)\]]*+(?=\s|$)|(?<!\n)\n{2,}""")
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
_VOWELS = re.compile(r"[aeiouy]+")
_SILENT = re.compile(r"(?:[^laeiouy]es|[^tdaeiouy]ed|[^laeiouy]e)$")

LEAST_LETTERS = 12  # of a text with a detectable language
LEAST_CERTAINTY = 0.5  # one language is likelier than all others together


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


@dataclass(kw_only=True, eq=False)
class Language(ColumnScorer):
    """The language of the output, and whether it is `expected`, or without that, the language of the input.

    Languages are ISO 639-1 codes ("en"), detected by py3langid (139 of them, by their letters; no network). `among`
    names the possible languages, which makes short texts more reliable. A text with fewer than `least_letters` letters,
    or with a certainty below `min_certainty`, has no detectable language: that is no evidence about the app, and is not
    measured.
    """

    gives_ratings = False

    default_score = "matches"
    paths = ("matches", "probability")
    direction = by_path(higher=["matches"], none=["probability"])
    bounds: ClassVar[BoundsByPath] = {"probability": UNIT}
    expected: str | None = None
    among: Collection[str] = field(default_factory=tuple)
    least_letters: int = LEAST_LETTERS
    min_certainty: float = LEAST_CERTAINTY

    def __post_init__(self) -> None:
        super().__post_init__()
        where = f"scorer {self.name}"
        if find_spec("py3langid") is None:
            do = "install it: pip install py3langid"
            raise DefinitionError(where, found="py3langid is not installed", do=do)
        known = _identifier(()).labels
        codes = [*self.among, *([self.expected] if self.expected else [])]
        unknown = [code for code in codes if code not in known]
        require(not unknown, where, found=unknown, do=f"use codes such as en, de, ja: {', '.join(sorted(known))}")
        usable = is_number(self.min_certainty) and 0 <= self.min_certainty < 1
        do = "use a probability from 0 to below 1, such as 0.5"
        require(usable, f"{where}: min_certainty", found=self.min_certainty, do=do)
        fits = not self.among or self.expected is None or self.expected in self.among
        require(fits, f"{where}: among", found=list(self.among), do=f"let it hold {self.expected!r}, too")

    def score(self, output: object, input: object = "") -> dict[str, Any]:
        """Return {"matches": bool, "language", "probability", "expected"}.

        Raises ValueError if the output, or the input it is compared with, is too short or its language not certain.
        """
        language, probability = self._of(text_of(output), "output")
        expected = self.expected or self._of(text_of(input), "input")[0]
        return {
            "matches": language == expected,
            "language": language,
            "probability": probability,
            "expected": expected,
        }

    def _of(self, text: str, what: str) -> tuple[str, float]:
        letters = sum(character.isalpha() for character in text)
        if letters < self.least_letters:
            raise ValueError(f"the {what} has {letters} letters, too few to tell its language")
        language, probability = _identifier(tuple(sorted(self.among))).classify(text)
        if probability < self.min_certainty:
            found = f"the language of the {what} is not certain ({language}, {probability:.2f})"
            raise ValueError(f"{found}; name those that come into question (among), or lower min_certainty")
        return str(language), float(probability)


@cache
def _identifier(among: tuple[str, ...]) -> Any:
    """Load the model once for each choice of languages: 0.1 s and some 40 MB."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    if among:
        identifier.set_languages(list(among))
    return identifier
