"""The battery: asks a judge about conversations with known right verdicts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from simeval.core import seeds
from simeval.core.run_records import Ledger, total
from simeval.core.settings import Settings
from simeval.core.trial import Rating
from simeval.errors import DefinitionError, ModelError, ModelUnusable
from simeval.evaluators.scores import SUCCESS_RATING
from simeval.extras.judge_test.cases import REPEATS, Case, JudgeCheck, checks, grade_request, pairs, repeated
from simeval.extras.judge_test.material import Situation
from simeval.extras.judge_test.report import ALLOWED, CheckResult, JudgeTestResult, shown
from simeval.models.caller import Caller
from simeval.models.protocol.model import Model
from simeval.models.protocol.prompt_texts import Prompt, all_prompts
from simeval.models.protocol.prompts import GradeRequest
from simeval.models.protocol.replies import Grade
from simeval.models.provider_table import is_embedded
from simeval.models.registry import Models
from simeval.scorers.llm.judge import at_once, repeat_seed
from simeval.scorers.llm.preference import Preference

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
        request = grade_request(GradeRequest, case, prompt=self.prompt, seed=repeat_seed(self.seed, repeat))
        return await self.caller.ask(request, request.reads, quoted_texts=[case.answer])


async def judge_test(judge_model: str | Model, settings: Settings, *, allowed: float = ALLOWED) -> JudgeTestResult:
    """Ask a judge the whole battery, some 300 calls.

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
        judge = _Judge(caller=caller, prompt=prompt, seed=settings.seed or 0)
        found = await _battery(judge, allowed)
    finally:
        await models.close()
    usage = total(ledger.by_role())
    tokens = usage.prompt_tokens + usage.completion_tokens
    return JudgeTestResult(judge=model.name, checks=found, calls=usage.calls, tokens=tokens)


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
