"""Pairwise: whether the app's answer to an example is better than another version's, asked in both orders.

output, baseline ──► which is better? ──► output | baseline | tie ──┐
baseline, output ──► which is better? ──► output | baseline | tie ──┴──► the same twice: that; else a tie

A judge that goes by the place of an answer, and not by its content, so comes to ties.
"""

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import anyio

from simeval.core import seeds
from simeval.core.conversation import AppResponse, Conversation
from simeval.core.direction import UNIT, BoundsByPath, by_path
from simeval.core.settings import ALPHA
from simeval.core.trial import Estimate, Scored
from simeval.core.validation import is_number, require
from simeval.core.waits import in_words
from simeval.datasets.dataset import is_chat, text_of
from simeval.models.protocol.model import Reasoning, Reply, json_object
from simeval.scorers.base import COLUMNS, Callers, Scorer, in_thread
from simeval.scorers.llm.graded import Graded, needed
from simeval.stats.binomial import p_at_least
from simeval.stats.mean import lower_bound, upper_bound
from simeval.stats.preference import preferences

Place = Literal["first", "second", "tie"]
Version = Literal["output", "baseline", "tie"]

_SHOWN_FIRST: Mapping[Place, Version] = {"first": "output", "second": "baseline", "tie": "tie"}
_SHOWN_SECOND: Mapping[Place, Version] = {"first": "baseline", "second": "output", "tie": "tie"}
_SCORES: Mapping[str, float] = {"output": 1.0, "baseline": 0.0, "tie": 0.5}
_LETTERS: Mapping[str, str] = {"output": "B", "baseline": "A", "tie": "tie"}


class Preferred(Reply):
    """Which of two answers is better, by its place."""

    reasoning: Reasoning
    preferred: Place
    json_schema: ClassVar[Mapping[str, Any]] = json_object(
        reasoning={"type": "string"}, preferred={"type": "string", "enum": ["first", "second", "tie"]}
    )


@dataclass(kw_only=True, eq=False)
class Preference(Graded):
    """Whether the output is better than the `baseline`, another version's answer to the same example.

    The baseline is a column of the dataset, or the answer of `baseline`: a function of (message) or (message, state),
    sync or async, that is asked with the example's input. An LLM prefers one by `criteria`, or `prefer` does: a
    function of (input, first, second), sync or async, that returns "first", "second" or "tie"; a plain one runs in a
    thread. Neither function may take longer than `function_timeout_seconds`; None is for people.

    A baseline of messages is a whole conversation, and it is compared with a whole one.

    Both orders are asked, one after the other; which is asked first depends on the seed. Answers that differ make a
    tie, which is not `consistent`. An app that failed on an example has lost it; if anything else failed, including the
    baseline's function, the result is missing.
    """

    gives_ratings = False
    own_places: ClassVar[Sequence[str]] = ("criteria", "first", "second", "input")
    default_score = "preference"
    paths = ("preference", "consistent")
    direction = by_path(higher=["preference"], none=["consistent"])  # whether the judge agrees with itself
    bounds: ClassVar[BoundsByPath] = {"preference": UNIT}
    baseline: Callable[..., Any] | None = None
    prefer: Callable[[Any, Any, Any], Any] | None = None
    function_timeout_seconds: float | None = 60.0
    criteria: str = (
        "The better answer deals with what the input asks for, is right, leaves out nothing that matters, and is clear "
        "and to the point. Length and style alone make no answer better."
    )
    system_prompt: str = """You grade which of two answers of AI assistants to the same input is better, by criteria.
The order in which they stand says nothing about them. If neither is better by the criteria, it is a tie.
Answer with a JSON object: {"reasoning": a brief explanation, "preferred": "first", "second" or "tie"}."""
    user_prompt: str = (
        "The criteria:\n{criteria}\n\nThe input:\n{input}\n\nThe first answer:\n{first}\n\nThe second answer:\n{second}"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("baseline", "prefer"):
            function, do = getattr(self, name), "give a function, or leave it out"
            require(function is None or callable(function), f"scorer {self.name}: {name}", found=function, do=do)
        seconds, where = self.function_timeout_seconds, f"scorer {self.name}: function_timeout_seconds"
        usable = seconds is None or (is_number(seconds) and seconds > 0)
        require(usable, where, found=seconds, do="use more than 0 seconds, or None")

    @property
    def calls(self) -> int:
        return 0 if self.prefer else 2

    def check(self, columns: Collection[str] = COLUMNS) -> None:
        """Raise DefinitionError as every scorer, and if there is neither a column nor a function for a baseline."""
        super().check(columns)
        there = self.baseline is not None or "baseline" in self.column_map or "baseline" in columns
        do = "give the dataset a column 'baseline', or a column_map, or baseline=, a function that answers; there are "
        require(there, f"scorer {self.name}", found="no baseline", do=do + ", ".join(columns))

    def bind(self, callers: Callers) -> Scorer:
        return self if self.prefer else super().bind(callers)

    async def score(
        self,
        output: Any,
        baseline: Any = None,
        input: Any = "",
        seed: int = 0,
        conversation: Conversation | None = None,
        **columns: Any,
    ) -> dict[str, Any]:
        """Return {"preference": 1 (output), 0.5 or 0, "consistent", "first_order", "second_order", "reasoning"}.

        `first_order` is the version preferred when the output was shown first, `second_order` when it was shown second:
        "output", "baseline" or "tie". Raises ValueError without a baseline, TimeoutError, ModelError, DefinitionError
        for another answer of `prefer`, and the functions' own errors.
        """
        if self.baseline is not None:
            needed(input, "input")
            baseline = await self._answer(self.baseline, input)
        if baseline is None:
            raise ValueError("there is no baseline, so nothing can be preferred to it")
        if is_chat(baseline) and conversation is not None:
            output = _said((each.role, each.content) for each in conversation.messages)
            baseline = _said((each["role"], text_of(each)) for each in baseline)
        asked = {**columns, "input": input, "criteria": self.criteria}
        found, reasons = {}, {}
        orders = ["first_order", "second_order"]
        for order in orders if seeds.generator(seed, "order").random() < 0.5 else orders[::-1]:
            is_first = order == "first_order"
            shown = {"first": output if is_first else baseline, "second": baseline if is_first else output}
            place, reasons[order] = await self._preferred({**asked, **shown}, seeds.derive(seed, order))
            found[order] = (_SHOWN_FIRST if is_first else _SHOWN_SECOND)[place]
        first, second = found["first_order"], found["second_order"]
        return {
            "preference": _SCORES[first] if first == second else 0.5,
            "consistent": first == second,
            "first_order": first,
            "second_order": second,
            "reasoning": {order: reasons[order] for order in orders},
        }

    async def _preferred(self, asked: Mapping[str, Any], seed: int) -> tuple[Place, str]:
        """Ask once, of two answers in their order."""
        if self.prefer is None:
            reply = await self.grade(Preferred, seed, asked)
            return reply.preferred, reply.reasoning
        place = await self._call(self.prefer, asked["input"], asked["first"], asked["second"])
        where, do = f"scorer {self.name}: prefer", "return 'first', 'second' or 'tie'"
        require(isinstance(place, str) and place in _SHOWN_FIRST, where, found=place, do=do)
        return place, ""

    async def _answer(self, baseline: Callable[..., Any], input: Any) -> Any:
        """Return the answer of the other version: its text, if it answers as an app does."""
        takes_state = len(inspect.signature(baseline).parameters) > 1
        returned = await self._call(baseline, input, *([{}] if takes_state else []))
        if isinstance(returned, tuple) and len(returned) == 2:
            return returned[0]
        return returned.response if isinstance(returned, AppResponse) else returned

    async def _call(self, function: Callable[..., Any], *given: Any) -> Any:
        call = partial(function, *given)
        with anyio.move_on_after(self.function_timeout_seconds):
            if inspect.iscoroutinefunction(function):
                return await call()
            returned = await in_thread(call)
            return await returned if inspect.isawaitable(returned) else returned
        name = getattr(function, "__name__", type(function).__name__)
        raise TimeoutError(f"no answer of {name} within {in_words(self.function_timeout_seconds or 0)}")

    def summarize(self, scored: Sequence[Scored], *, alpha: float = ALPHA) -> Mapping[str, Estimate]:
        """Return the win rate of the output with its interval, its p-values, and how far the order swayed the judge.

        An example with repetitions counts once, by their mean, and is `won` above 1/2. A missing result is in no value,
        and counts against both ends of the interval (`alpha` on each side, by examples) and both p-values. Those are of
        sign tests, whose n is without ties: `p_output_better` has the hypothesis that the output wins at most as many
        examples as it loses. `consistent` is the share of pairs of answers that agree, `prefers_first` the share of the
        answers that are no tie which name the one shown first: 1/2 without position bias.
        """
        examples: dict[int, list[float | None]] = {}
        for each in scored:
            examples.setdefault(each.example, []).append(_score_of(each))
        return {**_concluded(list(examples.values()), alpha), **_swayed(scored)}


def _said(messages: Iterable[tuple[str, str]]) -> str:
    return "\n\n".join(f"{role}: {content}" for role, content in messages)


def _score_of(scored: Scored) -> float | None:
    if scored.failure is not None:
        return 0.0 if scored.failure.stage == "app" else None
    return float(scored.measured["preference"]) if isinstance(scored.measured, Mapping) else None


def _concluded(examples: Sequence[Sequence[float | None]], alpha: float) -> dict[str, Estimate]:
    """Conclude from examples that are independent of each other; each has the scores of its repetitions."""
    known = [[score for score in scores if score is not None] for scores in examples]
    means = [sum(scores) / len(scores) for scores in known if scores]
    n, missing = len(means), sum(len(scores) for scores in examples) - sum(map(len, known))
    if not n:
        return {"win_rate": Estimate(value=None, n=0, method=f"none; {missing} missing")}
    lows = [sum(scores) / len(every) for scores, every in zip(known, examples, strict=True)]
    highs = [low + 1 - len(scores) / len(every) for low, scores, every in zip(lows, known, examples, strict=True)]
    said = f"; {missing} missing" if missing else ""
    shares = {
        "won": sum(mean > 0.5 for mean in means),
        "tied": sum(mean == 0.5 for mean in means),
        "lost": sum(mean < 0.5 for mean in means),
    }
    return {
        "win_rate": Estimate(
            value=sum(means) / n,
            n=n,
            interval=(lower_bound(lows, alpha, low=0.0), upper_bound(highs, alpha, high=1.0)),
            method=f"Gaffke, by example{said}",
        ),
        **{name: Estimate(value=count / n, n=n) for name, count in shares.items()},
        "p_output_better": _sign_test([low - 0.5 for low in lows]),
        "p_baseline_better": _sign_test([0.5 - high for high in highs]),
    }


def _sign_test(gaps: Sequence[float]) -> Estimate:
    above, below = sum(gap > 0 for gap in gaps), sum(gap < 0 for gap in gaps)
    p = p_at_least(above, above + below, 0.5)
    return Estimate(value=p, n=above + below, method="sign test, exact")


def _swayed(scored: Sequence[Scored]) -> dict[str, Estimate]:
    """Describe the answers, those to repetitions too; they are no evidence of their own, so there is no interval."""
    found = [each.measured for each in scored if isinstance(each.measured, Mapping)]
    pairs = [(_LETTERS[str(each["second_order"])], _LETTERS[str(each["first_order"])]) for each in found]
    counted = preferences(pairs)
    decided = counted.decided_ab + counted.decided_ba
    return {
        "consistent": Estimate(value=counted.consistent, n=counted.n),
        "prefers_first": Estimate(value=counted.prefers_first, n=decided),
    }
