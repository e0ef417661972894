"""What tests over HTTP share: LiteLLM loaded once, and engines whose models are played by a server."""

from typing import Any

import pytest

from simeval import Engine, RetryConfig
from simeval.models.providers.litellm_model import load_litellm
from simeval.testing import FakeEndpoint
from tests.support.http_runs import KEY, MAX_ATTEMPTS, MakeEngine


@pytest.fixture(scope="session", autouse=True)
def _litellm() -> None:
    load_litellm()


@pytest.fixture(params=["litellm", "openai-compatible"])
def make_engine(request: pytest.FixtureRequest) -> MakeEngine:
    """Return what makes an engine whose models are played by a server."""

    prefix, road = ("openai", {"transport": "litellm"}) if request.param == "litellm" else (request.param, {})

    def make(handle: FakeEndpoint, **options: Any) -> Engine:
        defaults: dict[str, Any] = {
            "judge_model": f"{prefix}/test-judge",
            "user_simulator_model": f"{prefix}/test-user",
            "model_options": {"api_base": handle.base_url, "api_key": KEY, **road},
            "rubric_folder": None,
            "store": None,
            "early_stopping": False,
            "seed": 1,
            "retry_config": RetryConfig(max_attempts=MAX_ATTEMPTS, backoff_multiplier=0.01, max_backoff_seconds=0.05),
        }
        return Engine(**{**defaults, **options})

    return make
