"""The forecast: what a run will come to in trials, calls, tokens and dollars, before the first call."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import Any

from simeval.core.conversation import Message
from simeval.core.settings import Settings
from simeval.core.trial import MOST_ANEW
from simeval.core.usage import Usage, total
from simeval.engine.plans.budget import Cost, show_dollars
from simeval.engine.plans.dataset_plan import DatasetPlan
from simeval.engine.plans.rounding import about, short
from simeval.engine.plans.scenario_plan import Measure, ScenarioPlan, rubric_requests
from simeval.models.prices import Price, price_of
from simeval.models.protocol.model import Request
from simeval.models.protocol.prompt_texts import Prompt
from simeval.models.protocol.prompts import AuditRequest, CriteriaRequest, GradeRequest, UserTurn
from simeval.models.protocol.replies import LEVELS, Reply
from simeval.models.provider_table import is_embedded
from simeval.suites.planning import plan_suite
from simeval.suites.scenario import ScenarioTest

CHARACTERS_A_TOKEN = 4
TYPICAL_MESSAGES = 3  # of a user in one trial
MESSAGE_TOKENS = 60
LEVEL_TOKENS = 35  # one level of a rubric
REASONING_TOKENS = 80  # of a judge, as far as it is written into the reply
FRAME_TOKENS = 15  # the JSON around what a model has to say
ESCALATED = 0.3  # of conversations, where one judge leaves some to another: a guess
CALL_TOKENS = 800  # of a scorer's call, prompt and reply: a guess for the first trials of a run with a budget

_BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)
_LEVELS = dict.fromkeys(LEVELS, "x" * LEVEL_TOKENS * CHARACTERS_A_TOKEN)


@dataclass(frozen=True, slots=True)
class _Work:
    """The calls of one role to one model."""

    role: str
    model: str
    calls: float
    prompt_tokens: float
    completion_tokens: float
    longest: float = 0.0  # tokens of the longest prompt with its reply

    def times(self, times: float) -> "_Work":
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


@dataclass(frozen=True, slots=True, kw_only=True)
class CostForecast:
    """What a run will come to, retries apart.

    `at_most` is the usage of each role where every trial is run and every user writes as many messages as they
    may; `typical` that of `trials_expected` trials (None where only a simulation could tell, and then of all) in
    which users write a few. How many trials it takes depends on how good the app is, and how long messages are on
    who writes them: both are guessed, and nothing better can be known before the run. Calls are exact bounds;
    tokens and costs at most are so only for messages of the guessed length.

    `trial` is what a budget keeps for one trial: the calls of the longest, the typical tokens and cost of the
    dearest; `rubric` and `control` are what the dearest rubric and the dearest control take, `canary` is what all
    canaries do. `unpriced`
    are the models whose price is not known, the embedded ones apart. `longest` are the tokens of each model's longest
    prompt with its reply, by the model's name. A trial has so many `conversations`, one with each app that is asked.
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

    `app_models` has one for each app that is asked in a trial, None where that is a handler. `prices` gives the price
    of a model, `canaries` are what each judge is asked before the trials. What the app and scorers of the user's own
    cost is not known here.
    """
    names = dict.fromkeys([*judges, user_model, *filter(None, app_models)])
    price = {name: prices(name) for name in names}
    cast = _Cast(settings, prompts, judges, user_model, app_models)
    rubrics, controls = cast.rubrics(plans), cast.controls(plans)
    flown = _canaries(canaries, judges)
    expected = _expected_trials([plan.scenario for plan in plans], settings)
    longest = [cast.longest(plan) for plan in plans]
    usual = [cast.trial(plan, min(TYPICAL_MESSAGES, plan.scenario.max_turns)) for plan in plans]
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
        at_most=_by_role([*at_most, *rubrics, *controls, *flown], price),
        typical=_by_role([*typical, *rubrics, *controls, *flown], price),
        trial=replace(_dearest(usual, price), calls=round(most_calls)),
        rubric=_dearest([[rubric] for rubric in rubrics], price),
        control=_dearest([[control] for control in controls], price),
        unpriced=tuple(name for name in names if price[name] is None and not is_embedded(name)),
        longest=_longest(work for trial in longest for work in trial),
        canary=_dearest([flown], price),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentForecast:
    """What an experiment will come to, retries apart; `trial`, `rubric` and all else as in a CostForecast.

    How long examples are is not known before they are read, so each call is guessed to take as many tokens.
    """

    answers: int
    trial: Cost
    rubric: Cost
    control: Cost
    unpriced: tuple[str, ...]
    longest: Mapping[str, float] = field(default_factory=dict)  # nothing is known of examples before they are read
    canary: Cost = field(default_factory=Cost)

    def __str__(self) -> str:
        calls = self.answers * self.trial.calls + self.canary.calls
        return f"forecast: {self.answers:,} answers, {calls:,.0f} model calls (without retries)"


def forecast_experiment(
    plan: DatasetPlan,
    settings: Settings,
    *,
    judges: Sequence[str],
    app_model: str | None,
    prices: Callable[[str], Price | None] = price_of,
    canaries: Sequence[Request] = (),
) -> ExperimentForecast:
    """Forecast an experiment: for each answer, the calls of its scorers, its judges and, where that is one, its model.

    `app_model`, `prices` and `canaries` are those of `forecast`.
    """
    scorers = {id(measure.scorer): measure.scorer.calls for measure in plan.measures}
    each = sum(judge_calls(measure, settings) for measure in plan.judged)
    judged = each * len(judges) * settings.judge_repeats
    calls = sum(scorers.values()) + judged + (app_model is not None)
    names = {*plan.asked, *([app_model] if app_model else []), *(judges if plan.judged else [])}
    price = {name: prices(name) for name in names}
    dearest = max((each.of(CALL_TOKENS, 0) for each in price.values() if each), default=0.0)
    return ExperimentForecast(
        answers=plan.sample_size,
        trial=Cost(calls=calls, tokens=calls * CALL_TOKENS, cost_usd=calls * dearest),
        rubric=Cost(calls=1, tokens=CALL_TOKENS, cost_usd=dearest),
        control=Cost(calls=1, tokens=CALL_TOKENS, cost_usd=dearest),
        unpriced=tuple(name for name in sorted(names) if price[name] is None),
        canary=_dearest([_canaries(canaries, judges)], price) if plan.judged else Cost(),
    )


@dataclass(frozen=True, slots=True)
class _Cast:
    """Who plays what, and so what a trial takes of whom."""

    settings: Settings
    prompts: Mapping[str, Prompt]
    judges: Sequence[str]
    user: str
    apps: Sequence[str | None]

    def trial(self, plan: ScenarioPlan, turns: int) -> list[_Work]:
        """Return the work of one trial, with each app, in which the user writes so many messages."""
        return [work for app in self.apps for work in self._conversation(plan, turns, app)]

    def _conversation(self, plan: ScenarioPlan, turns: int, app: str | None) -> list[_Work]:
        works = [self._user(plan, turns)]
        if self.settings.audit_users:
            works.append(self._audit(plan, turns))
        for measure in plan.judged:
            calls, parts = judge_calls(measure, self.settings), len(measure.criteria or [""])
            prompt = _grown(partial(_judging, plan.scenario, measure, self.prompts), 2 * turns)
            reply = parts * REASONING_TOKENS + calls * FRAME_TOKENS
            works += [
                _Work(role, judge, calls, calls * prompt, reply, prompt + reply).times(ratings)
                for judge, role, ratings in self._judging()
            ]
        if app is not None:  # its prompts are the messages so far: 1, 3, 5, ...
            sizes = (turns**2 * MESSAGE_TOKENS, turns * MESSAGE_TOKENS, 2 * turns * MESSAGE_TOKENS)
            works.append(_Work("app", app, turns, *sizes))
        return works

    def _judging(self) -> list[tuple[str, str, float]]:
        """Return each judge with the role that its calls are counted in, and its ratings of a conversation."""
        later = ("judge", 1.0) if self.settings.escalate is None else ("escalation", ESCALATED)
        cast = zip(self.judges, [("judge", 1.0), *[later] * len(self.judges)], strict=False)
        return [(judge, role, share * self.settings.judge_repeats) for judge, (role, share) in cast]

    def longest(self, plan: ScenarioPlan) -> list[_Work]:
        """Return the most work of one trial: held anew as often as may be, and looked at each time."""
        held = 1 + (MOST_ANEW if self.settings.on_user_fault == "retry" else 0)
        audited = held / (self.settings.audit_users or 1)
        times = {"user": held, "app": held, "audit": audited, "escalation": 1 / ESCALATED}
        return [work.times(times.get(work.role, 1)) for work in self.trial(plan, plan.scenario.max_turns)]

    def rubrics(self, plans: Sequence[ScenarioPlan]) -> list[_Work]:
        """Return the work of each rubric; the first judge writes them, each once."""
        reply = len(LEVELS) * LEVEL_TOKENS + FRAME_TOKENS
        requests = rubric_requests(plans, self.prompts["rubric"])
        return [_Work("rubric", self.judges[0], 1, _tokens(request), reply) for request in requests]

    def controls(self, plans: Sequence[ScenarioPlan]) -> list[_Work]:
        """Return the work of each call for a control, which every judge is shown once."""
        return [
            _Work("control", judge, 1, prompt, reply, prompt + reply)
            for plan in plans
            for measure in plan.judged
            if measure.controls is not None
            for prompt in [_judging(plan.scenario, measure, self.prompts, 2)]
            for reply in [REASONING_TOKENS + FRAME_TOKENS]
            for _ in measure.controls.kinds * judge_calls(measure, self.settings)
            for judge in self.judges
        ]

    def _user(self, plan: ScenarioPlan, turns: int) -> _Work:
        """Return the work of the user, whose prompts grow by two messages with each turn after the first."""
        style = self.settings.writing_style.draw(plan.seed)
        users = plan.scenario.users
        scenario = plan.scenario.played_by(users.draw(plan.seed) if users else None)

        def size(messages: int) -> float:
            turn = UserTurn(
                given=scenario.given,
                when=scenario.when,
                writing_style=style,
                history=_talk(messages),
                seed=0,
                prompt=self.prompts["user"],
            )
            return _tokens(turn)

        calls = min(turns + 1, plan.scenario.max_turns)  # by the last one it leaves
        later = calls - 1
        with_talk = later * size(2) + (size(4) - size(2)) * later * (later - 1) / 2
        said = turns * MESSAGE_TOKENS + calls * FRAME_TOKENS
        return _Work("user", self.user, calls, size(0) + with_talk, said, size(2 * later) + MESSAGE_TOKENS)

    def _audit(self, plan: ScenarioPlan, turns: int) -> _Work:
        """Return the work of the auditor, which looks at a share of the conversations."""

        def size(messages: int) -> float:
            told: dict[str, Any] = {"given": plan.scenario.given, "when": plan.scenario.when, "ended": "turn_limit"}
            return _tokens(AuditRequest(**told, conversation=_talk(messages), prompt=self.prompts["audit"]))

        prompt, reply = _grown(size, 2 * turns), REASONING_TOKENS + FRAME_TOKENS
        return _Work("audit", self.judges[0], 1, prompt, reply, prompt + reply).times(self.settings.audit_users)


def _grown(size: Callable[[int], float], messages: int) -> float:
    """Return the size of a prompt with so many messages, each of which adds the same."""
    return size(0) + (size(2) - size(0)) * messages / 2


def judge_calls(measure: Measure, settings: Settings) -> int:
    """Return the calls that one judge's rating of a conversation takes."""
    asks_each = settings.criteria_calls == "each" or settings.judge_reply == "label"
    return len(measure.criteria) if measure.criteria and asks_each else 1


def _judging(scenario: ScenarioTest, measure: Measure, prompts: Mapping[str, Prompt], messages: int) -> float:
    asked: dict[str, Any] = {
        "given": scenario.given,
        "when": scenario.when,
        "facts": scenario.facts or "",
        "reference": measure.reference or "",
        "conversation": _talk(messages),
        "seed": 0,
    }
    if measure.criteria is not None:
        criteria = {str(number): text for number, text in enumerate(measure.criteria, 1)}
        return _tokens(CriteriaRequest(criteria=criteria, reply=Reply, prompt=prompts["criteria"], **asked))
    behaviour = measure.expected_behavior or ""
    return _tokens(GradeRequest(expected_behavior=behaviour, levels=_LEVELS, prompt=prompts["judge"], **asked))


def _talk(messages: int) -> list[Message]:
    text = "x" * MESSAGE_TOKENS * CHARACTERS_A_TOKEN
    return [
        Message(role="assistant" if place % 2 else "user", content=text, started=_BEGINNING, seconds=0.0)
        for place in range(messages)
    ]


def _tokens(request: Request) -> float:
    return sum(len(message["content"]) for message in request.messages()) / CHARACTERS_A_TOKEN


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


def _canaries(requests: Sequence[Request], judges: Sequence[str]) -> list[_Work]:
    """Return the work of the canaries of each judge that is no heuristic."""
    sizes = sum(map(_tokens, requests)), len(requests) * (REASONING_TOKENS + FRAME_TOKENS)
    return [_Work("canary", judge, len(requests), *sizes) for judge in judges if requests and not is_embedded(judge)]


def _longest(works: Iterable[_Work]) -> Mapping[str, float]:
    found: dict[str, float] = {}
    for work in works:
        found[work.model] = max(found.get(work.model, 0.0), work.longest)
    return found


def _by_role(works: Iterable[_Work], price: Mapping[str, Price | None]) -> Mapping[str, Usage]:
    found: dict[str, Usage] = {}
    for work in works:
        found[work.role] = found.get(work.role, Usage()) + work.usage(price[work.model])
    return dict(sorted(found.items()))


def _dearest(jobs: Iterable[Sequence[_Work]], price: Mapping[str, Price | None]) -> Cost:
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
