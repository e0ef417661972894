"""The settings of a project for all of its suites: the table [tool.simeval] of pyproject.toml in the current folder."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simeval.core.setting_field import NO_STORE
from simeval.core.settings import DEFAULTS, Settings
from simeval.core.validation import own_name, parts_of, plain, require
from simeval.errors import DefinitionError, SuiteFileError
from simeval.suites.cast import ROLES, Cast, Place

FILE = "pyproject.toml"
TOOL = "simeval"
NEARLY = 0.85  # how much another table's name, of about our length, is like ours that must be meant


@dataclass(frozen=True, slots=True)
class Project:
    """The settings of a project, and its roles for suites and commands that set none."""

    settings: Settings = DEFAULTS
    cast: Cast = field(default_factory=Cast)


def read_project(folder: Path, *, base: Settings = DEFAULTS) -> Project:
    """Return the settings in a folder's pyproject.toml; the rest, or all without one, is as in `base`.

    Raises DefinitionError.
    """
    path = folder / FILE
    if not path.is_file():
        return Project(base)
    import tomllib
    from difflib import SequenceMatcher

    text = ""
    try:
        text = path.read_text(encoding="utf-8")
        whole = tomllib.loads(text)
        tables = whole.get("tool", {})
    except (OSError, ValueError) as error:
        if told := _no_toml(error, text):
            raise told from error
        raise DefinitionError(str(path), found=f"it cannot be read ({error})", do="correct it") from error
    require(isinstance(tables, dict), str(path), found=tables, do=f"write [tool.{TOOL}], and settings below it")
    if TOOL in whole and TOOL not in tables:
        raise DefinitionError(str(path), found=f"there is a table [{TOOL}]", do=f"call it [tool.{TOOL}]")
    for name in tables if TOOL not in tables else ():
        if abs(len(name) - len(TOOL)) < 2 and SequenceMatcher(None, name, TOOL).ratio() >= NEARLY:
            found = f"there is a table [tool.{name}], and none for simeval"
            raise DefinitionError(str(path), found=found, do=f"did you mean [tool.{TOOL}]?")
    if TOOL not in tables:
        return Project(base)
    table = tables[TOOL]
    store = table.get("store") if isinstance(table, dict) else None
    if isinstance(store, str) and store.lower() == NO_STORE:
        table = {**table, "store": None}
    found_there = _checked(table, text)
    named = [name for name in ROLES if name in found_there]
    cast = Cast.of(found_there, {name: Place(FILE, _line_of([name], text), f"tool.{TOOL}.{name}") for name in named})
    return Project(base.overridden({name: found_there[name] for name in found_there if name not in ROLES}), cast)


def _no_toml(error: Exception, text: str) -> SuiteFileError | None:
    """Return the mistake of a line that is no TOML; None where no line is known."""
    if at_end := re.fullmatch(r"(.*) \(at end of document\)", str(error), re.DOTALL):
        found = f"this is not TOML ({at_end[1][:1].lower()}{at_end[1][1:]})"
        lines = text.splitlines()
        left_open = [(a, b) for a, b in ("[]", "{}") if text.count(a) > text.count(b)]
        is_open = [any(line.count(a) > line.count(b) for a, b in left_open) for line in lines]
        line = max((place for place, each in enumerate(is_open, start=1) if each), default=len(lines))
        do = "close the bracket" if any(is_open) else "correct it"
        return SuiteFileError(FILE, line=line, field="", found=found, do=f"{do}: {lines[line - 1].strip():.60}")
    place = re.fullmatch(r"(.*) \(at line (\d+), column \d+\)", str(error), re.DOTALL)
    if not place:
        return None
    line, lines = int(place[2]), text.splitlines()
    written = lines[line - 1].strip() if line <= len(lines) else ""
    found, do = f"this is not TOML ({place[1][:1].lower()}{place[1][1:]})", f"correct it: {written:.60}"
    if unquoted := re.fullmatch(r"([\w.-]+)\s*=\s*([^\W\d][^\"'\[{#]*)", written):
        name, value = unquoted[1], unquoted[2].strip()
        shown = value.lower() if value in ("True", "False") else f'"{value}"'
        found, do = f"{name} is {value}, without quotes", f"write it as {name} = {shown}"
        if value in ("True", "False"):
            found = f"{name} is {value}, with a capital letter"
    elif written.count('"') % 2:
        found, do = f"a quote is not closed in {written:.60}", "close it"
    return SuiteFileError(FILE, line=line, field="", found=found, do=do)


def _checked(table: Any, text: str) -> Mapping[str, Any]:
    """Return the contents of the table. Raises SuiteFileError for all mistakes in it."""
    from pydantic import ValidationError

    from simeval.core.yaml_files import all_of
    from simeval.suites.definitions import PROJECT  # half a second with all that suites have

    try:
        return PROJECT.validate_python(table)
    except ValidationError as error:
        raise all_of([_mistake(each, table, text) for each in error.errors()]) from error


def _mistake(detail: Any, table: Any, text: str) -> SuiteFileError:
    cause, inner = detail.get("ctx", {}).get("error"), table
    found, do = f"found {detail['input']!r:.80}", plain(detail["type"], detail["msg"], detail["input"])
    names = [str(name) for name in detail["loc"][:1]]
    for name in detail["loc"]:
        if isinstance(inner, dict) and name in inner:
            inner = inner[name]
            names += [name] if name not in names else []
    if isinstance(cause, DefinitionError):
        found, do = cause.found, cause.do
        last = parts_of(cause.where)[-1]
        names += [last] if isinstance(inner, dict) and last in inner else []
    return SuiteFileError(FILE, line=_line_of(names, text), field=".".join(["tool", TOOL, *names]), found=found, do=do)


def _line_of(names: Sequence[str], text: str) -> int:
    """Return the line, from 1, of a setting of the table, or of the nearest part of it."""
    there = max(text.find(f"[tool.{TOOL}"), 0)
    keys = {own_name(key, names): key for key in re.findall(r"^[ \t]*[\"']?(\w+)", text[there:], re.MULTILINE)[::-1]}
    for name in [keys.get(name, name) for name in names] or [TOOL]:
        own = re.compile(rf"^[ \t]*(?:\[?tool\.{TOOL}\.)?[\"']?{re.escape(name)}\b", re.MULTILINE).search(text, there)
        any_place = own or re.compile(rf"\b{re.escape(name)}\b").search(text, there)
        there = any_place.start() if any_place else there
    return text.count("\n", 0, there) + 1
