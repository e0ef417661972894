"""Texts against references by the words and sequences of words they share: BLEU, GLEU, METEOR and ROUGE-n.

The first three are NLTK's (`simeval[texts]`), with its tokens: words and punctuation, as in the Penn Treebank.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from threading import Lock
from typing import Any, ClassVar

from simeval.core.bounds import UNIT, BoundsByPath
from simeval.core.counted import counted_of
from simeval.core.validation import require_whole
from simeval.errors import DefinitionError
from simeval.scorers.base import ColumnScorer
from simeval.scorers.text.similarity import overlap, words_of
from simeval.scorers.values import given, is_array, normalised

_IMPORTING = Lock()


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
