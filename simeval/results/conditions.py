"""The inputs of a run's outcomes besides its app: two runs must share them to differ by their apps alone."""

from collections.abc import Mapping
from typing import Any

from simeval.core.serialization import Json

_OF_RUN = ("escalate", "escalation audit", "judge repeats", "criteria calls", "judge context tokens", "judge examples")
_OF_USERS = ("user_format", "on_user_fault")
_NOT_OF_SCENARIO = ("title", "then", "given", "when", "sample_size")  # if the user is another one, nothing is compared
_NOT_OF_EXPECTATION = ("title", "evaluators")


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
