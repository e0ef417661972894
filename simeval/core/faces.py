"""Faces: packages that list their public names in a stub, and import each from its module at first use."""

import ast
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec, resolve_name
from pathlib import Path
from typing import Any

PAGE = "`simeval help originals`"  # on the names of the tools that simeval replaces
EXTRAS = "simeval.extras."  # features that attach from outside
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def attach(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return __getattr__, __dir__ and __all__ of a package by the relative imports of its stub.

    A name may come from another package of simeval. The names of `from .other import *` are found but not listed.
    Raises AttributeError for a name that is in neither.
    """
    places, others = _places_in(Path(file).with_suffix(".pyi"), package)
    names = sorted(name for name in places if not name.startswith("_"))

    def get(name: str) -> Any:
        place = places.get(name) or next((each for each in others if name in import_module(each).__all__), None)
        if place is None:
            raise AttributeError(f"No {package} attribute {name}")
        found = import_module(f"{package}.{name}") if place == package else getattr(import_module(place), name)
        vars(sys.modules[package])[name] = found  # it is not asked for again
        return found

    return get, names.copy, names.copy()


def _places_in(stub: Path, package: str) -> tuple[dict[str, str], list[str]]:
    """Return the module of each name of a stub (of a module: the package), and the packages with all their names."""
    places: dict[str, str] = {}
    others = []
    for node in ast.parse(stub.read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            module = resolve_name("." * node.level + (node.module or ""), package)
            others += [module for each in node.names if each.name == "*"]
            places |= {each.name: module for each in node.names if each.name != "*"}
    return places, others


def load(place: str) -> Any:
    """Return the object of a place "MODULE:NAME": tables reach features by it that attach from outside."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def is_there(place: str) -> bool:
    """Return whether the feature of a place has not been removed."""
    package = find_spec(place.partition(":")[0].rpartition(".")[0])
    return package is not None and package.origin is not None  # a folder with caches alone has none


@dataclass(frozen=True)
class Registry:
    """The classes among a package's public names that `is_one` of its kind, each under a name without the `suffix`.

    A new one is known as soon as the package lists it. A class is imported when it is asked for.
    """

    package: str
    is_one: Callable[[type], bool]
    suffix: str

    def find(self, name: str) -> type | None:
        """Return the class of a name such as "token_f1"; None if it is unknown."""
        return self.find_class(self._classes.get(name, ""))

    def find_class(self, class_name: str) -> type | None:
        """Return the class of its own name, such as "TokenF1"; None if it is not one of these."""
        if class_name not in self._classes.values():
            return None
        try:
            found = getattr(import_module(self.package), class_name)
        except ModuleNotFoundError as error:
            if not (error.name or "").startswith(EXTRAS):
                raise
            return None  # its feature was removed
        return found if isinstance(found, type) and self.is_one(found) else None

    @property
    def names(self) -> Sequence[str]:
        """All names, in the order of the alphabet; imports every class."""
        return [name for name in sorted(self._classes) if self.find(name) is not None]

    @cached_property
    def _classes(self) -> Mapping[str, str]:
        public: Sequence[str] = import_module(self.package).__all__
        return {_WORDS.sub("_", name.removesuffix(self.suffix)).lower(): name for name in public if name[0].isupper()}
