"""What every test may use: the loop tests run on, an environment without keys, a server that plays the models."""

import os
from collections.abc import Iterator

import pytest

from tests.llm_server import ServerHandle, running
from tests.postgres import postgres_server  # noqa: F401


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The event loop: LiteLLM runs on asyncio only."""
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def _no_real_models() -> Iterator[None]:
    """Keep real keys away from tests, and LiteLLM from looking up prices over the network."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        for name in list(os.environ):
            if name.endswith(("_API_KEY", "_API_BASE", "_BASE_URL", "_ACCESS_KEY")):
                patch.delenv(name)
        yield


@pytest.fixture
def llm() -> Iterator[ServerHandle]:
    """A server that answers at once."""
    with running() as handle:
        yield handle
