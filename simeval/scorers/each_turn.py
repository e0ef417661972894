"""Each turn: a scorer of one answer, applied to every answer of a conversation, each with its own context."""

from collections.abc import Collection, Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any, ClassVar

from simeval.core.conversation import CONTEXT, Conversation
from simeval.core.direction import COUNT, Bounds, Direction
from simeval.core.trial import Preparation, Score
from simeval.scorers.base import (
    COLUMNS,
    EVERY,
    LAST,
    Callers,
    ColumnScorer,
    Scorer,
    as_scorer,
    conversation_columns,
    turns_of,
)
from simeval.scorers.returned import metrics_of, read_returned

TURNS = 5  # answers of a conversation, for the forecast of calls
SUMMARIES = ("min", "mean", "max")


@dataclass(kw_only=True, eq=False)
class EachTurn(ColumnScorer):
    """Measures each of the app's answers by another `scorer`: the least, the mean and the most of each of its values.

    The scorer sees a conversation that ends with the answer: `output` is the answer, `input` the message it answers,
    `context` the context given with this answer, `response` all of it. Yes counts as 1 and no as 0. The worst turn
    decides by default. A turn that cannot be measured (the scorer raises ValueError: it has no context, or makes no
    claim) is not among those summed up; "turns" is the number of measured turns, "not_measured" that of the others. A
    turn with only thanks and a farewell from the user is no question and is left out; `closings=True` measures it.
    """

    scorer: Scorer = field(kw_only=False)
    closings: bool = False
    timeout_seconds: ClassVar[float | None] = None

    def __post_init__(self) -> None:
        self.scorer = as_scorer(self.scorer, "EachTurn.scorer")
        self.name = self.name or f"{self.scorer.name} by turn"
        super().__post_init__()
        most, least = (_at(self.scorer.default_score or "", each) for each in ("max", "min"))
        self.paths = tuple(_at(path, each) for path in self.scorer.paths for each in SUMMARIES)  # type: ignore[misc]
        self.default_score = most if self.direction_of(most) == "lower" else least  # type: ignore[misc]

    @property
    def calls(self) -> int:
        return TURNS * self.scorer.calls

    def check(self, columns: Collection[str] = COLUMNS) -> None:
        super().check(columns)
        self.scorer.check((*columns, *(name for name in (CONTEXT, LAST, EVERY) if name not in columns)))

    def direction_of(self, path: str) -> Direction | None:
        inner, _, summary = path.rpartition(".")
        own: Direction = "none"
        return super().direction_of(path) or (self.scorer.direction_of(inner) if summary in SUMMARIES else own)

    def bounds_of(self, path: str) -> Bounds | None:
        inner, _, summary = path.rpartition(".")
        return self.scorer.bounds_of(inner) if summary in SUMMARIES else COUNT

    def bind(self, callers: Callers) -> Scorer:
        bound = copy(self)
        bound.scorer = self.scorer.bind(callers)
        return bound

    async def prepare(self, columns: Mapping[str, Any]) -> Preparation | None:
        return await self.scorer.prepare(columns)

    async def score(self, conversation: Conversation, **columns: Any) -> dict[str, Any]:
        """Return "min", "mean" and "max" below the path of each value, "turns", "not_measured", "reason", "each".

        The last holds the result of every turn, numbered from 0 as trials are.

        Raises the scorer's error if no turn can be measured, and ValueError without a turn.
        """
        each: list[dict[str, Any]] = []
        measured: list[object] = []
        problem = ValueError("the app has said nothing")
        last = conversation_columns(conversation).get(CONTEXT)
        if last is not None and columns.get(CONTEXT) == last:
            del columns[CONTEXT]  # of one turn, and not of each
        for number, turn in enumerate(turns_of(conversation, closings=self.closings)):
            try:
                found = read_returned(_bare(await self.scorer.measure({**columns, **turn})), name=self.scorer.name)
            except ValueError as error:
                problem = error
                each.append({"turn": number, "not_measured": str(error)})
            else:
                measured.append(found)
                each.append({"turn": number, "measured": found})
        if not measured:
            raise problem
        counts = {"turns": len(measured), "not_measured": len(each) - len(measured)}
        return {**_summed_up(measured), **counts, "reason": "; ".join(map(_told, each)), "each": each}


def _bare(measured: object) -> object:
    """Return the result of a scorer; for a Score without numbers among its details its value."""
    if isinstance(measured, Score) and not metrics_of(measured.kept_details or {}):
        return measured.value
    return measured


def _summed_up(measured: list[object]) -> dict[str, float]:
    """Return the least, the mean and the most of each value over the turns that have it."""
    numbers = [metrics_of(found) for found in measured]
    found: dict[str, float] = {}
    for path in dict.fromkeys(path for each in numbers for path in each):
        values = [float(each[path]) for each in numbers if path in each]
        summary = (min(values), sum(values) / len(values), max(values))
        found |= {_at(path, name): value for name, value in zip(SUMMARIES, summary, strict=True)}
    return found


def _told(turn: Mapping[str, Any]) -> str:
    """Describe the result of a turn, in a few words."""
    numbers = metrics_of(turn["measured"]) if "measured" in turn else {}
    said = ", ".join(f"{path} {value:g}".lstrip() for path, value in numbers.items())
    return f"turn {turn['turn']}: {said or 'not measured'}"


def _at(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
