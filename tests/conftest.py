"""What every test may use: the loop tests run on, an environment without keys, a server that plays the models, stores.

Property tests draw the same examples each time, and a slow machine does not fail them.
"""

import faulthandler
import gc
import logging
import os
from collections.abc import Generator, Iterator
from pathlib import Path
from time import monotonic

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # of every command; set before NumPy is loaded

import pytest
import tqdm
from hypothesis import settings

from simeval.store.database import Database
from simeval.testing import FakeEndpoint, fake_endpoint
from tests.support.postgres import postgres_server  # noqa: F401

pytest_plugins = ["pytester"]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None]:
    """Collect tests without the garbage collector: nothing that is made there goes before the end.

    It would visit 15,000 tests and all modules again and again, a sixth of the time; later it leaves them out, too.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


class HangingTests:
    """Ends a process with every stack, if a test hangs and no time-out of its own ends it.

    pytest's own watch starts a thread for each test and waits for its end, which takes 5 ms on a busy machine.
    """

    every_seconds, patience_seconds = 60, 720

    def __init__(self) -> None:
        self.stderr = os.dup(2)  # while a test runs, it is captured
        self.watched_since = float("-inf")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        """Watch this test and those that begin within a minute."""
        if monotonic() > self.watched_since + self.every_seconds:
            faulthandler.dump_traceback_later(self.patience_seconds, exit=True, file=self.stderr)
            self.watched_since = monotonic()

    def pytest_sessionfinish(self) -> None:
        """Watch no longer."""
        faulthandler.cancel_dump_traceback_later()


def pytest_configure(config: pytest.Config) -> None:
    """Watch the tests of this process."""
    config.pluginmanager.register(HangingTests())


settings.register_profile("unit", deadline=None, derandomize=True, database=None, max_examples=50)
settings.load_profile("unit")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The event loop: LiteLLM runs on asyncio only."""
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def _no_real_models() -> Iterator[None]:
    """Keep real keys away from tests, and LiteLLM from looking up prices over the network."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        patch.setattr(tqdm.tqdm, "monitor_interval", 0)  # its thread would outlast the test that began it
        patch.delenv("GITHUB_STEP_SUMMARY", raising=False)  # the tests' runs are not what a job is about
        for name in ("COLUMNS", "LINES"):  # what tests are run by would say how wide a terminal is
            patch.delenv(name, raising=False)
        for name in list(os.environ):
            if name.endswith(("_API_KEY", "_API_BASE", "_BASE_URL", "_ACCESS_KEY")):
                patch.delenv(name)
        yield


@pytest.fixture(autouse=True)
def _logs_as_before() -> Iterator[None]:
    """Undo what a command that ran in this process did to the logger."""
    logger = logging.getLogger("simeval")
    handlers, level, propagate = list(logger.handlers), logger.level, logger.propagate
    yield
    logger.handlers[:], logger.level, logger.propagate = handlers, level, propagate
    logger.setLevel(level)


@pytest.fixture
def llm() -> Iterator[FakeEndpoint]:
    """A server that answers at once."""
    with fake_endpoint() as handle:
        yield handle


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty store."""
    if request.param == "sqlite":
        return str(tmp_path / "made" / "store.db")
    return str(request.getfixturevalue("postgres_server").fresh())


@pytest.fixture
def database(where: str) -> Iterator[Database]:
    found = Database(where)
    yield found
    found.close()
