"""The parts of settings: fields with their documentation and checks, their values, and days in a run's own time."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from datetime import date, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from simeval.core.validation import closest, is_number, require, require_one_of, require_whole
from simeval.errors import DefinitionError

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

_FORM = re.compile(r"(\d{1,6})/(\d{1,6})")
_TODAY = re.compile(r"\{\s*today\s*(?:([+-])\s*(\d{1,5})\s*)?\}", re.IGNORECASE)
_MEANT: Mapping[str, str] = {"tomorrow": "{today+1}", "yesterday": "{today-1}"}
_OTHER = re.compile(rf"\{{\s*(today[^{{}}]*|{'|'.join(_MEANT)})\s*\}}", re.IGNORECASE)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

EXECUTORS = ("local", "ray")


OnAppError = Literal["fail", "exclude", "stop"]
OnFailedControl = Literal["refuse", "warn", "off"]
OnUserFault = Literal["missing", "retry", "count"]
UserFormat = Literal["json", "text"]
EarlyStopping = bool | Literal["anytime"]
Gate = Literal["pass", "not_fail"]
StopAt = Literal["fewest", "unlikely", "gate", "verdict"]  # the modes that evaluators know
Stop = Literal["fewest", "unlikely", "reachable", "gate", "verdict"]
Standard = Literal["judge", "people"]  # whose rate a requirement is on
Order = Literal["file", "round-robin", "history"]  # in which scenarios get their trials
CriteriaCalls = Literal["all", "each"]
JudgeReply = Literal["json", "label"]
TraceOut = Literal["otlp", "global"]
ModelRole = Literal["judge", "user", "app"]  # whose options a model gets; rubrics and scorers are the judge's
ROLES: Sequence[ModelRole] = get_args(ModelRole)

PERSONA = "persona"  # the key in a conversation's style of the persona of its user, if there is a mix of users


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


def setting(default: Any, group: str, help: str, *, repr: bool = True, **more: Any) -> Any:
    """Return the field of a setting; `more` are further fields of its About."""
    return field(default=default, repr=repr, metadata={ABOUT: About(group=group, help=help, **more)})


def options_of_calls(flag: str, help: str) -> Any:
    """Return the field of a setting with the options of model calls, which is not shown: it may hold keys."""
    more: dict[str, Any] = {"flag": flag, "metavar": "NAME=VALUE", "check": require_options}
    return setting(None, SURROUNDINGS, help, repr=False, **more)


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


@dataclass(frozen=True, slots=True)
class Shard:
    """The shard with this number, from 1, of so many."""

    number: int
    of: int

    @classmethod
    def read(cls, text: object, where: str = "shard") -> "Shard":
        """Read "3/8". Raises DefinitionError for anything else."""
        found = _FORM.fullmatch(text) if isinstance(text, str) else None
        number, of = map(int, found.groups()) if found else (0, 0)
        require(1 <= number <= of, where, found=text, do="write NUMBER/OF, from 1/OF to OF/OF, such as 3/8")
        return cls(number, of)

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def part_of(self, whole: int) -> int:
        """Return this shard's part of a whole number; the parts of all shards add up to it."""
        return whole * self.number // self.of - whole * (self.number - 1) // self.of


def require_shard(value: object, name: str) -> None:
    """Raise a DefinitionError unless a value names a shard."""
    Shard.read(value, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class RayExecutor:
    """Runs trials on a Ray cluster: a number of actors that each hold conversations and measure them.

    `address` is that of a cluster ("auto", "ray://head:10001"); without one it is RAY_ADDRESS, or a cluster that is
    started on this machine. Each actor takes `num_cpus`, and `num_gpus` for scorers with models of their own, of its
    node. `runtime_env` is the environment that Ray prepares on the nodes. Raises DefinitionError.
    """

    address: str | None = None
    actors: int = 4
    num_cpus: float = 1.0
    num_gpus: float = 0.0
    runtime_env: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require_whole(self.actors, "RayExecutor.actors")
        for name in ("num_cpus", "num_gpus"):
            number = getattr(self, name)
            require(is_number(number) and number >= 0, f"RayExecutor.{name}", found=number, do="use 0 or more")


def require_executor(value: object, name: str) -> None:
    """Raise a DefinitionError unless a value names an executor, or is one."""
    usable = value in EXECUTORS or isinstance(value, RayExecutor)
    *others, last = EXECUTORS if isinstance(value, str) else (*EXECUTORS, "RayExecutor(...)")
    require(usable, name, found=value, do=f"use {', '.join(others)} or {last}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryConfig:
    """How calls to language models are retried, by tenacity.

    At most `max_attempts` are made (tenacity's stop). The wait before the next is tenacity's `wait_random_exponential`:
    at random up to a bound that doubles from `backoff_multiplier` seconds to `max_backoff_seconds`; a provider's
    Retry-After is waited for in full if it is at most two minutes.
    """

    enabled: bool = True
    max_attempts: int = 5
    backoff_multiplier: float = 0.5
    max_backoff_seconds: float = 30.0

    def __post_init__(self) -> None:
        require(self.max_attempts >= 1, "RetryConfig.max_attempts", found=self.max_attempts, do="use 1 or more")
        require(
            self.backoff_multiplier >= 0,
            "RetryConfig.backoff_multiplier",
            found=self.backoff_multiplier,
            do="use 0 or more seconds",
        )
        require(
            self.max_backoff_seconds >= 0,
            "RetryConfig.max_backoff_seconds",
            found=self.max_backoff_seconds,
            do="use 0 or more seconds",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WritingStyleAxes:
    """The values from which a simulated user's writing style is drawn, one from each axis."""

    proficiency: Sequence[str] = (
        "Writes at a primary-school level.",
        "Makes frequent spelling and grammar mistakes.",
        "Writes clearly, with a few small mistakes.",
        "Writes correct, everyday language.",
        "Writes flawlessly, with a rich vocabulary.",
    )
    tone: Sequence[str] = (
        "Warm and enthusiastic.",
        "Polite.",
        "Curious.",
        "Neutral and direct.",
        "Sceptical.",
        "A little confused.",
        "Impatient.",
        "Annoyed.",
    )
    verbosity: Sequence[str] = (
        "Very terse (1-5 words).",
        "Short (5-15 words).",
        "Medium (15-40 words).",
        "Detailed (40-100 words).",
        "Rambling (more than 100 words).",
    )
    formality: Sequence[str] = (
        "Very formal.",
        "Formal.",
        "Neutral.",
        "Casual.",
        "Very casual, with slang, abbreviations or emojis.",
    )

    def __post_init__(self) -> None:
        for axis in fields(self):
            values = getattr(self, axis.name)
            require(
                not isinstance(values, str) and len(values) > 0 and all(isinstance(v, str) and v for v in values),
                f"WritingStyleAxes.{axis.name}",
                found=values,
                do="give a list of one or more texts",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class WritingStyleConfig:
    """Whether simulated users write in varied styles, and which."""

    enabled: bool = True
    axes: WritingStyleAxes = field(default_factory=WritingStyleAxes)

    def draw(self, seed: int) -> Mapping[str, str] | None:
        """Draw the style of the trial that has this seed; None where styles are off."""
        if not self.enabled:
            return None
        from simeval.core import seeds  # loads hashlib, which a command that only shows its help does not need

        random = seeds.generator(seed, "writing style")
        return {axis.name: random.choice(list(getattr(self.axes, axis.name))) for axis in fields(self.axes)}


DEFAULT_STYLE = WritingStyleConfig()


def dated(text: str, today: date) -> str:
    """Return a text with each {today+3} as a date such as 2026-11-29, which every language reads.

    Raises DefinitionError for a day that is named otherwise.
    """
    if "{" not in text:
        return text
    made = _TODAY.sub(lambda found: _day(found, today).isoformat(), text)
    if other := _OTHER.search(made):
        do = f"write {_MEANT.get(other[1].lower(), '{today}, {today+3} or {today-1}')}"
        raise DefinitionError("scenario", found=f"found {other[0]} in {text[:60]!r}", do=do)
    return made


@lru_cache(maxsize=100)  # at every call of a judge
def in_words(day: date) -> str:
    """Return a date with its weekday."""
    return f"{_WEEKDAYS[day.weekday()]}, {day.isoformat()}"


def day_of(moment: datetime) -> date:
    """Return the day of a moment in this machine's time zone; without a time zone, its own day."""
    return moment.date() if moment.tzinfo is None else moment.astimezone().date()


def require_date(value: object, name: str) -> None:
    """Raise a DefinitionError unless a value is a date in ISO's form."""
    try:
        usable = isinstance(value, str) and bool(date.fromisoformat(value))
    except ValueError:
        usable = False
    require(usable, name, found=value, do="write it as 2026-11-26")


def _day(found: re.Match[str], today: date) -> date:
    days = int(found[2] or 0)
    return today + timedelta(days=-days if found[1] == "-" else days)
