"""Guard files that are read more than once against changes: facts about one version hold for no other."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from simeval.errors import DefinitionError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FileStamp:
    """The time a file was last written and its length, which identify its version."""

    path: Path
    written: int  # nanoseconds, as finely as the file system stores them
    size: int

    @classmethod
    def of(cls, path: Path) -> "FileStamp":
        """Take the stamp of a file. Raises DefinitionError if it cannot be read."""
        try:
            found = os.stat(path)  # noqa: PTH116 (half the time of Path.stat, once a row)
        except OSError as error:
            do = "check the path, or its permissions"
            raise DefinitionError(str(path), found=f"it cannot be read ({error.strerror})", do=do) from error
        return cls(path, found.st_mtime_ns, found.st_size)

    def watched(self, read: Iterable[T]) -> Iterator[T]:
        """Yield the items read from the file, each only if the file is unchanged.

        Raises DefinitionError if it has changed, at the beginning, after each item and at the end (3 µs each).
        """
        self._require_same()
        try:
            for each in read:
                self._require_same()
                yield each
        except DefinitionError:
            self._require_same()  # an error may come from a half-written change
            raise
        self._require_same()

    def _require_same(self) -> None:
        if FileStamp.of(self.path) != self:
            raise DefinitionError(str(self.path), found="it has changed since it was read", do="read it again")
