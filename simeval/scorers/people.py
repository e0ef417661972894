"""People's feedback on an answer as a score: their ratings under a key, with who gave them and how many."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from simeval.core.bounds import COUNT, BoundsByPath
from simeval.core.direction import by_path
from simeval.core.validation import require
from simeval.scorers.base import ColumnScorer


@dataclass(kw_only=True, eq=False)
class PeoplesFeedback(ColumnScorer):
    """People's feedback on an answer under `key`: the mean of their scores, of one person's or several.

    It reads the column `feedback` of the answers of a stored run: {key: {"score", "people", "said"}}. Feedback of
    models and programs is not in it.
    """

    key: str

    default_score = "score"
    paths = ("score", "people")
    direction = by_path(higher=["score"], none=["people"])
    bounds: ClassVar[BoundsByPath] = {"people": COUNT}
    quick = True

    def __post_init__(self) -> None:
        super().__post_init__()
        usable = isinstance(self.key, str) and bool(self.key)
        require(usable, f"scorer {self.name}: key", found=self.key, do="name a key of feedback, such as helpful")

    def score(self, feedback: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the `score`, how many `people` gave it, and as `reasoning` each person's feedback.

        Raises ValueError where nobody did.
        """
        if self.key not in feedback:
            raise ValueError(f"no person has said anything of it under {self.key!r}")
        said = feedback[self.key]
        return {"score": said["score"], "people": said["people"], "reasoning": said["said"]}
