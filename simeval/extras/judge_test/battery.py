"""The battery: asks a judge about conversations with known right verdicts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import anyio.to_thread

from simeval.core import seeds
from simeval.core.licences import CanaryFinding
from simeval.core.settings import Settings
from simeval.core.trial import Rating
from simeval.core.usage import Ledger, total
from simeval.errors import DefinitionError, ModelError, ModelUnusable
from simeval.evaluators.ratings import SUCCESS_RATING
from simeval.extras.judge_test import material
from simeval.extras.judge_test.canary import REPEATS, KeptAnswers, Replies, kept_answers
from simeval.extras.judge_test.cases import Case, JudgeCheck, canaries, checks, pairs, repeated
from simeval.extras.judge_test.material import Situation
from simeval.extras.judge_test.report import ALLOWED, CheckResult, JudgeTestResult, shown
from simeval.models.caller import Caller
from simeval.models.protocol.model import Model
from simeval.models.protocol.prompt_texts import Prompt, all_prompts
from simeval.models.protocol.prompts import GradeRequest
from simeval.models.protocol.replies import Grade
from simeval.models.provider_table import is_embedded
from simeval.models.registry import Models
from simeval.scorers.llm.panel import at_once, repeat_seed
from simeval.scorers.llm.preference import Preference

CANNOT_TELL = 0.0  # in place of a canary's rating: below all that there are
GAIN = 2.0  # points: padding may not lift a rating by more


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judge:
    """Rates answers as a run does, by a rubric that is given."""

    caller: Caller
    prompt: Prompt
    seed: int

    async def rate(self, case: Case, repeat: int = 0) -> Rating | None:
        """Return the rating of an answer; None without one, or if the judge cannot decide. Raises ModelUnusable."""
        try:
            grade = await self.grade(case, repeat)
        except ModelUnusable:
            raise
        except ModelError:
            return None
        if grade.score is None:
            return None
        return Rating(judge=self.caller.model.name, repeat=repeat, score=grade.score, reasoning=grade.reasoning)

    async def grade(self, case: Case, repeat: int) -> Grade:
        """Return the judge's reply about an answer. Raises ModelError."""
        request = _request(GradeRequest, case, prompt=self.prompt, seed=repeat_seed(self.seed, repeat))
        return await self.caller.ask(request, request.reads, quoted_texts=[case.answer])


class _CanaryRequest(GradeRequest):
    """Asks a judge about a canary, in the very same words."""

    __slots__ = ()
    role = "canary"


def _request(kind: type[GradeRequest], case: Case, *, prompt: Prompt, seed: int) -> GradeRequest:
    situation = case.situation
    return kind(
        given=situation.given,
        when=situation.when,
        expected_behavior=situation.expected,
        levels=material.RUBRIC,
        conversation=case.messages,
        seed=seed,
        prompt=prompt,
    )


def canary_requests(prompt: Prompt) -> list[GradeRequest]:
    """Return the requests to a judge about all canaries."""
    seeds_of_repeats = [repeat_seed(0, repeat) for repeat in range(REPEATS)]
    return [
        _request(_CanaryRequest, case, prompt=prompt, seed=seed) for case in canaries() for seed in seeds_of_repeats
    ]


async def judge_test(
    judge_model: str | Model, settings: Settings, *, allowed: float = ALLOWED, canary: Path | None = None
) -> JudgeTestResult:
    """Ask a judge the whole battery, some 300 calls, and with a `canary` folder 24 more.

    Raises DefinitionError before any call for invalid arguments, and ModelUnusable.
    """
    prompt = all_prompts(settings.prompts)["judge"]
    models, ledger = Models(settings), Ledger()
    [model] = models.panel(judge_model)
    if is_embedded(model.name):
        do = "name a language model, such as openai/gpt-5-nano"
        raise DefinitionError("judge-test", found=f"{model.name} is a heuristic, not a judge", do=do)
    await models.check()
    models.open()
    try:
        caller = models.caller(model, ledger, role="judge")
        if canary is not None:
            await kept_canary(caller, prompt, canary)
        judge = _Judge(caller=caller, prompt=prompt, seed=settings.seed or 0)
        found = await _battery(judge, allowed)
        flown = None if canary is None else await ask_canary(caller, prompt, canary)
    finally:
        await models.close()
    usage = total(ledger.by_role())
    tokens = usage.prompt_tokens + usage.completion_tokens
    return JudgeTestResult(judge=model.name, checks=found, calls=usage.calls, tokens=tokens, canary=flown)


async def ask_canary(caller: Caller, prompt: Prompt, folder: Path) -> CanaryFinding:
    """Ask a judge about the canaries, and compare its answers with the stored ones.

    They are never answered from a cache. The first call without a reply ends the others: nothing is stored or concluded
    from incomplete answers. Raises ModelUnusable, and before any call DefinitionError for invalid arguments.
    """
    kept = await kept_canary(caller, prompt, folder)
    uncached, requests = replace(caller, cache=None), canary_requests(prompt)
    said = [[request.conversation[-1].content] for request in requests]
    try:
        grades = await at_once(
            [partial(uncached.ask, each, Grade, quoted_texts=text) for each, text in zip(requests, said, strict=True)]
        )
    except ModelUnusable:
        raise
    except ModelError as error:
        return CanaryFinding(judge=caller.model.name, problem=str(error))
    answers = [(CANNOT_TELL if grade.score is None else grade.score, grade.reasoning) for grade in grades]
    replies: list[Replies] = [answers[place : place + REPEATS] for place in range(0, len(answers), REPEATS)]
    return await anyio.to_thread.run_sync(kept.compare, replies)


async def kept_canary(caller: Caller, prompt: Prompt, folder: Path) -> KeptAnswers:
    """Return the stored answers of a judge to the canaries. Raises DefinitionError if they cannot be used."""
    made_from = [material.VERSION, prompt.identity, dict(caller.options)]
    return await anyio.to_thread.run_sync(kept_answers, folder, caller.model.name, made_from, len(canaries()))


async def _battery(judge: _Judge, allowed: float) -> list[CheckResult]:
    listed = checks()
    cases = [case for check in listed for case in check.cases]
    again = [(case, repeat) for case in repeated() for repeat in range(1, REPEATS)]
    grades = await at_once([partial(judge.rate, case) for case in cases])
    repeats = await at_once([partial(judge.rate, case, repeat) for case, repeat in again])
    orders = await at_once([partial(_prefers, judge, *pair) for pair in pairs()])
    first = dict(zip(cases, grades, strict=True))
    ratings = {case: [first[case]] for case in repeated()}
    for (case, _), grade in zip(again, repeats, strict=True):
        ratings[case].append(grade)
    return [
        *(_checked(check, first, allowed) for check in listed),
        _noise(ratings, allowed),
        _position(orders, allowed),
    ]


def _checked(check: JudgeCheck, grades: Mapping[Case, Rating | None], allowed: float) -> CheckResult:
    plain = {case.answer: grade for case, grade in grades.items() if case.against is None}
    wrong = [case for case in check.cases if _is_wrong(case, grades[case], plain.get(case.against or ""))]
    missing = sum(grades[case] is None for case in check.cases)
    rated = [(case, grade) for case in wrong if (grade := grades[case]) is not None]
    example = shown(rated[0][0].answer, rated[0][1].score) if rated else ""
    return CheckResult(
        name=check.name,
        asks=check.asks,
        n=len(check.cases),
        wrong=len(wrong),
        missing=missing,
        allowed=allowed,
        example=example,
    )


def _is_wrong(case: Case, grade: Rating | None, plain: Rating | None) -> bool:
    """Return whether a rating is wrong; for one that is `against` another, whether it gains by it."""
    if grade is None:
        return True
    if case.against is None:
        return (grade.score >= SUCCESS_RATING) != case.is_good
    passes = grade.score >= SUCCESS_RATING
    return plain is None or grade.score - plain.score >= GAIN or (passes and plain.score < SUCCESS_RATING)


def _noise(ratings: Mapping[Case, Sequence[Rating | None]], allowed: float) -> CheckResult:
    """Return how many conversations a judge both passes and fails, when it is asked again."""
    verdicts = {case: {grade and grade.score >= SUCCESS_RATING for grade in grades} for case, grades in ratings.items()}
    wrong = [case for case, found in verdicts.items() if len(found) > 1 or None in found]
    missing = sum(None in found for found in verdicts.values())
    said = [grade.score for grade in ratings[wrong[0]] if grade is not None] if wrong else []
    example = f"rated {', '.join(f'{score:g}' for score in said)}: {wrong[0].answer!r}" if said else ""
    asks = f"{REPEATS} ratings of a conversation agree on pass or fail"
    return CheckResult(
        name="repeats", asks=asks, n=len(verdicts), wrong=len(wrong), missing=missing, allowed=allowed, example=example
    )


async def _prefers(judge: _Judge, situation: Situation, worse: str) -> bool | None:
    """Return whether the right answer is preferred to a worse one in both orders; None if unknown."""
    scorer = Preference(criteria=situation.expected).bind(lambda _: judge.caller)
    seed = seeds.derive(judge.seed, "pair", situation.talk.question, worse)
    try:
        found = await scorer.score(output=situation.talk.good, baseline=worse, input=situation.talk.question, seed=seed)
    except ModelUnusable:
        raise
    except ModelError:
        return None
    return bool(found["preference"] == 1)


def _position(orders: Sequence[bool | None], allowed: float) -> CheckResult:
    wrong, missing = sum(not each for each in orders), sum(each is None for each in orders)
    asks = "the better of two answers is preferred in both orders"
    return CheckResult(name="position", asks=asks, n=len(orders), wrong=wrong, missing=missing, allowed=allowed)
