"""Templates of requests, with {message}, {messages} and {session} in them; paths into the response.

A word in braces is a place, and an unknown one is refused: with a space inside, { word }, it is sent as it is.
"""

import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from simeval.core.validation import meant_for, require
from simeval.errors import DefinitionError

PLACES = ("message", "messages", "session")
_PLACE = re.compile(r"\{([A-Za-z_]\w*)\}")
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_STEP = re.compile(r"\[(-?\d+|\*)\]|([^.\[\]]+)")
ALL = "[*]"  # the step of a path to all of a list
_DOUBLE = re.compile(r"\{\{\s*([A-Za-z_][\w.]*)\s*\}\}")  # as Jinja and Handlebars write a place
_SPACED = re.compile(r"\{\s*([A-Za-z_]\w*)\s*\}")
_LIKE_PLACE = re.compile(r"(?<!\$)\{([A-Za-z_][\w.]*(?:![rsa])?)\}")
_BARE_VARIABLE = re.compile(r"(?<![\w$?&])\$([A-Za-z_]\w+)")  # as a shell writes it; ?$top=1 is none
_PERCENT_VARIABLE = re.compile(r"%([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[A-Z]*(?:KEY|TOKEN|SECRET|PASSWORD))%")
_CONSTANT = re.compile(r"[A-Z_][A-Z0-9_]+")
_OTHER_NAMES: Mapping[str, Collection[str]] = {  # of places, in other tools
    "message": ["input", "msg", "prompt", "q", "query", "question", "text", "user_input", "user_message", "utterance"],
    "messages": ["chat_history", "conversation", "history", "transcript"],
    "session": ["chat_id", "conversation_id", "id", "session_id", "sessionid", "thread", "thread_id", "uuid"],
}
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
        return values[alone[1]] if alone and alone[1] in values else written(template, values)
    if isinstance(template, Sequence):
        return [filled(value, values) for value in template]
    return template


def written(text: str, values: Mapping[str, Any], *, quote: Callable[[str], str] = str) -> str:
    """Return a text with its places and environment variables filled in, each place's value as `quote` writes it."""

    def value_of(found: re.Match[str]) -> str:
        value = values.get(found[1], found)
        return found[0] if value is found else quote("" if value is None else str(value))

    if "{" not in text:
        return text
    parts = _VARIABLE.split(text)  # texts and names of variables in turn: a variable's value is no template
    return "".join(
        os.environ.get(part, "") if number % 2 else _PLACE.sub(value_of, part) for number, part in enumerate(parts)
    )


def places_in(template: Any) -> set[str]:
    """Return the names of the places that a template has."""
    return {name for text in _texts(template) for name in _PLACE.findall(_VARIABLE.sub("", text))}


def require_places(
    template: Any, where: str, known: Collection[str] = PLACES, *, any_case: bool = False, variables: bool = True
) -> None:
    """Raise DefinitionError for a place with an unknown name, or in another tool's notation.

    With `variables` also for an environment variable that is written as a shell does: $KEY, and with `any_case` $key.
    """
    for text in _texts(template):
        found = _no_place(text, known) or (_no_variable(text, known, any_case) if variables else None)
        if found:
            raise DefinitionError(where, found=f"found {found[0]}", do=found[1])
    if bare := _without_quotes(template, known):
        raise DefinitionError(where, found=f"found {{{bare}: null}}", do=f'put quotes around a place: "{{{bare}}}"')


def _no_place(text: str, known: Collection[str]) -> tuple[str, str] | None:
    """Return text that looks like a place and is none, and the right notation; None if a text has no such thing."""
    for double in _DOUBLE.finditer(text):
        return double[0], _meant(double[1], known) or f"write a place in single braces: {_listed(known)}"
    if text.count("{") == 1 and (spaced := _SPACED.search(text)) and spaced[1] in known and _PLACE.search(text) is None:
        return spaced[0], f"did you mean {{{spaced[1]}}}?"
    for found in _LIKE_PLACE.finditer(text):
        if found[1] not in known:
            do = _meant(found[1], known) or f"the places are {_listed(known)}"
            name = found[1].partition("!")[0]
            return found[0], f"{do} (to send braces as they are, write {{ {name} }}, with spaces)"
    return None


def _no_variable(text: str, known: Collection[str], any_case: bool) -> tuple[str, str] | None:
    """Return text that looks like an environment variable and is none, and the right notation."""
    for found in _VARIABLE.finditer(text):
        if found[1] in known and found[1] not in os.environ:
            return found[0], f"did you mean {{{found[1]}}}?"
    for found in _BARE_VARIABLE.finditer(text):
        if found[1] in known and "{" not in text:  # beside braces it may be a variable of GraphQL
            return found[0], f"did you mean {{{found[1]}}}?"
        if any_case or _CONSTANT.fullmatch(found[1]):
            return found[0], f"did you mean ${{{found[1]}}}?"
    percent = _PERCENT_VARIABLE.search(text)
    return (percent[0], f"did you mean ${{{percent[1]}}}?") if percent else None


def _meant(name: str, known: Collection[str]) -> str:
    """Ask whether a known place was meant that is called otherwise elsewhere, or is nearly called so; else nothing."""
    first = name.partition("!")[0].partition(".")[0].casefold()
    other = next((place for place, names in _OTHER_NAMES.items() if first in names and place in known), None)
    meant = first if first in known else other or meant_for(first, list(known))
    if meant is None and _CONSTANT.fullmatch(name):
        return f"did you mean ${{{name}}}?"
    return f"did you mean {{{meant}}}?" if meant else ""


def _listed(known: Collection[str]) -> str:
    return ", ".join(f"{{{each}}}" for each in known) or "none here"


def _without_quotes(template: Any, known: Collection[str]) -> str | None:
    """Return the place that YAML reads as a mapping, because it has no quotes: {text: {message}}."""
    if isinstance(template, Mapping):
        if len(template) == 1 and next(iter(template.values())) is None and next(iter(template)) in known:
            return str(next(iter(template)))
        template = [*template.values()]
    if isinstance(template, Sequence) and not isinstance(template, str):
        return next((found for each in template if (found := _without_quotes(each, known))), None)
    return None


def require_variables(template: Any, where: str) -> None:
    """Raise DefinitionError if a template names an environment variable that is not set."""
    for name in variables_in(template):
        if name not in os.environ:
            do = f"set it (export {name}=...)"
            raise DefinitionError(where, found=f"the environment variable {name} is not set", do=do)


class PlacesKept(dict[str, str]):
    """Values that leave each place of a template as it is written."""

    def __missing__(self, place: str) -> str:
        return f"{{{place}}}"


def variables_in(template: Any) -> set[str]:
    """Return the names of the environment variables that a template takes."""
    return {name for text in _texts(template) for name in _VARIABLE.findall(text)}


def secrets_in_template(template: Any) -> list[str]:
    """Return the values of the environment variables in a template."""
    return [os.environ.get(name, "") for name in variables_in(template)]


def hidden(text: str, template: Any, secrets: Mapping[str, str] = {}) -> str:
    """Return a text with names in the place of values: of a template's environment variables, and of `secrets`.

    These are values with their names.
    """
    found = {os.environ.get(name, ""): f"${{{name}}}" for name in sorted(variables_in(template))}
    found |= {form: f"{{{name}}}" for value, name in secrets.items() for form in (value, quote(value, safe=""))}
    for value, name in sorted(found.items(), key=lambda each: -len(each[0])):
        text = text.replace(value, name) if len(value) >= SHORTEST_SECRET else text
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
    """Return the value at a path, or MISSING; a path through all of a list gives a flat list of the values found."""
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
