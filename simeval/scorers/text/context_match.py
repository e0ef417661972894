"""Compare retrieved passages, as texts, with those that should have been retrieved."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from simeval.core.bounds import UNIT, BoundsByPath
from simeval.core.validation import is_number, require
from simeval.scorers.base import ColumnScorer
from simeval.scorers.text.similarity import LevenshteinSimilarity
from simeval.scorers.values import average_precision, given, is_array


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
