"""The differences between the definitions of two runs, in words, each with the option that sets it."""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import takewhile
from typing import Any

from simeval.core.serialization import Json
from simeval.core.setting_field import about_of
from simeval.core.settings import Settings
from simeval.suites.scenario import shorten

OF_USERS = ("user_format", "on_user_fault", "max_user_fault_rate", "audit_users")
LONGEST_SHOWN = 60
CODE = "app's code"
OF_SCENARIOS, OF_EXPECTATIONS = "scenarios", "then"
OPTIONS = {  # of other parts than settings
    "app": "--app",
    "judge": "--judge-model",
    "user": "--user-model",
    "sample_size": "--samples",
}
_GONE, _NEW = "is gone (--only)", "is new (--only)"  # a scenario
_EVALUATORS = re.compile(r"\bevaluators$")
_MODULE = re.compile(r" \([\w.]*\)$")
_ONCE = ", 1 times"  # how often the examples of most experiments are answered


@dataclass(frozen=True, slots=True)
class _Place:
    """Where two definitions differ: in a scenario, perhaps in one of its expectations; or in none."""

    scenario: str = ""
    expectation: str = ""


_NOWHERE = _Place()


def changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return how two definitions differ, with the option of each; a difference in several places is named once."""
    earlier = _with_users_as_they_were(_by_prompt(_without_modules(before), now), now)
    replaced = []
    if (old := _dataset_of(earlier)) != (new := _dataset_of(now)) and old and new:
        replaced = [f"the dataset was {old.removesuffix(_ONCE)} and is {new.removesuffix(_ONCE)}"]
        earlier = {**earlier, OF_SCENARIOS: [{**each, "title": new} for each in earlier[OF_SCENARIOS]]}
    if len({earlier.get(CODE), now.get(CODE), None}) > 2 and earlier.get("app") == now.get("app"):
        replaced.append(f"the code of the app {now['app']} is another")
    earlier, now = ({name: each[name] for name in each if name != CODE} for each in (earlier, now))
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
    known = {name: then.get(name, ours[name]) for name in OF_USERS if name in ours}
    return {**definition, "settings": {**known, **definition["settings"]}} if "settings" in definition else definition


def _by_prompt(definition: Mapping[str, Any], now: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a definition as it is written now: until schema version 4 there was one version of all prompts."""
    version = definition.get("prompts")
    return {**definition, "prompts": dict.fromkeys(now["prompts"], version)} if isinstance(version, str) else definition


def numbered(titles: Iterable[str]) -> list[tuple[str, int]]:
    """Return each title with how many like it came before."""
    seen = Counter[str]()
    keys = []
    for title in titles:
        keys.append((title, seen[title]))
        seen[title] += 1
    return keys


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
