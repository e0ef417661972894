"""Shards of a suite: the scenarios of each, and its budget.

Whole scenarios are dealt out, so that each is concluded on by itself as in one process. Their assignment follows from
the suite and its models alone: the dearest by the forecast first, each to the shard that has the least so far. Levels
and seeds are those of the whole suite.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from simeval.core.run_records import total
from simeval.core.serialization import Json
from simeval.core.setting_field import Shard
from simeval.core.settings import Settings
from simeval.engine.plans.cost_forecast import CostForecast
from simeval.engine.plans.scenario_plan import ScenarioPlan
from simeval.errors import DefinitionError
from simeval.evaluators.not_worse import NotWorseEvaluator

WHAT = "shard"  # the entry of a definition that identifies it
SHARED = (
    "max_cost_usd",
    "max_calls",
    "max_tokens",
    "requests_per_minute",
    "tokens_per_minute",
    "app_requests_per_minute",
)
DIGITS = 3  # of a weight: machines may differ in the last ones


@dataclass(frozen=True, slots=True)
class ShardPlan:
    """The part of a suite's plans that one shard has, by their places in the suite."""

    shard: Shard
    suite: tuple[ScenarioPlan, ...]
    places: tuple[int, ...]

    @property
    def plans(self) -> tuple[ScenarioPlan, ...]:
        """Its own plans, in their order."""
        return tuple(replace(self.suite[place], position=position) for position, place in enumerate(self.places))

    @property
    def note(self) -> str:
        """Return its note in a report."""
        scenarios = f"{len(self.places)} of the suite's {len(self.suite)} scenarios"
        return f"shard {self.shard}: {scenarios}; `simeval merge` makes one run of all shards' runs"

    def definition(self, suite: Json) -> Json:
        """Return its definition, made from the suite's, with the identity that its shards share."""
        own = {
            "number": self.shard.number,
            "of": self.shard.of,
            "places": list(self.places),
            "all scenarios": digest(suite),
            "titles": [plan.title for plan in self.suite],
            "sizes": [plan.sample_size for plan in self.suite],
            "evaluators": self._own_evaluators(),
        }
        return {**suite, "scenarios": [suite["scenarios"][place] for place in self.places], WHAT: own}

    def _own_evaluators(self) -> Mapping[str, str]:
        """Return the modules of evaluator classes that are not simeval's, by their names."""
        all_of_them = [each for plan in self.plans for measure in plan.measures for each in measure.evaluators]
        compared = [each.requirement for each in all_of_them if isinstance(each, NotWorseEvaluator)]
        used = {type(each) for each in (*all_of_them, *compared)}
        return {
            each.__qualname__: f"{each.__module__}:{each.__qualname__}"
            for each in sorted(used, key=lambda each: each.__qualname__)
            if not each.__module__.startswith("simeval.")
        }


def digest(definition: Mapping[str, object]) -> str:
    """Return the identity of a definition."""
    return sha256(json.dumps(definition, sort_keys=True, default=str).encode()).hexdigest()[:16]


def plan_shard(
    plans: Sequence[ScenarioPlan], shard: Shard, forecast: Callable[[Sequence[ScenarioPlan]], CostForecast]
) -> ShardPlan:
    """Return the part of a suite that a shard has. Raises DefinitionError if some shard gets nothing."""
    if shard.of > len(plans):
        raise DefinitionError(
            "shard",
            found=f"found {shard.of} shards for {len(plans)} scenario{'s'[: len(plans) - 1]}",
            do="use no more shards than there are scenarios: a scenario is not divided",
        )
    weights = [_weight(forecast([plan])) for plan in plans]
    return ShardPlan(shard, tuple(plans), tuple(dealt_out(weights, shard.of)[shard.number - 1]))


def dealt_out(weights: Sequence[float], shards: int) -> list[list[int]]:
    """Return the places of each shard's items: the heaviest goes first, to the shard that has the least so far."""
    loads, places = [0.0] * shards, [[] for _ in range(shards)]  # type: tuple[list[float], list[list[int]]]
    for place in sorted(range(len(weights)), key=lambda place: (-weights[place], place)):
        lightest = min(range(shards), key=lambda number: (loads[number], len(places[number])))
        loads[lightest] += weights[place]
        places[lightest].append(place)
    return [sorted(each) for each in places]


def _weight(foreseen: CostForecast) -> float:
    """Return the tokens a scenario will take: its time and its cost follow them, and no table of prices is asked."""
    usage = total(foreseen.typical)
    return float(f"{usage.prompt_tokens + usage.completion_tokens:.{DIGITS}g}")


def shared_out(settings: Settings) -> Settings:
    """Return the settings with a shard's part of each limit that holds for all shards together.

    Raises DefinitionError for a limit that is too small to be shared.
    """
    if settings.shard is None:
        return settings
    shard = Shard.read(settings.shard)
    parts: dict[str, float] = {}
    for name in SHARED:
        whole = getattr(settings, name)
        if whole is None:
            continue
        parts[name] = whole / shard.of if name == "max_cost_usd" else shard.part_of(whole)
        if not parts[name]:
            do = "raise it, or use fewer shards"
            raise DefinitionError(name, found=f"{whole} cannot be shared out among {shard.of} shards", do=do)
    return settings.overridden(parts)
