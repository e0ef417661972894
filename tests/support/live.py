"""Scorers for tests of live traffic."""

import json
from typing import ClassVar

import anyio
import anyio.lowlevel
import anyio.to_thread

from simeval.core.trial import Score
from simeval.extras.online.evaluator import OnlineEvaluator
from simeval.models.protocol.model import Grade
from simeval.scorers.base import Scorer, scorer
from simeval.scorers.llm.base import ModelScorer

SAID = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "fine"}]


PATIENCE_SECONDS = 10


class Fine(Scorer):
    quick = True
    paths = ("fine",)

    def score(self, output: str) -> dict[str, bool]:
        return {"fine": output == "fine"}


class Stuck(Scorer):
    """Waits for what never comes."""

    timeout_seconds: ClassVar[float | None] = None

    async def score(self, output: str) -> bool:
        await anyio.sleep_forever()
        return True


class Impatient(Stuck):
    timeout_seconds: ClassVar[float | None] = 0.01


class Helpful(ModelScorer):
    async def score(self, output: str) -> Score:
        grade = await self.ask(Grade, system="Rate the answer.", user="{output}", output=output, quoted_texts=[output])
        return Score(value=grade.score or 0.0, reasoning=grade.reasoning)


def raising(error: BaseException, name: str = "raising") -> Scorer:
    async def score(output: str) -> bool:
        raise error

    found: Scorer = scorer(score, name=name)
    return found


async def settled(evaluator: OnlineEvaluator) -> None:
    """Wait until nothing is queued."""
    with anyio.fail_after(PATIENCE_SECONDS):
        while any(counts.queued for counts in evaluator.counts.values()):
            await anyio.lowlevel.checkpoint()


def adds_up(evaluator: OnlineEvaluator) -> bool:
    taken = evaluator.submitted - evaluator.sampled_out
    return all(
        counts.queued + counts.scored + counts.failed + counts.dropped == taken for counts in evaluator.counts.values()
    )


GRADE = json.dumps({"reasoning": "because", "score": 8})
