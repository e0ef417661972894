"""Moderation: whether a provider's endpoint flags the app's reply, and for which category."""

from dataclasses import dataclass
from typing import Any, ClassVar

from simeval.core.direction import UNIT, BoundsByPath, by_path
from simeval.models.kinds import ModerationEndpoint
from simeval.models.protocol.model import Model, ModelKind
from simeval.models.providers.moderation import ModerationReply, ModerationRequest
from simeval.scorers.llm.base import ModelScorer
from simeval.scorers.llm.graded import needed, whole_text


@dataclass(kw_only=True, eq=False)
class Moderation(ModelScorer):
    """Whether a moderation model flags the output, with every category's flag and score: `passed` is true if not.

    `model` is one of OpenAI's, asked through LiteLLM; "openai-compatible/NAME"; or a Model object that answers
    {"flagged": bool, "categories": {...}, "scores": {...}}.
    """

    gives_ratings = False

    default_score = "passed"
    direction = by_path(higher=["passed"], lower=["flagged", "categories"], none=["scores"])
    bounds: ClassVar[BoundsByPath] = {"scores": UNIT}
    model: str | Model = "openai/omni-moderation-latest"

    @property
    def asked(self) -> Model | ModelKind:
        return ModerationEndpoint(self.model) if isinstance(self.model, str) else self.model

    async def score(self, output: Any) -> dict[str, Any]:
        """Return {"flagged", "passed", "categories": {name: bool}, "scores": {name: from 0 to 1}}.

        Categories are named as in self_harm_intent. Raises ValueError for an empty output, and ModelError.
        """
        needed(output, "output")
        reply = await self.answer(ModerationRequest(text=whole_text(output)), ModerationReply)
        return {
            "flagged": reply.flagged,
            "passed": not reply.flagged,
            "categories": dict(reply.categories),
            "scores": dict(reply.scores),
        }
