"""The judge: one or more LLMs that rate a conversation from 1 to 10 by a rubric, once or several times."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from logging import DEBUG
from statistics import mean
from typing import Any, TypeVar

import anyio

from simeval.core import seeds
from simeval.core.capture import first_leaf
from simeval.core.controls import ControlKind
from simeval.core.conversation import Conversation
from simeval.core.feedback import LabelledExample
from simeval.core.filling import filled
from simeval.core.logs import log, warn_all
from simeval.core.rubric_levels import RubricTemplate
from simeval.core.run_records import Preparation, RubricRecord
from simeval.core.serialization import plain
from simeval.core.setting_field import JudgeReply
from simeval.core.trial import Rating, Score, failure_of
from simeval.errors import CannotTell, ModelError, ModelUnusable, NotMeasured
from simeval.models.caller import Caller
from simeval.models.protocol.prompt_texts import Excerpt, Prompt, built_in
from simeval.models.protocol.prompts import GradeRequest, LabelGradeRequest
from simeval.scorers.base import Scorer
from simeval.scorers.llm.rubrics import ExpectationControls, RubricBook

T = TypeVar("T")

TOO_LONG = "a conversation is too long for the judge"
LEAST_TOKENS = 20  # of each of the texts that a judge is shown


async def of_each_judge(
    judges: Sequence[Caller], repeats: int, seed: int, ask: Callable[[Caller, int, int], Awaitable[T]]
) -> list[T]:
    """Return the result of `ask` with (judge, repeat, seed) for each judge and repeat, in this order.

    The first that fails ends the others, and is raised: fewer ratings would be another criterion.
    """

    async def asked(judge: Caller, repeat: int, seed: int) -> T:
        try:
            return await ask(judge, repeat, seed)
        except ModelError as error:
            if error.kind == "content":
                error.problem += "; the conversation is too long for the judge: --judge-context N shows less of it"
            raise

    asks = [partial(asked, judge, repeat, repeat_seed(seed, repeat)) for judge in judges for repeat in range(repeats)]
    return [await asks[0]()] if len(asks) == 1 else await at_once(asks)


async def at_once(asks: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
    """Return the result of each of these calls, in their order; the models bound how many are made at once.

    The first that fails ends the others, and is raised.
    """
    found: dict[int, T] = {}

    async def one(place: int) -> None:
        found[place] = await asks[place]()

    try:
        async with anyio.create_task_group() as asking:
            for place in range(len(asks)):
                asking.start_soon(one, place)
    except ExceptionGroup as group:
        raise first_leaf(group) from group
    return [found[place] for place in range(len(asks))]


def require_readable(shown: Excerpt) -> None:
    """Raise NotMeasured where so little of a conversation is shown that it cannot be judged."""
    if shown.most < LEAST_TOKENS:
        raise NotMeasured("the conversation is too long for the judge; show it more with --judge-context N")


def told_left_out(shown: Excerpt, told: set[str]) -> str:
    """Describe the part of a conversation that was left out for a judge; the first time it is a warning, too."""
    if not told:
        told.add(TOO_LONG)
        warn_all(f"{TOO_LONG}: it was shown one without {shown}; --judge-context N shows more")
    return str(shown)


def facts_of(found: Any) -> str:
    """Return the facts as judges read them: a text as it is, other values of a column as JSON."""
    return found if isinstance(found, str) else json.dumps(plain(found), ensure_ascii=False) if found else ""


def repeat_seed(seed: int, repeat: int) -> int:
    """Return the seed of a trial's repeat: the first has the trial's own, so that repeats can be added to a run."""
    return seeds.derive(seed, "rating", repeat) if repeat else seed


@dataclass(frozen=True, slots=True)
class RubricScorer(Scorer):
    """Rates how well an expected behaviour was met, by its `own_rubric`, or by its rubric in `book`.

    Each of the `judges` rates a conversation `repeats` times, all at once; the score is the mean of the ratings. Where
    the `reply` is a label, a rating is the mean of all by their probabilities, as far as the judge's server sends them.
    With a `template`, the rubric is written for that one's texts, and filled with the values of its case.
    """

    judges: Sequence[Caller]
    book: RubricBook
    expected_behavior: str
    repeats: int = 1
    prompt: Prompt = field(default_factory=partial(built_in, "judge"))
    own_rubric: Mapping[str, str] | None = None
    reference: str = ""
    most_tokens: int | None = None
    examples: Sequence[LabelledExample] = ()
    reply: JudgeReply = "json"
    controls: ExpectationControls | None = None
    control: ControlKind | None = None
    escalated: bool = False
    told: set[str] = field(default_factory=set, repr=False, compare=False)
    held_on: str | None = None
    template: RubricTemplate | None = None
    timeout_seconds = None
    direction = "higher"

    @property
    def name(self) -> str:
        return "rating"

    async def prepare(self, columns: Mapping[str, Any]) -> Preparation:
        """Have the rubric written, then show the controls to the judges. Raises ModelUnusable."""
        try:
            rubric = await self.rubric(columns["given"], columns["when"])
        except ModelUnusable:
            raise
        except ModelError as error:
            return Preparation(failure=failure_of(error, "rubric", clean=self.book.caller.redactor.clean))
        if self.template is not None:
            rubric = replace(rubric, near_misses=filled(rubric.near_misses, self.template.case))
        shown = Preparation(rubric=rubric)
        return shown if self.controls is None else await self.controls.prepare(self, columns, shown)

    @property
    def basis(self) -> Sequence[object]:
        """The inputs of its ratings besides the scenario and the rubric."""
        known = [self.prompt.name, self.prompt.identity, self.expected_behavior, self.reference]
        return [*known, *(each.key for each in self.examples)]

    def alone(self, judge: Caller, control: ControlKind) -> "RubricScorer":
        """Return the scorer with which one judge rates a control once."""
        return replace(self, judges=[judge], repeats=1, control=control)

    async def rubric(self, given: str, when: str) -> RubricRecord:
        """Return the rubric that conversations are rated by. Raises ModelError where it cannot be written."""
        asked = self.template or RubricTemplate(given, when, self.expected_behavior, {})
        request = self.book.request(given=asked.given, when=asked.when, expected_behavior=asked.expected_behavior)
        return await self.book.rubric(request, self.own_rubric)

    async def score(self, conversation: Conversation, given: str, when: str, seed: int, facts: Any = "") -> Score:
        """Return the mean rating with the reasoning of each.

        Raises ModelError if a rating is missing, CannotTell if a judge cannot decide.
        """
        levels = (await self.rubric(given, when)).levels
        if self.template is not None:
            levels = filled(levels, self.template.case)
        asked: dict[str, Any] = {
            "given": given,
            "when": when,
            "facts": facts_of(facts),
            "reference": self.reference,
            "examples": self.examples,
            "expected_behavior": self.expected_behavior,
            "conversation": conversation.messages,
            "most_tokens": self.most_tokens,
            "held_on": self.held_on,
            "seed": seed,
            "prompt": self.prompt,
            "control": self.control,
            "escalated": self.escalated,
        }
        if self.reply == "label":
            by_label = LabelGradeRequest(levels={_label(level): text for level, text in levels.items()}, **asked)
            require_readable(shown := by_label.shown)
            found = await of_each_judge(self.judges, self.repeats, seed, partial(_expected_rating, by_label))
        else:
            request = GradeRequest(levels=levels, **asked)
            require_readable(shown := request.shown)
            found = await of_each_judge(self.judges, self.repeats, seed, partial(_rating, request))
        score = mean_rating(found)
        return score if shown.is_whole else replace(score, details={"left_out": told_left_out(shown, self.told)})


def _label(level: str) -> str:
    """Return the label of a level from 1 to 10: a single digit, as 1 and 10 may begin with the same token."""
    return str(int(level) - 1)


def mean_rating(ratings: Sequence[Rating]) -> Score:
    """Return the score that several ratings of one conversation make: their mean, with each of them.

    A single rating is the score itself.
    """
    first = ratings[0]
    if len(ratings) == 1:
        return Score(value=first.score, reasoning=first.reasoning)
    several = len({rating.judge for rating in ratings}) > 1
    shown = [f"{rating.score:g} ({rating.judge})" if several else f"{rating.score:g}" for rating in ratings]
    reasons = [f"{name}: {rating.reasoning}" for name, rating in zip(shown, ratings, strict=True)]
    return Score(
        value=mean(rating.score for rating in ratings),  # exact, so that equal ratings give themselves
        reasoning="\n".join([f"the mean of {', '.join(shown)}", *dict.fromkeys(reasons)]),
        ratings=tuple(ratings),
    )


async def _rating(request: GradeRequest, judge: Caller, repeat: int, seed: int) -> Rating:
    heard = [message.content for message in request.conversation]
    asked = request if request.seed == seed else replace(request, seed=seed)
    grade = await judge.ask(asked, request.reads, quoted_texts=heard)
    rests_on = "" if grade.message is None else f" (message {grade.message})"
    reasoning = f"{judge.redactor.clean(grade.reasoning)}{rests_on}"
    if log.is_enabled_for(DEBUG):
        log.debug("grade", judge=judge.model.name, repeat=repeat, score=grade.score, reasoning=reasoning)
    if grade.score is None:
        raise CannotTell(judge.model.name, judge.redactor.clean(request.expected_behavior))
    return Rating(judge=judge.model.name, repeat=repeat, score=grade.score, reasoning=reasoning)


async def _expected_rating(request: LabelGradeRequest, judge: Caller, repeat: int, seed: int) -> Rating:
    """Return the mean of the labels' ratings, weighted by their probabilities."""
    chosen = await judge.choose(replace(request, seed=seed), list(request.levels))
    score = chosen.expected({label: float(label) + 1 for label in request.levels})
    log.debug("grade", judge=judge.model.name, repeat=repeat, score=score, label=chosen.label)
    return Rating(judge=judge.model.name, repeat=repeat, score=score)
