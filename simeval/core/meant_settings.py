"""Which setting was meant by a name that none has."""

from collections.abc import Mapping, Sequence
from dataclasses import Field
from typing import Any

from simeval.core.setting_field import about_of
from simeval.core.validation import closest

_ELSEWHERE: Mapping[str, str] = {  # what people call settings, and models, that are called otherwise here
    "budget": "max_cost_usd",
    "judge": "judge_model",
    "model": "judge_model",
    "n": "sample_size",
    "samples": "sample_size",
    "trials": "sample_size",
    "user_model": "user_simulator_model",
}


def called(name: str, settings: Sequence["Field[Any]"]) -> str:
    """Return the setting that others call so, or whose option is called so; else the name itself."""
    flags = {about_of(each).flag: each.name for each in settings}
    return _ELSEWHERE.get(name) or flags.get(f"--{name.replace('_', '-')}") or name


def meant_setting(name: str, settings: Sequence["Field[Any]"], beside: Sequence[str] = ()) -> str:
    """Ask whether a setting was meant, or what stands `beside` them, that is nearly called so; else nothing."""
    known = [*(each.name for each in settings), *beside]
    meant = called(name, settings)
    return f"did you mean {meant!r}?" if meant in known else closest(name, known)
