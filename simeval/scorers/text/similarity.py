"""Texts against a reference or a pattern: equal, contained, matching, or how near.

Texts are compared in Unicode's form NFC. An output or a reference that is no text is compared as JSON; no reference
at all (None) is an error, because nothing was measured then. Edit distances are rapidfuzz's; BLEU, GLEU and METEOR are
NLTK's (`simeval[texts]`), with its tokens: words and punctuation, as in the Penn Treebank.
"""

import re
import string
import unicodedata
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from threading import Lock
from typing import Any, ClassVar, overload

from simeval.core.direction import COUNT, UNIT, BoundsByPath, by_path
from simeval.core.terminal import counted_of
from simeval.core.trial import Score
from simeval.core.validation import is_number, require, require_whole
from simeval.errors import DefinitionError
from simeval.scorers.base import COLUMNS, ColumnScorer
from simeval.scorers.text.phrases import stands_alone
from simeval.scorers.values import average_precision, folded, given, is_array, normalised, same, stands_in, text_of

MOST_CELLS = 2_500_000_000  # 50,000 by 50,000 characters: some 0.2 s

ARTICLES = frozenset({"a", "an", "the"})

_IMPORTING = Lock()


def edit_distance(first: Sequence[str], second: Sequence[str]) -> int:
    """Return Levenshtein's distance: the fewest insertions, deletions and replacements that make one the other.

    Raises ValueError if the table would have more than MOST_CELLS cells, after equal ends are taken off.
    """
    from rapidfuzz.distance import Levenshtein

    _check_size(first, second)
    return Levenshtein.distance(first, second)


def common_length(first: Sequence[str], second: Sequence[str]) -> int:
    """Return how many elements the longest common subsequence has. Raises ValueError as `edit_distance` does."""
    from rapidfuzz.distance import LCSseq

    _check_size(first, second)
    return LCSseq.similarity(first, second)


def _check_size(first: Sequence[str], second: Sequence[str]) -> None:
    from rapidfuzz.distance import Postfix, Prefix

    if len(first) * len(second) <= MOST_CELLS:
        return
    equal = Prefix.similarity(first, second) + Postfix.similarity(first, second)
    short, long = sorted((max(0, len(first) - equal), max(0, len(second) - equal)))
    if short * long > MOST_CELLS:
        raise ValueError(f"Sequences of {short:,} and {long:,} elements are too long to be compared.")


@dataclass(kw_only=True, eq=False)
class TextScorer(ColumnScorer):
    """The base of scorers that compare texts, with case and runs of white space or without."""

    ignore_case: bool = False
    ignore_space: bool = False

    def plain(self, value: object) -> str:
        """Return the part of a value that is compared."""
        return normalised(value, ignore_case=self.ignore_case, ignore_space=self.ignore_space)


@dataclass(kw_only=True, eq=False)
class ExactMatch(TextScorer):
    """Whether the output equals the reference.

    Where neither is a text they are compared as JSON values: 1 equals 1.0, but not true, and the order of keys is
    nothing.
    """

    direction = "higher"
    quick = True

    def score(self, output: Any, reference: Any) -> bool:
        """Return whether they are equal."""
        wanted = given(reference, self.name)
        if isinstance(output, str) or isinstance(wanted, str):
            return self.plain(output) == self.plain(wanted)
        return same(output, wanted)


@dataclass(kw_only=True, eq=False)
class Contains(TextScorer):
    """Whether given `texts` stand in the output, all of them or `at_least` so many; without texts, the reference.

    They are what is wanted, or with `direction="lower"` what is not. Quotes, dashes, spaces and digits are the same in
    whatever sign they are written. A number is found by its value, and as a whole: 1286 in "$1,286.00", but 4 not in
    1234. A word is also found inside another ("refund" in "refunded"), and with `whole_words` only by itself. Raises
    DefinitionError for texts that cannot be looked for.
    """

    texts: Sequence[str] | None = None
    at_least: int | None = None
    whole_words: bool = False

    direction = "higher"
    bounds = UNIT
    quick = True

    def __post_init__(self) -> None:
        super().__post_init__()
        where = f"scorer {self.name}"
        if self.texts is None:
            do = "say how many of the texts, and give them"
            require(self.at_least is None, f"{where}: at_least", found=self.at_least, do=do)
            return
        listed = isinstance(self.texts, (list, tuple)) and len(self.texts) > 0
        usable = listed and all(isinstance(text, str) and self.plain(text) for text in self.texts)
        require(usable, f"{where}: texts", found=self.texts, do="give a list of one or more texts, none of them empty")
        require_whole(self.at_least, f"{where}: at_least", optional=True)
        fits = self.at_least is None or self.at_least <= len(self.texts)
        require(fits, f"{where}: at_least", found=self.at_least, do=f"use at most the {len(self.texts)} that are given")

    @property
    def function(self) -> Callable[..., Any]:
        return self._has_reference if self.texts is None else self._has_texts

    def check(self, columns: Collection[str] = COLUMNS) -> None:
        """Raise DefinitionError if there is nothing to look for, and as every scorer does."""
        if self.texts is None and "reference" not in {*columns, *self.column_map}:
            do = "say what to look for: in a file {type: contains, texts: [thank you]}, in Python Contains(texts=[...])"
            raise DefinitionError(f"scorer {self.name}", found="found no texts", do=do)
        super().check(columns)

    @overload
    def score(self, output: Any) -> Score: ...
    @overload
    def score(self, output: Any, reference: Any) -> bool: ...
    def score(self, output: Any, reference: Any = None) -> bool | Score:
        """Return whether the reference occurs; without one, whether the texts do, and which are `missing`.

        Raises DefinitionError for an empty reference, which occurs in every text.
        """
        return self._has_reference(output, reference) if reference or not self.texts else self._has_texts(output)

    def _has_reference(self, output: Any, reference: Any) -> bool:
        wanted = self.plain(given(reference, self.name))
        if not wanted:
            do = "give a text that an output may lack"
            raise DefinitionError(f"scorer {self.name}", found="an empty reference", do=do)
        return self._stands(wanted, folded(self.plain(output)))

    def _stands(self, phrase: str, text: str) -> bool:
        """Return whether a phrase is found in a text that is folded."""
        return (stands_alone if self.whole_words else stands_in)(folded(phrase), text)

    def _has_texts(self, output: Any) -> Score:
        texts, found = self.texts or (), folded(self.plain(output))
        missing = [text for text in texts if not self._stands(self.plain(text), found)]
        wanted = len(texts) if self.at_least is None else self.at_least
        has = len(texts) - len(missing) >= wanted
        said = "" if has else f"the output lacks {', '.join(map(repr, missing))}"
        if has and self.direction_of("") == "lower":
            said = f"the output has {', '.join(repr(text) for text in texts if text not in missing)}"
        return Score(value=has, reasoning=said, details={"missing": missing})


@dataclass(kw_only=True, eq=False)
class RegexMatch(ColumnScorer):
    """Whether a regular expression is found in the output, or with `full` matches the whole of it.

    Raises DefinitionError for an invalid regular expression. One that tries endlessly many ways on some text, such as
    (a+)+$, holds up the whole process: Python has no way to stop it, and holds its lock, so that a thread is no help.
    For a pattern that an answer must not have, use `direction="lower"`.
    """

    gives_ratings = False
    pattern: str | re.Pattern[str] = field(kw_only=False)
    full: bool = False

    direction = "higher"
    quick = True

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            self.pattern = re.compile(self.pattern)
        except (re.error, TypeError) as error:
            found = f"found {self.pattern!r} ({error})"
            raise DefinitionError("RegexMatch.pattern", found=found, do="give a regular expression") from None
        do = "give a regular expression that a text may lack"
        require(bool(self.pattern.pattern), "RegexMatch.pattern", found=self.pattern.pattern, do=do)

    def score(self, output: Any) -> bool:
        """Return whether it is found."""
        find = re.fullmatch if self.full else re.search
        return find(self.pattern, text_of(output)) is not None


@dataclass(kw_only=True, eq=False)
class LevenshteinSimilarity(TextScorer):
    """How like the reference the output is, from 0 to 1: 1 - distance / length of the longer one.

    The distance is Levenshtein's, in characters; two empty texts are alike. 50,000 characters on both sides take
    0.2 s; ValueError where both are longer and differ from end to end.
    """

    gives_ratings = False

    default_score = "similarity"
    paths = ("similarity", "distance")
    direction = by_path(higher=["similarity"], lower=["distance"])
    bounds: ClassVar[BoundsByPath] = {"similarity": UNIT, "distance": COUNT}

    def score(self, output: Any, reference: Any) -> Mapping[str, float]:
        """Return the similarity, and the distance it is made of."""
        found, wanted = self.plain(output), self.plain(given(reference, self.name))
        distance = edit_distance(found, wanted)
        return {"similarity": 1 - distance / max(len(found), len(wanted), 1), "distance": distance}


@dataclass(kw_only=True, eq=False)
class TokenF1(ColumnScorer):
    """How many words output and reference share, whatever their order, as SQuAD counts them.

    Words are separated by spaces and compared in lower case, without punctuation and English articles. If neither has a
    word they agree (1) if they have the same marks; if only one has they do not (0). Of no use in languages written
    without spaces. Reference: P. Rajpurkar, R. Jia and P. Liang (2018), "Know What You Don't Know", ACL.
    """

    default_score = "f1"
    paths = ("f1", "precision", "recall")
    direction = "higher"
    bounds: ClassVar[BoundsByPath] = UNIT

    def score(self, output: Any, reference: Any) -> Mapping[str, float]:
        """Return precision (of the output's words), recall (of the reference's) and F1."""
        found = [word for word in words_of(output) if word not in ARTICLES]
        wanted = [word for word in words_of(given(reference, self.name)) if word not in ARTICLES]
        if not found and not wanted:
            return _agreement(_without_articles(output) == _without_articles(reference))
        return overlap((Counter(found) & Counter(wanted)).total(), len(found), len(wanted))


@dataclass(kw_only=True, eq=False)
class RougeL(ColumnScorer):
    """The longest sequence of words that output and reference share in order, others between them allowed.

    Words are runs of letters and digits in lower case, of any script, as they are; no stemming. Where neither has a
    word they agree (1) if they are the same text. Reference: C.-Y. Lin (2004), "ROUGE: a package for automatic
    evaluation of summaries", ACL.
    """

    default_score = "f1"
    paths = ("f1", "precision", "recall")
    direction = "higher"
    bounds: ClassVar[BoundsByPath] = UNIT

    def score(self, output: Any, reference: Any) -> Mapping[str, float]:
        """Return the share of the output's words (precision), of the reference's (recall), and F1."""
        found, wanted = words_of(output, instead=" "), words_of(given(reference, self.name), instead=" ")
        if not found and not wanted:
            return _agreement(normalised(output) == normalised(reference))
        return overlap(common_length(found, wanted), len(found), len(wanted))


def _without_articles(value: object) -> list[str]:
    return [word for word in normalised(value).lower().split() if word not in ARTICLES]


def _agreement(is_same: bool) -> Mapping[str, float]:
    return dict.fromkeys(("f1", "precision", "recall"), float(is_same))


def words_of(value: object, *, instead: str = "") -> list[str]:
    """Return the words of a text in lower case, with `instead` in the place of each punctuation mark."""
    text = normalised(value).lower()
    marks = {ord(mark): instead for mark in set(text) if _is_punctuation(mark)}
    return text.translate(marks).split()


def _is_punctuation(character: str) -> bool:
    return character in string.punctuation or unicodedata.category(character).startswith("P")


def overlap(common: int, found: int, wanted: int) -> Mapping[str, float]:
    """Return precision, recall and F1 from the size of the overlap and of each side; 0 for an empty side."""
    return {
        "f1": 2 * common / (found + wanted) if found + wanted else 0.0,
        "precision": common / found if found else 0.0,
        "recall": common / wanted if wanted else 0.0,
    }


@dataclass(kw_only=True, eq=False)
class ContextMatch(ColumnScorer):
    """How well the retrieved `context`, in its order, has the passages of `reference_contexts`; no model is asked.

    Two passages are the same if their Levenshtein similarity is at least `threshold`. Precision is the average
    precision of the ranking, as RAGAS has it (`NonLLMContextPrecisionWithReference`): a relevant passage counts more
    the earlier it comes. Recall is the share of the reference's passages that were retrieved (`NonLLMContextRecall`).
    """

    default_score = "precision"
    paths = ("precision", "recall")
    direction = "higher"
    bounds: ClassVar[BoundsByPath | None] = UNIT
    threshold: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        within = is_number(self.threshold) and 0 < self.threshold <= 1
        require(within, f"scorer {self.name}: threshold", found=self.threshold, do="give a number above 0, at most 1")

    def score(self, context: Any, reference_contexts: Any) -> dict[str, Any]:
        """Return {"precision", "recall", "relevant": whether each passage is in the reference}.

        Raises ValueError if one of the sides has no passage.
        """
        found, wanted = _passages(context), _passages(given(reference_contexts, self.name))
        if not found or not wanted:
            raise ValueError(f"there is no passage in {'reference_contexts' if found else 'context'}")
        like = LevenshteinSimilarity()
        same = [[like.score(one, other)["similarity"] >= self.threshold for other in wanted] for one in found]
        relevant = [any(row) for row in same]
        recall = sum(map(any, zip(*same, strict=True))) / len(wanted)
        return {"precision": average_precision(relevant), "recall": recall, "relevant": relevant}


def _passages(value: object) -> Sequence[object]:
    listed = value if is_array(value) else [value]
    return [each for each in listed if each not in (None, "")]


@dataclass(kw_only=True, eq=False)
class NgramScorer(ColumnScorer, ABC):
    """The base of NLTK's scores: how near the output is to the nearest of one reference or several, from 0 to 1."""

    direction = "higher"
    bounds: ClassVar[BoundsByPath | None] = UNIT

    def __post_init__(self) -> None:
        super().__post_init__()
        do = "install it: pip install 'simeval[texts]'"
        if find_spec("nltk") is None:
            raise DefinitionError(f"scorer {self.name}", found="NLTK is not installed", do=do)

    def score(self, output: Any, reference: Any) -> float:
        """Return the score. Raises DefinitionError without a reference, ValueError for one without a word."""
        wanted = given(reference, self.name)
        references = [_tokens(each) for each in (wanted if is_array(wanted) else [wanted])]
        if not references or not all(references):
            raise ValueError("a reference has no word, so there is nothing to be near to")
        return float(self.against(references, _tokens(output)))

    @abstractmethod
    def against(self, references: Sequence[Sequence[str]], output: Sequence[str]) -> float:
        """Return the score of tokens."""


@dataclass(kw_only=True, eq=False)
class Bleu(NgramScorer):
    """BLEU of a sentence: the geometric mean of the shares of its 1- to 4-grams that occur in a reference.

    An output shorter than the references pays for it. Counts of zero are smoothed (method 4 of B. Chen and C. Cherry,
    2014), as one sentence seldom shares a 4-gram. It is meant for whole corpora: for one sentence it is a weak measure.
    Reference: K. Papineni et al. (2002), "BLEU: a method for automatic evaluation of machine translation", ACL.
    """

    def against(self, references: Sequence[Sequence[str]], output: Sequence[str]) -> float:
        bleu = _nltk("translate.bleu_score")
        score: float = bleu.sentence_bleu(references, output, smoothing_function=bleu.SmoothingFunction().method4)
        return score


@dataclass(kw_only=True, eq=False)
class Gleu(NgramScorer):
    """GLEU: the lesser of precision and recall over all 1- to 4-grams, made for single sentences.

    Reference: Y. Wu et al. (2016), "Google's neural machine translation system", arXiv 1609.08144.
    """

    def against(self, references: Sequence[Sequence[str]], output: Sequence[str]) -> float:
        score: float = _nltk("translate.gleu_score").sentence_gleu(references, output)
        return score


@dataclass(kw_only=True, eq=False)
class Meteor(NgramScorer):
    """METEOR: precision and recall of words, recall ninefold, less a penalty for words in another order.

    English words match as they are or by their stem (Porter). Synonyms are left out: their list, WordNet, would have to
    be downloaded. Reference: S. Banerjee and A. Lavie (2005), "METEOR", ACL workshop on evaluation measures.
    """

    def against(self, references: Sequence[Sequence[str]], output: Sequence[str]) -> float:
        score: float = _nltk("translate.meteor_score").meteor_score(references, output, wordnet=_NoSynonyms())
        return score


@dataclass(kw_only=True, eq=False)
class RougeN(ColumnScorer):
    """The sequences of `n` words that output and reference share: ROUGE-1 by default, ROUGE-2 with n=2.

    Words as `RougeL` has them. An output of fewer words shares none (0); a reference of fewer words has no score.
    Reference: C.-Y. Lin (2004), "ROUGE: a package for automatic evaluation of summaries", ACL.
    """

    default_score = "f1"
    paths = ("f1", "precision", "recall")
    direction = "higher"
    bounds: ClassVar[BoundsByPath | None] = UNIT
    n: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        require_whole(self.n, f"scorer {self.name}: n")

    def score(self, output: Any, reference: Any) -> dict[str, float]:
        """Return the share of the output's sequences (precision), of the reference's (recall), and F1.

        Raises ValueError for a reference of fewer than `n` words: nothing can be near to it.
        """
        found, wanted = self._grams(output), self._grams(given(reference, self.name))
        if not wanted:
            least = counted_of(self.n, "word")
            raise ValueError(f"the reference has fewer than {least}, so there is nothing to be near to")
        return dict(overlap((found & wanted).total(), found.total(), wanted.total()))

    def _grams(self, value: object) -> Counter[tuple[str, ...]]:
        words = words_of(value, instead=" ")
        return Counter(zip(*(words[start:] for start in range(self.n)), strict=False))


class _NoSynonyms:
    """Replaces WordNet if it is not installed."""

    def synsets(self, _word: str) -> list[object]:
        return []


def _tokens(value: object) -> list[str]:
    found: list[str] = _tokenizer().tokenize(normalised(value))
    return found


@cache
def _tokenizer() -> Any:
    return _nltk("tokenize.destructive").NLTKWordTokenizer()


def _nltk(module: str) -> Any:
    """Return a module of NLTK's, imported by one thread at a time: its parts import each other in a circle."""
    with _IMPORTING:
        return import_module(f"nltk.{module}")
