"""A store that an older version wrote is shown, resumed and compared by this one."""

import importlib.util
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from simeval import Engine, dataset_of
from tests.support.command_line import simeval

pytestmark = pytest.mark.anyio
STORES = Path(__file__).parents[1] / "data" / "stores"
KILLED, FINISHED, STOPPED = "20261122-035728-657e64", "20261122-035729-e5be20", "20261122-035729-9ef90b"
GOOD, WORSE, UNFINISHED = "20261122-035729-1cf4a1", "20261122-035730-45304b", "20261122-035730-f0d360"


@pytest.fixture(scope="module")
def version_3() -> ModuleType:
    """Return the module the store was written by, under the name it had then: the name of an app holds it."""
    spec = importlib.util.spec_from_file_location("version_3", STORES / "version_3.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return Path(shutil.copy(STORES / "version_3.db", tmp_path / "runs.db"))


def engine(store: Path, run: str, **options: Any) -> Engine:
    return Engine(store=store, resume=run, progress=False, early_stopping=False, **options)


@pytest.mark.parametrize(("run", "kept"), [(STOPPED, 13), (FINISHED, 24)])
async def test_a_suite_is_resumed(store: Path, version_3: ModuleType, run: str, kept: int) -> None:
    result = await engine(store, run).evaluate(version_3.suite(), version_3.app)

    assert result.run.run_id == run
    assert f"{kept} conversations" in " ".join(result.run.notes)
    assert [len(each.conversations) for each in result] == [12, 12]
    assert result.passed


async def test_of_a_run_that_was_killed_the_first_unfinished_trial_is_missing_and_later_ones_are_dealt_anew(
    store: Path, version_3: ModuleType
) -> None:
    result = await engine(store, KILLED).evaluate(version_3.suite(), version_3.app)

    notes = " ".join(result.run.notes)
    assert "21 conversations" in notes
    assert "2 that were dealt later and finished are set aside" in notes
    assert [len(each.failures) for each in result] == [1, 0]
    assert [len(each.conversations) for each in result] == [12, 12]


async def test_an_experiment_is_resumed(store: Path, version_3: ModuleType) -> None:
    dataset = dataset_of(version_3.ROWS, name="capitals", outputs=["capital"])

    result = await engine(store, UNFINISHED).evaluate(dataset, version_3.capital, **version_3.experiment())

    assert result.run.run_id == UNFINISHED
    assert "8 conversations" in " ".join(result.run.notes)
    assert result.metric("ExactMatch").estimate.value == pytest.approx(0.8)


@pytest.mark.parametrize("run", [KILLED, FINISHED, STOPPED, GOOD, WORSE, UNFINISHED])
def test_a_run_is_shown(store: Path, run: str) -> None:
    done = simeval(store.parent, "show", run, "--store", str(store))

    assert done.returncode == 0, done.stderr
    assert run in done.stdout


def test_experiments_are_compared(store: Path) -> None:
    done = simeval(store.parent, "compare", GOOD, WORSE, "--store", str(store))

    assert done.returncode in (0, 1), done.stderr
    assert "ExactMatch" in done.stdout


def test_suites_are_compared(store: Path) -> None:
    done = simeval(store.parent, "compare", FINISHED, STOPPED, "--store", str(store))

    assert done.returncode in (0, 1), done.stderr
    assert "The bot is short" in done.stdout
