"""The judge: one or more LLMs that rate a conversation from 1 to 10 by a rubric, once or several times."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import mean
from typing import Any

import anyio

from simeval.core import seeds
from simeval.core.capture import first_leaf
from simeval.core.conversation import Conversation
from simeval.core.logs import log
from simeval.core.preparation import Preparation
from simeval.core.run_records import RubricRecord
from simeval.core.trial import Rating, Score, failure_of
from simeval.errors import ModelError, ModelUnusable
from simeval.models.caller import Caller
from simeval.models.protocol.prompt_texts import Prompt, built_in
from simeval.models.protocol.prompts import ControlRequest, GradeRequest
from simeval.models.protocol.replies import Grade
from simeval.scorers.base import Scorer
from simeval.scorers.llm.controls import ExpectationControls
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
    controls: ExpectationControls | None = None
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
        if self.controls is None:
            return Preparation(rubric=rubric)
        asked = ControlRequest(
            given=columns["given"],
            when=columns["when"],
            expected_behavior=self.expected_behavior,
            levels=rubric.levels,
            prompt=self.prompt,
        )
        return await self.controls.prepare(asked, rubric)

    async def rubric(self, given: str, when: str) -> RubricRecord:
        """Return the rubric that conversations are rated by. Raises ModelError where it cannot be written."""
        request = self.book.request(given=given, when=when, expected_behavior=self.expected_behavior)
        return await self.book.rubric(request, self.own_rubric)

    async def score(self, conversation: Conversation, given: str, when: str, seed: int) -> Score:
        """Return the mean rating with the reasoning of each. Raises ModelError where one of them is missing.

        A mean of fewer ratings would be another criterion, so the first that fails ends the others.
        """
        levels = (await self.rubric(given, when)).levels
        places = [(judge, repeat) for judge in self.judges for repeat in range(self.repeats)]
        found: dict[int, Rating] = {}

        async def rate(place: int) -> None:
            judge, repeat = places[place]
            request = GradeRequest(
                given=given,
                when=when,
                expected_behavior=self.expected_behavior,
                levels=levels,
                conversation=conversation.messages,
                seed=repeat_seed(seed, repeat),
                prompt=self.prompt,
            )
            found[place] = await _rating(judge, request, repeat)

        if len(places) == 1:
            await rate(0)
        else:
            try:
                async with anyio.create_task_group() as rating:
                    for place in range(len(places)):
                        rating.start_soon(rate, place)
            except ExceptionGroup as group:
                raise first_leaf(group) from group
        return mean_rating([found[place] for place in range(len(places))])


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


def repeat_seed(seed: int, repeat: int) -> int:
    """Return the seed of a trial's repeat: the first has the trial's own, so that repeats can be added to a run."""
    return seeds.derive(seed, "rating", repeat) if repeat else seed


async def _rating(judge: Caller, request: GradeRequest, repeat: int) -> Rating:
    grade = await judge.ask(request, Grade, quoted_texts=[message.content for message in request.conversation])
    reasoning = judge.redactor.clean(grade.reasoning)
    log.debug("grade", judge=judge.model.name, repeat=repeat, score=grade.score, reasoning=reasoning)
    return Rating(judge=judge.model.name, repeat=repeat, score=grade.score, reasoning=reasoning)
