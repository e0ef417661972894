"""A field of the settings with its documentation: its help, its group, its option, its check."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, field
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from simeval.core.setting_checks import require_options
from simeval.core.validation import require, require_one_of

VERDICTS, LIMITS, BUDGET, SURROUNDINGS = "Verdicts", "Limits", "Budget", "Store, models and secrets"
ABOUT = "about"

_WORDS: Mapping[type, str] = {str: "a text", Path: "a path"}  # the names of these types

Check = Callable[[Any, str], None]  # takes a value and a name, and raises DefinitionError


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """The description of a setting wherever it is shown.

    `flag` is its option on the command line, if it has one; `unset` is the meaning of None.
    """

    group: str
    help: str
    flag: str = ""
    metavar: str | None = None
    unset: str = ""
    check: Check | None = None

    @property
    def is_of_a_suite(self) -> bool:
        """Whether a suite file may set it: the surroundings of a run are not the suite's."""
        return self.group != SURROUNDINGS


def about(group: str, help: str, **more: Any) -> Mapping[str, About]:
    """Return the metadata of a setting's field; `more` are further fields of its About."""
    return {ABOUT: About(group=group, help=help, **more)}


def options_of_calls(flag: str, help: str) -> Any:
    """Return the field of a setting with the options of model calls, which is not shown: it may hold keys."""
    more: dict[str, Any] = {"flag": flag, "metavar": "NAME=VALUE", "check": require_options}
    return field(default=None, repr=False, metadata=about(SURROUNDINGS, help, **more))


def about_of(each: "Field[Any]") -> About:
    """Return the description of a setting."""
    found: About = each.metadata[ABOUT]
    return found


def alternatives(hint: Any) -> tuple[Any, ...]:
    """Return the members of a union; of another type, the type alone."""
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def choices(hint: Any) -> tuple[Any, ...]:
    """Return the values of a type that has only a few: booleans, literals, None; empty for any other type."""
    found: list[Any] = []
    for each in alternatives(hint):
        if each is bool:
            found += [True, False]
        elif each is NoneType:
            found.append(None)
        elif get_origin(each) is Literal:
            found += get_args(each)
        else:
            return ()
    return tuple(found)


def check(each: "Field[Any]", value: object) -> None:
    """Raise DefinitionError for a value that a setting cannot have."""
    if value is None and NoneType in alternatives(each.type):
        return
    if few := choices(each.type):
        require_one_of(value, few, each.name)
    elif (its_own := about_of(each).check) is not None:
        its_own(value, each.name)
    elif get_origin(each.type) is Sequence:
        do = f"give a list, such as [{value!r:.40}]" if isinstance(value, str) else "give a list"
        require(isinstance(value, (list, tuple, set, frozenset)), each.name, found=value, do=do)
    elif kinds := [kind for kind in alternatives(each.type) if kind in _WORDS]:
        do = f"give {' or '.join(map(_WORDS.__getitem__, kinds))}"
        require(isinstance(value, tuple(kinds)), each.name, found=value, do=do)
