"""The licence of a run's judges: looked up in the store before the first call, and named in the record.

Its material, right answers and near misses made from the expectation, was written for this, in each of `LANGUAGES`;
with any change raise `material.VERSION`. Each situation gives two right answers, one plain and one in courtesy, and two
near misses by one rule.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from hashlib import sha256
from itertools import chain
from pathlib import Path
from statistics import mean
from typing import NamedTuple, Self

import anyio.to_thread

from simeval.core import seeds
from simeval.core.judging import EscalationRule, judges_said
from simeval.core.languages import called
from simeval.core.licences import JudgeForm, JudgeLicence, Stream
from simeval.core.logs import log
from simeval.core.near_misses import framed, language_in, near_misses
from simeval.core.run_records import Journal
from simeval.core.trial import LOWEST, MEETS_FROM
from simeval.engine.parts import RunPart
from simeval.engine.plans.fingerprint import CRITERIA_PROMPTS, JUDGE_PROMPTS
from simeval.engine.plans.scenario_plan import RunPlan
from simeval.engine.run_context import RunContext
from simeval.errors import DefinitionError, StoreError
from simeval.extras.judge_test import material
from simeval.extras.judge_test.material import situations
from simeval.results.suite import SuiteResult
from simeval.stats.binomial import clopper_pearson
from simeval.store.journal import RunResult

LANGUAGES = ("en", "de", "es")
_PATH = Path(__file__).with_suffix(".jsonl")

BAR = 0.75  # the share that is to be proven of each kind
LEVEL = 0.05  # the error of a test, on each side


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LicenceCase:
    """An answer in a situation, and whether it is right."""

    given: str
    question: str
    expected: str
    answer: str
    is_right: bool

    @property
    def when(self) -> str:
        """Return the user's goal."""
        return f"They ask: {self.question}"


@lru_cache(maxsize=len(LANGUAGES))
def _cases(language: str) -> Sequence[LicenceCase]:
    rows = [row for row in map(json.loads, _PATH.read_text("utf-8").splitlines()) if row["language"] == language]
    told = [
        (each.given, each.talk.question, each.expected, each.talk.good) for each in situations() if language == "en"
    ]
    told += [(row["given"], row["question"], row["expected"], row["answer"]) for row in rows]
    return [
        LicenceCase(given=given, question=question, expected=expected, answer=answer, is_right=is_right)
        for given, question, expected, good in told
        for is_right, answer in (
            *((True, answer) for answer in (good, framed(good, language))),
            *((False, each.answer) for each in near_misses((expected,))),
        )
    ]


def licence_cases(seed: int, *, right: bool, language: str = "en") -> Sequence[LicenceCase]:
    """Return the right answers, or the near misses, in a language, in an order by the seed."""
    found = [each for each in _cases(language) if each.is_right == right]
    seeds.generator(seed, "licence", int(right)).shuffle(found)
    return found


class Form(NamedTuple):
    """How expectations are judged, and the language of the answers that a judge of them is tested on."""

    reply: JudgeForm = "rating"
    language: str = "en"

    @classmethod
    def of(cls, expected: str, *, criteria: bool) -> Self:
        """Return the form of an expectation; the language is English if there are no answers in its own."""
        language = language_in(expected)
        return cls("criteria" if criteria else "rating", language if language in LANGUAGES else "en")


class LicencePart(RunPart):
    """Names the licence of the judges for each form in which they judge."""

    _found: Mapping[Form, JudgeLicence | None]

    async def check(self) -> None:
        """Look the licences up. Raises DefinitionError if one is required and missing."""
        self._found = {form: await _kept(self.context, form) for form in forms_of(self.plans)}
        lacking = [form for form, licence in self._found.items() if licence is None or not licence.is_licensed]
        if self.context.settings.require_judge_test and lacking:
            said = "; ".join(self._line(form) for form in lacking)
            do = "test it with the settings of this run (simeval judge-test), name another judge, or do not require it"
            raise DefinitionError("require_judge_test", found=said, do=do)

    def notes(self) -> Sequence[str]:
        """Return a line for each form, and one if the near misses of the run are judged otherwise than its trials."""
        repeats = self.context.settings.judge_repeats
        once = f"near misses are rated once, trials {repeats} times each: those of this run count towards no licence"
        return [*map(self._line, self._found), *([once] if repeats > 1 and any(self._found.values()) else [])]

    def end(self, result: RunResult) -> None:
        """Count the near misses that the run showed, as its judges rate them together."""
        if self.context.settings.judge_repeats > 1:  # which a control is not
            return
        seen: dict[Form, dict[str, bool]] = {}
        results = result if isinstance(result, SuiteResult) else ()
        for each in chain.from_iterable(scenario.expectations for scenario in results):
            if each.prepared is not None:
                shown = {control.judge: control for control in each.prepared.controls if control.control == "near_miss"}
                rating = self._rating({judge: control.score for judge, control in shown.items()})
                if rating is not None:
                    first, *_ = shown.values()
                    form = Form.of(first.expected_behavior, criteria=each.prepared.rubric is None)
                    key = " ".join(shown[judge].key for judge in self.context.judge_names)
                    seen.setdefault(form, {})[key] = rating < MEETS_FROM
        for form, found in seen.items():
            if self._found.get(form):
                change_in(self.context, form, partial(with_seen, seen=found))

    def _rating(self, ratings: Mapping[str, float]) -> float | None:
        """Return the rating of all judges of the run, from that of each; None if it is unknown."""
        names, escalate = self.context.judge_names, self.context.settings.escalate
        if not {*names} <= {*ratings}:
            return None
        if escalate is None:
            return mean(ratings[name] for name in names)
        rule, first, second = EscalationRule.of(escalate), *(ratings[name] for name in names)
        if rule.when_untold and first == LOWEST:  # may be the record of a judge that could not tell
            return None
        return second if rule.takes(first) else first

    def _line(self, form: Form) -> str:
        licence, context = self._found[form], self.context
        if licence is not None:
            return str(licence)
        judges = judges_said(context.judge_names, context.settings.escalate)
        return (
            f"judge {judges} ({form_said(context, form)}): not tested so; simeval judge-test tells whether it can judge"
        )


async def _kept(context: RunContext, form: Form) -> JudgeLicence | None:
    from simeval.store.database import Database  # heavy, and not for every run
    from simeval.store.licences import licence_under

    store = context.store
    if not isinstance(store, Database):
        return None
    return await anyio.to_thread.run_sync(licence_under, store, licence_key(context, form))


def with_seen(licence: JudgeLicence, seen: Mapping[str, bool]) -> JudgeLicence:
    """Return a licence with further near misses of runs; one that is shown again counts once, as rated last.

    It stands unless the judge is proven to find fewer of them than it was tested for.
    """
    both = {**licence.seen, **seen}
    right, n = sum(both.values()), len(both)
    low, high = clopper_pearson(right, n, LEVEL)
    return replace(licence, seen=both, in_runs=Stream(right=right, n=n, passed=high >= BAR, low=low, high=high))


def change_in(context: RunContext, form: Form, change: Callable[[JudgeLicence], JudgeLicence]) -> None:
    """Change the licence of a run's judges, if its store has one; a store that fails is told of, and ends no run."""
    from simeval.store.database import Database
    from simeval.store.licences import change_licence

    if isinstance(context.store, Database):
        try:
            change_licence(context.store, licence_key(context, form), change)
        except StoreError as error:
            log.warning(f"the judge's licence could not be brought up to date: {error}")


def keep_in(store: Journal | None, licence: JudgeLicence) -> None:
    """Store a licence if the store is a database. Raises StoreError."""
    from simeval.store.database import Database
    from simeval.store.licences import keep_licence

    if isinstance(store, Database):
        keep_licence(store, licence)


def licence_key(context: RunContext, form: Form) -> str:
    """Return a hash of all that a licence holds for: judges and their options, prompt, form of reply, material."""
    settings, prompts = context.settings, context.shared.prompts
    prompt = prompts[(CRITERIA_PROMPTS if form.reply == "criteria" else JUDGE_PROMPTS)[settings.judge_reply]]
    parts = [
        material.VERSION,
        form_said(context, form),
        settings.judge_repeats,
        settings.escalate,
        settings.judge_context_tokens,
        prompt.identity,
        [(judge.model.name, dict(judge.options)) for judge in context.judges],
    ]
    return sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def form_said(context: RunContext, form: Form) -> str:
    """Return how expectations are judged, in words."""
    settings = context.settings
    by_label = " by label" if settings.judge_reply == "label" else ""
    each = " one by one" if form.reply == "criteria" and settings.criteria_calls == "each" else ""
    repeats = f" x {settings.judge_repeats}" if settings.judge_repeats > 1 else ""
    language = "" if form.language == "en" else f" in {called(form.language)}"
    return f"{form.reply}{by_label}{each}{repeats}{language}"


def forms_of(plans: Sequence[RunPlan]) -> Sequence[Form]:
    """Return the forms in which the expectations of a run are judged."""
    judged = [(measure.expected_behavior or "", measure.criteria) for plan in plans for measure in plan.judged]
    return [*dict.fromkeys(Form.of(expected, criteria=criteria is not None) for expected, criteria in judged)]
