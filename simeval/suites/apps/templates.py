"""Templates of requests, with {message}, {messages} and {session} in them; paths into what came back."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from simeval.core.validation import require
from simeval.errors import DefinitionError

PLACES = ("message", "messages", "session")
_PLACE = re.compile(r"\{(" + "|".join(PLACES) + r")\}")
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_STEP = re.compile(r"\[(-?\d+|\*)\]|([^.\[\]]+)")
ALL = "[*]"  # the step of a path to all of a list
MISSING: Any = object()
SHORTEST_SECRET = 6  # characters; a shorter value, such as "en", may be a part of any word


def filled(template: Any, values: Mapping[str, Any]) -> Any:
    """Return a template of JSON with its places and environment variables filled in.

    A text that is one place alone becomes the value, a list for instance; inside of a text it is written as text.
    """
    if isinstance(template, Mapping):
        return {key: filled(value, values) for key, value in template.items()}
    if isinstance(template, str):
        alone = _PLACE.fullmatch(template)
        return values[alone[1]] if alone else written(template, values)
    if isinstance(template, Sequence):
        return [filled(value, values) for value in template]
    return template


def written(text: str, values: Mapping[str, Any], *, quote: Callable[[str], str] = str) -> str:
    """Return a text with its places and environment variables filled in, each place's value as `quote` writes it."""

    def value_of(found: re.Match[str]) -> str:
        value = values[found[1]]
        return quote("" if value is None else str(value))

    parts = _VARIABLE.split(text)  # texts and names of variables in turn: what a variable holds is no template
    return "".join(
        os.environ.get(part, "") if number % 2 else _PLACE.sub(value_of, part) for number, part in enumerate(parts)
    )


def places_in(template: Any) -> set[str]:
    """Return the names of the places that a template has."""
    return {name for text in _texts(template) for name in _PLACE.findall(text)}


def require_variables(template: Any, where: str) -> None:
    """Raise DefinitionError where a template names an environment variable that is not set."""
    for name in {name for text in _texts(template) for name in _VARIABLE.findall(text)}:
        if name not in os.environ:
            do = f"set it (export {name}=...)"
            raise DefinitionError(where, found=f"the environment variable {name} is not set", do=do)


def hidden(text: str, template: Any) -> str:
    """Return a text with the names of a template's environment variables where their values stand."""
    names = {name for part in _texts(template) for name in _VARIABLE.findall(part)}
    for value, name in sorted(((os.environ.get(name, ""), name) for name in names), key=lambda each: -len(each[0])):
        text = text.replace(value, f"${{{name}}}") if len(value) >= SHORTEST_SECRET else text
    return text


def _texts(template: Any) -> list[str]:
    if isinstance(template, str):
        return [template]
    if isinstance(template, Mapping):
        return [text for value in template.values() for text in _texts(value)]
    if isinstance(template, Sequence):
        return [text for value in template for text in _texts(value)]
    return []


def steps_of(path: str, where: str) -> list[str | int]:
    """Return the steps of a path such as $.choices[0].message or $[*].text. Raises DefinitionError."""
    bare = path.removeprefix("$").removeprefix(".")
    steps = [(ALL if index == "*" else int(index)) if index else name for index, name in _STEP.findall(bare)]
    is_whole = path_of(steps).removeprefix("$").removeprefix(".") == bare
    do = "write a path such as $.choices[0].message.content, or $[*].text for all of a list"
    require(bool(steps) and is_whole, where, found=path, do=do)
    return [int(step) if isinstance(step, str) and step.isdigit() else step for step in steps]


def path_of(steps: Sequence[str | int]) -> str:
    """Return the path that has these steps."""
    written = (str(step) if step == ALL else f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    return "$" + "".join(written)


def found_at(value: Any, steps: Sequence[str | int]) -> Any:
    """Return the value at a path, or MISSING; a path through all of a list gives a flat list of what is found."""
    for place, step in enumerate(steps):
        if step == ALL and isinstance(value, list):
            return _found_in_all(value, steps[place + 1 :])
        if isinstance(value, dict):
            value = value.get(step if isinstance(step, str) else str(step), MISSING)
        elif isinstance(value, list) and isinstance(step, int) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return MISSING
    return value


def _found_in_all(values: list[Any], rest: Sequence[str | int]) -> Any:
    found: list[Any] = []
    for each in values:
        inner = found_at(each, rest)
        if isinstance(inner, list):
            found += inner
        elif inner is not MISSING and inner is not None:
            found.append(inner)
    return found or MISSING
