"""The recorder of a run, beside a store."""

from pathlib import Path

import anyio
import pytest

from simeval.core.run_records import Heartbeat
from simeval.engine import flow
from simeval.engine.flow import Recorder
from simeval.store.database import Database
from tests.support.stores import begun, rows

pytestmark = pytest.mark.anyio


async def test_a_run_that_begins_late_gives_no_sign_of_life_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flow, "PULSE_SECONDS", 0.001)
    store = Database(tmp_path / "runs.db")

    async with Recorder(store, lambda: Heartbeat(seconds=0.0)) as recording:
        await anyio.sleep(0.1)  # many pulses
        await recording.begin(begun())

    assert rows(store, "SELECT run_id FROM runs") == [("run-1",)]
    store.close()
