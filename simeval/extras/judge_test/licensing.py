"""The test that gives a judge its licence: near misses and right answers by turns, until both are settled.

Each kind is tested by an exact sequential design of its own: that more than three in four are found, with an error of
5%; a judge that finds 95% of them passes with a chance of 97.5%. It is licensed if both pass, and refused at the first
that cannot, so neither error is split. Far misses are no part: with them, a judge of words would find three in four.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

import anyio.to_thread

from simeval.core.conversation import Conversation, Message
from simeval.core.judging import judges_said
from simeval.core.licences import JudgeLicence, Stream
from simeval.core.run_records import total
from simeval.core.trial import MEETS_FROM
from simeval.core.validation import require
from simeval.engine.run_context import RunContext
from simeval.errors import CannotTell, DefinitionError, ModelError, ModelErrorKind
from simeval.evaluators.scores import SuccessRateEvaluator
from simeval.extras.judge_test import material
from simeval.extras.judge_test.licences import (
    BAR,
    LANGUAGES,
    LEVEL,
    Form,
    LicenceCase,
    form_said,
    licence_cases,
    licence_key,
)
from simeval.models.protocol.model import is_embedded
from simeval.scorers.llm.judge import at_once
from simeval.stats.binomial import clopper_pearson
from simeval.stats.planning import optimal_sample
from simeval.stats.sequential import Design
from simeval.suites.scenario import Expectation

GOOD = 0.95  # the share of a judge that shall earn it
POWER = 0.975
OF_THE_JUDGE: tuple[ModelErrorKind, ...] = ("malformed", "withheld", "content")  # others say nothing of it


@lru_cache(maxsize=1)
def licence_design() -> Design:
    """Return the design of either kind: at most 42 answers, 17 in a row suffice, and three misses at once end it."""
    found = optimal_sample(BAR, GOOD, alpha=LEVEL, power=POWER)
    assert found is not None  # both rates are constants with a known design
    return found


@dataclass(slots=True)
class _Stream:
    """The answers of one kind, as far as they were judged."""

    cases: Iterator[LicenceCase]
    design: Design
    n: int = 0
    wrong: int = 0

    @property
    def ending(self) -> str | None:
        return self.design.ending(self.n, self.wrong) if self.n else None

    @property
    def found(self) -> Stream:
        """Return the result, with the interval of the design; for one cut off by the other kind, that of its number."""
        is_settled = self.ending is not None
        low, high = (
            self.design.infer(self.n, self.wrong).interval
            if is_settled
            else clopper_pearson(self.n - self.wrong, self.n, LEVEL)
        )
        return Stream(right=self.n - self.wrong, n=self.n, passed=self.ending == "pass", low=low, high=high)


async def license_judge(context: RunContext, form: Form) -> JudgeLicence:
    """Test the judges of an engine as a run would ask them: its prompt, options, form of reply, panel or escalation.

    A reply that cannot be read, was withheld, or was not given because the prompt is too long, is a wrong one. Raises
    DefinitionError for a judge that cannot be tested, before any call; ModelUnusable; and ModelError for a call that
    was not answered for another reason, such as a connection that is down: that is no evidence about the judge.
    """
    do = f"name one of {', '.join(LANGUAGES)}"
    require(form.language in LANGUAGES, "judge-test: language", found=form.language, do=do)
    for name in filter(is_embedded, context.judge_names):
        do = "name a language model, such as openai/gpt-5-nano"
        raise DefinitionError("judge-test", found=f"{name} is a heuristic, not a judge", do=do)
    await context.models.check()
    design = await anyio.to_thread.run_sync(licence_design)
    seed = context.settings.seed or 0
    cases = [licence_cases(seed, right=right, language=form.language) for right in (False, True)]
    streams = [_Stream(iter(each), design) for each in cases]
    while not any(each.ending in ("bad", "end") for each in streams):
        going = [each for each in streams if each.ending is None]
        if not going:
            break
        await at_once([_Asking(context, form, each) for each in going])
    usage = total(context.meter.usage())
    near, right = (each.found for each in streams)
    return JudgeLicence(
        key=licence_key(context, form),
        judge=judges_said(context.judge_names, context.settings.escalate),
        form=form_said(context, form),
        tested=datetime.now(UTC),
        near_misses=near,
        right_answers=right,
        calls=usage.calls,
        tokens=usage.prompt_tokens + usage.completion_tokens,
    )


@dataclass(frozen=True, slots=True)
class _Asking:
    """Has the next answer of a stream judged."""

    context: RunContext
    form: Form
    stream: _Stream

    async def __call__(self) -> None:
        case = next(self.stream.cases)
        passes = await self._passes(case)
        self.stream.n += 1
        self.stream.wrong += passes is None or passes != case.is_right

    async def _passes(self, case: LicenceCase) -> bool | None:
        """Return whether an answer is found to meet what is expected; None without a reply. Raises ModelError."""
        scorer = self.context.judge_scorer(_expectation(case, self.form))
        messages = (
            Message(role="user", content=case.question, started=datetime.now(UTC)),
            Message(role="assistant", content=case.answer),
        )
        try:
            found = await scorer.score(
                Conversation(messages=messages), given=case.given, when=case.when, seed=self.context.settings.seed or 0
            )
        except CannotTell:
            return False
        except ModelError as error:
            if error.kind not in OF_THE_JUDGE:
                raise
            return None
        return found.value >= MEETS_FROM


def _expectation(case: LicenceCase, form: Form) -> Expectation:
    bar = SuccessRateEvaluator(min_proportion=BAR)
    if form.reply == "criteria":
        return Expectation(criteria=[case.expected], evaluator=bar, controls=False)
    rubric = {int(level): text for level, text in material.RUBRIC.items()}
    return Expectation(expected_behavior=case.expected, rubric=rubric, evaluator=bar, controls=False)
