"""What `simeval compare` does: reads two results, compares them, writes what it found, gives the exit status."""

import json
import sys
from io import TextIOWrapper
from pathlib import Path

from simeval.changes import encode_comparison
from simeval.comparing import compare
from simeval.errors import DefinitionError
from simeval.stored import read_file

PASSED, NOT_PASSED, BAD_INPUT = 0, 1, 2


def compare_files(*, baseline: str, candidate: str, margin: float, alpha: float, json_path: str | None) -> int:
    """Compare two JSON results and give the exit status; with a `json_path` of "-" standard output holds JSON only."""
    for stream in (sys.stdout, sys.stderr):  # a title may not be printable here
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        comparison = compare(
            read_file(Path(baseline), f"baseline {baseline!r}"),
            read_file(Path(candidate), f"candidate {candidate!r}"),
            margin=margin,
            alpha=alpha,
        )
        (sys.stderr if json_path == "-" else sys.stdout).write(f"{comparison}\n")
        if json_path:
            _write(json_path, f"{json.dumps(encode_comparison(comparison), indent=1)}\n")
    except DefinitionError as error:
        sys.stderr.write(f"simeval: {error}\n")
        return BAD_INPUT
    return PASSED if comparison.passed else NOT_PASSED


def _write(path: str, text: str) -> None:
    if path == "-":
        sys.stdout.write(text)
        return
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        found = f"it cannot be written ({error.strerror})"
        raise DefinitionError(f"--json {path!r}", found=found, do="name a file that can be") from error
