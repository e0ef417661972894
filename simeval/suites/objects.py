"""Objects that are named as MODULE:OBJECT."""

import importlib
import sys
from pathlib import Path
from typing import Any

from simeval.errors import DefinitionError


def import_from(folder: Path) -> None:
    """Let modules of a folder be imported, after all that could be before."""
    found = str(folder.resolve())
    if found not in sys.path:
        sys.path.append(found)


def load_object(reference: str, *, what: str) -> Any:
    """Import `module:object`, also from the current folder. Raises DefinitionError."""
    module_name, _, attribute = reference.partition(":")
    do = f"name the {what} as MODULE:OBJECT, which lies in the current folder or beside the suite"
    if not all(part.isidentifier() for part in [*module_name.split("."), *attribute.split(".")]):
        raise DefinitionError(f"{what} {reference!r}", found="this is not of the form MODULE:OBJECT", do=do)
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        found: Any = importlib.import_module(module_name)
    except Exception as error:  # whatever the module raises while it is imported
        raise DefinitionError(
            f"{what} {reference!r}", found=f"importing it failed ({type(error).__name__}: {error})", do=do
        ) from error
    for name in attribute.split("."):
        if not hasattr(found, name):
            raise DefinitionError(f"{what} {reference!r}", found=f"{module_name} has no {attribute!r}", do=do)
        found = getattr(found, name)
    return found
