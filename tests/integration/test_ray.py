"""Runs whose trials are held by Ray actors, in `make ray`; `make test` leaves them out and says so."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

import simeval
from scenarios import telecom
from simeval import Expectation, MeanEvaluator, RayExecutor, ScenarioTest
from simeval.errors import DefinitionError, ModelUnusable
from simeval.results.encoding import encode_document
from simeval.store.database import Database
from simeval.store.runs import Runs
from simeval.suites.files import load_file
from simeval.testing import ScriptedModel, judge_reply
from tests.support.ending_early import findings
from tests.support.suites import scenario

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore")]  # Ray's own are many
FLAG = "SIMEVAL_TEST_FLAG"  # the file that tells an app to kill its process once


def words(output: str, seed: int) -> float:
    return 20 + crc32(f"{output}{seed}".encode()) % 60 / 3


SUITE = [
    scenario("rated", sample_size=10),
    ScenarioTest(
        title="measured",
        given="A user",
        when="The user asks what the app can do",
        sample_size=10,
        then=Expectation(scorer=words, evaluator=MeanEvaluator(at_least=25, bounds=(0, 100))),
    ),
]


async def app(message: str) -> str:
    return "I can track orders and start returns."


def breaks_once(message: str) -> str:
    flag = Path(os.environ[FLAG])
    if flag.exists():
        flag.unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    return "I can track orders and start returns."


@pytest.fixture(scope="module", autouse=True)
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cluster for all tests; the file by which an app is told to kill its process."""
    if os.environ.get("SIMEVAL_REQUIRE_RAY") != "1":
        pytest.skip("Ray was not asked: `make ray` installs and asks it")
    import ray

    flag = tmp_path_factory.mktemp("ray") / "flag"
    flag.touch()
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": {FLAG: str(flag)}})
    yield flag
    ray.shutdown()


def engine(**options: Any) -> simeval.Engine:
    return simeval.Engine(**{"store": None, "seed": 5, "display": "none", "early_stopping": False, **options})


async def test_actors_come_to_what_one_process_comes_to() -> None:
    alone = await engine().evaluate(SUITE, app)

    found = await engine(executor=RayExecutor(actors=2)).evaluate(SUITE, app)

    assert findings(found) == findings(alone)
    assert found.run.usage == alone.run.usage


async def test_worlds_of_actors_come_to_what_they_come_to_here() -> None:
    suite = load_file(Path(telecom.__file__).with_suffix(".yaml")).scenarios
    alone = await engine().evaluate(suite, telecom.claimer)

    found = await engine(executor=RayExecutor(actors=2)).evaluate(suite, telecom.claimer)

    assert findings(found) == findings(alone)
    assert found[0].claims == alone[0].claims
    assert not found.passed


async def test_of_an_actor_that_dies_the_trials_under_way_are_missing_and_it_is_replaced(
    cluster: Path, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"store": tmp_path / "runs.db", "concurrency": 2, "executor": RayExecutor(actors=1)}

    found = await engine(**options).evaluate(SUITE, breaks_once)
    database = Database(tmp_path / "runs.db")
    document = encode_document(Runs(database).document(found.run.run_id))
    database.close()

    lost = [failure.error for each in found for _, failure in each.failures]
    assert not cluster.exists()  # noqa: ASYNC240
    assert 1 <= len(lost) <= 2
    assert set(lost) == {"the worker was lost in this trial"}
    assert [each["trials"] for each in document["scenarios"]] == [10, 10]


async def test_limits_hold_for_all_actors_together() -> None:
    found = await engine(executor=RayExecutor(actors=2), requests_per_minute=60_000).evaluate(SUITE, app)

    assert all(each.trials == 10 for each in found)


async def test_a_model_that_an_actor_cannot_use_ends_the_run() -> None:
    model = ScriptedModel({"judge": [judge_reply(8)]})  # which cannot play the user
    options: dict[str, Any] = {"executor": RayExecutor(actors=1), "store": None, "seed": 5, "display": "none"}

    with pytest.raises(ModelUnusable, match="scripted/model cannot be used"):
        await simeval.Engine(model, **options).evaluate(SUITE[1:], app)


async def test_what_cannot_be_sent_to_actors_is_refused() -> None:
    import threading

    lock = threading.Lock()

    async def holds_a_lock(message: str) -> str:
        with lock:
            return "yes"

    with pytest.raises(DefinitionError, match="the suite cannot be sent to actors"):
        await engine(executor="ray").evaluate(SUITE, holds_a_lock)
