"""What tests of models share: calls are governed by the clock of the event loop, which may be a fake one."""

import anyio
import pytest

from simeval.models.limits import governor, traffic


@pytest.fixture(autouse=True)
def _clock_of_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (governor, traffic):
        monkeypatch.setattr(module, "monotonic", anyio.current_time)
