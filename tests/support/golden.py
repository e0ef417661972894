"""Reference cases that stand in a folder `shared` beside the repository; tests of them are skipped without it."""

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(__file__).parents[3] / "shared"


@cache
def _statistics() -> list[dict[str, Any]]:
    path = SHARED / "golden" / "statistics.json"
    if not path.exists():
        return []
    cases: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cases"]
    return cases


def cases_of(method: str) -> list[Any]:
    """Return the reference cases of a method as pytest parameters: one that is skipped where there are none."""
    cases = [pytest.param(case, id=case["id"]) for case in _statistics() if case["method"] == method]
    skip = pytest.mark.skip(reason=f"no reference cases of {method}: the folder 'shared' is not beside the repository")
    return cases or [pytest.param(None, id=method, marks=skip)]


def rows_of(name: str) -> list[dict[str, Any]]:
    """Return the rows of a data set, or skip the test that asks."""
    path = SHARED / "data" / f"{name}.jsonl.gz"
    if not path.exists():
        pytest.skip(f"no data set {name}: the folder 'shared' is not beside the repository")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
