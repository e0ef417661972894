"""Files that are written as drafts and then put in place, so that no reader ever sees half of one.

Only the owner can read a new file; an existing one keeps its permissions.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_IMODE
from threading import get_ident
from typing import TextIO

OWNER_ALONE = 0o600


def write_whole(path: Path, text: str, *, errors: str = "strict") -> None:
    """Write a file, and create its folder if it is missing. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole(path, errors=errors) as file:
        file.write(text)


@contextmanager
def whole(path: str | Path, *, errors: str = "backslashreplace", newline: str | None = None) -> Iterator[TextIO]:
    """Open a file for writing, and put it in place once it is complete. Raises OSError.

    If no draft can be beside it, and for special files, such as a pipe, it is written directly.
    """
    target = Path(os.path.realpath(path))
    is_file = target.is_file() or not target.exists()
    draft = target.with_name(f"{target.name}.{os.getpid()}.{get_ident()}.tmp")
    if not is_file or not os.access(target.parent, os.W_OK):
        with target.open("w", encoding="utf-8", errors=errors, newline=newline) as file:
            yield file
        return
    try:
        with open(draft, "w", encoding="utf-8", errors=errors, newline=newline, opener=privately) as file:
            yield file
        if target.exists():
            draft.chmod(S_IMODE(target.stat().st_mode))
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def privately(path: str, flags: int) -> int:
    """Open a file, a new one for its owner alone: an opener for `open`."""
    return os.open(path, flags, OWNER_ALONE)
