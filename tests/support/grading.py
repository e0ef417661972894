"""Models that grade for tests: what they answer, and what they were shown."""

import json
from dataclasses import dataclass, field
from typing import Any

from simeval.core.settings import RetryConfig
from simeval.models.caller import Caller
from simeval.models.protocol.model import Request
from simeval.scorers.llm.base import ModelScorer
from simeval.testing import Answer, ScriptedModel

ONCE = RetryConfig(enabled=False)
MET = json.dumps({"reasoning": "because", "met": True})
ENTITIES = json.dumps({"entities": ["Paris"]})
TEXTS = {"output": "o", "context": "c", "reference": "r", "input": "i"}


@dataclass(slots=True)
class Listening:
    """Answers the same always, and keeps what it was shown."""

    answer: str
    name: str = "listening/model"
    seen: list[Request] = field(default_factory=list)

    async def act(self, request: Request) -> str:
        self.seen.append(request)
        return self.answer

    @property
    def model(self) -> ScriptedModel:
        return ScriptedModel(self.act)

    @property
    def shown(self) -> str:
        return "\n".join(message["content"] for request in self.seen for message in request.messages())


def ready(scorer: ModelScorer, *answers: Answer) -> Any:
    """Bind a scorer to a model that gives these answers in turn, and asks nothing twice."""
    return scorer.bind(lambda _: Caller(ScriptedModel(answers), ONCE))
