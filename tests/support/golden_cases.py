"""Cases recorded from other systems."""

import json
from functools import cache
from typing import Any

import pytest

from tests.support.golden import DATA

TOLERANCE = 1e-9


@cache
def cases_in(name: str) -> dict[str, dict[str, Any]]:
    """Return the cases of a file by their ids."""
    text = (DATA / "golden" / f"{name}.json").read_text(encoding="utf-8")
    return {case["id"]: case for case in json.loads(text)["cases"]}


def ids(system: str, *numbers: int) -> frozenset[str]:
    """Return the ids of cases by their numbers."""
    return frozenset(f"{system}-{number:03}" for number in numbers)


def chosen(name: str, wanted: frozenset[str]) -> list[Any]:
    """Return cases of a file as pytest parameters."""
    found = cases_in(name)
    return [pytest.param(found[each], id=each) for each in sorted(wanted)]
