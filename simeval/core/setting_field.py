"""A field of the settings with its documentation: its help, its group, its option, its check."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, field
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from simeval.core.validation import closest, is_number, require, require_one_of

NO_STORE = "none"  # means no store in places without None
_NO_STORES = (".csv", ".html", ".json", ".md", ".parquet", ".py", ".tsv", ".txt", ".xlsx", ".xml", ".yaml", ".yml")

VERDICTS, LIMITS, BUDGET, SURROUNDINGS = "Verdicts", "Limits", "Budget", "Store, models and secrets"
ABOUT = "about"

_WORDS: Mapping[type, str] = {str: "a text", Path: "a path"}  # the names of these types

Check = Callable[[Any, str], None]  # takes a value and a name, and raises DefinitionError

_ELSEWHERE: Mapping[str, str] = {  # other tools' names of settings, and of models
    "budget": "max_cost_usd",
    "judge": "judge_model",
    "model": "judge_model",
    "n": "sample_size",
    **dict.fromkeys(("samples", "max_trials", "n_trials", "num_trials"), "sample_size"),
    "trials": "sample_size",
    "user_model": "user_simulator_model",
}


def require_seconds(value: object, name: str) -> None:
    """Raise a DefinitionError unless a value is a number of seconds above 0."""
    require(is_number(value) and value > 0, name, found=value, do="use more than 0 seconds")


def require_amount(value: object, name: str) -> None:
    """Raise a DefinitionError unless a value is a number above 0."""
    require(is_number(value) and value > 0, name, found=value, do="use a number above 0")


def require_part(value: object, name: str) -> None:
    """Raise a DefinitionError unless a value is a share, 0 and 1 among them."""
    require(is_number(value) and 0 <= value <= 1, name, found=value, do="use a share from 0 to 1")


def require_seed(value: object, name: str) -> None:
    """Raise a DefinitionError unless a value is a whole number."""
    require(isinstance(value, int), name, found=value, do="use a whole number")


def require_prompts(value: object, name: str) -> None:
    """Raise a DefinitionError unless a value maps names to files or texts."""
    usable = isinstance(value, Mapping) and all(
        isinstance(each, str) and isinstance(given, (str, Path)) and str(given).strip() for each, given in value.items()
    )
    require(usable, name, found=value, do="give {name: file}, such as {'user': 'prompts/user.md'}")


def require_options(value: object, name: str) -> None:
    """Raise a DefinitionError unless a setting holds options of calls, by their names."""
    usable = isinstance(value, Mapping) and all(isinstance(each, str) for each in value)
    require(usable, name, found=value, do='give options by their names, such as {"temperature": 0}')


def require_place(value: object, name: str) -> None:
    """Raise a DefinitionError unless a value can name a store, or is a journal."""
    is_journal = all(callable(getattr(value, each, None)) for each in ("append", "close"))
    usable = is_journal or isinstance(value, (str, Path))
    is_none = isinstance(value, str) and value.lower() == NO_STORE
    do = f'name a file or a URL; for no store use "{NO_STORE}", in Python None'
    require(usable, name, found=value, do=do)
    require(not is_none, name, found=value, do="use None for no store")
    is_other = not is_journal and "://" not in str(value) and Path(str(value)).suffix.lower() in _NO_STORES
    is_other = is_other and not Path(str(value)).is_file()  # whoever has named one so goes on with it
    require(
        not is_other, name, found=value, do="name a SQLite file, such as runs.db, a .jsonl file or a PostgreSQL URL"
    )


def require_path(value: object, name: str) -> None:
    """Raise a DefinitionError unless a value can name a file."""
    usable = isinstance(value, (str, Path)) and bool(str(value).strip())
    require(usable, name, found=value, do="name a file")


def require_kind(value: object, name: str, *, kind: type) -> None:
    """Raise a DefinitionError unless a value is of a class."""
    require(isinstance(value, kind), name, found=value, do=f"give a {kind.__name__}")


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


def other_names(settings: Sequence["Field[Any]"]) -> Mapping[str, str]:
    """Return settings by the names that they have elsewhere: as their options, or in other tools."""
    flags = {about_of(each).flag.removeprefix("--").replace("-", "_"): each.name for each in settings}
    return {**{flag: name for flag, name in flags.items() if flag}, **_ELSEWHERE}


def meant_setting(name: str, settings: Sequence["Field[Any]"], beside: Sequence[str] = ()) -> str:
    """Ask whether a setting with a similar name was meant, or one of the names `beside` them; else ""."""
    known = [*(each.name for each in settings), *beside]
    meant = other_names(settings).get(name)
    return f"did you mean {meant!r}?" if meant in known else closest(name, known)
