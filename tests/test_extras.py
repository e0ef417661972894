"""Features that attach from outside: the rest of simeval imports none of them."""

import ast
from datetime import date, timedelta
from importlib import import_module
from pathlib import Path

import pytest

import simeval
from benchmarks.structure import way_of_a_trial
from simeval.cli.main import OF_EXTRAS
from simeval.engine.parts import PARTS
from tests.support.without_extra import AT_ONCE, names, on_turn

ROOT = Path(simeval.__file__).parent
PLACES = [*OF_EXTRAS.values(), *(place for _, place in PARTS)]


@pytest.mark.parametrize("place", PLACES)
def test_each_row_of_a_table_names_what_there_is(place: str) -> None:
    module, _, name = place.partition(":")

    assert hasattr(import_module(module), name)


def test_nothing_outside_imports_a_feature_not_even_for_types() -> None:
    outside = [path for path in ROOT.rglob("*.py") if ROOT / "extras" not in path.parents]
    found = {
        f"{path.relative_to(ROOT)}: {node.module}"
        for path in outside
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("simeval.extras")
    }

    assert outside
    assert not found


def test_a_run_enters_no_module_of_a_feature_that_it_does_not_use() -> None:
    entered = way_of_a_trial()

    assert "engine.run" in entered
    assert not {name for name in entered if name.startswith("extras.")}


def test_every_feature_is_removed_on_its_day() -> None:
    begin = date(2026, 1, 1)
    days = [begin + timedelta(days=each) for each in range(len(names()))]

    removed = [name for day in days for name in on_turn(day)]

    assert {*removed} == {*names()}
    assert all(removed.count(name) == AT_ONCE for name in names())
