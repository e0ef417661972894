"""The judge: an LLM that rates a conversation from 1 to 10 by a rubric."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simeval.conversation import Conversation
from simeval.logs import log
from simeval.models.replies import Grade
from simeval.models.requests import GradeRequest
from simeval.models.retries import Caller
from simeval.outcome import Score
from simeval.rubric import RubricBook
from simeval.scorers.scorer import Scorer


@dataclass(frozen=True, slots=True)
class RubricScorer(Scorer):
    """Rates how well an expected behaviour was met, by the rubric that `book` holds for it."""

    caller: Caller
    book: RubricBook
    expected_behavior: str
    timeout_seconds = None

    @property
    def name(self) -> str:
        return "rating"

    async def prepare(self, columns: Mapping[str, Any]) -> None:
        """Have the rubric written while the first conversations are still being held."""
        await self.book.levels(given=columns["given"], when=columns["when"], expected_behavior=self.expected_behavior)

    async def score(self, conversation: Conversation, given: str, when: str, seed: int) -> Score:
        """Give the rating with the judge's reasoning. Raises ModelError."""
        levels = await self.book.levels(given=given, when=when, expected_behavior=self.expected_behavior)
        request = GradeRequest(
            given=given,
            when=when,
            expected_behavior=self.expected_behavior,
            levels=levels,
            conversation=conversation.messages,
            seed=seed,
        )
        grade = await self.caller.ask(request, Grade)
        log.debug("grade", score=grade.score, reasoning=grade.reasoning)
        return Score(value=grade.score, reasoning=grade.reasoning)
