"""A small sample of the fault campaign, and what its tables are made of: nothing finished is lost."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from math import nextafter
from pathlib import Path
from typing import Any

import pytest

from benchmarks.faults.campaign import endpoints, handlers, kills, stores
from benchmarks.faults.campaign.__main__ import as_row
from benchmarks.faults.campaign.campaign import Campaign, NotRun, healthy
from benchmarks.faults.campaign.cases import Report, agrees
from benchmarks.faults.campaign.notes import NoteBook, Notes
from simeval.core.conversation import Conversation
from simeval.core.run_records import ResumableRun
from simeval.core.trial import Score, Trial, TrialConversation, TrialResult
from simeval.store.journal import Entry
from simeval.testing import fake_endpoint


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Campaign]:
    with fake_endpoint(healthy()) as endpoint:
        made = Campaign(folder=tmp_path_factory.mktemp("campaign"), endpoint=endpoint, kills=2)
        yield made
        made.close()


def test_nothing_is_lost_when_a_run_is_killed(campaign: Campaign) -> None:
    report = kills.kill_sqlite(campaign)

    assert report.is_good, report
    assert report.finished > 100
    assert report.same
    assert report.ended.startswith("2 kills, ")


def test_nothing_is_lost_when_the_disk_is_full(campaign: Campaign) -> None:
    report = stores.disk_full(campaign)

    assert report.is_good, report
    assert report.same
    assert report.ended == "by itself, status 3"
    assert "could not be written" in report.message


def test_verdicts_do_not_depend_on_connections_that_are_reset(campaign: Campaign) -> None:
    report = endpoints.answers(campaign, reset=0.1)

    assert report.is_good, report
    assert report.same


def test_an_app_that_exits_fails_its_trials_alone(campaign: Campaign) -> None:
    report = handlers.misbehaves(campaign, "exits")

    assert report.is_good, report
    assert report.ended == "by itself, status 1"
    assert "SystemExit" in report.message


def test_a_run_that_was_cut_off_agrees_with_a_whole_one_up_to_the_trial_that_is_missing() -> None:
    def found(*said: str, missing: Sequence[int] = ()) -> dict[str, Any]:
        kept = {"title": "s", "outcome": "pass", "passed": True, "sample_size": 3, "trials": 3, "expectations": []}
        errors = [{"index": index, "stage": "run", "error": "cut"} for index in missing]
        conversations = [{"index": index, "turns": [text]} for index, text in enumerate(said)]
        return {"scenarios": [{**kept, "errors": errors, "conversations": conversations}]}

    whole = found("a", "b", "c")

    assert agrees(found("a", "b", "c"), whole)
    assert not agrees(found("a", "b", "x"), whole)
    assert agrees(found("a", "", "x", missing=[1]), whole)
    assert not agrees(found("x", "", "c", missing=[1]), whole)


def test_a_row_that_needs_a_server_says_so(campaign: Campaign) -> None:
    with pytest.raises(NotRun, match="PostgreSQL"):
        stores.postgres_gone(campaign)


class TestNotes:
    held = TrialConversation(Trial(0, 3, 77), Conversation())
    judged = TrialResult(trial=held.trial, conversation=held.conversation, results=(Score(value=0.1), Score(value=2)))

    def noted(self, path: Path, *batches: Sequence[Entry], cut: int = 0) -> Notes:
        book = NoteBook(path)
        for batch in batches:
            book.add("run", batch)
        book.close()
        path.write_bytes(path.read_bytes()[: -cut or None])
        return Notes.read(path)

    def past(self, *values: float, held: TrialConversation = held) -> ResumableRun:
        scores = {position: Score(value=value) for position, value in enumerate(values)}
        return ResumableRun(
            run_id="run",
            seed=1,
            started=datetime.now(UTC),
            definition={},
            held={(0, 3): held},
            scores={(0, 3): scores},
        )

    def test_what_is_in_the_store_as_it_was_noted_is_not_lost(self, tmp_path: Path) -> None:
        notes = self.noted(tmp_path / "notes", [self.held], [self.judged])

        assert (notes.finished, notes.lost(self.past(0.1, 2)), notes.repeated()) == (3, 0, 0)

    def test_what_was_set_aside_is_not_lost_and_may_be_held_again_with_another_seed(self, tmp_path: Path) -> None:
        anew = replace(self.held, trial=replace(self.held.trial, seed=78))
        notes = self.noted(tmp_path / "notes", [self.held, self.judged], [anew])
        past = replace(self.past(held=anew), scores={})

        assert notes.lost(past) == 3
        assert notes.lost(past, [(self.held, {0: "0.1", 1: "2"})]) == 0
        assert notes.lost(past, [(self.held, {0: "0.1", 1: "3"})]) == 1
        assert notes.repeated() == 0

    def test_what_is_not_there_or_is_not_the_same_is_lost(self, tmp_path: Path) -> None:
        notes = self.noted(tmp_path / "notes", [self.held, self.judged])
        other = replace(self.held, conversation=Conversation(ended="max_turns"))

        assert notes.lost(self.past(0.1)) == 1
        assert notes.lost(self.past(nextafter(0.1, 1), 2)) == 1
        assert notes.lost(self.past(held=other)) == 3

    def test_what_is_held_or_measured_again_is_counted(self, tmp_path: Path) -> None:
        measured = b'["measured", 77]\n'
        path = tmp_path / "notes"
        path.write_bytes(measured)

        once = self.noted(path, [self.held], [self.judged]).repeated()
        with path.open("ab") as file:
            file.write(measured)

        assert once == 0
        assert self.noted(path, [self.held]).repeated() == 2

    def test_a_line_that_a_kill_cut_off_is_no_note(self, tmp_path: Path) -> None:
        notes = self.noted(tmp_path / "notes", [self.held], [self.judged], cut=4)

        assert notes.finished == 2


def test_a_report_of_a_loss_is_not_good_and_shows_in_its_row() -> None:
    report = Report(finished=9, lost=1, same=False, message="a | b")

    row = as_row("it breaks", report)

    assert not report.is_good
    assert row.startswith("| it breaks | 9 | 1 | 0 | 0, 0 | by itself | 0.0 | NO | a \\| b")
