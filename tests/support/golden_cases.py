"""Cases recorded from other systems, in the folder `shared`; tests of them are skipped where it is not there."""

import json
from functools import cache
from typing import Any

import pytest

from tests.support.golden import SHARED

TOLERANCE = 1e-9


@cache
def cases_in(name: str) -> dict[str, dict[str, Any]]:
    """Return the cases of a file by their ids; empty where the folder is not there."""
    path = SHARED / "golden" / f"{name}.json"
    if not path.exists():
        return {}
    return {case["id"]: case for case in json.loads(path.read_text(encoding="utf-8"))["cases"]}


def ids(system: str, *numbers: int) -> frozenset[str]:
    """Return the ids of cases by their numbers."""
    return frozenset(f"{system}-{number:03}" for number in numbers)


def chosen(name: str, wanted: frozenset[str]) -> list[Any]:
    """Return cases of a file as pytest parameters: one that is skipped where there are none."""
    found = cases_in(name)
    skip = pytest.mark.skip(reason=f"no cases of {name}: the folder 'shared' is not beside the repository")
    if not found:
        return [pytest.param(None, id=name, marks=skip)]
    return [pytest.param(found[each], id=each) for each in sorted(wanted)]
