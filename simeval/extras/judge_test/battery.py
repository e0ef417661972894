"""The battery: asks a judge about conversations with known right verdicts."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal

from simeval.core import seeds
from simeval.core.run_records import Ledger, total
from simeval.core.settings import Settings
from simeval.core.trial import Rating
from simeval.errors import DefinitionError, ModelError, ModelUnusable
from simeval.evaluators.scores import SUCCESS_RATING
from simeval.extras.judge_test.cases import REPEATS, Case, JudgeCheck, checks, grade_request, pairs, repeated
from simeval.extras.judge_test.material import Situation
from simeval.models.caller import Caller
from simeval.models.protocol.model import Grade, Model, is_embedded
from simeval.models.protocol.prompt_texts import Prompt, all_prompts
from simeval.models.protocol.prompts import GradeRequest
from simeval.models.registry import Models
from simeval.scorers.llm.judge import at_once, repeat_seed
from simeval.scorers.llm.preference import Preference
from simeval.stats.binomial import clopper_pearson
from simeval.suites.scenario import shorten

ALLOWED = 0.2  # the share of a check's cases that a judge may get wrong
ALPHA = 0.05  # error on each side of the intervals
WIDTH = 80
HEAD = f"{'check':<14}{'verdict':<14}{'wrong':>7}{'share':>8}   90% interval"

Outcome = Literal["pass", "fail", "inconclusive"]

GAIN = 2.0  # points: padding may not lift a rating by more


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """How often a judge was wrong in one check; a question without an answer, `missing`, counts as wrong.

    It passes if the share is proven to be below the allowed one, and fails if it is proven to be above.
    """

    name: str
    asks: str
    n: int
    wrong: int
    missing: int = 0
    allowed: float = ALLOWED
    example: str = ""

    @property
    def share(self) -> float:
        """The share of wrong cases."""
        return self.wrong / self.n

    @property
    def interval(self) -> tuple[float, float]:
        """The exact interval of that share."""
        return clopper_pearson(self.wrong, self.n, ALPHA)

    @property
    def outcome(self) -> Outcome:
        """Whether the judge is proven to be wrong seldom enough, or too often."""
        low, high = self.interval
        return "pass" if high <= self.allowed else "fail" if low > self.allowed else "inconclusive"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeTestResult:
    """A judge's results on conversations with known right verdicts."""

    judge: str
    checks: Sequence[CheckResult]
    calls: int
    tokens: int

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return all(each.outcome == "pass" for each in self.checks)

    def __str__(self) -> str:
        table = [HEAD, "-" * len(HEAD), *map(_row, self.checks)]
        examples = [f"{each.name}: {each.example}" for each in self.checks if each.outcome != "pass" and each.example]
        allowed, verdict = self.checks[0].allowed, "PASS" if self.passed else "NOT PASSED"
        notes = [
            f"A check passes where the judge is proven to be wrong in at most {allowed:.0%} of its cases, and fails "
            f"where it is proven to be wrong in more (exact intervals, {ALPHA:.0%} error on each side).",
            f"{verdict}: judge {self.judge}, {self.calls} calls, {self.tokens:,} tokens",
        ]
        parts = ["\n".join(table), "\n".join(map(_filled, examples)), *map(_filled, notes)]
        return "\n\n".join(part for part in parts if part)

    def encoded(self) -> dict[str, Any]:
        """Return the result in the form JSON has."""
        checks = [
            {**asdict(each), "share": each.share, "interval": list(each.interval), "outcome": each.outcome}
            for each in self.checks
        ]
        return {**asdict(self), "passed": self.passed, "checks": checks}


def _row(each: CheckResult) -> str:
    low, high = each.interval
    counted = f"{each.wrong}/{each.n}"
    missing = f" ({each.missing} missing)" if each.missing else ""
    interval = f"[{low:.0%}, {high:.0%}]"
    return f"{each.name:<14}{each.outcome.upper():<14}{counted:>7}{each.share:>8.0%}   {interval}{missing}"


def _filled(text: str) -> str:
    return textwrap.fill(text, WIDTH, subsequent_indent="  ")


def shown(answer: str, rating: float) -> str:
    """Return an answer that was rated wrongly, in a line."""
    return f"rated {rating:g}: {shorten(answer, 90)!r}" if answer else f"rated {rating:g}: an empty answer"


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
