"""Runs that end where a pass has become unlikely, through the whole engine; runs of a version that did not do so."""

import importlib.util
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from simeval import Engine
from simeval.errors import DefinitionError
from tests.support.command_line import simeval
from tests.support.early_stopping import SeededApp, engine, scenario

pytestmark = pytest.mark.anyio
STORES = Path(__file__).parents[1] / "data" / "stores"
FINISHED, STOPPED = "20261122-200033-9cd268", "20261122-200041-5389b5"
STRICT = "20261124-043120-703c3a"


@pytest.fixture
def gates() -> Iterator[ModuleType]:
    """Return the module the store was written by, under the name it had then: the name of an app holds it."""
    spec = importlib.util.spec_from_file_location("gates", STORES / "gates.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["gates"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules["gates"]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return Path(shutil.copy(STORES / "gates.db", tmp_path / "runs.db"))


async def test_a_poor_app_is_not_passed_after_a_few_trials_the_same_at_any_concurrency() -> None:
    suite = [scenario(title=f"s{number}") for number in range(8)]

    found = [
        await engine(concurrency=concurrency, min_trials=10, stop=None).evaluate(suite, SeededApp(0.75))
        for concurrency in (1, 16, 64)
    ]
    slow = await engine(concurrency=16, min_trials=10, stop="gate").evaluate(suite, SeededApp(0.75))

    assert {each.verdicts[0].reason for each in found[0]} <= {"pass_unlikely", "proven_below"}
    assert len({tuple((each.verdicts[0], each.trials) for each in result) for result in found}) == 1
    assert sum(each.trials for each in found[0]) < 0.8 * sum(each.trials for each in slow)


async def test_a_run_that_was_cut_off_comes_to_the_verdict_of_one_that_was_not(tmp_path: Path) -> None:
    app = SeededApp(0.93)
    whole = await engine(min_trials=10, stop=None).evaluate(scenario(), app)

    cut = await engine(min_trials=10, stop=None, store=tmp_path / "runs.db", max_calls=24).evaluate(scenario(), app)
    resumed = await engine(min_trials=10, stop=None, store=tmp_path / "runs.db", resume="last").evaluate(
        scenario(), app
    )

    assert cut.run.stopped
    assert resumed.verdicts == whole.verdicts
    assert whole.trials > 12


async def test_where_only_a_proven_fail_blocks_a_scenario_goes_on_until_a_side_is_proven() -> None:
    result = await engine(min_trials=10, stop=None, gate="not_fail").evaluate(scenario(), SeededApp(0.75))

    assert result.outcome == "fail"
    assert result.trials > 20


async def test_a_run_of_a_version_without_it_goes_on_by_the_design_it_had(store: Path, gates: ModuleType) -> None:
    resumed = Engine(store=store, resume=STOPPED, display="none")

    result = await resumed.evaluate(gates.suite(), gates.App(()))

    assert result.run.run_id == STOPPED
    assert (result.outcome, result[0].trials) == ("pass", 86)


async def test_such_a_run_is_not_gone_on_with_by_another_design(store: Path, gates: ModuleType) -> None:
    resumed = Engine(store=store, resume=STOPPED, display="none", stop="unlikely")

    with pytest.raises(DefinitionError, match="stop_mode was not set and is 'unlikely'"):
        await resumed.evaluate(gates.suite(), gates.App(()))


async def test_a_run_whose_design_kept_more_power_goes_on_by_it(tmp_path: Path, gates: ModuleType) -> None:
    store = Path(shutil.copy(STORES / "strict.db", tmp_path / "runs.db"))

    result = await Engine(store=store, resume=STRICT, display="none").evaluate(gates.suite(), gates.App(()))
    begun_now = await Engine(seed=7, store=None, display="none").evaluate(gates.suite(), gates.App(()))

    assert (result.outcome, result[0].trials) == ("pass", 42)
    assert (begun_now.outcome, begun_now[0].trials) == ("pass", 39)


async def test_such_a_run_is_not_gone_on_with_by_the_design_of_today(tmp_path: Path, gates: ModuleType) -> None:
    store = Path(shutil.copy(STORES / "strict.db", tmp_path / "runs.db"))
    resumed = Engine(store=store, resume=STRICT, display="none", stop="fewest")

    with pytest.raises(DefinitionError, match="stop_mode was 'unlikely' and is 'fewest'"):
        await resumed.evaluate(gates.suite(), gates.App(()))


async def test_the_same_run_begun_now_ends_early(gates: ModuleType) -> None:
    result = await Engine(seed=7, store=None, display="none", concurrency=1).evaluate(
        gates.suite(), gates.App(gates.MISSES)
    )

    assert (result[0].verdicts[0].reason, result[0].trials) == ("pass_unlikely", 10)


@pytest.mark.parametrize(("run", "said", "status"), [(FINISHED, "PASS", 0), (STOPPED, "INCONCLUSIVE", 0)])
def test_runs_of_a_version_without_it_are_shown(store: Path, run: str, said: str, status: int) -> None:
    done = simeval(store.parent, "show", run, "--store", str(store))

    assert done.returncode == status, done.stderr
    assert said in done.stdout
