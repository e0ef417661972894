"""Which setting was meant by a name that none has."""

from collections.abc import Mapping, Sequence
from dataclasses import Field
from typing import Any

from simeval.core.setting_field import about_of
from simeval.core.validation import closest

_ELSEWHERE: Mapping[str, str] = {  # other tools' names of settings, and of models
    "budget": "max_cost_usd",
    "judge": "judge_model",
    "model": "judge_model",
    "n": "sample_size",
    **dict.fromkeys(("samples", "max_trials", "n_trials", "num_trials"), "sample_size"),
    "trials": "sample_size",
    "user_model": "user_simulator_model",
}


def other_names(settings: Sequence["Field[Any]"]) -> Mapping[str, str]:
    """Return settings by the names that they have elsewhere: as their options, or in other tools."""
    flags = {about_of(each).flag.removeprefix("--").replace("-", "_"): each.name for each in settings}
    return {**{flag: name for flag, name in flags.items() if flag}, **_ELSEWHERE}


def meant_setting(name: str, settings: Sequence["Field[Any]"], beside: Sequence[str] = ()) -> str:
    """Ask whether a setting with a similar name was meant, or one of the names `beside` them; else ""."""
    known = [*(each.name for each in settings), *beside]
    meant = other_names(settings).get(name)
    return f"did you mean {meant!r}?" if meant in known else closest(name, known)
