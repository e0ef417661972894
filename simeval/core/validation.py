"""Checks of arguments: each raises DefinitionError with the place, the value found and the remedy."""

import re
from collections.abc import Collection, Mapping, Sequence
from inspect import signature
from os import PathLike
from typing import Any, ClassVar, Self, TypeGuard

from simeval.core.faces import PAGE
from simeval.errors import DefinitionError

WORDS: Mapping[str, bool] = {  # people's words for yes and no in files and on the command line
    **dict.fromkeys(("true", "yes", "pass"), True),
    **dict.fromkeys(("false", "no", "fail"), False),
}
PARTS = re.compile(r"[.:] ?")  # between the parts of the name in an error
QUOTED = re.compile(r"(['\"]).*\1")
WORDS_READ = "YAML reads yes, no, on and off as true and false"
ONE_OF = "use one of"  # a list of names follows
MOST_LISTED = 16  # names that are listed if none is likely to be meant
MOST_ASKED = 3  # names that may have been meant
# chosen on some thirty slips: "json" is valid_json or json_match
LIKELY, AS_LIKELY, WORD_WEIGHT, PART_WEIGHT = 0.7, 0.05, 0.3, 0.8
LONGEST_FOUND = 200  # characters of a value that are shown
_WORD = re.compile(r"[^\W\d_]+|\d+")
SAME: Mapping[str, str] = {  # other names of fields, which options and engines have
    "alpha": "significance_level",
    "app_rpm": "app_requests_per_minute",
    "app_timeout": "app_timeout_seconds",
    "judge_context": "judge_context_tokens",
    "max_answer": "max_answer_bytes",
    "max_cost": "max_cost_usd",
    "model_timeout": "model_timeout_seconds",
    "outage": "outage_seconds",
    "rpm": "requests_per_minute",
    "samples": "sample_size",
    "tpm": "tokens_per_minute",
    "user_simulator_model": "user_model",
}
LARGEST_SAMPLE = 10_000  # trials of one scenario; boundaries of larger designs would take many seconds


class UnknownField(DefinitionError):
    """A mapping has a field that it cannot have: its name is wrong, and not its value."""


def own_name(key: Any, names: Sequence[str]) -> Any:
    """Return the field that a name in a file means, which may be written as an option is, or in camel case."""
    if not isinstance(key, str) or key in names:
        return key
    snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key).lower()
    return next((name for name in (snake, SAME.get(snake)) if name in names), key)


def parts_of(where: str) -> list[str]:
    """Return the parts of the name in an error, the last one an argument; quoted text is no part."""
    return PARTS.split(QUOTED.sub("", where))


def require(condition: bool, where: str, *, found: object, do: str) -> None:
    """Raise a DefinitionError unless `condition` holds."""
    if not condition:
        shown = repr(found)
        shown = shown if len(shown) <= LONGEST_FOUND else f"{shown[: LONGEST_FOUND - 1]}…"
        raise DefinitionError(where, found=f"found {shown}", do=do)


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a number: no boolean, no NaN, nothing that merely looks like one."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value


def require_object(found: object, where: str) -> None:
    """Raise DefinitionError if a class is given in place of an object of it."""
    if isinstance(found, type):
        do = f"make an object of it, such as {found.__name__}(), and give that"
        raise DefinitionError(where, found=f"found the class {found.__name__}", do=do)


def require_file(path: object, where: str) -> None:
    """Raise DefinitionError where something names no file."""
    require(isinstance(path, (str, PathLike)), where, found=path, do="give the path of a file")


def require_level(level: object, where: str, *, optional: bool = False) -> None:
    """Raise a DefinitionError unless `level` is a significance level, or None if it is optional."""
    usable = isinstance(level, (int, float)) and is_number(level) and 0 < level < 0.5
    do = "use a number between 0 and 0.5, such as 0.05"
    require(usable or (optional and level is None), where, found=level, do=do)


def require_whole(value: object, where: str, *, optional: bool = False) -> None:
    """Raise a DefinitionError unless `value` is a whole number of 1 or more, or None if it is optional."""
    usable = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    require(usable or (optional and value is None), where, found=value, do="use a whole number of 1 or more")


def require_size(value: object, where: str, *, optional: bool = False) -> None:
    """Raise a DefinitionError unless `value` is a number of trials that can be planned for, or None if optional."""
    require_whole(value, where, optional=optional)
    few = value is None or (isinstance(value, int) and value <= LARGEST_SAMPLE)
    require(few, where, found=value, do=f"use at most {LARGEST_SAMPLE:,} trials")


def require_share(share: object, where: str, *, optional: bool = False, such_as: float | None = None) -> None:
    """Raise a DefinitionError unless `share` is strictly between 0 and 1, or None if it is optional.

    `such_as` is an example of one that needs no proof.
    """
    usable = isinstance(share, (int, float)) and is_number(share) and 0 < share < 1
    do = "use a share strictly between 0 and 1 (no number of trials can prove 0% or 100%)"
    if isinstance(share, str):
        do = f"use a number, such as {such_as or 0.9:g}"
    elif percent := of_percent(share):
        do = f"use a {'share' if such_as is None else 'number'} strictly between 0 and 1, such as {percent:g}"
    elif such_as is not None:
        do = f"use a number strictly between 0 and 1, such as {such_as:g}"
    require(usable or (optional and share is None), where, found=share, do=do)


def of_percent(value: object) -> float | None:
    """Return the share that a value is in percent, if it looks like such a number."""
    return value / 100 if is_number(value) and 2 <= value < 100 else None


def require_one_of(value: object, choices: Sequence[object], where: str) -> None:
    """Raise a DefinitionError unless `value` is one of `choices`."""
    shown = [repr(choice) for choice in choices]
    usable = any(value is choice or (isinstance(choice, str) and value == choice) for choice in choices)
    require(usable, where, found=value, do=f"use {', '.join(shown[:-1])} or {shown[-1]}")


_PERCENT = re.compile(r"(\d+(?:\.\d+)?) ?%")
_PLAIN: Mapping[str, str] = {  # the remedy for each kind of mistake that pydantic finds, by its beginning
    "string_too_short": "give a text that is not empty",
    "string_pattern_mismatch": "give a text that is not empty",
    "string_unicode": "write the character itself: \\ud800 to \\udfff are halves of one",
    "string": "give a text, in quotes",
    "int": "use a whole number, such as 30",
    "float": "use a number, such as 0.9",
    "bool": "use true or false",
    "too_short": "give at least one",
    "list": "give a list: [one, two], or a line with a dash for each",
    "tuple": "give a list: [one, two], or a line with a dash for each",
    "dict": "give names with values, such as {name: value}",
    "date": "give a date, such as 2027-01-31",
}


def plain(kind: str, said: str, found: object = None) -> str:
    """Return the remedy for a mistake of a kind of pydantic's, by its message `said` and the value `found`."""
    if kind.startswith("float") and isinstance(found, str) and (percent := _PERCENT.fullmatch(found.strip())):
        return f"use a number, such as {float(percent[1]) / 100:g}"
    return next((do for begin, do in _PLAIN.items() if kind.startswith(begin)), _wanted(said))


def _wanted(said: str) -> str:
    """Return in our words pydantic's advice: for "Input should be 'pass' or 'fail'" which to use."""
    begin, quote = "Input should be ", "'"
    return f"use {said.removeprefix(begin).replace(quote, '')}" if begin in said else said[:1].lower() + said[1:]


def first_of(names: Sequence[object], most: int) -> str:
    """Return names with commas between them, the first of many and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(str, names[:most])) + more


def nearest(name: str, known: Sequence[str], *, more: str = "", see: str = "") -> str:
    """Suggest which of the `known` names one may have been meant for.

    If none is likely, list all of them, and `more`; of many only the most alike, and where to `see` the others.
    """
    if asked := closest(name, known):
        return asked
    if len(known) <= MOST_LISTED:
        listed = ", ".join(repr(each) if " " in each else each for each in known)
        return f"{'use' if len(known) == 1 and not more else ONE_OF} {listed}{more}"
    listed = ", ".join(each for _, each in _alike(name, known)[:MOST_ASKED])
    return f"{ONE_OF} {len(known)}, such as {listed}{more}" + (f"; {see}" if see else "")


def meant_for(name: object, known: Sequence[str]) -> str | None:
    """Return the one of the `known` names that this one is likely meant for; None if none is, or several are."""
    likely = _likely(name, known) if isinstance(name, str) else []
    return likely[0] if len(likely) == 1 else None


def closest(name: str, known: Sequence[str]) -> str:
    """Ask whether the one of the `known` names was meant that is like this one, or which of several; else nothing."""
    *others, last = [repr(each) for each in _likely(name, known)] or [""]
    return f"did you mean {', '.join(others)}{' or ' if others else ''}{last}?" if last else ""


def _likely(name: str, known: Sequence[str]) -> list[str]:
    alike = _alike(name, known)
    best = max([LIKELY, *(likeness for likeness, _ in alike)])
    return [each for likeness, each in alike if likeness > best - AS_LIKELY and likeness >= LIKELY][:MOST_ASKED]


def _alike(name: str, known: Sequence[str]) -> Sequence[tuple[float, str]]:
    """Return the `known` names with how much each is like this one: in its letters, and in its whole words."""
    from difflib import SequenceMatcher

    words, found = set(_WORD.findall(name.casefold())), []
    for each in known:
        likeness = SequenceMatcher(None, name.casefold(), each.casefold()).ratio()
        if sorted(name) == sorted(each):
            likeness = 1.0  # two letters have changed places: in short words that is half of them
        elif _differ_by_one(name, each):
            likeness = max(likeness, LIKELY)
        if len(words) == 1:
            parts = [SequenceMatcher(None, name.casefold(), word).ratio() for word in _WORD.findall(each.casefold())]
            likeness = max([likeness, *(PART_WEIGHT * part for part in parts)])
        shared = len(words & set(_WORD.findall(each.casefold()))) / max(len(words), 1)
        found.append((likeness + WORD_WEIGHT * shared, each))
    return sorted(found, key=lambda likeness: -likeness[0])


def _differ_by_one(one: str, other: str) -> bool:
    """Return whether two words of three letters or more have one letter that differs."""
    return len(one) == len(other) >= 3 and sum(a != b for a, b in zip(one, other, strict=True)) == 1


class AnswersOriginals:
    """Makes a class explain the name here of an original's argument; the class lists these in `originals`."""

    __slots__ = ()
    originals: ClassVar[Mapping[str, str]] = {}

    def __new__(cls, *args: Any, **given: Any) -> Self:
        if args or not given.keys().isdisjoint(cls.originals):
            own = [*signature(cls.__init__).parameters.values()][1:]
            by_name = [each.name for each in own if each.kind is each.KEYWORD_ONLY]
            require_own_arguments(cls.__name__, given, {each.name for each in own}, cls.originals)
            if len(by_name) == len(own) and args:
                first = ", ".join(f"{each.name}=..." for each in own[:4] if each.default is each.empty)
                raise TypeError(f"{cls.__name__}() takes its arguments by name: {cls.__name__}({first}) ({PAGE})")
        return super().__new__(cls)


def require_own_arguments(
    made: str, given: Collection[str], own: Collection[str], originals: Mapping[str, str]
) -> None:
    """Raise TypeError where an argument is an original's, and not one of its own."""
    if told := originals_among(given, own, originals):
        raise TypeError(f"{made}() takes no argument {told} ({PAGE})")


def originals_among(given: Collection[str], own: Collection[str], originals: Mapping[str, str]) -> str:
    """Return the names here of the arguments that are an original's, and not its own; empty without any."""
    strange = [name for name in given if name in originals and name not in own]
    return "; ".join(f"{name}=: in simeval it is {originals[name]}" for name in strange)
