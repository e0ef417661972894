"""Datasets for tests of experiments, and scorers for them."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from simeval import (
    Conversation,
    Engine,
    Message,
    ProportionEvaluator,
    scorer,
)
from simeval.datasets.dataset import Dataset, Example, check_dataset
from simeval.models.protocol.model import Reply
from simeval.results.experiment import ExperimentResult
from simeval.scorers.llm.base import ModelScorer

MOSTLY = ProportionEvaluator(threshold=1, min_proportion=0.7)


def sums(count: int = 40, **changes: Any) -> Dataset:
    examples = [
        Example(inputs={"question": f"{n} + {n}?", "n": n}, outputs={"answer": str(2 * n)}, **changes)
        for n in range(count)
    ]
    return check_dataset(lambda: examples, name="sums")


def logged(*dialogues: Sequence[str]) -> Dataset:
    """Return recorded conversations; the user speaks first."""
    roles = ("user", "assistant")
    examples = [
        Example(
            conversation=Conversation(
                messages=tuple(
                    Message(role=roles[place % 2], content=text)  # type: ignore[arg-type]
                    for place, text in enumerate(said)
                ),
                ended="recorded",
            ),
            metadata={"system": "Be brief."},
        )
        for said in dialogues
    ]
    return check_dataset(lambda: examples, name="log")


def engine(**options: Any) -> Engine:
    return Engine(**{"store": None, "seed": 7, "display": "none", **options})


@scorer
def right(output: str, answer: str) -> bool:
    return output == answer


@scorer
def length(output: str) -> int:
    return len(output)


@scorer
def as_known(output: str, reference: str) -> bool:
    return output == reference


def double(n: int) -> str:
    return str(2 * n)


def values(result: ExperimentResult, name: str) -> list[float]:
    return list(result.values[name])


class Opinion(Reply):
    good: bool
    json_schema: ClassVar[Mapping[str, Any]] = {"type": "object"}


class Good(ModelScorer):
    async def score(self, output: str) -> bool:
        return (await self.ask(Opinion, system="Judge.", user="{output}", output=output)).good
