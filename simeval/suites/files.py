"""Suites from YAML files and Python modules; a mistake is reported with file, line and field."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import signature
from itertools import pairwise
from pathlib import Path
from typing import Any, overload

from pydantic import ValidationError

from simeval.core.faces import load
from simeval.core.feedback import read_examples
from simeval.core.settings import DEFAULTS, Settings
from simeval.core.validation import nearest, require, require_file
from simeval.core.yaml_files import line_at, located, mistake_at, read_yaml
from simeval.core.yaml_records import by_own_names
from simeval.errors import DefinitionError, SuiteFileError
from simeval.models.protocol.prompt_texts import replaced_prompt
from simeval.suites.apps.described_app import DescribedApp
from simeval.suites.apps.named import import_from, load_object
from simeval.suites.apps.protocol_app import ProtocolApp
from simeval.suites.cast import ESCALATE, ROLES, Cast, Place
from simeval.suites.definitions import (
    ATTACKS,
    DEFAULTS_OF_SCENARIOS,
    EXPECTATIONS,
    FIELDS_OF_FILES,
    FIELDS_OF_SCENARIOS,
    FIELDS_OF_SETTINGS,
    SCENARIOS,
    composite,
    form_of_file,
)
from simeval.suites.scenario import Expectation, ScenarioTest, by_case

CASE = "case:"  # the prefix of cases: case:nights=5

_PARTS = frozenset({"title", "given", "when", "then"})

ANYBODY = "A user"  # of a scenario with nothing given
SUFFIXES = (".yaml", ".yml")
Line = tuple[str, int]  # a file, and a line of it from 1


def only(scenarios: Sequence[ScenarioTest], names: Sequence[str]) -> tuple[ScenarioTest, ...]:
    """Return the scenarios that have one of these names as a tag, or in their title; all without names.

    A name that is a whole title means that scenario alone, and case:nights=5 the cases with that value in that column:
    of several for one column any, of several columns all. Raises DefinitionError for a name that none has.
    """
    scenarios = _with_cases(scenarios, [name.removeprefix(CASE) for name in names if name.startswith(CASE)])
    names = [name for name in names if not name.startswith(CASE)]
    for name in names:
        require(bool(name.strip()), "--only", found=name, do="name a tag, a title or a part of one")
        if not any(is_named(scenario, name) for scenario in scenarios):
            known = dict.fromkeys([each.title for each in scenarios] + [tag for each in scenarios for tag in each.tags])
            do = nearest(name, list(known))
            raise DefinitionError("--only", found=f"no scenario has {name!r} as a tag or in its title", do=do)
    titles = {scenario.title for scenario in scenarios}
    return tuple(
        scenario
        for scenario in scenarios
        if not names or any(scenario.title == name if name in titles else is_named(scenario, name) for name in names)
    )


def _with_cases(scenarios: Sequence[ScenarioTest], named: Sequence[str]) -> Sequence[ScenarioTest]:
    """Return the scenarios that have such cases, with these alone; all without names. Raises DefinitionError."""
    if not named:
        return scenarios
    from simeval.suites.cases import are_wanted

    wanted: dict[str, list[str]] = {}
    for each in named:
        column, equals, value = each.partition("=")
        require(bool(column and equals), "--only", found=f"{CASE}{each}", do="write case:COLUMN=VALUE")
        wanted.setdefault(column.strip(), []).append(value.strip())
    columns = list(dict.fromkeys(name for each in scenarios for row in each.rows for name in row))
    for column in wanted:
        do = nearest(column, columns) if columns else "give a scenario a table of cases"
        require(column in columns, "--only", found=f"{CASE}{column}", do=do)
    chosen = [(each, [row for row in each.rows if are_wanted(row, wanted)]) for each in scenarios]
    found = [replace(each, cases=rows) for each, rows in chosen if rows]
    shown = ", ".join(f"{column}={' or '.join(values)}" for column, values in wanted.items())
    do = "name values that rows have; of several columns they must be in one row"
    require(bool(found), "--only", found=f"no case with {shown}", do=do)
    return found


def is_named(scenario: ScenarioTest, name: str) -> bool:
    """Return whether a name is a tag of a scenario or, in whatever letters, part of its title."""
    return name in scenario.tags or name.casefold() in scenario.title.casefold()


def _slips(
    path: Path, node: Any, file: Mapping[str, Any], made: Sequence[ScenarioTest], *, skip: int
) -> Iterator[SuiteFileError]:
    """Yield the mistakes that the form of a file does not refuse; `skip` is how many parts its places lack."""
    titles = [each.title for each in made]
    for place, title in enumerate(titles):
        if title in titles[:place]:
            at = ("scenarios", place, "title")[skip:]
            there = f"there is another scenario with the title {title!r}"
            yield mistake_at(path, node, at, found=there, do="give each its own: results are told by titles")
    settings = from_here(path.parent, file.get("settings", {}))
    if (judge := file.get("judge")) is not None:
        twice = [*(["judge_model"] if file.get("judge_model") else []), *([ESCALATE] if ESCALATE in settings else [])]
        twice += ["escalation_audit"] if "audit" in judge[ESCALATE] and "escalation_audit" in settings else []
        for name in twice:
            do = f"leave {name} out: judge says it"
            yield mistake_at(path, node, ("judge",), found=f"found {name!r} beside it", do=do)
    reads: dict[tuple[str, ...], Callable[[], object]] = {
        ("settings", "prompts", name): partial(replaced_prompt, name, given)
        for name, given in (settings.get("prompts") or {}).items()
    }
    if examples := settings.get("judge_examples"):
        reads["settings", "judge_examples"] = partial(read_examples, examples)
    for part, read in reads.items():
        try:
            read()
        except DefinitionError as error:
            yield mistake_at(path, node, part, found=error.found, do=error.do)


def _by_own_names(file: Any) -> Any:
    """Return a file, its settings and its scenarios by the names of their fields."""
    if not isinstance(named := by_own_names(file, FIELDS_OF_FILES), Mapping):
        return named
    found = {**named}
    if "settings" in found:
        found["settings"] = by_own_names(found["settings"], FIELDS_OF_SETTINGS)
    if isinstance(listed := found.get("scenarios"), list):
        found["scenarios"] = [by_own_names(each, FIELDS_OF_SCENARIOS) for each in listed]
    elif listed is not None:
        found["scenarios"] = by_own_names(listed, FIELDS_OF_SCENARIOS)
    return found


def torn(file: Any) -> tuple[int, str] | None:
    """Return the place, and a field, of a scenario without a title that only goes on with the one before it."""
    scenarios = file.get("scenarios") if isinstance(file, Mapping) else None
    listed = scenarios if isinstance(scenarios, list) else []
    for place, (before, each) in enumerate(pairwise(listed), start=1):
        if not isinstance(before, Mapping) or not isinstance(each, Mapping) or "title" in each:
            continue
        if _PARTS & before.keys() and _PARTS & each.keys() and not before.keys() & each.keys():
            return place, str(next(iter(each)))
    return None


def has_no_dash(file: Any) -> bool:
    """Return whether a file has a single scenario in place of a list."""
    found = file.get("scenarios") if isinstance(file, Mapping) else None
    return isinstance(found, Mapping) and bool(_PARTS & found.keys())


def from_here(folder: Path, settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a file's settings with their paths taken from its folder; a prompt of several lines is no path."""
    found: dict[str, Any] = {}
    if prompts := settings.get("prompts"):
        found["prompts"] = {n: given if "\n" in given.strip() else folder / given for n, given in prompts.items()}
    if examples := settings.get("judge_examples"):
        found["judge_examples"] = folder / examples
    return {**settings, **found}


@dataclass(frozen=True, slots=True)
class _File:
    """The contents of a file: scenarios, settings and roles by name, lines of its attacks, places of roles.

    `titled` are the lines of its scenarios' titles, `set_at` those of its settings; `title` is its own.
    """

    scenarios: Sequence[ScenarioTest]
    brought: Mapping[str, Any]
    lines: Mapping[str, Line]
    places: Mapping[str, Place]
    titled: Mapping[str, int] = field(default_factory=dict)
    set_at: Mapping[str, int] = field(default_factory=dict)
    title: str = ""


@dataclass(frozen=True, slots=True)
class Suite(Sequence[ScenarioTest]):
    """The scenarios of a file, a folder or a module, and its settings: `Engine(settings=suite.settings)`.

    `cast` has the roles, if the files set them; `lines` the lines of attacks' scenarios, by their titles. `title` is
    that of its first file with one, else the name of the file or folder.
    """

    scenarios: tuple[ScenarioTest, ...]
    settings: Settings = DEFAULTS
    cast: Cast = field(default_factory=Cast)
    lines: Mapping[str, Line] = field(default_factory=dict)
    title: str = ""

    def __repr__(self) -> str:
        return f"<Suite of {len(self.scenarios)} scenarios>"

    def __len__(self) -> int:
        return len(self.scenarios)

    @overload
    def __getitem__(self, index: int) -> ScenarioTest: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[ScenarioTest, ...]: ...
    def __getitem__(self, index: int | slice) -> ScenarioTest | tuple[ScenarioTest, ...]:
        return self.scenarios[index]

    def __iter__(self) -> Iterator[ScenarioTest]:
        return iter(self.scenarios)

    def only(self, names: Sequence[str]) -> "Suite":
        """Return the suite with the scenarios alone that have one of these names as a tag, or in their title.

        A name such as case:nights=5 chooses cases. Without names, it is as it was. Raises DefinitionError for a name
        that none has.
        """
        return replace(self, scenarios=only(self.scenarios, names))

    def by_case(self) -> "Suite":
        """Return the suite with a scenario for each case that has a verdict of its own."""
        return replace(self, scenarios=tuple(by_case(self.scenarios)))

    def sized(self, samples: int | None) -> "Suite":
        """Return the suite with so many trials for each scenario, in place of its own; with None, as it is."""
        if samples is None:
            return self
        return replace(self, scenarios=tuple(replace(each, sample_size=samples) for each in self.scenarios))


def load_suite(source: str, *, base: Settings = DEFAULTS) -> Suite:
    """Load scenarios from a YAML file, a folder of them (in the order of their names), or `module:object`.

    Settings missing from the files are as in `base`. Modules named as MODULE:OBJECT may be beside them.

    Raises SuiteFileError for a mistake in a file and DefinitionError for anything else that cannot be used.
    """
    require_file(source, "suite")
    path = Path(source)
    if path.is_dir():
        if not (files := files_in(path)):
            raise DefinitionError(
                f"suite {source!r}", found="the folder holds no .yaml file", do="name a folder with suites"
            )
        return _joined({file: _read(file) for file in files}, base, name=path.resolve().name)
    if path.suffix == ".py":
        raise DefinitionError(
            f"suite {source!r}",
            found="this is a Python file",
            do="name the scenarios in it as MODULE:OBJECT, such as suite:SCENARIOS",
        )
    if path.is_file():
        return load_file(path, base=base)
    if path.suffix in SUFFIXES or ":" not in source:
        raise DefinitionError(
            f"suite {source!r}",
            found="there is no such file or folder",
            do="name a YAML file, a folder of them, or module:object",
        )
    return Suite(_scenarios_of(load_object(source, what="suite"), source), base)


def files_in(folder: Path) -> list[Path]:
    """Return the YAML files of a folder and of those within, in the order of their names."""
    return sorted(file for file in folder.rglob("*") if file.suffix in SUFFIXES)


def load_file(path: Path, *, base: Settings = DEFAULTS) -> Suite:
    """Load one YAML file; settings missing from it are as in `base`. Raises SuiteFileError."""
    return _joined({path: _read(path)}, base, name=path.stem)


def load_expectations(path: str | Path) -> list[Expectation]:
    """Load the expectations of recorded answers: a YAML file of `then:`, as a scenario has it. Raises SuiteFileError.

    Modules named as MODULE:OBJECT may be beside it.
    """
    path = Path(path)
    import_from(path.parent)
    node, data = read_yaml(path)
    try:
        return EXPECTATIONS.validate_python(data)["then"]
    except ValidationError as error:
        raise located(path, node, error) from error


def _read(path: Path) -> _File:
    """Read a file. Raises SuiteFileError."""
    import_from(path.parent)
    node, data = read_yaml(path)
    if data is None:
        raise SuiteFileError(str(path), line=1, field="", found="the file is empty", do="see simeval init for a suite")
    if isinstance(data, dict) and "tests" in data and not data.keys().isdisjoint(("prompts", "providers")):
        do = "write its tests as a scenario's cases: and its provider as app:; `simeval init` begins a suite"
        raise SuiteFileError(str(path), line=1, field="", found="this is a file of promptfoo", do=do)
    listed = isinstance(data, list)
    wrapped, skip = _by_own_names({"scenarios": data} if listed else data), 1 if listed else 0
    if torn_at := torn(wrapped):
        found = f"a dash begins a new scenario here, which has {torn_at[1]!r} and no title"
        do = "leave the dash out where this belongs to the scenario before it"
        raise mistake_at(path, node, ("scenarios", torn_at[0])[skip:], found=found, do=do)
    if has_no_dash(wrapped):
        do = "begin each scenario with a dash, as in - title: A title"
        raise mistake_at(path, node, ("scenarios",), found="found a scenario, and no list of them", do=do)
    try:
        file = form_of_file(wrapped).validate_python(wrapped)
        made = _scenarios_in(file, path.parent)
    except ValidationError as error:
        raise located(path, node, error, skip=skip) from error
    for slip in _slips(path, node, file, made, skip=skip):
        raise slip
    attacks = load(f"{ATTACKS}:attacks_in")(file) if file.get("attack") is not None else []
    brought, places = _brought(path, node, file)
    if attacks:
        brought = {"stop": load(f"{ATTACKS}:STOP"), **brought}
    lines = {each.title: (str(path), line_at(node, place)) for each, place in attacks}
    titled = {title: line for title, (_, line) in lines.items()}
    titled |= {each.title: line_at(node, ("scenarios", place, "title")[skip:]) for place, each in enumerate(made)}
    set_at = {name: line_at(node, ("settings", name)) for name in brought}
    title = file.get("title", "")
    return _File([*made, *(each for each, _ in attacks)], brought, lines, places, titled, set_at, title)


def _brought(path: Path, node: Any, file: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Place]]:
    """Return the settings and roles of a file, and the places of its roles."""
    roles = {name: file[name] for name in ROLES if file.get(name)}
    brought, judge = {**from_here(path.parent, file.get("settings", {})), **roles}, composite(file)
    spots: dict[str, tuple[str, ...]] = {name: (name,) for name in roles}
    if isinstance(roles.get("app"), DescribedApp):
        spots |= {f"app.{part}": ("app", part) for part in ("url", "request", "headers", "before")}
    if brought.get(ESCALATE) is not None:
        spots[ESCALATE] = ("settings", ESCALATE)
    spots |= dict.fromkeys(judge, ("judge",))
    places = {name: Place(str(path), line_at(node, spot), ".".join(spot)) for name, spot in spots.items()}
    return {**brought, **judge}, places


def _scenarios_in(file: Mapping[str, Any], folder: Path) -> Sequence[ScenarioTest]:
    """Return the scenarios of a file."""
    if "scenarios" not in file:  # it has an attack
        return []
    defaults = {name: file[name] for name in DEFAULTS_OF_SCENARIOS if file.get(name) is not None}
    written = [_with(defaults, each, folder) for each in file["scenarios"]]
    return SCENARIOS.validate_python({"scenarios": written})["scenarios"]


def _with(defaults: Mapping[str, Any], scenario: Any, folder: Path) -> Any:
    """Return a scenario as it is written, with a file's defaults for the fields it lacks.

    The path of its cases is from the file's `folder`.
    """
    if not isinstance(scenario, Mapping):
        return scenario
    scenario = by_own_names(scenario, FIELDS_OF_SCENARIOS)
    if "given" in scenario and not str(scenario["given"] or "").strip():
        scenario = {**scenario, "given": ANYBODY}
    if isinstance(table := scenario.get("cases"), str) and table.strip():
        scenario = {**scenario, "cases": str(folder / table)}
    nothing = [name for name in DEFAULTS_OF_SCENARIOS if scenario.get(name) is None]
    return {
        **{name: value for name, value in scenario.items() if name not in nothing},
        **{name: defaults[name] for name in nothing if name in defaults},
    }


def _named(value: object) -> str:
    """Return a setting as an error shows it; of an app that a file describes its name."""
    return value.name if isinstance(value, ProtocolApp) else repr(value)


def _clashes(files: Mapping[Path, _File]) -> Iterator[SuiteFileError]:
    """Yield a mistake for each setting that has another value in a file before, and each title that one has, too."""
    settings: dict[str, tuple[Any, Path]] = {}
    titled: dict[str, Path] = {}
    for file, here in files.items():
        for name, value in here.brought.items():
            before, there = settings.setdefault(name, (value, file))
            if before != value:
                place = here.places.get(name) or Place(str(file), here.set_at[name], f"settings.{name}")
                found = f"found {_named(value)}, and {name} is {_named(before)} in {there}"
                do = "give both the same value, or run them by themselves: a run has one"
                yield SuiteFileError(place.file, line=place.line, field=place.field, found=found, do=do)
        for title, line in here.titled.items():
            if (there := titled.setdefault(title, file)) != file:
                at, do = "title", "give each its own: results are told by titles"
                if title in here.lines:
                    at, do = "attack", "let one of the files attack so: results are told by titles"
                found = f"the scenario {title!r} is in {there}, too"
                yield SuiteFileError(str(file), line=line, field=at, found=found, do=do)


def _joined(files: Mapping[Path, _File], base: Settings, *, name: str) -> Suite:
    """Return files as one suite, of this name if none has a title. Raises SuiteFileError if two clash."""
    for clash in _clashes(files):
        raise clash
    settings: dict[str, Any] = {}
    where: dict[str, Path] = {}
    for file, found_in in files.items():
        settings |= found_in.brought
        where |= dict.fromkeys(found_in.brought, file)
    scenarios = tuple(scenario for each in files.values() for scenario in each.scenarios)
    roles = {name: settings.pop(name) for name in ROLES if name in settings}
    places = {
        name: place
        for role in (*roles, ESCALATE)
        for name, place in (files[where[role]].places.items() if role in where else ())
        if name.partition(".")[0] == role
    }
    lines = {title: line for each in files.values() for title, line in each.lines.items()}
    title = next((each.title for each in files.values() if each.title), name)
    return Suite(scenarios, base.overridden(settings), Cast.of(roles, places), lines, title)


def _scenarios_of(found: Any, source: str) -> tuple[ScenarioTest, ...]:
    scenarios = [found] if isinstance(found, ScenarioTest) else found
    if callable(scenarios) and not signature(scenarios).parameters:
        scenarios = scenarios()
    if callable(scenarios):
        found = "this is a function with parameters, as an app is"
        do = f"name the suite, and the app by its option: simeval run SUITE --app {source}"
        raise DefinitionError(f"suite {source!r}", found=found, do=do)
    if not isinstance(scenarios, Sequence) or not all(isinstance(each, ScenarioTest) for each in scenarios):
        raise DefinitionError(
            f"suite {source!r}",
            found=f"found {type(found).__name__}",
            do="give a ScenarioTest, a list of them, or a function without arguments that returns them",
        )
    return tuple(scenarios)
