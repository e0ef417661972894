"""Reference cases and extracts of public data sets, in `tests/data`; its README has their sources and licences.

A data set that is large, or must not be copied, is in a folder `shared` beside the repository; its tests are skipped
without it.
"""

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parents[1] / "data"
BESIDE = Path(__file__).parents[3] / "shared" / "data"


@cache
def _statistics() -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = json.loads((DATA / "golden" / "statistics.json").read_text(encoding="utf-8"))["cases"]
    return cases


def cases_of(method: str) -> list[Any]:
    """Return the reference cases of a method as pytest parameters."""
    return [pytest.param(case, id=case["id"]) for case in _statistics() if case["method"] == method]


def rows_of(name: str) -> list[dict[str, Any]]:
    """Return the rows of a data set, or skip the test that asks."""
    for folder in (DATA / "public", BESIDE):
        path = folder / f"{name}.jsonl.gz"
        if path.exists():
            with gzip.open(path, "rt", encoding="utf-8") as lines:
                return [json.loads(line) for line in lines]
    pytest.skip(f"no data set {name}: the folder 'shared' is not beside the repository")


def reference_numbers(name: str) -> dict[str, Any]:
    """Return the figures of a data set that other code computed."""
    found: dict[str, dict[str, Any]] = json.loads((DATA / "public" / "reference_numbers.json").read_text("utf-8"))
    return found[name]
