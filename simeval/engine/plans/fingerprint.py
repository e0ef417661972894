"""The inputs of a run's results, written down so that a resumed run can be compared with it."""

import ast
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from itertools import takewhile
from typing import Any

from simeval.core.feedback import LabelledExample, expectation_key
from simeval.core.serialization import Json, plain
from simeval.core.setting_field import ROLES, JudgeReply, Stop, WritingStyleConfig, about_of
from simeval.core.settings import DEFAULTS, Settings
from simeval.core.world import name_of_world
from simeval.engine.plans.scenario_plan import Measure, RunPlan, ScenarioPlan
from simeval.evaluators.base import Evaluator
from simeval.evaluators.scores import ProportionEvaluator
from simeval.models.protocol.model import is_embedded
from simeval.models.protocol.prompt_texts import Prompt
from simeval.suites.scenario import shorten

_OF_VERDICTS = ("stop_mode", "gate", "on_app_error", "max_error_rate")
_OF_USERS = ("user_format", "on_user_fault", "max_user_fault_rate", "audit_users")
_STOPS_BEFORE: Mapping[str | None, Stop] = {None: "reachable", "unlikely": "unlikely"}
LONGEST_SHOWN = 60
OF_SCENARIOS, OF_EXPECTATIONS = "scenarios", "then"
OPTIONS = {  # of other parts than settings
    "app": "--app",
    "judge": "--judge-model",
    "user": "--user-model",
    "sample_size": "--samples",
}
JUDGE_PROMPTS: Mapping[JudgeReply, str] = {"json": "judge", "label": "judge_label"}
CRITERIA_PROMPTS: Mapping[JudgeReply, str] = {"json": "criteria", "label": "criterion_label"}
_GONE, _NEW = "is gone (--only)", "is new (--only)"  # a scenario
# not written: older runs know of no other
_UNSAID = re.compile(r", (min_trials=1|expected_rate=None|standard='judge'|labels=None)(?!\d)")
_EVALUATORS = re.compile(r"\bevaluators$")
_MODULE = re.compile(r" \([\w.]*\)$")
NOT_OF_THE_ANSWER = frozenset(
    {"api_key", "timeout", "api_base", "base_url", "api_version", "headers", "extra_headers", "organization"}
    | {"transport"}
)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where two definitions differ: in a scenario, perhaps in one of its expectations; or in none."""

    scenario: str = ""
    expectation: str = ""


_ONCE = ", 1 times"  # how often the examples of most experiments are answered
_NOWHERE = _Place()


def define(
    plans: Sequence[RunPlan],
    settings: Settings,
    *,
    prompts: Mapping[str, Prompt],
    examples: Mapping[str, Sequence[LabelledExample]],
    seed: int,
    app: str,
    judges: Sequence[str],
    user: str,
) -> Json:
    """Return everything that a run's verdicts depend on, apart from chance, in the form JSON has."""
    with_users = any(isinstance(plan, ScenarioPlan) for plan in plans)
    return {
        "seed": seed,
        "app": app,
        "judge": list(judges),
        "escalate": settings.escalate,
        "escalation audit": settings.escalation_audit if settings.escalate else None,
        "judge repeats": settings.judge_repeats,
        "criteria calls": settings.criteria_calls if any(_has_criteria(plan) for plan in plans) else None,
        "judge context tokens": settings.judge_context_tokens,
        **({"date": settings.date} if settings.date else {}),  # older runs have none
        "judge examples": _examples_read(plans, examples),
        "user": user,
        "model options": _options(settings),
        "prompts": _prompts_read(plans, settings, prompts, judges=judges, user=user),
        "writing styles": _styles(settings.writing_style) if with_users else None,
        "settings": _settings(settings, with_users=with_users),
        OF_SCENARIOS: [_planned(plan) for plan in plans],
    }


def _settings(settings: Settings, *, with_users: bool) -> Json:
    """Return the settings that results depend on; one that older runs lack only if it is on.

    Of `trace_in` it is whether: the address that spans come to has no effect on them.
    """
    found = {name: getattr(settings, name) for name in (*_OF_VERDICTS, *(_OF_USERS if with_users else ()))}
    return found | {name: True for name in ("fail_fast", "trace_in") if getattr(settings, name)}


def _options(settings: Settings) -> Json:
    """Return the options that answers depend on: those of all models, then those of a role with its name before."""
    named = {"": settings.model_options, **{f"{role} ": getattr(settings, f"{role}_options") for role in ROLES}}
    return {
        f"{before}{name}": str(value)
        for before, options in named.items()
        for name, value in sorted(answer_options(options or {}).items())
    }


def _examples_read(plans: Sequence[RunPlan], examples: Mapping[str, Sequence[LabelledExample]]) -> Sequence[str] | None:
    """Return the keys of the labelled conversations shown to judges; None without any."""
    judged = [each for plan in plans for each in plan.judged] if examples else []
    expected = {expectation_key(each.expected_behavior or "") for each in judged}
    keys = sorted(each.key for key in expected for each in examples.get(key, ()))
    return keys or None


def _has_criteria(plan: RunPlan) -> bool:
    return any(measure.criteria is not None for measure in plan.measures)


def _is_attacked(plan: RunPlan) -> bool:
    if not isinstance(plan, ScenarioPlan):
        return False
    return any(step.attack for script in plan.scenario.scripts.values() for step in script)


def answer_options(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return those of a model's options that can change its answers: not its address, keys and time-outs."""
    return {name: value for name, value in options.items() if name not in NOT_OF_THE_ANSWER}


def as_begun(settings: Settings, definition: Mapping[str, Any]) -> Settings:
    """Return the settings a run continues with: those of the older version if it recorded none.

    If no evaluator knows of `min_trials`, its first trial may end it; if nothing sets the end of a scenario, it goes on
    as long as a pass can be reached; if a pass had to be unlikely, by the design of that time.
    """
    stop_mode = definition.get("settings", {}).get("stop_mode", "")
    if settings.stop is None and stop_mode in _STOPS_BEFORE:
        settings = replace(settings, stop=_STOPS_BEFORE[stop_mode])
    scenarios = definition.get("scenarios", ())
    evaluators = [text for plan in scenarios for each in plan.get("then", ()) for text in each["evaluators"]]
    is_set = settings.min_trials != DEFAULTS.min_trials
    return settings if is_set or any("min_trials=" in text for text in evaluators) else replace(settings, min_trials=1)


def changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return how two definitions differ, with the option of each; a difference in several places is named once."""
    earlier = _with_users_as_they_were(_by_prompt(_without_modules(before), now), now)
    replaced = []
    if (old := _dataset_of(earlier)) != (new := _dataset_of(now)) and old and new:
        replaced = [f"the dataset was {old.removesuffix(_ONCE)} and is {new.removesuffix(_ONCE)}"]
        earlier = {**earlier, OF_SCENARIOS: [{**each, "title": new} for each in earlier[OF_SCENARIOS]]}
    where: dict[str, list[_Place]] = {}
    for place, said in _differences(earlier, now, ""):
        where.setdefault(said, []).append(place)
    return [*replaced, *(_in_places(places, said) for said, places in where.items())]


def _dataset_of(definition: Mapping[str, Any]) -> str:
    """Return the dataset of an experiment, with its version; of a suite nothing."""
    planned = definition.get(OF_SCENARIOS, ())
    return "" if is_of_suite(definition) or len(planned) != 1 else str(planned[0]["title"])


def is_of_suite(definition: Mapping[str, Any]) -> bool:
    """Return whether a definition is of a run of a suite, and not of an experiment."""
    return any("given" in each for each in definition.get(OF_SCENARIOS, ()))


def _in_places(places: Sequence[_Place], said: str) -> str:
    first, count = places[0], len(places)
    if not first.scenario:
        return said
    if count > 1 and said in (_GONE, _NEW):
        return f"{count} scenarios {said.replace('is', 'are', 1)}"
    one = f"scenario {first.scenario}" + (f": then: {first.expectation}" if first.expectation else "")
    listed = ", ".join(dict.fromkeys(place.expectation for place in places if place.expectation))
    kind = f"expectations ({shorten(listed, LONGEST_SHOWN)})" if listed else "scenarios"
    named = one if count == 1 else f"each of {count} {kind}"
    return f"{named}{' ' if said.startswith(('was ', 'is ')) else ': '}{said}"


def _without_modules(definition: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a definition as it is written now: until schema version 3 a scorer's name was followed by its module."""

    def named(expectation: Json) -> Json:
        return {key: _MODULE.sub("", value) if key == "scorer" else value for key, value in expectation.items()}

    scenarios = definition.get("scenarios", ())
    shortened = [{**each, "then": [*map(named, each["then"])]} if "then" in each else each for each in scenarios]
    return {**definition, "scenarios": shortened} if scenarios else definition


def _with_users_as_they_were(definition: Mapping[str, Any], now: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a definition as it is written now: until schema version 4 no fault of a simulated user was looked for."""
    ours = now.get("settings", {})
    then = {"user_format": "json", "on_user_fault": "count", "audit_users": 0.0}
    known = {name: then.get(name, ours[name]) for name in _OF_USERS if name in ours}
    return {**definition, "settings": {**known, **definition["settings"]}} if "settings" in definition else definition


def _by_prompt(definition: Mapping[str, Any], now: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a definition as it is written now: until schema version 4 there was one version of all prompts."""
    version = definition.get("prompts")
    return {**definition, "prompts": dict.fromkeys(now["prompts"], version)} if isinstance(version, str) else definition


def _prompts_read(
    plans: Sequence[RunPlan], settings: Settings, prompts: Mapping[str, Prompt], *, judges: Sequence[str], user: str
) -> Mapping[str, str]:
    """Return the prompts that a run's models read, each with the identity of its text. Embedded ones read none."""
    judged = [each for plan in plans for each in plan.judged]
    rated = [each for each in judged if each.criteria is None]
    asked = not all(map(is_embedded, judges))
    read = {
        "user": any(isinstance(plan, ScenarioPlan) for plan in plans) and not is_embedded(user),
        "attack": any(_is_attacked(plan) for plan in plans) and not is_embedded(user),
        "audit": settings.audit_users > 0 and any(isinstance(plan, ScenarioPlan) for plan in plans),
        JUDGE_PROMPTS[settings.judge_reply]: bool(rated) and asked,
        CRITERIA_PROMPTS[settings.judge_reply]: len(judged) > len(rated) and asked,
        "rubric": any(each.own_rubric is None for each in rated) and not is_embedded(judges[0]),
    }
    return {name: prompts[name].identity for name, is_read in read.items() if is_read}


def numbered(titles: Iterable[str]) -> list[tuple[str, int]]:
    """Return each title with how many like it came before."""
    seen = Counter[str]()
    keys = []
    for title in titles:
        keys.append((title, seen[title]))
        seen[title] += 1
    return keys


def _styles(config: WritingStyleConfig) -> Json | None:
    return (
        {axis.name: list(getattr(config.axes, axis.name)) for axis in fields(config.axes)} if config.enabled else None
    )


def _planned(plan: RunPlan) -> Json:
    found: Json = {"title": plan.key}
    if isinstance(plan, ScenarioPlan):
        scenario = plan.scenario
        found |= {"given": scenario.given, "when": scenario.when, "max_turns": scenario.max_turns}
        found |= {"facts": scenario.facts}
        if scenario.script:
            found["script"] = plain([step.shown() for step in scenario.script])
        if (world := scenario.surroundings) is not None:
            found["world"] = name_of_world(world)
        if scenario.allowed_user_faults:  # there only where given: runs that are older have none
            found["allowed_user_faults"] = sorted(set(scenario.allowed_user_faults))
        if scenario.users is not None:
            found["users"] = [[u.title, u.persona, u.share, dict(u.style)] for u in scenario.users.mix]
            if scenario.users.logs:
                found["users' logs"] = {name: [*map(float, of)] for name, of in scenario.users.logs.items()}
            scripts = [[[step.shown() for step in script] for script in u.scripts] for u in scenario.users.mix]
            if any(scripts):  # they may be long, so that a hash is enough
                found["users' scripts"] = sha256(json.dumps(plain(scripts)).encode()).hexdigest()[:12]
        if scenario.needs_replies:
            found["needs_replies"] = True
        if scenario.rows:
            rows = json.dumps(plain([[*map(dict, scenario.rows)], scenario.case_weights]))
            found["cases"] = f"{len(scenario.rows)} ({sha256(rows.encode()).hexdigest()[:12]})"
    then = [_expectation(measure) for measure in plan.measures]
    return {**found, "sample_size": plan.sample_size, "then": then}


def _expectation(measure: Measure) -> Json:
    arguments = getattr(measure.scorer, "__dict__", {})
    return {
        "title": measure.label,
        "expected_behavior": measure.expected_behavior,
        "criteria": measure.criteria and list(measure.criteria),
        "reference": measure.reference,
        "rubric": measure.own_rubric and dict(measure.own_rubric),
        "scorer": measure.scorer.name,
        "arguments": {
            name: _shown_argument(value)
            for name, value in sorted(arguments.items())
            if not name.startswith("_") and name not in ("direction", "bounds") and _shown_argument(value) is not None
        },
        "score": measure.path,
        "evaluators": [_UNSAID.sub("", _as_written(each)) for each in measure.evaluators],
    }


def _as_written(evaluator: Evaluator) -> str:
    """Return an evaluator as older runs have it, which knew no side that is left to the metric."""
    text = repr(evaluator)
    return text.replace("at_least=None", "at_least=True") if isinstance(evaluator, ProportionEvaluator) else text


def _shown_argument(value: object) -> Any:
    """Return the identity of a scorer's argument: JSON, or the name of a function or a model; else nothing."""
    if _is_plain(value):
        return plain(value)
    for named in ("__qualname__", "name"):
        if isinstance(name := getattr(value, named, None), str):
            return name
    return None


def _is_plain(value: object) -> bool:
    """Return whether JSON gives a value back as it is."""
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and _is_plain(inner) for key, inner in value.items())
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    return isinstance(value, (str, int, float))


def _differences(before: object, now: object, where: str, place: _Place = _NOWHERE) -> Iterator[tuple[_Place, str]]:
    """Yield each difference, with its place."""
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        for key in (*before, *(key for key in now if key not in before)):
            old, new = before.get(key), now.get(key)
            if where == OF_SCENARIOS:
                yield from _differences(old, new, "", _Place(key))
            elif where == OF_EXPECTATIONS and place.scenario:
                yield from _differences(old, new, "", replace(place, expectation=key))
            else:
                yield from _differences(old, new, f"{where}{': ' if where else ''}{key}", place)
    elif _are_titled(before) and _are_titled(now):
        old, new = _by_title(before), _by_title(now)
        yield from _differences(old, new, where, place)
        if [name for name in old if name in new] != [name for name in new if name in old]:
            yield place, f"{where} stand in another order"
    elif _EVALUATORS.search(where) and (named := list(_arguments_that_differ(before, now, where, place))):
        yield from named
    elif before != now:
        yield place, f"{where}{' ' if where else ''}{_change(before, now)}{_option_of(where, place)}"


def _change(before: object, now: object) -> str:
    if isinstance(before, Mapping) or isinstance(now, Mapping):
        return "is gone" if now is None else "is new" if before is None else "is different"
    return f"was {_shown(before, now)} and is {_shown(now, before)}"


def _option_of(where: str, place: _Place) -> str:
    """Return the option that sets the difference, in brackets; empty without one."""
    if not where:
        return "" if place.expectation else " (--only)"
    name = "prompts" if where.startswith("prompts: ") else where.rpartition(": ")[2].replace(" ", "_")
    flags = {each.name: about_of(each).flag for each in fields(Settings)} | OPTIONS
    return f" ({flags[name]})" if flags.get(name) else ""


def _are_titled(found: object) -> bool:
    return isinstance(found, list) and all(isinstance(each, Mapping) and "title" in each for each in found)


def _by_title(found: Any) -> Json:
    keys = numbered(each["title"] for each in found)
    names = [f"{title!r} ({before + 1})" if before else repr(title) for title, before in keys]
    return dict(zip(names, found, strict=True))


def _arguments_that_differ(before: object, now: object, where: str, place: _Place) -> Iterator[tuple[_Place, str]]:
    """Yield the differences of evaluators, as they are written; nothing if one is not written as a call."""
    old, new = (_by_argument(each) if isinstance(each, list) else None for each in (before, now))
    if old is not None and new is not None:
        yield from _differences(old, new, where, place)


def _by_argument(evaluators: Sequence[str]) -> Json | None:
    try:
        calls = [ast.parse(each, mode="eval").body for each in evaluators]
    except SyntaxError:  # somebody's own evaluator
        return None
    found = [(ast.unparse(each.func), each.keywords) for each in calls if isinstance(each, ast.Call)]
    names = [f"{name} ({before + 1})" if before else name for name, before in numbered(name for name, _ in found)]
    arguments = [{each.arg: _written(each.value) for each in given} for _, given in found]
    return dict(zip(names, arguments, strict=True)) if len(found) == len(evaluators) else None


def _written(value: ast.expr) -> object:
    try:
        return ast.literal_eval(value)
    except ValueError:
        return ast.unparse(value)


def _shown(value: object, other: object) -> str:
    if value is None:
        return "not set"
    if isinstance(value, list):
        return ", ".join(str(each) for each in value) or "empty"
    return repr(_around(value, str(other))) if isinstance(value, str) else repr(value)


def _around(text: str, other: str) -> str:
    """Return a text, or the part of a long one around the first difference from the other."""
    place = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(text, other, strict=False)))
    begin = 0 if place < LONGEST_SHOWN // 2 else place - LONGEST_SHOWN // 4
    return f"{'…' if begin else ''}{shorten(text[begin:], LONGEST_SHOWN)}"
