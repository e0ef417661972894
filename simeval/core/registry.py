"""Classes by the names that files and command lines write: those a package lists as public, in snake case."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module

EXTRAS = "simeval.extras."  # features that attach from outside
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


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
