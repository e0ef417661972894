"""Files that are written as drafts and then put in place, so that no reader ever sees half of one."""

import os
from pathlib import Path
from threading import get_ident


def write_whole(path: Path, text: str) -> None:
    """Write a file, and its folder where there is none. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}.{get_ident()}.tmp")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)
