"""Retrieval: which of the entities that an answer needs are in the context it was given.

The prompts are defaults to be edited. None of them has been validated against human judgement.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

from simeval.core.bounds import UNIT
from simeval.scorers.llm.base import ModelScorer
from simeval.scorers.llm.entities import ENTITY_SYSTEM, ENTITY_USER, both, entities_of
from simeval.scorers.llm.graded import as_text, needed


@dataclass(kw_only=True, eq=False)
class ContextEntityRecall(ModelScorer):
    """The share of the `reference`'s entities that the `context` has too, and the reverse.

    Recall is |C and R| / |R|, with C the entities of the context and R those of the reference, as RAGAS defines it;
    precision is |C and R| / |C|. Both are of sets, whatever case the entities are written in. With
    `column_map={"reference": "output"}` it is the share of the output's entities that the context has.
    """

    default_score = "context_entity_recall"
    paths = ("context_entity_recall", "context_entity_precision")
    direction = "higher"
    bounds = UNIT
    system_prompt: str = ENTITY_SYSTEM
    user_prompt: str = ENTITY_USER

    @property
    def calls(self) -> int:
        return 2

    async def score(self, context: Any, reference: Any, seed: int = 0) -> dict[str, Any]:
        """Return {"context_entity_recall", "context_entity_precision", "found", "missing"}.

        There is no precision if the context has no entity. Raises ValueError if the reference has none, or one of the
        two is empty, and ModelError.
        """
        needed(context, "context")
        needed(reference, "reference")
        there, wanted = await both(
            partial(self._entities, context, seed=seed), partial(self._entities, reference, seed=seed)
        )
        if not wanted:
            raise ValueError("the reference names no entity, so there is no share of them to be found")
        found = [entity for entity in wanted if entity in there]
        precision = {"context_entity_precision": len(found) / len(there)} if there else {}
        missing = [entity for entity in wanted if entity not in there]
        return {"context_entity_recall": len(found) / len(wanted), **precision, "found": found, "missing": missing}

    async def _entities(self, value: object, *, seed: int) -> list[str]:
        shown = as_text(value)
        text = shown if isinstance(shown, str) else "\n\n".join(shown)
        return await entities_of(self, text, system=self.system_prompt, user=self.user_prompt, seed=seed)
