"""Objects that are named as MODULE:OBJECT."""

import importlib
import sys
from functools import partial
from pathlib import Path
from typing import Any

from simeval.core.capture import OWN, LeftError, guarded_call, place_of, rank_of
from simeval.core.validation import closest
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
        module: Any = guarded_call(partial(importlib.import_module, module_name), f"importing {module_name}")
    except Exception as raised:  # whatever the module raises while it is imported
        error = raised.__cause__ if isinstance(raised, LeftError) and raised.__cause__ else raised
        place, do = ("", do) if _is_missing(error, module_name) else (_place(error), _way_out(error, module_name))
        found = f"importing it failed ({type(error).__name__}: {error}{place})"
        raise DefinitionError(f"{what} {reference!r}", found=found, do=do) from error
    named = module
    for name in attribute.split("."):
        if not hasattr(named, name):
            found = f"{module_name} has no {attribute!r}"
            if other := _in_its_place(module):
                found, do = f"{found}; this is {other}, which Python finds first", "give your module another name"
            elif meant := closest(name, [each for each in dir(named) if not each.startswith("_")]):
                do = meant
            raise DefinitionError(f"{what} {reference!r}", found=found, do=do)
        named = getattr(named, name)
    return named


def name_there(thing: object, *modules: str) -> str:
    """Return MODULE:NAME of an object that one of these modules, or any of the user's own, has under a name; else "".

    It has one name, whoever imports it; the started program is searched only if the object belongs to it.
    """
    others = sorted(name for name, each in sys.modules.copy().items() if name != "__main__" and _is_own(each))
    for module in dict.fromkeys([*modules, *others]):
        found = vars(sys.modules[module]) if module in sys.modules else {}
        for name, each in list(found.items()):
            if each is thing and not name.startswith("_"):
                return f"{module}:{name}"
    return ""


def _is_own(module: object) -> bool:
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and rank_of(file) == OWN


def _in_its_place(module: Any) -> str:
    """Return the file of a module if the current folder has another of its name; else ""."""
    file = getattr(module, "__file__", None)
    own = Path.cwd() / f"{module.__name__}.py"
    is_other = file and own.is_file() and Path(file).resolve() != own.resolve()
    return str(file) if is_other else ""


def _place(error: BaseException) -> str:
    """Return where it was raised, for a sentence; a syntax error names its own place."""
    return "" if isinstance(error, SyntaxError) else place_of(error)


def _is_missing(error: BaseException, module_name: str) -> bool:
    """Return whether the module that was named is not there itself, or a package that it is in."""
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    return missing is not None and f"{module_name}.".startswith(f"{missing}.")


def _way_out(error: BaseException, module_name: str) -> str:
    """Return advice on a module that exists, and fails."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"install {error.name.partition('.')[0]} in simeval's environment, or correct the import"
    return f"correct that line; `python -c 'import {module_name}'` shows all of it"
