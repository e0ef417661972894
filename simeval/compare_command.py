"""What `simeval compare` does: reads two results, compares them, writes what it found, gives the exit status."""

from functools import partial
from pathlib import Path

from simeval.changes import encode_comparison
from simeval.comparing import compare
from simeval.console import require_writable, show, status_of, write_json
from simeval.stored import read_file

PASSED, NOT_PASSED = 0, 1


def compare_files(*, baseline: str, candidate: str, margin: float, alpha: float, json_path: str | None) -> int:
    """Compare two JSON results and give the exit status; with a `json_path` of "-" standard output holds JSON only."""
    return status_of(partial(_compare, baseline, candidate, margin, alpha, json_path))


def _compare(baseline: str, candidate: str, margin: float, alpha: float, json_path: str | None) -> int:
    require_writable(json_path)
    comparison = compare(
        read_file(Path(baseline), f"baseline {baseline!r}"),
        read_file(Path(candidate), f"candidate {candidate!r}"),
        margin=margin,
        alpha=alpha,
    )
    show(comparison, json_path)
    write_json(json_path, encode_comparison(comparison))
    return PASSED if comparison.passed else NOT_PASSED
