"""A run that is ended gives its verdicts, whatever becomes of its store."""

import sqlite3
from pathlib import Path
from typing import Any

import anyio
import pytest

from simeval import SuiteResult
from simeval.errors import StoreError
from simeval.store.backends import sqlite
from simeval.testing import MemoryJournal
from tests.support.ending_early import SUITE, App, Engine, findings

pytestmark = pytest.mark.anyio


async def test_verdicts_are_given_also_where_the_end_cannot_be_kept() -> None:
    class Full(MemoryJournal):
        def append(self, run_id: str, entries: Any) -> None:
            if any(isinstance(entry, SuiteResult) for entry in entries):
                raise OSError("no room")
            super().append(run_id, entries)

    with pytest.raises(StoreError, match="no room") as caught:
        await Engine(store=Full()).evaluate(SUITE, App())

    whole = await Engine(store=None).evaluate(SUITE, App())
    assert findings(caught.value.partial) == findings(whole)


async def test_an_end_before_the_beginning_counts(tmp_path: Path) -> None:
    engine, app = Engine(store=tmp_path / "runs.db"), App()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(engine.evaluate, SUITE, app)
        await anyio.lowlevel.checkpoint()
        engine.end("too early")

    assert app.turns == 0


async def test_an_end_does_not_wait_for_a_store_that_is_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "PATIENCE_MILLISECONDS", 600_000)  # ten times as long as this test has
    engine = Engine(store=tmp_path / "runs.db")
    other = sqlite3.connect(tmp_path / "runs.db", isolation_level=None, check_same_thread=False)

    def lock_and_end() -> None:
        other.execute("BEGIN IMMEDIATE")
        engine.end()

    with anyio.fail_after(60):
        result = await engine.evaluate(SUITE, App(60, lock_and_end))
    other.execute("ROLLBACK")
    other.close()

    assert result.run.stopped
