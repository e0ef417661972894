"""The inputs of a run's results, written down so that a resumed run can be compared with it."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from hashlib import sha256
from typing import Any

from simeval.core.feedback import LabelledExample, expectation_key
from simeval.core.serialization import Json, plain
from simeval.core.setting_field import ROLES, JudgeReply, Stop, WritingStyleConfig
from simeval.core.settings import DEFAULTS, Settings
from simeval.core.world import name_of_world
from simeval.engine.plans.definition_changes import CODE, OF_SCENARIOS, OF_USERS
from simeval.engine.plans.scenario_plan import Measure, RunPlan, ScenarioPlan
from simeval.evaluators.base import Evaluator
from simeval.evaluators.scores import ProportionEvaluator
from simeval.models.protocol.model import is_embedded
from simeval.models.protocol.prompt_texts import Prompt

_OF_VERDICTS = ("stop_mode", "gate", "on_app_error", "max_error_rate")
_STOPS_BEFORE: Mapping[str | None, Stop] = {None: "reachable", "unlikely": "unlikely"}
JUDGE_PROMPTS: Mapping[JudgeReply, str] = {"json": "judge", "label": "judge_label"}
CRITERIA_PROMPTS: Mapping[JudgeReply, str] = {"json": "criteria", "label": "criterion_label"}
# not written: older runs know of no other
_UNSAID = re.compile(r", (min_trials=1|expected_rate=None|standard='judge'|labels=None|looks=1)(?!\d)")
NOT_OF_THE_ANSWER = frozenset(
    {"api_key", "timeout", "api_base", "base_url", "api_version", "headers", "extra_headers", "organization"}
    | {"transport"}
)


def define(
    plans: Sequence[RunPlan],
    settings: Settings,
    *,
    prompts: Mapping[str, Prompt],
    examples: Mapping[str, Sequence[LabelledExample]],
    seed: int,
    app: str,
    code: str,
    judges: Sequence[str],
    user: str,
) -> Json:
    """Return everything that a run's verdicts depend on, apart from chance, in the form JSON has."""
    with_users = any(isinstance(plan, ScenarioPlan) for plan in plans)
    return {
        "seed": seed,
        "app": app,
        **({CODE: code} if code else {}),  # older runs have none
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
    found = {name: getattr(settings, name) for name in (*_OF_VERDICTS, *(OF_USERS if with_users else ()))}
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
