"""The forecast of a run: its trials, calls, tokens and dollars, before the first call."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice
from math import prod
from typing import Any, Self

from simeval.core.run_records import Usage, total
from simeval.core.settings import POWER, Settings
from simeval.core.terminal import counted_of
from simeval.core.trial import MOST_ANEW
from simeval.core.validation import first_of
from simeval.engine.plans.budget import Cost, show_dollars
from simeval.engine.plans.scenario_plan import Measure, PlanWarning, RunPlan, ScenarioPlan, rubric_requests
from simeval.evaluators.base import Evaluator
from simeval.evaluators.not_worse import NotWorseEvaluator
from simeval.models.protocol.model import Request, is_embedded
from simeval.models.protocol.prompt_texts import Prompt
from simeval.models.protocol.prompts import AuditRequest, CriteriaRequest, GradeRequest, UserTurn
from simeval.models.protocol.replies import LEVELS, Reply
from simeval.models.provider_table import Price, price_of
from simeval.models.providers.offline import NOTICE
from simeval.scorers.llm.judge import kinds_for
from simeval.suites.planning import RequirementForecast, plan_suite, show_chance
from simeval.suites.scenario import ScenarioTest
from simeval.suites.script import MOST_TAKEN_BACK, Step

CHARACTERS_A_TOKEN = 4
TYPICAL_MESSAGES = 3  # of a user in one trial
MESSAGE_TOKENS = 60
SHOWN_TOKENS = MESSAGE_TOKENS + 11  # of a message in a prompt, with its number and its speaker
LEVEL_TOKENS = 35  # one level of a rubric
NEAR_MISS_TOKENS = 55  # one of two answers that its writer gives
REASONING_TOKENS = 80  # of a judge, as far as it is written into the reply
FRAME_TOKENS = 15  # the JSON around a model's text
ESCALATED = 0.3  # of conversations, if one judge leaves some to another: a guess

MOST_NAMED = 3  # titles in a warning
WORTH_SAYING = 0.95  # of the maximum: an expectation beyond it is as good as all
_LEVELS = dict.fromkeys(LEVELS, "x" * LEVEL_TOKENS * CHARACTERS_A_TOKEN)


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


def preview(plans: Sequence[ScenarioPlan], foreseen: CostForecast, *, settings: Settings) -> str:
    """Describe in a line how many conversations there will be, their cost, and whether a good app would pass."""
    size, most, expected = len(plans), foreseen.trials_at_most, foreseen.trials_expected
    each = foreseen.conversations
    typically = (
        "" if expected is None or expected >= most * WORTH_SAYING else f" (about {about(each * expected)} expected)"
    )
    cost = total(foreseen.typical).cost_usd
    return "; ".join(
        [
            f"{counted_of(size, 'scenario')}, up to {each * most:,} conversations{typically}",
            *([] if cost is None else [f"about {show_dollars(cost)}"]),
            *_chance(plans, settings, None if cost is None else cost / (each * (expected or most))),
        ]
    )


def among(plans: Sequence[ScenarioPlan], foreseen: CostForecast, *, apps: int) -> str:
    """Say how many conversations it takes at most to find the best app; its scenarios are there once for each."""
    size, cost = len(plans) // apps, total(foreseen.typical).cost_usd
    conversations = f"up to {foreseen.conversations * foreseen.trials_at_most:,} conversations"
    asked = f"{apps} apps, asked in rounds, {counted_of(size, 'scenario')}, {conversations}"
    spent = [] if cost is None else [f"about {show_dollars(cost)}, if none is dropped"]
    return "; ".join([asked, *spent, "an app that is proven not to be the best is dropped"])


def _chance(plans: Sequence[ScenarioPlan], settings: Settings, dollars: float | None) -> list[str]:
    """Say how likely a good app passes, and with which size it would; a conversation costs so many `dollars`."""
    today = datetime.now(UTC).date()
    deciding = [plan for plan in plans if not (plan.scenario.quarantine and plan.scenario.quarantine.holds(today))]
    evaluators = [each for plan in deciding for measure in plan.measures for each in measure.evaluators]
    if any(isinstance(each, NotWorseEvaluator) for each in evaluators):
        return []  # it depends on how the other app does
    found = plan_suite([plan.scenario for plan in deciding], settings)
    advice = found.advice(lambda trials: "" if dollars is None else f", about {show_dollars(dollars * trials)} at most")
    return [*_good_app(found.forecasts, evaluators), *filter(None, [advice])]


def _good_app(found: Sequence[RequirementForecast], evaluators: Sequence[Evaluator]) -> list[str]:
    """Say how likely an app passes that is half-way from each bar to the best."""
    chances = [each.prob_pass for each in found if each.can_pass]
    known = [chance for chance in chances if chance is not None]
    if not chances:
        return ["no requirement can pass with so few trials"]
    unknown, cannot = len(chances) - len(known), len(found) - len(chances)
    few = f"; {cannot} of {len(found)} requirements cannot pass with so few trials, so the suite cannot"
    last = few if cannot else ""
    if not known:
        return [f"the chance of a pass cannot be told beforehand{last}"]
    best = "100%" if all(each.prefers_high for each in evaluators) else "what is best"
    good = f"if the app is good (half-way from each bar to {best})"
    least, most = (show_chance(each) for each in (min(known), max(known)))
    last = f"; of {'one' if unknown == 1 else unknown} more it cannot be told beforehand{last}" if unknown else last
    if len(known) == 1:
        which = "it" if len(found) == 1 else f"the one {'whose chance is known' if unknown else 'that can pass'}"
        return [f"{good}, {which} passes with a chance of {least}{last}"]
    each = least if least == most else f"{least} to {most}"
    who, together = "each requirement passes", "all together"
    if unknown or cannot:
        which = "whose chance is known passes" if unknown else "that can pass does so"
        who, together = f"each of the {len(known)} requirements {which}", "all of them"
    return [f"{good}, {who} with a chance of {each}, and {together} with {show_chance(prod(known))}{last}"]


def warnings_of(plans: Sequence[RunPlan], *, noted: bool = False) -> list[str]:
    """Return the warnings of all plans; one that concerns several is given once.

    With `noted` only those to repeat with the result, because no verdict contains them.
    """
    found: dict[str, list[PlanWarning]] = {}
    for plan in plans:
        for each in plan.warnings():
            if not (noted and each.needed is not None):
                found.setdefault(each.said, []).append(each)
    return [f"{_named(alike)}: {said}{_needed(alike)}" for said, alike in found.items()]


def _named(alike: Sequence[PlanWarning]) -> str:
    titles = list(dict.fromkeys(each.about for each in alike))
    if len(alike) == 1 and alike[0].label:
        return f"{titles[0]}, {alike[0].label!r}"
    return first_of(titles, MOST_NAMED)


def _needed(alike: Sequence[PlanWarning]) -> str:
    """Say how many trials it takes; of several requirements the least and the most."""
    needed = sorted({each.needed for each in alike if each.needed is not None})
    if not needed:
        return ""
    least = f"; at least {needed[0]}{f' to {needed[-1]}' if len(needed) > 1 else ''} are needed"
    enough = max((each.sufficient for each in alike if each.sufficient is not None), default=None)
    return least if enough is None else f"{least}; with {enough} a good app passes with {show_chance(POWER)}"


def too_long(longest: Mapping[str, float], contexts: Mapping[str, int]) -> list[str]:
    """Warn of models whose longest prompt may not fit into the context, both in tokens by the model's name."""
    return [
        f"{name} takes {contexts[name]:,} tokens, and its longest prompt may have about {tokens:,.0f}: what does not "
        "fit is refused, and such trials are missing; lower max_turns, or give its server a larger context"
        for name, tokens in longest.items()
        if name in contexts and tokens > contexts[name]
    ]


def embedded_notes(cast: Sequence[tuple[str, str]]) -> list[str]:
    """Say which of the models, each with its role, are embedded heuristics."""
    embedded = [f"{role} {name}" for role, name in cast if is_embedded(name)]
    return [f"{' and '.join(embedded)}: {NOTICE}"] if embedded else []


def replaced_notes(prompts: Mapping[str, Prompt]) -> list[str]:
    """Return the prompts that are the user's, each with its identity."""
    ours = [f"{name} ({prompt.identity})" for name, prompt in prompts.items() if not prompt.version]
    return [f"prompts in place of simeval's: {', '.join(ours)}"] if ours else []


def roles_asked(plans: Sequence[ScenarioPlan], judges: Sequence[str], user: str) -> list[tuple[str, str]]:
    """Return the models that are asked in a run, each with its role: scripts and rules may leave nothing to ask."""
    checks = [step.checks for plan in plans for script in plan.scenario.scripts.values() for step in script]
    is_judged = any(plan.judged for plan in plans) or any(check and check.judged for check in checks)
    is_simulated = any(plan.scenario.is_simulated for plan in plans)
    return [*(("judge", name) for name in judges if is_judged), *([("user", user)] if is_simulated else [])]
