"""What a project sets for all of its suites: the table [tool.simeval] of the pyproject.toml in the current folder."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from simeval.core.settings import DEFAULTS, Settings
from simeval.core.validation import plain
from simeval.errors import DefinitionError
from simeval.suites.cast import ROLES, Cast
from simeval.suites.definitions import PROJECT

FILE = "pyproject.toml"
TABLE = f"{FILE} [tool.simeval]"


@dataclass(frozen=True, slots=True)
class Project:
    """The settings of a project, and who plays whom in it where neither a suite nor a command says so."""

    settings: Settings = DEFAULTS
    cast: Cast = field(default_factory=Cast)


def read_project(folder: Path, *, base: Settings = DEFAULTS) -> Project:
    """Return what the pyproject.toml of a folder sets; the rest, or all where there is none, is as in `base`.

    Raises DefinitionError.
    """
    path = folder / FILE
    if not path.is_file():
        return Project(base)
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {}).get("simeval", {})
    except (OSError, ValueError) as error:
        raise DefinitionError(str(path), found=f"it cannot be read ({error})", do="correct it") from error
    found = _checked(table)
    cast = Cast.of(found, {name: f"{TABLE}: {name}" for name in ROLES})
    return Project(base.overridden({name: found[name] for name in found if name not in ROLES}), cast)


def _checked(table: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        return PROJECT.validate_python(table)
    except ValidationError as error:
        first = error.errors()[0]
        cause, name = first.get("ctx", {}).get("error"), ".".join(str(part) for part in first["loc"][:1])
        found, do = f"found {first['input']!r:.80}", plain(first["type"], first["msg"])
        if isinstance(cause, DefinitionError):
            found, do = cause.found, cause.do
        raise DefinitionError(f"{TABLE}: {name}" if name else TABLE, found=found, do=do) from error
