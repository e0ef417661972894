"""Summaries: how dense they are with entities, and how good a model finds them.

The prompts are defaults to be edited. None of them has been validated against human judgement.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from simeval.core.bounds import COUNT, UNIT, BoundsByPath
from simeval.core.direction import by_path
from simeval.core.validation import is_number, require
from simeval.scorers.llm.entities import ENTITY_SYSTEM, ENTITY_USER, both, entities_of
from simeval.scorers.llm.graded import Graded, as_text, needed
from simeval.scorers.llm.replies import Quality

QUALITY: Mapping[str, float] = {"poor": 0.0, "ok": 0.5, "excellent": 1.0}
DENSE_FROM = 0.08


@dataclass(kw_only=True, eq=False)
class Summarization(Graded):
    """The quality of a summary of the `input`, and its entity density: different entities for each word.

    Quality is 0 for poor, 0.5 for ok, 1 for excellent. A summary is dense from `dense_from` on: 0.08 is one entity in
    twelve and a half words. Words are separated by white space.
    """

    gives_ratings = False

    default_score = "quality"
    paths = ("quality", "entity_density", "is_entity_dense")
    direction = by_path(higher=["quality", "is_entity_dense"], none=["entity_density"])
    bounds: ClassVar[BoundsByPath | None] = {"quality": UNIT, "entity_density": COUNT}
    dense_from: float = DENSE_FROM
    system_prompt: str = """You grade the quality of a summary of a source.
"excellent": it has all that matters in the source, nothing that is not there, and no word too many.
"ok": it has most of what matters, with minor omissions, vagueness or length.
"poor": it misses or distorts something that matters, adds what the source does not say, or is no summary.
Answer with a JSON object: {"reasoning": a brief explanation, "grade": "poor", "ok" or "excellent"}."""
    user_prompt: str = "The source:\n{input}\n\nThe summary to grade:\n{output}"
    entity_system_prompt: str = ENTITY_SYSTEM
    entity_user_prompt: str = ENTITY_USER

    def __post_init__(self) -> None:
        super().__post_init__()
        usable = is_number(self.dense_from) and 0 < self.dense_from <= 1
        where, do = f"scorer {self.name}: dense_from", "give a number above 0, up to 1"
        require(usable, where, found=self.dense_from, do=do)

    @property
    def calls(self) -> int:
        return 2

    async def score(self, output: Any, input: Any, seed: int = 0, **columns: Any) -> dict[str, Any]:
        """Return {"quality", "grade", "reasoning", "entity_density", "is_entity_dense", "entities"}.

        Raises ValueError for an empty summary or source, and ModelError.
        """
        needed(output, "output")
        needed(input, "input")
        shown = as_text(output)
        summary = shown if isinstance(shown, str) else "\n".join(shown)
        system, user = self.entity_system_prompt, self.entity_user_prompt
        graded, entities = await both(
            partial(self.grade, Quality, seed, {**columns, "output": output, "input": input}),
            partial(entities_of, self, summary, system=system, user=user, seed=seed),
        )
        density = len(entities) / len(summary.split())
        return {
            "quality": QUALITY[graded.grade],
            "grade": graded.grade,
            "reasoning": graded.reasoning,
            "entity_density": density,
            "is_entity_dense": density >= self.dense_from,
            "entities": entities,
        }
