"""`simeval generate` with a real model: what so small a model proposes is poor, but it is a suite."""

from pathlib import Path

import pytest

from simeval.core.settings import DEFAULTS
from simeval.extras.proposals.generate import suite_text
from simeval.extras.proposals.proposing import propose
from simeval.extras.proposals.sources import read_parts
from simeval.suites import load_suite
from tests.support.real_model import NAME

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(600)]

SHOP = "A bot of a shop for tents. It tells where an order is. Goods can be sent back within 14 days."


async def test_what_it_proposes_loads_and_is_marked(base_url: str, tmp_path: Path) -> None:
    options = {
        "model_options": {"api_base": base_url, "api_key": "none", "max_tokens": 300},
        "seed": 7,
        "model_timeout_seconds": 300,
    }
    made = await propose(
        read_parts([], SHOP), count=1, model=f"openai-compatible/{NAME}", settings=DEFAULTS.overridden(options)
    )
    (tmp_path / "suite.yaml").write_text(suite_text(made), encoding="utf-8")

    [scenario] = load_suite(str(tmp_path / "suite.yaml"))
    assert scenario.tags == ["proposed"]
    assert made.calls >= 1
