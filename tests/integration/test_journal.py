"""What a run keeps in its store, and what becomes of a run whose store fails."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from simeval import (
    SuiteResult,
)
from simeval.core.run_records import Heartbeat, Start
from simeval.core.trial import TrialConversation, TrialResult
from simeval.errors import AppError, DefinitionError, RunStopped, StoreError
from simeval.results.suite import RunRecord
from simeval.store.journal import JsonLinesJournal
from simeval.testing import MemoryJournal
from tests.support.suites import Engine, good_app, scenario

pytestmark = pytest.mark.anyio


class TestJournal:
    async def test_everything_is_recorded_before_it_is_counted(self) -> None:
        journal = MemoryJournal()
        await Engine(seed=1, store=journal).evaluate([scenario("a"), scenario("b")], good_app)

        kinds = Counter(type(entry).__name__ for entry in journal.entries)
        order = [(type(e), e.trial) for e in journal.entries if isinstance(e, (Start, TrialConversation, TrialResult))]
        del kinds["Heartbeat"]
        assert kinds == {
            "RunRecord": 1,
            "RubricRecord": 1,
            "ControlRecord": 2,
            "Start": 60,
            "TrialConversation": 60,
            "TrialResult": 60,
            "SuiteResult": 1,
        }
        assert isinstance(journal.entries[0], RunRecord)
        assert [type(entry) for entry in journal.entries[-2:]] == [Heartbeat, SuiteResult]
        parts = Start, TrialConversation, TrialResult
        places = [[order.index((kind, trial)) for kind in parts] for _, trial in order]
        assert all(found == sorted(found) for found in places)

    async def test_a_json_lines_store_holds_every_trial(self, tmp_path: Path) -> None:
        path = tmp_path / "runs" / "journal.jsonl"
        await Engine(seed=1, store=path).evaluate(scenario(), good_app)
        await Engine(seed=2, store=path).evaluate(scenario(), good_app)

        lines = [json.loads(line) for line in path.read_text().splitlines()]
        kinds = Counter(line["type"] for line in lines if line["type"] != "usage")
        assert kinds == {
            "run": 4,
            "rubric": 2,
            "control": 4,
            "start": 60,
            "conversation": 60,
            "judgement": 60,
            "verdicts": 2,
        }

    async def test_what_was_finished_when_a_run_stops_is_in_the_store(self, tmp_path: Path) -> None:
        path = tmp_path / "journal.jsonl"
        done = 0

        async def app(message: str, state: Any) -> str:
            nonlocal done
            done += 1
            if done > 20:
                raise AppError(1, "down")
            return "ok"

        with pytest.raises(RunStopped):
            await Engine(seed=1, store=path, on_app_error="stop", concurrency=2).evaluate(scenario(max_turns=1), app)

        kinds = Counter(json.loads(line)["type"] for line in path.read_text().splitlines())
        assert kinds["conversation"] >= 18
        assert kinds["judgement"] >= 16

    async def test_every_line_names_its_run_and_a_torn_one_swallows_no_other(self, tmp_path: Path) -> None:
        path = tmp_path / "journal.jsonl"
        await Engine(seed=1, store=path).evaluate(scenario(sample_size=2), good_app)
        whole = path.read_text()
        path.write_text(whole[:-20])
        await Engine(seed=2, store=path).evaluate(scenario(sample_size=2), good_app)

        lines = path.read_text().splitlines()
        found = [json.loads(line) for line in lines if line.endswith("}")]
        runs = [each["run_id"] for each in found if each["type"] != "usage"]
        assert len(set(runs)) == 2
        assert runs.count(runs[-1]) == 12
        assert json.loads(lines[0])["suite"][0]["title"] == "Bot explains itself"

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
    async def test_a_store_that_is_full_stops_the_run_with_one_sentence(self) -> None:
        journal = JsonLinesJournal(Path("/dev/full"))
        with pytest.raises(StoreError, match="/dev/full"):
            await Engine(store=journal).evaluate(scenario(), good_app)
        journal.close()

    async def test_a_store_that_fails_in_the_middle_ends_the_run_with_what_was_reached(self) -> None:
        class Failing(MemoryJournal):
            def append(self, run_id: str, entries: Any) -> None:
                super().append(run_id, entries)
                if len(self.entries) > 20:
                    raise StoreError("the store", problem="it is gone")

        with pytest.raises(StoreError, match="it is gone") as caught:
            await Engine(seed=1, concurrency=2, store=Failing()).evaluate(scenario(max_turns=1), good_app)

        partial = caught.value.partial
        assert 0 < partial[0].trials < 30
        assert "it is gone" in partial.run.stopped

    async def test_a_store_that_cannot_be_written_is_refused_before_the_run(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("x")

        with pytest.raises(DefinitionError, match="store"):
            await Engine(store=tmp_path / "file" / "journal.jsonl").evaluate(scenario(), good_app)
