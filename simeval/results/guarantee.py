"""The joint guarantee of a run's verdicts, in words: made of its settings and its course.

A level holds for trials that are dealt once and all counted. For any other course nobody knows the error rate, and the
sentence names the reason; if a scenario was run again after it had not passed, it gives the effect.

The conditions of a run are the inputs of its outcomes besides its app. Two runs must share them to differ by their apps
alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any, Self

from simeval.core.serialization import Json
from simeval.core.setting_field import Gate
from simeval.core.terminal import counted_of, show_share
from simeval.core.trial import Verdict
from simeval.evaluators.base import Evaluator
from simeval.results.users import UserConduct

NO_RATE = "no error rate is known, because"
HISTORY = "history"  # in the definition of a run
HIGHEST, ROUNDING = 0.05, 1e-9  # above it a level is shown to a tenth of a percent
MOST_DOUBTS, MOST_NAMED = 3, 3  # that a sentence has

_OF_RUN = ("escalate", "escalation audit", "judge repeats", "criteria calls", "judge context tokens", "judge examples")
_OF_USERS = ("user_format", "on_user_fault")
_NOT_OF_SCENARIO = ("title", "then", "given", "when", "sample_size")  # if the user is another one, nothing is compared
_NOT_OF_EXPECTATION = ("title", "evaluators")


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The course before a run, or of its trials.

    `earlier` counts, by scenario, the runs without a pass since its last one; `doubt` is why the trials are not fresh
    ones, if so.
    """

    earlier: Mapping[str, int] = field(default_factory=dict)
    doubt: str = ""

    @classmethod
    def of(cls, definition: Mapping[str, Any]) -> Self:
        """Return the history that the definition of a run keeps; older ones keep none."""
        return cls(**definition.get(HISTORY, {}))

    def kept_in(self, definition: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a definition with this history, if there is one."""
        kept = {name: value for name, value in (("earlier", dict(self.earlier)), ("doubt", self.doubt)) if value}
        return {**definition, **({HISTORY: kept} if kept else {})}


@dataclass(frozen=True, slots=True, kw_only=True)
class Concluded:
    """The conclusions under one title, the judges that failed their controls, and its users' conduct."""

    title: str
    verdicts: Sequence[Verdict]
    evaluators: Sequence[Evaluator] = ()
    distrusted: Sequence[str] = ()
    users: UserConduct | None = None


def guaranteed_of(concluded: Sequence[Concluded], definition: Mapping[str, Any], *, gate: Gate, joint: bool) -> str:
    """Return the error bound of a run, in words; empty if no conclusion could be wrong."""
    earlier = History.of(definition).earlier
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
    found = [History.of(definition).doubt]
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
        "settings": {name: settings[name] for name in _OF_USERS if name in settings},
        "scenarios": [
            {
                "title": each["title"],
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


def changed_scenarios(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return the scenarios in both of two runs' conditions that have changed, each with its changed parts.

    Their requirements are left out.
    """
    then = {each["title"]: each for each in before["scenarios"]}
    both = [(then[each["title"]], each) for each in now["scenarios"] if each["title"] in then]
    changed = [
        (new["title"], [name for name in {**old, **new} if name != "then" and old.get(name) != new.get(name)])
        for old, new in both
    ]
    return [f"{title!r} ({', '.join(names)})" for title, names in changed if names]


def _expectation(found: Mapping[str, Any]) -> Json:
    known = {name: value for name, value in found.items() if name not in _NOT_OF_EXPECTATION and value is not None}
    return {"title": found["title"], **known}
