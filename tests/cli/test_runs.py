"""`simeval runs`: experiments with their dataset, metadata and metrics, chosen by them."""

import json
from pathlib import Path

import pytest

from tests.support.command_line import simeval
from tests.support.experiments import double, engine, length, right, sums

pytestmark = pytest.mark.anyio


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    """Return a folder with a store of three runs."""
    for branch in ("main", "new"):
        made = engine(store=tmp_path / "store.db")
        await made.evaluate(sums(12), double, scorers=[right, length], metadata={"branch": branch})
    await engine(store=tmp_path / "store.db").evaluate(sums(5), double, scorers=[length])
    return tmp_path


def listed(folder: Path, *arguments: str, **environment: str) -> str:
    return simeval(folder, "runs", "--store", "store.db", *arguments, **environment).stdout


async def test_runs_are_listed_with_dataset_and_metadata(folder: Path) -> None:
    lines = listed(folder).splitlines()

    assert len(lines) == 5
    assert f"sums, {sums(12).version[:7]}" in lines[3]
    assert "branch=new" in lines[3]


async def test_a_narrow_terminal_gets_fewer_columns_and_their_names(folder: Path) -> None:
    wide, narrow = (listed(folder, COLUMNS=columns).splitlines() for columns in ("200", "80"))

    assert wide[0].split()[-5:] == ["scenarios", "trials", "calls", "cost", "seconds"]
    assert narrow[0].split()[:2] == ["run", "outcome"]
    assert max(map(len, narrow)) <= 80
    assert "left out for lack of room: seconds, started (UTC), scenarios, calls, cost" in " ".join(narrow)


async def test_runs_are_chosen_by_dataset_and_metadata_the_newest_of_them_first(folder: Path) -> None:
    assert len(listed(folder, "--where", "branch=main").splitlines()) == 3
    assert len(listed(folder, "--dataset", "sums", "--limit", "2").splitlines()) == 4
    assert "no runs in store.db with branch=old" in listed(folder, "--where", "branch=old")


async def test_a_metric_is_shown_with_its_interval_over_the_runs_of_a_dataset(folder: Path) -> None:
    lines = listed(folder, "--metric", "right", "--metric", "length").splitlines()

    assert "1 [0.779, 1]" in lines[4]
    assert "1.58 [" in lines[4]
    assert "1 [0.779, 1]" not in lines[2]


async def test_runs_can_be_had_as_json(folder: Path) -> None:
    found = json.loads(listed(folder, "--json", "-"))

    assert [run["metadata"] for run in found["runs"]] == [{}, {"branch": "new"}, {"branch": "main"}]
    assert found["runs"][1]["metrics"]["right"]["value"] == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--metric", "wrong"), "none of these runs has 'wrong'; use one of"),
        (("--where", "branch"), "found 'branch'; write it as KEY=VALUE"),
    ],
)
async def test_mistakes_are_told(folder: Path, arguments: tuple[str, ...], said: str) -> None:
    found = simeval(folder, "runs", "--store", "store.db", *arguments)

    assert (found.returncode, said in found.stderr) == (2, True)
