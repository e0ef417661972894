"""The recorder of a run, beside a store."""

from pathlib import Path

import anyio
import pytest

from simeval.core.run_records import Heartbeat
from simeval.engine import flow
from simeval.engine.flow import Recorder, UnderWay
from simeval.store.database import Database
from simeval.testing import MemoryJournal
from tests.support.stores import begun, held, rows
from tests.support.waiting import until

pytestmark = pytest.mark.anyio


async def test_a_run_that_begins_late_gives_no_sign_of_life_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flow, "PULSE_SECONDS", 0.001)
    store = Database(tmp_path / "runs.db")

    async with Recorder(store, lambda: Heartbeat(seconds=0.0), UnderWay()) as recording:
        await anyio.sleep(0.1)  # many pulses
        await recording.begin(begun())

    assert rows(store, "SELECT run_id FROM runs") == [("run-1",)]
    store.close()


async def test_a_batch_is_written_as_soon_as_every_trial_under_way_waits_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(flow, "SHORTEST_PAUSE_SECONDS", 3_600.0)
    journal, under_way = MemoryJournal(), UnderWay()
    batches: list[int] = []
    monkeypatch.setattr(journal, "append", lambda _, entries: batches.append(len(entries)))

    async with Recorder(journal, lambda: Heartbeat(seconds=0.0), under_way) as recorder:
        await recorder.begin(begun())
        for number in range(3):
            under_way.begin(number)
        async with anyio.create_task_group() as trials:
            for number in range(3):
                trials.start_soon(recorder.record, held(number))

    assert batches == [2, 3]  # the first with a sign of life


async def test_an_entry_that_is_noted_is_waited_for_by_whoever_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow, "SHORTEST_PAUSE_SECONDS", 3_600.0)
    journal, under_way = MemoryJournal(), UnderWay()

    async with Recorder(journal, lambda: Heartbeat(seconds=0.0), under_way) as recorder:
        await recorder.begin(begun())
        under_way.begin("a trial")
        kept = await recorder.note(held(0))
        before = list(journal.entries)
        await kept()
        after = list(journal.entries)

    assert held(0) not in before
    assert held(0) in after


async def test_where_trials_are_long_more_of_them_share_a_write(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(flow, "monotonic", lambda: now[0])
    under_way = UnderWay()
    pauses = []
    for seconds in (0.0, 1.6, 60.0):
        under_way.begin(seconds)
        now[0] += seconds
        under_way.end(seconds)
        pauses.append(flow.pause_of(under_way))

    assert pauses == [0.03, pytest.approx(0.05), 0.25]


async def test_a_queue_that_is_full_is_written_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow, "SHORTEST_PAUSE_SECONDS", 3_600.0)
    journal, under_way = MemoryJournal(), UnderWay()
    count = 4 * flow.LARGEST_BATCH

    async with Recorder(journal, lambda: Heartbeat(seconds=0.0), under_way) as recorder:
        await recorder.begin(begun())
        for number in range(count + 1):  # one of them never waits
            under_way.begin(number)
        async with anyio.create_task_group() as trials:
            for number in range(count):
                trials.start_soon(recorder.note, held(number))
            await until(lambda: len(journal.entries) >= count - flow.LARGEST_BATCH)
