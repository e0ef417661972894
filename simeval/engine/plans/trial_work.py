"""Estimate the model calls and tokens of one trial, per role."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Self

from simeval.core.conversation import Message
from simeval.core.run_records import Usage
from simeval.core.settings import Settings
from simeval.core.trial import MOST_ANEW
from simeval.engine.plans.scenario_plan import Measure, ScenarioPlan, rubric_requests
from simeval.models.protocol.model import Request
from simeval.models.protocol.prompt_texts import Prompt
from simeval.models.protocol.prompts import AuditRequest, CriteriaRequest, GradeRequest, UserTurn
from simeval.models.protocol.replies import LEVELS, Reply
from simeval.models.provider_table import Price
from simeval.scorers.llm.judge import kinds_for
from simeval.suites.scenario import ScenarioTest
from simeval.suites.script import MOST_TAKEN_BACK, Step

CHARACTERS_A_TOKEN = 4
TYPICAL_MESSAGES = 3  # of a user in one trial
MESSAGE_TOKENS = 60
LEVEL_TOKENS = 35  # one level of a rubric
NEAR_MISS_TOKENS = 55  # one of two answers that its writer gives
REASONING_TOKENS = 80  # of a judge, as far as it is written into the reply
FRAME_TOKENS = 15  # the JSON around a model's text
ESCALATED = 0.3  # of conversations, if one judge leaves some to another: a guess

_BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)
_LEVELS = dict.fromkeys(LEVELS, "x" * LEVEL_TOKENS * CHARACTERS_A_TOKEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """One conversation: its `turns`, each a message and an answer.

    A simulated user is asked for `simulated` messages: after so many turns, so many, and with the last it may leave; of
    all messages it writes `said`. Answers in the turns of `given` are a script's; judges rule on each sentence of
    `checked` after so many turns.
    """

    turns: int
    simulated: tuple[tuple[int, int], ...]
    given: tuple[int, ...] = ()
    checked: tuple[tuple[int, str], ...] = ()
    said: int = 0

    @classmethod
    def of(cls, scenario: ScenarioTest, typical: int | None = None) -> Self:
        """Return the longest course, or that of a user who leaves after a `typical` number of messages at a time.

        Of several scripts of its users it is the course of the one that asks the user's model most often.
        """
        courses = [cls._by(script, scenario, typical) for script in scenario.courses]
        return max(courses, key=lambda each: (sum(calls for _, calls in each.simulated), each.turns))

    @classmethod
    def _by(cls, script: Sequence[Step], scenario: ScenarioTest, typical: int | None) -> Self:
        if not script:
            turns, calls = _said(scenario.max_turns, typical)
            return cls(turns=turns, said=turns, simulated=((0, calls),))
        simulated: list[tuple[int, int]] = []
        checked: list[tuple[int, str]] = []
        given: list[int] = []
        turns = by_user = 0
        for step in script:
            if step.user is not None:
                turns += 1
            elif step.app is not None:
                given.append(turns - 1)
            elif step.simulate is not None:
                most = scenario.max_turns - turns if step.simulate == "to_end" else step.simulate
                said, calls = _said(max(0, most), typical)
                if step.simulate == "to_end" and typical is None:  # a user who left early has turns left
                    calls += len(simulated)
                simulated.append((turns, calls))
                turns, by_user = turns + said, by_user + said
            elif step.attack is not None:
                calls = scenario.max_turns + (MOST_TAKEN_BACK if typical is None else 0)
                simulated.append((turns, calls))
                turns, by_user = turns + calls, by_user + calls
            elif step.checks is not None and step.checks.judged is not None:
                checked.append((turns, step.checks.judged))
        return cls(turns=turns, said=by_user, simulated=tuple(simulated), given=tuple(given), checked=tuple(checked))


def _said(most: int, typical: int | None) -> tuple[int, int]:
    """Return how many messages a user writes who may write so many, and how often it is asked for one."""
    return (most, most) if typical is None else (min(typical, most), min(typical + 1, most))


@dataclass(frozen=True, slots=True)
class Work:
    """The calls of one role to one model."""

    role: str
    model: str
    calls: float
    prompt_tokens: float
    completion_tokens: float
    longest: float = 0.0  # tokens of the longest prompt with its reply

    def times(self, times: float) -> "Work":
        return replace(
            self,
            calls=times * self.calls,
            prompt_tokens=times * self.prompt_tokens,
            completion_tokens=times * self.completion_tokens,
        )

    def usage(self, price: Price | None) -> Usage:
        return Usage(
            calls=round(self.calls),
            prompt_tokens=round(self.prompt_tokens),
            completion_tokens=round(self.completion_tokens),
            cost_usd=price.of(self.prompt_tokens, self.completion_tokens) if price else None,
        )


@dataclass(frozen=True, slots=True)
class Cast:
    """The models by role, which decide the cost of a trial."""

    settings: Settings
    prompts: Mapping[str, Prompt]
    judges: Sequence[str]
    user: str
    apps: Sequence[str | None]

    def usual(self, plan: ScenarioPlan) -> list[Work]:
        """Return the work of one trial, with each app, with a user who writes a few messages."""
        plan = plan.longest
        course = Course.of(plan.scenario, TYPICAL_MESSAGES)
        return [work for app in self.apps for work in (*self._held(plan, course, app), *self._judged(plan, course))]

    def longest(self, plan: ScenarioPlan) -> list[Work]:
        """Return the most work of one trial: repeated as often as may be, and audited each time."""
        plan = plan.longest
        course = Course.of(plan.scenario)
        held = 1 + (MOST_ANEW if self.settings.on_user_fault == "retry" else 0)
        more = {"audit": 1 / (self.settings.audit_users or 1), "escalation": 1 / ESCALATED}
        works = [
            work
            for app in self.apps
            for work in (
                *(each.times(held) for each in self._held(plan, course, app)),
                *self._judged(plan, course),
            )
        ]
        return [work.times(more.get(work.role, 1)) for work in works]

    def _held(self, plan: ScenarioPlan, course: Course, app: str | None) -> list[Work]:
        """Return the work of holding a conversation once: that of user and app, of checks in it, and of the auditor."""
        works = [self._user(plan, course)] if course.simulated else []
        if self.settings.audit_users:
            works.append(self._audit(plan, course.turns))
        for turns, sentence in course.checked:
            judging = partial(_judging, plan.scenario, self.prompts, criteria=[sentence])
            works += self._rated(judging, turns, calls=1, parts=1)
        if app is not None:  # its prompts are the messages so far: 1, 3, 5, ...
            asked = course.turns - len(course.given)
            read = course.turns**2 - sum(2 * turn + 1 for turn in course.given)
            longest = 2 * course.turns * MESSAGE_TOKENS
            works.append(Work("app", app, asked, read * MESSAGE_TOKENS, asked * MESSAGE_TOKENS, longest))
        return works

    def _judged(self, plan: ScenarioPlan, course: Course) -> list[Work]:
        """Return the work of judging a conversation."""
        works: list[Work] = []
        for measure in plan.judged:
            calls, parts = judge_calls(measure, self.settings), len(measure.criteria or [""])
            works += self._rated(_judging_of(plan, measure, self.prompts), course.turns, calls=calls, parts=parts)
        return works

    def _rated(self, size: Callable[[int], float], turns: int, *, calls: int, parts: int) -> list[Work]:
        """Return the work of all judges after so many turns; `size` is that of a prompt with so many messages."""
        prompt, reply = _grown(size, 2 * turns), parts * REASONING_TOKENS + calls * FRAME_TOKENS
        return [
            Work(role, judge, calls, calls * prompt, reply, prompt + reply).times(ratings)
            for judge, role, ratings in self._judging()
        ]

    def _judging(self) -> list[tuple[str, str, float]]:
        """Return each judge with the role that its calls are counted in, and its ratings of a conversation."""
        later = ("judge", 1.0) if self.settings.escalate is None else ("escalation", ESCALATED)
        cast = zip(self.judges, [("judge", 1.0), *[later] * len(self.judges)], strict=False)
        return [(judge, role, share * self.settings.judge_repeats) for judge, (role, share) in cast]

    def rubrics(self, plans: Sequence[ScenarioPlan]) -> list[Work]:
        """Return the work of each rubric; the first judge writes them, each once."""
        reply = len(LEVELS) * LEVEL_TOKENS + 2 * NEAR_MISS_TOKENS + FRAME_TOKENS
        requests = rubric_requests(plans, self.prompts["rubric"])
        return [Work("rubric", self.judges[0], 1, tokens_of(request), reply) for request in requests]

    def controls(self, plans: Sequence[ScenarioPlan], *, at_most: bool = False) -> list[Work]:
        """Return the work of each control's call, once per judge; `at_most` with possible further ones.

        That is a second near miss, if a judge is wrong about the first.
        """
        return [
            Work("control", judge, 1, prompt, reply, prompt + reply)
            for plan in plans
            for measure in plan.judged
            if measure.controls is not None
            for prompt in [_judging_of(plan, measure, self.prompts)(2)]
            for reply in [REASONING_TOKENS + FRAME_TOKENS]
            for judge in self.judges
            for kind in kinds_for(measure.controls, judge)
            for _ in range(judge_calls(measure, self.settings) * (2 if at_most and kind == "near_miss" else 1))
        ]

    def _user(self, plan: ScenarioPlan, course: Course) -> Work:
        """Return the work of the user, whose prompts grow by two messages with each turn after the first."""
        style, users = self.settings.writing_style.draw(plan.seed), plan.scenario.users
        persona = users.draw(plan.seed) if users else None
        if persona is not None:
            style = {**(style or {}), **persona.drawn_style(plan.seed)}
        scenario = plan.scenario.played_by(persona)

        def size(messages: int) -> float:
            turn = UserTurn(
                given=scenario.given,
                when=scenario.when,
                writing_style=style,
                history=_talk(messages),
                seed=0,
                prompt=self.prompts["user"],
            )
            return tokens_of(turn)

        first, grows = size(2), size(4) - size(2)
        prompts = longest = 0.0
        for turns, calls in course.simulated:  # the prompt after n turns is the first one and n - 1 times its growth
            opening = size(0) - first + grows if turns == 0 and calls else 0.0  # which has no talk in it yet
            prompts += opening + calls * first + grows * (calls * (turns - 1) + calls * (calls - 1) / 2)
            longest = max(longest, size(0) if turns + calls < 2 else first + grows * (turns + calls - 2))
        asked = sum(calls for _, calls in course.simulated)
        said = course.said * MESSAGE_TOKENS + asked * FRAME_TOKENS
        return Work("user", self.user, asked, prompts, said, longest + MESSAGE_TOKENS)

    def _audit(self, plan: ScenarioPlan, turns: int) -> Work:
        """Return the work of the auditor, which looks at a share of the conversations."""

        def size(messages: int) -> float:
            of = plan.scenario
            told: dict[str, Any] = {"given": of.given, "when": of.when, "ended": "turn_limit"}
            told["expected"] = "\n".join(each.behaviour for each in of.expectations if each.behaviour)
            return tokens_of(AuditRequest(**told, conversation=_talk(messages), prompt=self.prompts["audit"]))

        prompt, reply = _grown(size, 2 * turns), REASONING_TOKENS + FRAME_TOKENS
        return Work("audit", self.judges[0], 1, prompt, reply, prompt + reply).times(self.settings.audit_users)


def _grown(size: Callable[[int], float], messages: int) -> float:
    """Return the size of a prompt with so many messages, each of which adds the same."""
    return size(0) + (size(2) - size(0)) * messages / 2


def judge_calls(measure: Measure, settings: Settings) -> int:
    """Return the calls that one judge's rating of a conversation takes."""
    asks_each = settings.criteria_calls == "each" or settings.judge_reply == "label"
    return len(measure.criteria) if measure.criteria and asks_each else 1


def _judging_of(plan: ScenarioPlan, measure: Measure, prompts: Mapping[str, Prompt]) -> Callable[[int], float]:
    """Return a function from a number of messages to the size of a prompt to judge by a measure."""
    told: dict[str, Any] = {"criteria": measure.criteria, "behaviour": measure.expected_behavior or ""}
    return partial(_judging, plan.scenario, prompts, **told, reference=measure.reference or "")


def _judging(
    scenario: ScenarioTest,
    prompts: Mapping[str, Prompt],
    messages: int,
    *,
    criteria: Sequence[str] | None,
    behaviour: str = "",
    reference: str = "",
) -> float:
    asked: dict[str, Any] = {
        "given": scenario.given,
        "when": scenario.when,
        "facts": scenario.facts or "",
        "reference": reference,
        "conversation": _talk(messages),
        "held_on": _BEGINNING.date().isoformat(),
        "seed": 0,
    }
    if criteria is not None:
        numbered = {str(number): text for number, text in enumerate(criteria, 1)}
        return tokens_of(CriteriaRequest(criteria=numbered, reply=Reply, prompt=prompts["criteria"], **asked))
    return tokens_of(GradeRequest(expected_behavior=behaviour, levels=_LEVELS, prompt=prompts["judge"], **asked))


def _talk(messages: int) -> list[Message]:
    text = "x" * MESSAGE_TOKENS * CHARACTERS_A_TOKEN
    return [
        Message(role="assistant" if place % 2 else "user", content=text, started=_BEGINNING, seconds=0.0)
        for place in range(messages)
    ]


def tokens_of(request: Request) -> float:
    """Return about how many tokens a request's messages have."""
    return sum(len(message["content"]) for message in request.messages()) / CHARACTERS_A_TOKEN
