"""The judge: one or more LLMs that rate a conversation from 1 to 10 by a rubric, once or several times."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import mean
from typing import Any

from simeval.core.controls import ControlKind
from simeval.core.conversation import Conversation
from simeval.core.labelled_examples import LabelledExample
from simeval.core.logs import log
from simeval.core.preparation import Preparation
from simeval.core.run_records import RubricRecord
from simeval.core.trial import Rating, Score, failure_of
from simeval.errors import CannotTell, ModelError, ModelUnusable
from simeval.models.caller import Caller
from simeval.models.protocol.prompt_texts import Prompt, built_in
from simeval.models.protocol.prompts import GradeRequest
from simeval.models.protocol.replies import Grade
from simeval.scorers.base import Scorer
from simeval.scorers.llm.controls import ExpectationControls
from simeval.scorers.llm.panel import facts_of, of_each_judge
from simeval.scorers.llm.rubrics import RubricBook


@dataclass(frozen=True, slots=True)
class RubricScorer(Scorer):
    """Rates how well an expected behaviour was met, by its `own_rubric`, or the one that `book` holds for it.

    Each of the `judges` rates a conversation `repeats` times, all at once; the score is the mean of the ratings.
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
    controls: ExpectationControls | None = None
    control: ControlKind | None = None
    timeout_seconds = None
    direction = "higher"

    @property
    def name(self) -> str:
        return "rating"

    async def prepare(self, columns: Mapping[str, Any]) -> Preparation:
        """Have the rubric written, then show the judges what they must be right about. Raises ModelUnusable."""
        try:
            rubric = await self.rubric(columns["given"], columns["when"])
        except ModelUnusable:
            raise
        except ModelError as error:
            return Preparation(failure=failure_of(error, "rubric", clean=self.book.caller.redactor.clean))
        shown = Preparation(rubric=rubric)
        return shown if self.controls is None else await self.controls.prepare(self, columns, shown)

    @property
    def basis(self) -> Sequence[object]:
        """What its ratings depend on beside the scenario and the rubric."""
        return [self.prompt.identity, self.expected_behavior, self.reference, *(each.key for each in self.examples)]

    def alone(self, judge: Caller, control: ControlKind) -> "RubricScorer":
        """Return the scorer by which one judge rates a control once."""
        return replace(self, judges=[judge], repeats=1, control=control)

    async def rubric(self, given: str, when: str) -> RubricRecord:
        """Return the rubric that conversations are rated by. Raises ModelError where it cannot be written."""
        request = self.book.request(given=given, when=when, expected_behavior=self.expected_behavior)
        return await self.book.rubric(request, self.own_rubric)

    async def score(self, conversation: Conversation, given: str, when: str, seed: int, facts: Any = "") -> Score:
        """Return the mean rating with the reasoning of each.

        Raises ModelError where one of them is missing, CannotTell where a judge says so.
        """
        request = GradeRequest(
            given=given,
            when=when,
            facts=facts_of(facts),
            reference=self.reference,
            examples=self.examples,
            expected_behavior=self.expected_behavior,
            levels=(await self.rubric(given, when)).levels,
            conversation=conversation.messages,
            most_tokens=self.most_tokens,
            seed=seed,
            prompt=self.prompt,
            control=self.control,
        )

        async def rate(judge: Caller, repeat: int, seed: int) -> Rating:
            return await _rating(judge, replace(request, seed=seed), repeat)

        score = mean_rating(await of_each_judge(self.judges, self.repeats, seed, rate))
        return replace(score, details={"left_out": str(request.shown)}) if request.shown.left_out else score


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


async def _rating(judge: Caller, request: GradeRequest, repeat: int) -> Rating:
    grade = await judge.ask(request, Grade, quoted_texts=[message.content for message in request.conversation])
    reasoning = judge.redactor.clean(grade.reasoning)
    log.debug("grade", judge=judge.model.name, repeat=repeat, score=grade.score, reasoning=reasoning)
    if grade.score is None:
        raise CannotTell(judge.model.name, judge.redactor.clean(request.expected_behavior))
    return Rating(judge=judge.model.name, repeat=repeat, score=grade.score, reasoning=reasoning)
