"""The cost of a run: the forecast of its trials, calls, tokens and dollars before the first call, and its limits."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Self

from simeval.core.run_records import Usage, total
from simeval.core.settings import Settings
from simeval.core.trial import MOST_ANEW
from simeval.engine.plans.scenario_plan import Measure, ScenarioPlan, rubric_requests
from simeval.errors import DefinitionError
from simeval.models.protocol.model import LEVELS, Reply, Request, is_embedded
from simeval.models.protocol.prompt_texts import Prompt
from simeval.models.protocol.prompts import AuditRequest, CriteriaRequest, GradeRequest, UserTurn
from simeval.models.registry import Price, price_of
from simeval.scorers.llm.judge import kinds_for
from simeval.suites.planning import plan_suite
from simeval.suites.scenario import ScenarioTest
from simeval.suites.script import MOST_TAKEN_BACK, Step

Admission = str  # "go", "wait" until a trial in flight has ended, or the reason why the run stops
BEFORE_TRIALS = ("rubric", "control", "canary")  # the roles of calls that belong to no trial
MARGIN = 1.25  # times the mean of the trials that have ended: the tokens and the cost that are kept for one to come

CHARACTERS_A_TOKEN = 4
TYPICAL_MESSAGES = 3  # of a user in one trial
MESSAGE_TOKENS = 60
SHOWN_TOKENS = MESSAGE_TOKENS + 11  # of a message in a prompt, with its number and its speaker
LEVEL_TOKENS = 35  # one level of a rubric
NEAR_MISS_TOKENS = 55  # one of two answers that its writer gives
REASONING_TOKENS = 80  # of a judge, as far as it is written into the reply
FRAME_TOKENS = 15  # the JSON around a model's text
ESCALATED = 0.3  # of conversations, if one judge leaves some to another: a guess

_LEVELS = dict.fromkeys(LEVELS, "x" * LEVEL_TOKENS * CHARACTERS_A_TOKEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The cost of something: calls, tokens of prompts and replies, US dollars."""

    calls: float = 0
    tokens: float = 0.0
    cost_usd: float = 0.0

    @classmethod
    def of(cls, usage: Usage) -> "Cost":
        """Return the cost of a usage; an unknown cost is none."""
        return cls(
            calls=usage.calls + usage.ended_calls,
            tokens=usage.prompt_tokens + usage.completion_tokens,
            cost_usd=usage.cost_usd or 0.0,
        )

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            calls=self.calls + other.calls, tokens=self.tokens + other.tokens, cost_usd=self.cost_usd + other.cost_usd
        )

    def __mul__(self, times: float) -> "Cost":
        return Cost(calls=times * self.calls, tokens=times * self.tokens, cost_usd=times * self.cost_usd)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """Decides whether one more trial can be paid for.

    A trial is admitted while the spending so far, the reserve for the rubrics still to be written and the controls
    still to be shown, and the reserve for each trial in flight and for this one fit into every limit. The reserve of a
    trial is the calls of `trial`, which are as many as any trial of the suite can make: so without retries `max_calls`
    is never exceeded, and less than that is left when the run stops. Its tokens and its cost have no upper bound: the
    reserve is that of `trial` until one has ended, then the mean of those that have (with the usage of those in flight
    by then) and a margin; so only the last few can exceed the limit, by as much as they are dearer than that.

    `canary` is the cost of all canaries, until `is_canary_asked`. `rubric` is the cost of one rubric, `rubrics_left`
    gives how many are still to be written; `control` and `controls_left` are the same for controls. `usage` gives the
    run's usage by role and `seconds` how long it has taken, both with the attempts before this one; calls that failed
    and calls that were ended early count.
    """

    budget: Settings
    trial: Cost
    rubric: Cost
    rubrics_left: Callable[[], int]
    control: Cost
    controls_left: Callable[[], int]
    usage: Callable[[], Mapping[str, Usage]]
    seconds: Callable[[], float]
    canary: Cost = field(default_factory=Cost)
    is_canary_asked: Callable[[], bool] = lambda: True

    def check(self, unpriced: Sequence[str] = ()) -> None:
        """Raise DefinitionError if the work before trials and one trial cannot be paid for, whatever was spent.

        Also if there is a limit on the cost, and models whose price is unknown.
        """
        if self.budget.max_cost_usd is not None and unpriced:
            raise DefinitionError(
                "max_cost_usd",
                found=f"no price is known for {', '.join(unpriced)}",
                do="use max_calls or max_tokens",
            )
        for limit in self._limits(spent=Cost(), before=self._before_trials(), trial=self.trial):
            if not limit.allows(1):
                raise DefinitionError(limit.name, found=limit.too_little(), do="raise it, or leave it out")

    def admits(self, *, in_flight: int, finished: int) -> Admission:
        """Decide on one more trial, with so many others in progress.

        `finished` are the trials that have ended, each once, those of earlier attempts from the start: their cost is in
        `usage`.
        """
        if not self.budget.has_budget:
            return "go"
        most, seconds = self.budget.max_seconds, self.seconds()
        if most is not None and seconds >= most:
            return f"max_seconds of {most:g} is reached ({seconds:.0f} spent)"
        usage = self.usage()
        limits = self._limits(
            spent=Cost.of(total(usage)),
            before=self._before_trials(),
            trial=self._next_trial(usage, finished),
        )
        for limit in limits:
            if not limit.allows(in_flight + 1):
                return "wait" if in_flight else limit.reason()
        return "go"

    def _next_trial(self, usage: Mapping[str, Usage], finished: int) -> Cost:
        """Estimate the cost of one more trial."""
        if not finished:
            return self.trial
        of_trials = Cost.of(total({role: used for role, used in usage.items() if role not in BEFORE_TRIALS}))
        mean = of_trials * (MARGIN / finished)
        return Cost(calls=self.trial.calls, tokens=mean.tokens, cost_usd=mean.cost_usd)

    def _before_trials(self) -> Cost:
        """Return the reserve for everything asked before a scenario's trials begin."""
        canary = Cost() if self.is_canary_asked() else self.canary
        return canary + self.rubric * self.rubrics_left() + self.control * self.controls_left()

    def _limits(self, *, spent: Cost, before: Cost, trial: Cost) -> list["_Limit"]:
        budget, parts = self.budget, (spent, before, trial)
        amounts = (
            ("max_calls", budget.max_calls, [part.calls for part in parts]),
            ("max_tokens", budget.max_tokens, [part.tokens for part in parts]),
            ("max_cost_usd", budget.max_cost_usd, [part.cost_usd for part in parts]),
        )
        kept_for = "rubrics and controls" if self.canary == Cost() else "canaries, rubrics and controls"
        return [_Limit(name, most, kept_for, *each) for name, most, each in amounts if most is not None]


@dataclass(frozen=True, slots=True)
class _Limit:
    """One limit with the spending, the reserve for work before trials, and that for one trial."""

    name: str
    most: float
    kept_for: str  # the work before trials
    spent: float
    before: float
    trial: float

    def allows(self, trials: int) -> bool:
        """Return whether so many trials can be paid for."""
        return self.spent + self.before + trials * self.trial <= self.most

    def reason(self) -> str:
        """Say why there is no further trial."""
        kept = f", {self._show(self.before)} kept for {self.kept_for}" if self.before else ""
        spent = f"{self._show(self.spent)} spent{kept}"
        return f"{self.name} of {self._show(self.most)} is reached ({spent}; the next trial may take {self._trial})"

    def too_little(self) -> str:
        """Describe what it cannot pay for."""
        before = f" after {self.kept_for}, which take {self._show(self.before)}" if self.before else ""
        return f"{self._show(self.most)} cannot pay one trial, which may take {self._trial}{before}"

    @property
    def _trial(self) -> str:
        return self._show(self.trial)

    def _show(self, amount: float) -> str:
        return show_dollars(amount) if self.name == "max_cost_usd" else f"{amount:,.0f}"


def show_dollars(amount: float) -> str:
    """Write an amount of US dollars; small ones with four decimals."""
    return f"${amount:,.2f}" if amount >= 0.1 or amount == 0 else f"${amount:.4f}"


def about(number: float) -> str:
    """Write a number with two digits that count."""
    return f"{float(f'{number:.2g}'):,.0f}"


def short(number: float) -> str:
    """Write a large number in thousands or millions."""
    for size, letter in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{float(f'{number / size:.3g}'):g}{letter}"
    return f"{number:.0f}"


@dataclass(frozen=True, slots=True)
class Course:
    """One conversation: the number of messages before each call of its user, its app and the judges of checks."""

    user: Sequence[int]
    app: Sequence[int]
    checks: Sequence[tuple[int, str]]
    messages: int

    @classmethod
    def of(cls, scenario: ScenarioTest, typical: int | None = None) -> Self:
        """Return the longest course, or that of a user who leaves after a `typical` number of messages at a time.

        Of several scripts of its users it is the course of the one that asks the user's model most often.
        """
        alone = (Step(simulate="to_end"),)
        courses = [cls._by(script or alone, scenario.max_turns, typical) for script in scenario.courses]
        return max(courses, key=lambda each: (len(each.user), each.messages))

    @classmethod
    def _by(cls, script: Sequence[Step], max_turns: int, typical: int | None) -> Self:
        user: list[int] = []
        checks: list[tuple[int, str]] = []
        given: set[int] = set()
        turns = simulated = 0
        for step in script:
            said = int(step.user is not None)
            calls = 0
            if step.app is not None:
                given.add(turns - 1)
            elif step.simulate is not None:
                said = calls = max(0, max_turns - turns) if step.simulate == "to_end" else step.simulate
                if typical is not None:
                    said, calls = min(typical, said), min(typical + 1, calls)
                elif step.simulate == "to_end":  # a user who left early has turns left
                    calls += simulated
                simulated += 1
            elif step.attack is not None:
                said = calls = max_turns + (MOST_TAKEN_BACK if typical is None else 0)
                simulated += 1
            elif step.checks is not None and step.checks.judged is not None:
                checks.append((2 * turns, step.checks.judged))
            user += range(2 * turns, 2 * (turns + calls), 2)
            turns += said
        return cls(user, [2 * turn + 1 for turn in range(turns) if turn not in given], checks, 2 * turns)


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
            for work in (*(each.times(held) for each in self._held(plan, course, app)), *self._judged(plan, course))
        ]
        return [work.times(more.get(work.role, 1)) for work in works]

    def _held(self, plan: ScenarioPlan, course: Course, app: str | None) -> list[Work]:
        """Return the work of holding a conversation once: that of user and app, of checks in it, and of the auditor."""
        works = [self._user(plan, course)] if course.user else []
        if self.settings.audit_users:
            works.append(self._audit(plan.scenario, course.messages))
        for messages, sentence in course.checks:
            works += self._rated(self._judging(plan.scenario, criteria=[sentence]), messages, calls=1, parts=1)
        if app is not None and course.app:
            works.append(_growing("app", app, 0, course.app, MESSAGE_TOKENS, reply=MESSAGE_TOKENS))
        return works

    def _judged(self, plan: ScenarioPlan, course: Course) -> list[Work]:
        """Return the work of judging a conversation."""
        works: list[Work] = []
        for measure in plan.judged:
            calls, parts = judge_calls(measure, self.settings), len(measure.criteria or [""])
            works += self._rated(self._judging_by(plan, measure), course.messages, calls=calls, parts=parts)
        return works

    def _rated(self, request: Request, messages: int, *, calls: int, parts: int) -> list[Work]:
        """Return the work of all judges after so many messages, by a request without them.

        With `escalate` the others rate a share of the conversations, in a role of their own.
        """
        prompt, reply = _tokens(request, messages), parts * REASONING_TOKENS + calls * FRAME_TOKENS
        later = ("judge", 1.0) if self.settings.escalate is None else ("escalation", ESCALATED)
        return [
            Work(role, judge, calls, calls * prompt, reply, prompt + reply).times(share * self.settings.judge_repeats)
            for judge, (role, share) in zip(self.judges, [("judge", 1.0), *[later] * len(self.judges)], strict=False)
        ]

    def rubrics(self, plans: Sequence[ScenarioPlan]) -> list[Work]:
        """Return the work of each rubric; the first judge writes them, each once."""
        reply = len(LEVELS) * LEVEL_TOKENS + 2 * NEAR_MISS_TOKENS + FRAME_TOKENS
        requests = rubric_requests(plans, self.prompts["rubric"])
        return [Work("rubric", self.judges[0], 1, _tokens(request), reply) for request in requests]

    def controls(self, plans: Sequence[ScenarioPlan], *, at_most: bool = False) -> list[Work]:
        """Return the work of each control's call, once per judge; `at_most` with possible further ones.

        That is a second near miss, if a judge is wrong about the first.
        """
        reply = REASONING_TOKENS + FRAME_TOKENS
        return [
            Work("control", judge, 1, prompt, reply, prompt + reply)
            for plan in plans
            for measure in plan.judged
            if measure.controls is not None
            for prompt in [_tokens(self._judging_by(plan, measure), 2)]
            for judge in self.judges
            for kind in kinds_for(measure.controls, judge)
            for _ in range(judge_calls(measure, self.settings) * (2 if at_most and kind == "near_miss" else 1))
        ]

    def _user(self, plan: ScenarioPlan, course: Course) -> Work:
        """Return the work of the user, who sees all messages so far."""
        users = plan.scenario.users
        scenario = plan.scenario.played_by(users.draw(plan.seed) if users else None)
        told: dict[str, Any] = {"given": scenario.given, "when": scenario.when, "prompt": self.prompts["user"]}
        style = self.settings.writing_style.draw(plan.seed)
        first = _tokens(UserTurn(**told, writing_style=style, history=(), seed=0))
        return _growing("user", self.user, first, course.user, SHOWN_TOKENS, reply=MESSAGE_TOKENS + FRAME_TOKENS)

    def _audit(self, scenario: ScenarioTest, messages: int) -> Work:
        """Return the work of the auditor, which looks at a share of the conversations."""
        told: dict[str, Any] = {"given": scenario.given, "when": scenario.when, "ended": "turn_limit"}
        told["expected"] = "\n".join(each.behaviour for each in scenario.expectations if each.behaviour)
        prompt = _tokens(AuditRequest(**told, conversation=(), prompt=self.prompts["audit"]), messages)
        reply = REASONING_TOKENS + FRAME_TOKENS
        return Work("audit", self.judges[0], 1, prompt, reply, prompt + reply).times(self.settings.audit_users)

    def _judging_by(self, plan: ScenarioPlan, measure: Measure) -> Request:
        """Return a request to judge by a measure, without messages."""
        about: dict[str, Any] = {"behaviour": measure.expected_behavior or "", "reference": measure.reference or ""}
        return self._judging(plan.scenario, criteria=measure.criteria, **about)

    def _judging(
        self, of: ScenarioTest, *, criteria: Sequence[str] | None, behaviour: str = "", reference: str = ""
    ) -> Request:
        asked: dict[str, Any] = {"given": of.given, "when": of.when, "facts": of.facts or "", "reference": reference}
        asked |= {"conversation": (), "held_on": "2000-01-01", "seed": 0}
        if criteria is not None:
            numbered = {str(number): text for number, text in enumerate(criteria, 1)}
            return CriteriaRequest(criteria=numbered, reply=Reply, prompt=self.prompts["criteria"], **asked)
        return GradeRequest(expected_behavior=behaviour, levels=_LEVELS, prompt=self.prompts["judge"], **asked)


def _growing(role: str, model: str, first: float, seen: Sequence[int], shown: int, *, reply: float) -> Work:
    """Return the work of a model whose prompts contain so many messages, besides `first` tokens."""
    calls = len(seen)
    return Work(role, model, calls, calls * first + sum(seen) * shown, calls * reply, first + max(seen) * shown + reply)


def judge_calls(measure: Measure, settings: Settings) -> int:
    """Return the calls that one judge's rating of a conversation takes."""
    asks_each = settings.criteria_calls == "each" or settings.judge_reply == "label"
    return len(measure.criteria) if measure.criteria and asks_each else 1


def _tokens(request: Request, messages: int = 0) -> float:
    """Return about how many tokens a request has, with so many more messages in it."""
    written = sum(len(message["content"]) for message in request.messages())
    return written / CHARACTERS_A_TOKEN + messages * SHOWN_TOKENS


@dataclass(frozen=True, slots=True, kw_only=True)
class CostForecast:
    """The forecast of a run, retries apart.

    `at_most` is the usage of each role if every trial is run and every user writes as many messages as they may;
    `typical` that of `trials_expected` trials (None if only a simulation could compute it, and then of all) with users
    who write a few. How many trials it takes depends on how good the app is, and how long messages are on their
    authors: both are guessed, and nothing better can be known before the run. Calls are exact bounds; tokens and costs
    at most are so only for messages of the guessed length.

    `trial` is a budget's reserve for one trial: the calls of the longest, the typical tokens and cost of the dearest;
    `rubric` and `control` are the cost of the dearest rubric and the dearest control, `canary` that of all canaries.
    `unpriced` are the models whose price is unknown, the embedded ones apart. `longest` are the tokens of each model's
    longest prompt with its reply, by the model's name. A trial has so many `conversations`, one with each app that is
    asked.
    """

    trials_at_most: int
    trials_expected: float | None
    at_most: Mapping[str, Usage]
    typical: Mapping[str, Usage]
    trial: Cost
    rubric: Cost
    control: Cost
    unpriced: tuple[str, ...]
    longest: Mapping[str, float] = field(default_factory=dict)
    canary: Cost = field(default_factory=Cost)
    conversations: int = 1

    def __str__(self) -> str:
        guesses = [f"{TYPICAL_MESSAGES} messages a user", f"{MESSAGE_TOKENS} tokens a message", "no hidden reasoning"]
        guesses += [f"{ESCALATED:.0%} of conversations escalated"] if "escalation" in self.typical else []
        trials, when = "", " if every trial is run"
        if self.trials_expected is not None:
            trials, when = f"about {about(self.trials_expected)} trial{_s(self.trials_expected)}, ", ""
            if self.trials_expected < self.trials_at_most:
                guesses.append("an app half-way from its bars to 100%")
        unpriced = f"; no price is known for {', '.join(self.unpriced)}" if self.unpriced else ""
        most = f"{self.trials_at_most:,} trial{_s(self.trials_at_most)}, {_show(total(self.at_most), exact=True)}"
        return (
            f"forecast: at most {most}; typically {trials}{_show(total(self.typical), exact=False)}{when}\n"
            f"(without retries; guessing {', '.join(guesses)}{unpriced})"
        )


def forecast(
    plans: Sequence[ScenarioPlan],
    settings: Settings,
    *,
    prompts: Mapping[str, Prompt],
    judges: Sequence[str],
    user_model: str,
    app_models: Sequence[str | None],
    prices: Callable[[str], Price | None] = price_of,
    canaries: Sequence[Request] = (),
) -> CostForecast:
    """Forecast a run of these plans with the models of these names.

    `app_models` has one for each app of a trial, None for a handler. `prices` gives the price of a model, `canaries`
    are each judge's requests before the trials. The cost of the app and of the user's own scorers is not known here.
    """
    names = dict.fromkeys([*judges, user_model, *filter(None, app_models)])
    price = {name: prices(name) for name in names}
    cast = Cast(settings, prompts, judges, user_model, app_models)
    rubrics, controls, most_controls = cast.rubrics(plans), cast.controls(plans), cast.controls(plans, at_most=True)
    flown = canary_work(canaries, judges)
    expected = _expected_trials([plan.scenario for plan in plans], settings)
    longest = [cast.longest(plan) for plan in plans]
    usual = [cast.usual(plan) for plan in plans]
    at_most = [work.times(plan.sample_size) for plan, trial in zip(plans, longest, strict=True) for work in trial]
    typical = [
        work.times(plan.sample_size if trials is None else trials)
        for plan, trial, trials in zip(plans, usual, expected, strict=True)
        for work in trial
    ]
    most_calls = max(sum(work.calls for work in trial) for trial in longest)
    known = [trials for trials in expected if trials is not None]
    return CostForecast(
        trials_at_most=sum(plan.sample_size for plan in plans),
        conversations=len(app_models),
        trials_expected=sum(known) if len(known) == len(plans) else None,
        at_most=_by_role([*at_most, *rubrics, *most_controls, *flown], price),
        typical=_by_role([*typical, *rubrics, *controls, *flown], price),
        trial=replace(dearest_of(usual, price), calls=round(most_calls)),
        rubric=dearest_of([[rubric] for rubric in rubrics], price),
        control=dearest_of([[control] for control in controls], price),
        unpriced=tuple(name for name in names if price[name] is None and not is_embedded(name)),
        longest=_longest(work for trial in longest for work in trial),
        canary=dearest_of([flown], price),
    )


def _expected_trials(scenarios: Sequence[ScenarioTest], settings: Settings) -> list[float | None]:
    """Return the trials each scenario takes on average, as many as its longest requirement; None if unknown."""
    forecasts = iter(plan_suite(scenarios, settings).forecasts)
    found: list[float | None] = []
    for scenario in scenarios:
        count = sum(len(expectation.evaluators) for expectation in scenario.expectations)
        trials = [each.expected_trials for each in islice(forecasts, count)]
        known = [each for each in trials if each is not None]
        found.append(max(known) if len(known) == count else None)
    return found


def canary_work(requests: Sequence[Request], judges: Sequence[str]) -> list[Work]:
    """Return the work of the canaries of each judge that is no heuristic."""
    sizes = sum(map(_tokens, requests)), len(requests) * (REASONING_TOKENS + FRAME_TOKENS)
    return [Work("canary", judge, len(requests), *sizes) for judge in judges if requests and not is_embedded(judge)]


def _longest(works: Iterable[Work]) -> Mapping[str, float]:
    found: dict[str, float] = {}
    for work in works:
        found[work.model] = max(found.get(work.model, 0.0), work.longest)
    return found


def _by_role(works: Iterable[Work], price: Mapping[str, Price | None]) -> Mapping[str, Usage]:
    found: dict[str, Usage] = {}
    for work in works:
        found[work.role] = found.get(work.role, Usage()) + work.usage(price[work.model])
    return dict(sorted(found.items()))


def dearest_of(jobs: Iterable[Sequence[Work]], price: Mapping[str, Price | None]) -> Cost:
    """Return the most that any of these takes of each, calls, tokens and dollars."""
    costs = [Cost.of(total(_by_role(job, price))) for job in jobs]
    return Cost(
        calls=max((cost.calls for cost in costs), default=0),
        tokens=max((cost.tokens for cost in costs), default=0.0),
        cost_usd=max((cost.cost_usd for cost in costs), default=0.0),
    )


def _show(usage: Usage, *, exact: bool) -> str:
    calls = f"{usage.calls:,}" if exact else about(usage.calls)
    cost = "" if usage.cost_usd is None else f", {show_dollars(usage.cost_usd)}"
    return f"{calls} calls, {short(usage.prompt_tokens + usage.completion_tokens)} tokens{cost}"


def _s(number: float) -> str:
    return "" if number == 1 else "s"


def too_long(longest: Mapping[str, float], contexts: Mapping[str, int]) -> list[str]:
    """Warn of models whose longest prompt may not fit into the context, both in tokens by the model's name."""
    return [
        f"{name} takes {contexts[name]:,} tokens, and its longest prompt may have about {tokens:,.0f}: what does not "
        "fit is refused, and such trials are missing; lower max_turns, or give its server a larger context"
        for name, tokens in longest.items()
        if name in contexts and tokens > contexts[name]
    ]


def roles_asked(plans: Sequence[ScenarioPlan], judges: Sequence[str], user: str) -> list[tuple[str, str]]:
    """Return the models that are asked in a run, each with its role: scripts and rules may leave nothing to ask."""
    checks = [step.checks for plan in plans for script in plan.scenario.scripts.values() for step in script]
    is_judged = any(plan.judged for plan in plans) or any(check and check.judged for check in checks)
    is_simulated = any(plan.scenario.is_simulated for plan in plans)
    return [*(("judge", name) for name in judges if is_judged), *([("user", user)] if is_simulated else [])]
