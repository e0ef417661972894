"""The trust that a run deserves, in words: the conduct of its simulated users, and the joint guarantee of its verdicts.

Users are compared with people: those of the logs that a mix was fitted to, else recorded people with a task each, from
whom only these numbers are shipped. A difference is named if it is larger than in 19 of 20 runs with such people.

A level holds for trials that are dealt once and all counted. For any other course nobody knows the error rate, and the
sentence names the reason; if a scenario was run again after it had not passed, it gives the effect.

The conditions of a run are the inputs of its outcomes besides its app. Two runs must share them to differ by their apps
alone.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from math import ceil, sqrt
from typing import TYPE_CHECKING, Any, Self

from simeval.core.conversation import Conversation, Ending
from simeval.core.feedback import PASSING
from simeval.core.serialization import Json
from simeval.core.setting_field import Gate
from simeval.core.terminal import counted_of, show_share
from simeval.core.trial import Failure, Score, TrialResult, Verdict
from simeval.core.user_measures import (
    AT_ONCE,
    MEASURES,
    PUSH_BACK,
    QUESTIONS,
    WORDS,
    Reference,
    Spread,
    measure_user,
    spreads_of,
)
from simeval.core.validation import first_of

if TYPE_CHECKING:
    from simeval.evaluators.base import Evaluator

HOW_THEY_ENDED = {
    "goal_satisfied": "reached their goal",
    "gave_up": "gave up",
    "handed_off": "were handed over",
    "not_in_scenario": "were asked for what the scenario does not say",
    "turn_limit": "ran out of turns",
}
ENDINGS: Mapping[Ending, str] = {  # how one conversation ended
    "goal_satisfied": "the user reached the goal",
    "gave_up": "the user gave up",
    "handed_off": "the user was handed over",
    "not_in_scenario": "the app asked for what the scenario does not say",
    "turn_limit": "the turns ran out",
    "app_error": "the app failed",
    "not_asked": "the app could not be asked",
    "model_error": "a model failed",
    "world_error": "the world failed",
    "script_over": "the script was over",
    "check_failed": "a check did not hold",
    "settled": "its verdict was settled before",
    "recorded": "it is a recording",
    "cut": "the run was cut off",
    "user": "the user left",
    "max_turns": "the turns ran out",
}
_OF_USERS = tuple(HOW_THEY_ENDED)
MOST_SCENARIOS = 20  # whose faults are named in print
MOST_TRIALS = 5  # named in a line
STATE = "state"  # in the details of a score: the found state, if it differs from the required one
Results = Sequence[Score | Failure]

PEOPLE = Reference(  # the 1,495 complete, happy dialogues of STAR with one task and no instructions on the way
    name="people with a task (STAR, English)",
    conversations=1495,
    spreads={
        WORDS: Spread(mean=7.12, deviation=4.19, n=1495),
        AT_ONCE: Spread(mean=0.188, deviation=0.371, n=1285),
        QUESTIONS: Spread(mean=0.084, deviation=0.138, n=1495),
        PUSH_BACK: Spread(mean=0.008, deviation=0.048, n=1456),
    },
    error={WORDS: 0.492, AT_ONCE: 0.036, QUESTIONS: 0.012, PUSH_BACK: 0.002},  # over 23 tasks and 95 people
    shared={WORDS: 0.138, AT_ONCE: 0.067, QUESTIONS: 0.105, PUSH_BACK: 0.023},
)
LEAST = 5  # conversations, for any statement
LEAST_LOGS = 20  # conversations of people that have a measure
MOST_READ = 300  # conversations, as many of each scenario: more would hardly narrow the noise
OUTSIDE = 2.64  # standard errors: the four measures together leave them in one of 20 runs (Bonferroni, 23 tasks)

NO_RATE = "no error rate is known, because"
HISTORY = "history"  # in the definition of a run
HIGHEST, ROUNDING = 0.05, 1e-9  # above it a level is shown to a tenth of a percent
MOST_DOUBTS, MOST_NAMED = 3, 3  # that a sentence has

_OF_RUN = ("escalate", "escalation audit", "judge repeats", "criteria calls", "judge context tokens", "judge examples")
_OF_PLAY = ("user_format", "on_user_fault")
_TOLD = ("escalate", "judge context tokens", "judge examples", "model options", "writing styles", "settings")
_NOT_OF_SCENARIO = ("title", "then", "given", "when", "sample_size")  # if the user is another one, nothing is compared
_NOT_OF_EXPECTATION = ("title", "evaluators")
DATASET = ""  # the title of an experiment's dataset, in any version


@dataclass(frozen=True, slots=True, kw_only=True)
class UserConduct:
    """The conduct of the simulated users of some trials.

    `ends` counts how conversations ended, `faults` holds the trials of each kind of fault, `faulty` counts the trials
    with any, and `held_anew` how often a trial was held again because of one.
    """

    trials: int
    faulty: int = 0
    held_anew: int = 0
    ends: Mapping[str, int] = field(default_factory=dict)
    faults: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, judgements: Sequence[TrialResult]) -> Self:
        """Return the conduct of the users of these trials."""
        faults: dict[str, tuple[int, ...]] = {}
        for judgement in judgements:
            for kind in judgement.conversation.user_faults:
                faults[kind] = (*faults.get(kind, ()), judgement.trial.index)
        return cls(
            trials=len(judgements),
            faulty=sum(bool(judgement.conversation.user_faults) for judgement in judgements),
            held_anew=sum(len(judgement.conversation.held_anew) for judgement in judgements),
            ends=dict(Counter(judgement.conversation.ended for judgement in judgements)),
            faults=faults,
        )

    @property
    def rate(self) -> float | None:
        """The share of trials whose user did not do its part."""
        return self.faulty / self.trials if self.trials else None


def show_conduct(conducts: Sequence[tuple[str, UserConduct]]) -> list[str]:
    """Write simulated users' conduct, each scenario's with its title: how all ended, and whose faults there were."""
    ends = Counter[str]()
    for _, conduct in conducts:
        ends.update(conduct.ends)
    lines = []
    if any(ends[each] for each in _OF_USERS):
        lines.append("users: " + ", ".join(f"{ends[each]} {HOW_THEY_ENDED[each]}" for each in _OF_USERS if ends[each]))
    trials, faulty = (sum(getattr(each, name) for _, each in conducts) for name in ("trials", "faulty"))
    anew = sum(conduct.held_anew for _, conduct in conducts)
    if anew:
        lines.append(f"held anew because of a simulated user's fault: {counted_of(anew, 'conversation')}")
    if faulty:
        lines.append(f"simulated users' faults: {faulty} of {trials} trials ({faulty / trials:.1%})")
        lines += [f"{title}: {_show_faults(conduct)}" for title, conduct in conducts if conduct.faulty][:MOST_SCENARIOS]
    return lines


def _show_faults(conduct: UserConduct) -> str:
    return ", ".join(f"{kind} {named_trials(trials)}" for kind, trials in conduct.faults.items())


def named_trials(trials: Sequence[int]) -> str:
    """Return the first few trials by their numbers, in brackets."""
    return f"(trial{'s' if len(trials) > 1 else ''} {first_of(trials, MOST_TRIALS)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """Of so many trials that a judge and a state measured both, those whose `judged` rating passes.

    In those of `refuted`, by their index, the state of the world is not as it is to be.
    """

    both: int = 0
    judged: int = 0
    refuted: tuple[int, ...] = ()

    @classmethod
    def of(cls, judgements: Sequence[TrialResult], results: Sequence[Results], judged: Sequence[Results]) -> Self:
        """Return those of these trials: from the results of all expectations, and of those that a judge rates."""
        both, passing, refuted = 0, 0, []
        for place, judgement in enumerate(judgements):
            states = [
                each.value >= 1 for each in _scores(results, place) if isinstance(each.details.get(STATE), Mapping)
            ]
            ratings = [each.value for each in _scores(judged, place)]
            if not ratings or not states:
                continue
            is_satisfied = all(rating >= PASSING for rating in ratings)
            both, passing = both + 1, passing + is_satisfied
            if is_satisfied and not all(states):
                refuted.append(judgement.trial.index)
        return cls(both=both, judged=passing, refuted=tuple(refuted))

    def __str__(self) -> str:
        counts = f"{len(self.refuted)} of the {self.judged} trials that satisfy the judge"
        return f"said done, state disagrees: {counts} {named_trials(self.refuted)}" if self.refuted else ""


def _scores(results: Sequence[Results], place: int) -> list[Score]:
    return [found for each in results if isinstance(found := each[place], Score)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One measure of a run's users, that of people, and by how much the two may differ by chance."""

    users: float
    people: float
    noise: float

    @property
    def differs(self) -> bool:
        """Whether the difference is larger than chance makes it."""
        return abs(self.users - self.people) > self.noise


@dataclass(frozen=True, slots=True, kw_only=True)
class Fidelity:
    """How like people the users of `conversations` are, beside so many of `reference`; `measures` by their names."""

    reference: str
    of_people: int
    conversations: int
    measures: Mapping[str, Measured]

    @property
    def verdict(self) -> str:
        """Whether users are easier or harder for an app than people, else unlike them, or within the noise."""
        at_once, back = self.measures.get(AT_ONCE), self.measures.get(PUSH_BACK)
        easier = [each.users > each.people for each in [at_once] if each and each.differs]
        easier += [each.users < each.people for each in [back] if each and each.differs]
        if easier and len(set(easier)) == 1:
            return "easier than" if easier[0] else "harder than"
        return "unlike" if any(each.differs for each in self.measures.values()) else "within the noise of"

    def __str__(self) -> str:
        differing = {name: each for name, each in self.measures.items() if each.differs} or self.measures
        said = "; ".join(say(differing[name]) for name, say in _SAID.items() if name in differing)
        people = f"{self.reference}, {self.of_people:,} conversations"
        return f"users: {self.verdict} {people}: {said}"

    def numbers(self) -> Mapping[str, Any]:
        """Return all numbers with their conclusions."""
        measures = {name: {**asdict(each), "differs": each.differs} for name, each in self.measures.items()}
        return {**asdict(self), "measures": measures, "verdict": self.verdict}


_SAID: Mapping[str, Callable[[Measured], str]] = {  # first by which users are easier or harder
    AT_ONCE: lambda each: f"tell {each.users:.0%} of their details at once, they {_share(each)}",
    PUSH_BACK: lambda each: f"push back in {each.users:.0%} of messages, they in {_share(each)}",
    WORDS: lambda each: f"{each.users:.0f} words a turn, they {each.people:.0f} (±{each.noise:.0f})",
    QUESTIONS: lambda each: f"ask in {each.users:.0%} of messages, they in {_share(each)}",
}


def _share(each: Measured) -> str:
    return f"{each.people:.0%} (±{100 * each.noise:.0f} points)"


def fidelity_of(scenarios: Sequence[Iterable[Conversation]], logs: Mapping[str, Sequence[float]]) -> Fidelity | None:
    """Return how like people the users of these scenarios' conversations are; None for too few, or for other languages.

    `logs` has mean, standard deviation and number of conversations of each measure, if a mix was fitted to them.
    """
    most = max(1, MOST_READ // max(1, len(scenarios)))
    read = [[one for one in islice(each, most) if one.ended != "recorded"] for each in scenarios]
    measured = [found for found in ([*filter(None, map(measure_user, each))] for each in read) if found]
    people = _fitted(logs) if logs else PEOPLE
    total = sum(map(len, measured))
    if total < LEAST or (people is PEOPLE and not _is_english(read)):
        return None
    users = spreads_of(row for rows in measured for row in rows)
    names = [name for name in MEASURES if name in people.spreads and name in users and users[name].n >= LEAST]
    return Fidelity(
        reference=people.name,
        of_people=people.conversations,
        conversations=total,
        measures={name: _compared(name, users[name], people, measured) for name in names},
    )


def _compared(
    name: str, users: Spread, people: Reference, scenarios: Sequence[Sequence[Mapping[str, float]]]
) -> Measured:
    """Return a measure with its noise: conversations about one scenario have a part of their variance in common.

    The larger deviation of people and users counts: a rare event has a larger one if it happens to be frequent.
    """
    of = people.spreads[name]
    deviation = max(of.deviation, users.deviation)
    counts = [sum(name in row for row in rows) for rows in scenarios]
    together = sum(count * count for count in counts) / users.n**2
    variance = deviation**2 * (people.shared[name] * together + (1 - people.shared[name]) / users.n)
    noise = OUTSIDE * sqrt(variance + people.error[name] ** 2)
    return Measured(users=users.mean, people=of.mean, noise=noise)


def _fitted(logs: Mapping[str, Sequence[float]]) -> Reference:
    known = {name: Spread(mean=mean, deviation=sd, n=int(n)) for name, (mean, sd, n) in logs.items()}
    spreads = {name: each for name, each in known.items() if each.n >= LEAST_LOGS}
    return Reference(
        name="your users",
        conversations=max(each.n for each in known.values()),
        spreads=spreads,
        error={name: each.deviation / sqrt(each.n) for name, each in spreads.items()},
        shared=PEOPLE.shared,
    )


def _is_english(scenarios: Sequence[Sequence[Conversation]]) -> bool:
    """Return whether most users write English, as far as the first user of each scenario shows it."""
    from simeval.core.languages import language_of  # which reports do without

    said = ["\n".join(m.content for m in each[0].messages if m.role == "user") for each in scenarios if each]
    found = Counter(filter(None, map(language_of, said)))
    return not found or found.most_common(1)[0][0] == "en"


def earlier_of(definition: Mapping[str, Any]) -> Mapping[str, int]:
    """Return how often each scenario of a run was run since its last pass; older definitions do not keep it."""
    found: Mapping[str, int] = definition.get(HISTORY, {}).get("earlier", {})
    return found


def doubt_of(definition: Mapping[str, Any]) -> str:
    """Return why the trials of a run are no fresh ones; empty if they are."""
    return str(definition.get(HISTORY, {}).get("doubt", ""))


def with_history(definition: Mapping[str, Any], earlier: Mapping[str, int], doubt: str) -> Mapping[str, Any]:
    """Return the definition of a run with the course before it, or of its trials, if there is one."""
    kept = {name: value for name, value in (("earlier", dict(earlier)), ("doubt", doubt)) if value}
    return {**definition, **({HISTORY: kept} if kept else {})}


@dataclass(frozen=True, slots=True, kw_only=True)
class Concluded:
    """The conclusions under one title, the judges that failed their controls, and its users' conduct."""

    title: str
    verdicts: Sequence[Verdict]
    evaluators: Sequence["Evaluator"] = ()
    distrusted: Sequence[str] = ()
    users: UserConduct | None = None


def guaranteed_of(concluded: Sequence[Concluded], definition: Mapping[str, Any], *, gate: Gate, joint: bool) -> str:
    """Return the error bound of a run, in words; empty if no conclusion could be wrong."""
    earlier = earlier_of(definition)
    return guarantee(
        [verdict for each in concluded for verdict in each.verdicts],
        gate=gate,
        joint=joint,
        earlier={each.title: earlier[each.title] for each in concluded if each.title in earlier and each.verdicts},
        runs=[1 + earlier.get(each.title, 0) for each in concluded for _ in each.verdicts],
        doubts=_doubts(concluded, definition),
    )


def guarantee(
    verdicts: Sequence[Verdict],
    *,
    gate: Gate,
    joint: bool,
    earlier: Mapping[str, int] | None = None,
    runs: Sequence[int] = (),
    doubts: Sequence[str] = (),
) -> str:
    """Return the error bound of the passes or, at a gate that only a fail blocks, of being blocked; else "".

    `earlier` counts the runs of a scenario without a pass since its last one, `runs` those of each verdict with this
    one. With `doubts` there is no bound.
    """
    if doubts:
        is_claimed = any(verdict.passed or verdict.failed for verdict in verdicts)
        return f"{NO_RATE} {'; and because '.join(doubts[:MOST_DOUBTS])}." if is_claimed else ""
    if gate == "not_fail":
        return _of_fails(verdicts, joint=joint)
    if not any(verdict.passed for verdict in verdicts):
        return ""
    times = runs or [1] * len(verdicts)
    levels = [1 - (1 - each.significance_level) ** n for each, n in zip(verdicts, times, strict=True)]
    said = _of_passes(verdicts, levels, joint=joint, most_runs=max(runs, default=1))
    return f"{_again(earlier)}: {said}" if earlier else said


def _of_fails(verdicts: Sequence[Verdict], *, joint: bool) -> str:
    levels = [verdict.significance_level for verdict in verdicts]
    most, together = show_share(max(levels, default=0.0)), show_share(min(1.0, sum(levels)))
    compared, count = any(verdict.against for verdict in verdicts), len(verdicts)
    good, all_good = ("is no worse", "is worse in none") if compared else ("meets a bar", f"meets all {count}")
    fails = f"an app that {good} fails it with a chance of at most {most}"
    each = _each(verdicts) if joint else ""
    return f"{fails}; one that {all_good} is blocked with at most {together}{each}." if count > 1 else f"{fails}."


def _of_passes(verdicts: Sequence[Verdict], levels: Sequence[float], *, joint: bool, most_runs: int) -> str:
    """Return the bound of passes, each requirement's at its level; with several runs, of at least one that passes."""
    count, most, together = len(levels), _at_most(max(levels)), _at_most(min(1.0, sum(levels)))
    compared = any(verdict.against for verdict in verdicts)
    once = f" in at least one of {most_runs} such runs" if most_runs > 1 else ""
    app = "unchanged app" if once else "app"
    if joint:
        bad = "worse by more than the margin in some requirements" if compared else "below some of its bars"
        chance = f"the chance that it passes any of these{once} is at most {together}{_each(verdicts)}"
        return f"if the {app} is {bad}, {chance}."
    bad = "that is worse by more than the margin in a requirement" if compared else "below a bar"
    below = f"an {app} {bad} passes it{once} with a chance of at most {most}"
    able = [level for level, verdict in zip(levels, verdicts, strict=True) if verdict.reason != "never_possible"]
    if count == 1 or compared:
        return f"{below}."
    whole = f"{below}, and the whole suite with no more than that"
    if len(able) < 2 or once:
        return f"{whole}."
    which = f"{count} requirements" if len(able) == count else f"the {len(able)} requirements that can pass,"
    return f"{whole}; of {which} exactly at their bars, {sum(able):.2g} would pass by chance on average."


def _at_most(level: float) -> str:
    """Return a level as it is shown, one of several runs rounded up."""
    return show_share(ceil(level * 1000 - ROUNDING) / 1000 if level > HIGHEST else level)


def _each(verdicts: Sequence[Verdict]) -> str:
    tested = max((verdict.significance_level for verdict in verdicts), default=0.0)
    return f" (each of the {len(verdicts)} requirements is tested at {tested:.3g})"


def _again(earlier: Mapping[str, int]) -> str:
    """Say which scenarios had not passed before, the most often run first."""
    ranked = sorted(earlier.items(), key=lambda each: -each[1])
    said = [
        f"{title!r} did not pass in {'the run' if times == 1 else f'the {times} runs'} before this one"
        for title, times in ranked[:MOST_NAMED]
    ]
    more = f" and {counted_of(len(ranked) - MOST_NAMED, 'more scenario')}" if len(ranked) > MOST_NAMED else ""
    return f"{', '.join(said)}{more}"


def _doubts(concluded: Sequence[Concluded], definition: Mapping[str, Any]) -> list[str]:
    """Return why nobody knows the error rate of a run, each reason once."""
    found = [doubt_of(definition)]
    found += [_of_users(concluded, definition.get("settings", {}).get("on_user_fault"))]
    if left_out := max((v.left_out for each in concluded for v in each.verdicts), default=0):
        found += [f"{_trials(left_out)} in which the app failed {_were(left_out)} left out (--on-app-error exclude)"]
    if judges := {judge for each in concluded for judge in each.distrusted}:
        found += [f"{' and '.join(sorted(judges))} failed the controls (--on-failed-control warn)"]
    evaluators = [rule for each in concluded for rule in each.evaluators]
    found += sorted({rule.doubt for rule in evaluators})
    return [each for each in found if each]


def _of_users(concluded: Sequence[Concluded], on_user_fault: object) -> str:
    anew = sum(each.users.held_anew for each in concluded if each.users)
    faulty = sum(each.users.faulty for each in concluded if each.users)
    if on_user_fault == "retry" and anew:
        times = f"{counted_of(anew, 'conversation')} with a faulty simulated user {_were(anew)} held again"
        return f"{times} (--on-user-fault retry), and such faults may depend on the app"
    if on_user_fault == "count" and faulty:
        return f"{_trials(faulty)} with a faulty simulated user {_were(faulty)} counted (--on-user-fault count)"
    return ""


def _trials(number: int) -> str:
    return counted_of(number, "trial")


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


def conditions_of(definition: Mapping[str, Any]) -> Json:
    """Return the inputs of a run's outcomes in its definition: without app, models, seed, sizes and tests."""
    settings = definition.get("settings", {})
    named = ("model options", "prompts", "writing styles", *_OF_RUN)
    return {
        **{name: definition[name] for name in named if definition.get(name) is not None},
        "settings": {name: settings[name] for name in _OF_PLAY if name in settings},
        "scenarios": [
            {
                "title": each["title"] if "given" in each else DATASET,
                **{name: value for name, value in each.items() if name not in _NOT_OF_SCENARIO},
                "then": [_expectation(one) for one in each["then"]],
            }
            for each in definition.get("scenarios", ())
        ],
    }


def not_kept(run_id: str) -> str:
    """Describe the missing knowledge about a run without conditions."""
    return (
        f"run {run_id} was made by an older simeval, which did not keep its users, scripts, worlds and settings: what "
        "changed may be they, not the app"
    )


def changed_conditions(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return the differences of two runs' conditions: of the runs, then of scenarios and expectations in both."""
    old, new = (_by_title(each["scenarios"]) for each in (before, now))
    changed = {title: ", ".join(_changed_parts(old[title], new[title])) for title in new if title in old}
    prompts = [each.get("prompts", {}) for each in (before, now)]
    return [
        *(name for name in _TOLD if before.get(name) != now.get(name)),
        *(f"prompt {name!r}" for name in prompts[1] if prompts[0].get(name, prompts[1][name]) != prompts[1][name]),
        *(f"{title!r} ({names})" if title else names for title, names in changed.items() if names),
    ]


def _changed_parts(before: Json, now: Json) -> list[str]:
    """Return the names of a scenario's parts that differ, and those of its expectations."""
    old, new = (_by_title(each["then"]) for each in (before, now))
    return [
        *_differing(before, now),
        *(f"{title}: {name}" for title in new if title in old for name in _differing(old[title], new[title])),
    ]


def _differing(before: Json, now: Json) -> list[str]:
    old, new = ({**each, **each.get("arguments", {})} for each in (before, now))
    return [name for name in {**old, **new} if name not in ("then", "arguments") and old.get(name) != new.get(name)]


def _by_title(found: Iterable[Json]) -> dict[str, Json]:
    return {each["title"]: each for each in found}


def _expectation(found: Mapping[str, Any]) -> Json:
    known = {name: value for name, value in found.items() if name not in _NOT_OF_EXPECTATION and value is not None}
    return {"title": found["title"], **known}
