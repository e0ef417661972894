"""Files that are read more than once, and must be the same each time: what is known of them is true of no other."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from simeval.errors import DefinitionError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FileStamp:
    """When a file was last written and how long it was, by which it is known again."""

    path: Path
    written: int  # nanoseconds, as finely as the file system tells
    size: int

    @classmethod
    def of(cls, path: Path) -> "FileStamp":
        """Take the stamp of a file. Raises DefinitionError where it cannot be read."""
        try:
            found = os.stat(path)  # noqa: PTH116 (half the time of Path.stat, once a row)
        except OSError as error:
            do = "check the path, or its permissions"
            raise DefinitionError(str(path), found=f"it cannot be read ({error.strerror})", do=do) from error
        return cls(path, found.st_mtime_ns, found.st_size)

    def watched(self, read: Iterable[T]) -> Iterator[T]:
        """Return what is read from the file, each of it only where the file is still as it was.

        Raises DefinitionError where it is not, at the beginning, after each item and at the end (3 µs each).
        """
        self._require_same()
        try:
            for each in read:
                self._require_same()
                yield each
        except DefinitionError:
            self._require_same()  # what is wrong in it may be but half of what was written meanwhile
            raise
        self._require_same()

    def _require_same(self) -> None:
        if FileStamp.of(self.path) != self:
            raise DefinitionError(str(self.path), found="it has changed since it was read", do="read it again")
