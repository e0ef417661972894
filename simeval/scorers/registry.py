"""Scorers by their names, as the command line and suite files write them: valid_json is ValidJSON, and so on.

The names are those of the scorers that `simeval.scorers` lists as public, so that a new one is known by being there.
"""

import inspect
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, cast

from simeval.core.direction import Direction, direction_at
from simeval.core.registry import Registry
from simeval.core.validation import nearest
from simeval.errors import DefinitionError
from simeval.scorers.base import ColumnScorer, Scorer
from simeval.scorers.metrics import BOUNDED_NAME, METRICS, TurnsWithin


def _can_be_made(kind: type) -> bool:
    """Return whether a class is a scorer with a name of its own choice, and no base of others."""
    return issubclass(kind, ColumnScorer) and hasattr(kind, "score") and not inspect.isabstract(kind)


LISTED = "docs/guides/scorers.md lists them"
SCORERS = Registry("simeval.scorers", _can_be_made, suffix="Scorer")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorerOptions:
    """The options for scorers made by name: each takes those it has an argument for; None is its own default.

    `sentiment_model` is the `model` of the scorer named sentiment.
    """

    persona: str | None = None
    traits: str | None = None
    encoder: str | None = None
    sentiment_model: str | None = None


def named_scorer(name: str, options: ScorerOptions | None = None) -> Scorer:
    """Return the scorer of a name, called by it. Raises DefinitionError if it is unknown, or lacks an option."""
    if name in METRICS:
        return METRICS[name]
    kind = SCORERS.find(name)
    if kind is None:
        do = nearest(name, [*METRICS, *SCORERS.names], see=LISTED)
        raise DefinitionError("scorer", found=f"found {name!r}", do=do)
    arguments = inspect.signature(kind).parameters
    known = {option.removeprefix(f"{name}_"): value for option, value in asdict(options or ScorerOptions()).items()}
    given = {argument: value for argument, value in known.items() if argument in arguments and value is not None}
    missing = [each.name for each in arguments.values() if each.default is each.empty and each.name not in given]
    if missing:
        raise DefinitionError(f"scorer {name}", found=f"no {' and '.join(missing)}", do=_how_to_give(missing[0], known))
    return cast("Scorer", kind(name=name, **given))


def direction_by_name(name: str, path: str) -> Direction | None:
    """Return which way a value is better of a scorer known by its name alone; None if that is unknown.

    The name is a registered one or a class, perhaps with a number, as results of older versions have it.
    """
    plain = re.sub(r" \(\d+\)$", "", name)
    if plain in METRICS:
        return METRICS[plain].direction_of(path)
    if re.fullmatch(BOUNDED_NAME, plain):
        return direction_at(TurnsWithin.direction, path)
    kind = SCORERS.find(plain) or SCORERS.find_class(plain)
    return None if kind is None or not issubclass(kind, Scorer) else direction_at(kind.direction, path)


def _how_to_give(argument: str, options: Mapping[str, Any]) -> str:
    if argument in options:
        return f"give it with --{argument}"
    return f"write it in a suite file, or name a scorer of yours as MODULE:OBJECT, made with its {argument}"
