"""Behaviour that a scenario asks of its user and that would be a fault elsewhere: to repeat or contradict itself.

Detected by the words of `given` and `when` (`phrases.jsonl`), English and a few of other languages; a scenario lists
the rest itself, as its `allowed_user_faults`.
"""

from functools import lru_cache
from typing import get_args

from simeval.core.conversation import UserFaultKind
from simeval.core.phrases import has, typed
from simeval.suites.scenario import ScenarioTest


def asked_for(scenario: ScenarioTest) -> frozenset[UserFaultKind]:
    """Return the faults that are none in a scenario: those it allows, and those its `given` and `when` ask for."""
    return frozenset(scenario.allowed_user_faults) | _in_words(f"{scenario.given}\n{scenario.when}")


@lru_cache(maxsize=1_000)
def _in_words(script: str) -> frozenset[UserFaultKind]:
    read = typed(script)
    kinds: tuple[UserFaultKind, ...] = get_args(UserFaultKind)
    return frozenset(kind for kind in kinds if has(f"asked for {kind}", read))
