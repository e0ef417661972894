"""Texts against a reference or a pattern: equal, contained, matching, or how near.

Texts are compared in Unicode's form NFC. An output or a reference that is no text is compared as JSON; no reference
at all (None) is an error, because nothing was measured then.
"""

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, overload

from simeval.core.bounds import COUNT, UNIT, BoundsByPath
from simeval.core.direction import by_path
from simeval.core.trial import Score
from simeval.core.validation import require, require_whole
from simeval.errors import DefinitionError
from simeval.scorers.base import COLUMNS, ColumnScorer
from simeval.scorers.text.edit_distance import common_length, edit_distance
from simeval.scorers.text.phrases import stands_alone
from simeval.scorers.values import folded, given, normalised, same, stands_in, text_of

ARTICLES = frozenset({"a", "an", "the"})


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
