"""The database as a journal: what is written is read back as it was, on both kinds."""

import json
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta, timezone
from math import inf, isnan, nan
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from simeval.core.conversation import Conversation, Message
from simeval.core.licences import JudgeLicence, Stream
from simeval.core.run_records import Cut, Heartbeat, ReplyRecord, Start, Usage
from simeval.core.trial import UNNEEDED, Failure, RubricRecord, Score, Trial, TrialConversation, TrialResult, cut_off
from simeval.errors import DefinitionError, StoreError
from simeval.store.database import Database
from simeval.store.journal import Entry, JsonLinesJournal, encode_entry
from simeval.store.licences import change_licence, keep_licence, licence_under
from simeval.store.opening import open_journal
from simeval.store.runs import Runs
from simeval.store.schema import VERSION
from tests.support.records import NOON, conversation
from tests.support.stores import (
    APP_FAILED,
    MODEL_FAILED,
    begun,
    ended,
    held,
    judged,
    rows,
    run_sql,
    version_one,
    whole_run,
)

TEXTS = st.text(st.characters(exclude_categories=()), max_size=20)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
ZONES = st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=45)), None])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
MESSAGES = st.builds(
    Message,
    role=st.sampled_from(["user", "assistant"]),
    content=TEXTS,
    started=ZONES.flatmap(lambda zone: st.datetimes(timezones=st.just(zone))),
    seconds=NUMBERS,
    tool_calls=st.lists(st.dictionaries(TEXTS, JSON, max_size=2), max_size=2).map(tuple),
)
CONVERSATIONS = st.builds(
    Conversation,
    messages=st.lists(MESSAGES, max_size=3).map(tuple),
    writing_style=st.none() | st.dictionaries(TEXTS, TEXTS, max_size=2),
    ended=st.sampled_from(["user", "max_turns", "app_error"]),
)
SCORES = st.builds(
    Score,
    value=NUMBERS | st.booleans() | st.integers(0, 10) | st.sampled_from([inf, -inf]),
    reasoning=TEXTS,
    details=st.dictionaries(TEXTS, JSON, max_size=2),
)


def test_a_run_is_read_back_as_it_was_written(database: Database) -> None:
    @hypothesis_settings(max_examples=60)
    @given(
        conversations=st.lists(CONVERSATIONS, min_size=1, max_size=3),
        scores=st.lists(SCORES, min_size=1, max_size=2),
        title=TEXTS,
        seed=st.integers(),
        failure=st.builds(Failure, stage=st.just("app"), error=TEXTS, cause=TEXTS),
    )
    def check(conversations: list[Conversation], scores: list[Score], title: str, seed: int, failure: Failure) -> None:
        run = begun(f"run-{next(numbers)}", titles=[title], seed=seed, definition={"title": title})
        helds = [TrialConversation(Trial(0, index, index), each) for index, each in enumerate(conversations)]
        helds.append(TrialConversation(Trial(0, len(helds), 0), conversations[0], failure))
        judgement = TrialResult(trial=helds[0].trial, conversation=helds[0].conversation, results=tuple(scores))

        database.append(run.run_id, [run, *helds, judgement])
        past = Runs(database).load(run.run_id)

        assert past.held == {(0, one.trial.index): one for one in helds}
        assert past.scores == {(0, 0): dict(enumerate(scores))}
        assert (past.seed, past.started, past.definition) == (seed, run.started, {"title": title})

    numbers = iter(range(10**6))
    check()


def test_a_number_that_is_none_is_read_back_as_one(database: Database) -> None:
    database.append("run-1", [begun(), judged(0, ratings=(nan,))])

    assert isnan(Runs(database).load("run-1").scores[0, 0][0].value)


def test_rubrics_and_replies_are_read_back(database: Database) -> None:
    rubric = RubricRecord(key="k", model="judge", expected_behavior="works\0", levels={"1": "bad", "10": "good\ud83d"})
    rubric = replace(rubric, near_misses=("No.", "Never\0."))
    reply = ReplyRecord(key="r", model="m", role="user", text="hi\0", prompt_tokens=3, completion_tokens=4)

    database.append("run-1", [begun(), rubric, reply, reply])

    assert Runs(database).load("run-1").rubrics == {"k": rubric}
    assert database.reply("r") == reply
    assert database.reply("another") is None


def test_writing_the_same_again_changes_nothing(database: Database) -> None:
    run = begun()
    entries, suite = whole_run(run)
    database.append("run-1", [*entries, suite])
    before = {table: len(rows(database, f"SELECT * FROM {table}")) for table in TABLES}
    past = Runs(database).load("run-1")

    database.append("run-1", entries[1:])

    assert {table: len(rows(database, f"SELECT * FROM {table}")) for table in TABLES} == before
    assert Runs(database).load("run-1") == past


TABLES = ("runs", "attempts", "scenarios", "trials", "messages", "judgements", "scores", "verdicts")


def test_a_cut_sets_aside_what_was_dealt_from_its_trial_on(database: Database) -> None:
    finished = [held(index) for index in (0, 2, 3)]
    database.append("run-1", [begun(), *(Start(held(index).trial) for index in range(5)), *finished])
    database.append("run-1", [judged(0), judged(2), held(0, scenario=1), judged(0, scenario=1)])
    before = Runs(database).load("run-1")

    for _ in range(2):  # what is repeated on a connection that was lost changes nothing
        database.append("run-1", [Cut(held(1).trial)])
    after = Runs(database).load("run-1")

    assert set(before.begun) == {(0, 1), (0, 4)}
    assert after.held == {(0, 0): held(0), (0, 1): cut_off(held(1).trial), (1, 0): held(0, scenario=1)}
    assert set(after.scores) == {(0, 0), (1, 0)}
    assert (after.begun, after.cuts, after.set_aside) == ({}, {0: (1,)}, 2)
    kept = rows(database, "SELECT trial, attempt, seed, scores FROM set_aside ORDER BY trial")
    assert [(index, attempt, seed) for index, attempt, seed, _ in kept] == [(2, 0, 2**62 + 2), (3, 0, 2**62 + 3)]
    assert [score["score"] for score in json.loads(kept[0][3]).values()] == [8.0, 7.5]
    [[conversation], _] = rows(database, "SELECT conversation FROM set_aside ORDER BY trial")
    assert json.loads(conversation) == encode_entry(held(2))[0]


def test_trials_that_are_set_aside_twice_are_both_kept(database: Database) -> None:
    batches: list[list[Entry]] = [[begun(), held(2)], [Cut(held(0).trial)], [held(2)], [Cut(held(1).trial)]]
    for entries in batches:
        database.append("run-1", entries)

    assert rows(database, "SELECT trial, set_aside FROM cuts ORDER BY trial") == [(0, 1), (1, 1)]
    assert rows(database, "SELECT trial, attempt FROM set_aside ORDER BY attempt") == [(2, 0), (2, 1)]


def test_a_conversation_under_way_is_read_back_as_it_was(database: Database) -> None:
    said = replace(conversation("hi", "hello\0\ud83d"), ended="user").messages
    start = Start(held(0).trial, said, json.dumps({"cart": ["tea\ud83d"], "seconds": 0.1}))
    database.append("run-1", [begun(), Start(held(0).trial), start, Start(held(1).trial)])

    found = Runs(database).load("run-1").begun

    assert (found[0, 0].messages, found[0, 0].state) == (said, start.state)
    assert found[0, 1].messages is None


def test_what_no_verdict_needs_is_not_written(database: Database) -> None:
    unheld = held(0, failure=UNNEEDED)
    unjudged = replace(judged(1), results=(UNNEEDED, UNNEEDED))

    database.append("run-1", [begun(), unheld, replace(judged(0), results=(UNNEEDED, UNNEEDED), failure=UNNEEDED)])
    database.append("run-1", [held(1), unjudged, held(2), replace(judged(2), results=(UNNEEDED, Score(value=1.0)))])

    assert rows(database, "SELECT trial FROM trials ORDER BY trial") == [(1,), (2,)]
    assert rows(database, "SELECT trial, scores, failures FROM judgements") == [(2, 1, 0)]
    assert rows(database, "SELECT trial, expectation FROM scores") == [(2, 1)]


def test_a_conversation_that_failed_has_ended_and_a_score_that_failed_is_to_be_made_anew(database: Database) -> None:
    broken = judged(2, ratings=(8.0, MODEL_FAILED))

    database.append("run-1", [begun(), held(0, failure=APP_FAILED), held(1, failure=MODEL_FAILED), held(2), broken])
    past = Runs(database).load("run-1")

    assert [past.held[0, index].failure for index in range(3)] == [APP_FAILED, MODEL_FAILED, None]
    assert {key: set(found) for key, found in past.scores.items()} == {(0, 2): {0}}


def test_usage_and_seconds_are_those_of_all_attempts(where: str) -> None:
    for seconds, calls in ((2.0, 3), (0.5, 4)):
        database = Database(where)
        early = Heartbeat(seconds=0.1, usage={"judge": Usage(calls=1)})
        database.append("run-1", [begun(), early])
        late = Heartbeat(seconds=seconds, usage={"judge": Usage(calls=calls, cost_usd=0.25), "user": Usage(calls=1)})
        database.append("run-1", [late])
        database.close()
    database = Database(where)

    past = Runs(database).load("run-1")
    database.close()

    assert past.seconds == 2.5
    assert past.usage == {"judge": Usage(calls=7, cost_usd=0.5), "user": Usage(calls=2)}


def test_a_table_can_be_read_by_a_person(database: Database) -> None:
    entries, suite = whole_run(begun())

    database.append("run-1", [*entries, suite])

    verdicts = rows(database, "SELECT label, outcome, n, interval_low FROM verdicts ORDER BY scenario, expectation")
    low = suite[0].verdicts[0].confidence_interval
    assert low is not None
    assert verdicts[0] == ("works", suite[0].verdicts[0].outcome, 3, pytest.approx(low[0], rel=1e-15))
    assert len(verdicts) == 4
    assert rows(database, "SELECT title, sample_size, trials, outcome FROM scenarios ORDER BY scenario")[0] == (
        "A",
        5,
        3,
        suite[0].outcome,
    )
    assert rows(database, "SELECT started FROM messages")[0] == (NOON.isoformat(),)


def test_an_older_store_is_brought_up_to_date_and_keeps_what_it_has(where: str) -> None:
    version_one(where)
    old = Database(where)
    old.append("run-1", [begun(), held(0)])
    old.close()

    now = Database(where)

    assert rows(now, "SELECT version FROM schema_version") == [(VERSION,)]
    assert rows(now, "SELECT count(*) FROM feedback") == [(0,)]
    assert set(Runs(now).load("run-1").held) == {(0, 0)}
    now.close()


def licence() -> JudgeLicence:
    stream = Stream(right=17, n=17, passed=True, low=0.84, high=1.0)
    return JudgeLicence(
        key="k",
        judge="judge",
        form="rating",
        tested=NOON,
        near_misses=stream,
        right_answers=stream,
        calls=34,
        tokens=1,
    )


def test_an_older_store_takes_licences_of_judges(where: str) -> None:
    version_one(where)

    now = Database(where)
    keep_licence(now, replace(licence(), calls=33))
    keep_licence(now, licence())

    assert licence_under(now, "k") == licence()
    assert licence_under(now, "another") is None
    now.close()


def test_a_licence_is_changed_under_its_own_key_only(database: Database) -> None:
    for key in ("k", "other"):
        keep_licence(database, replace(licence(), key=key))

    for key in ("k", "nobody's"):
        change_licence(database, key, lambda found: replace(found, changed="2025-01-02"))

    assert licence_under(database, "k") == replace(licence(), changed="2025-01-02")
    assert licence_under(database, "other") == replace(licence(), key="other")
    assert licence_under(database, "nobody's") is None


def test_the_tables_of_the_former_queue_go_with_the_version_that_had_them(where: str) -> None:
    old = Database(where)
    for statement in (
        "CREATE TABLE assignments (run_id TEXT)",
        "CREATE TABLE allowances (model TEXT)",
        "ALTER TABLE rubrics DROP COLUMN near_misses",
        "UPDATE schema_version SET version = 8",
    ):
        run_sql(old, statement)
    old.close()

    now = Database(where)

    assert rows(now, "SELECT version FROM schema_version") == [(VERSION,)]
    for table in ("assignments", "allowances"):
        with pytest.raises(StoreError, match=table):
            rows(now, f"SELECT * FROM {table}")
    now.close()


def test_a_migration_that_fails_leaves_the_older_store_as_it_was(where: str) -> None:
    version_one(where)
    database = Database(where)
    for statement in ("DROP TABLE datasets", "DROP TABLE examples", "UPDATE schema_version SET version = 1"):
        run_sql(database, statement)  # feedback is in the way now
    with pytest.raises(DefinitionError, match="feedback"):
        Database(where)

    assert rows(database, "SELECT version FROM schema_version") == [(1,)]
    with pytest.raises(StoreError, match="datasets"):
        rows(database, "SELECT * FROM datasets")
    database.close()


def test_a_newer_store_is_refused(where: str) -> None:
    database = Database(where)
    run_sql(database, f"UPDATE schema_version SET version = {VERSION + 1}")
    database.close()

    with pytest.raises(DefinitionError, match="newer version of simeval"):
        Database(where)


def test_a_database_with_tables_of_another_program_is_refused(where: str) -> None:
    database = Database(where)
    run_sql(database, "DROP TABLE schema_version")
    database.close()

    with pytest.raises(DefinitionError, match="tables of another program"):
        Database(where)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:pass%40word@127.0.0.1:1/db",
        "postgresql://127.0.0.1:1/db?user=me&password=pass%40word",
        "postgres://me:pass%40word@127.0.0.1:1/db",
        "postgresql://me:pass@word@127.0.0.1:1x/db",
        "mysql://me:pass@word@host/db",
        "sqlite://",
    ],
)
def test_what_cannot_be_opened_is_said_without_the_password(address: str) -> None:
    with pytest.raises(DefinitionError) as raised:
        Database(address)

    assert "store" in str(raised.value)
    assert "pass" not in str(raised.value).replace("PASSWORD", "")


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    path.write_text("these are notes " * 100)

    with pytest.raises(DefinitionError, match="not a database"):
        Database(path)
    with pytest.raises(DefinitionError, match="cannot be made"):
        Database(path / "inside" / "store.db")


def test_an_address_says_which_journal_it_is(tmp_path: Path, where: str) -> None:
    lines = open_journal(tmp_path / "run.jsonl")
    store = open_journal(where)

    assert isinstance(lines, JsonLinesJournal)
    assert isinstance(store, Database)
    lines.close()
    store.close()


def test_an_sqlite_url_names_a_file(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'store.db'}")
    database.close()

    assert (tmp_path / "store.db").exists()


def test_a_reply_is_of_the_same_columns_as_its_record() -> None:
    reply: Any = ReplyRecord(key="k", model="m", role="user", text="t")

    assert list(asdict(reply)) == ["key", "model", "role", "text", "prompt_tokens", "completion_tokens"]


def test_conversations_that_were_never_recorded_are_kept_at_the_end(database: Database) -> None:
    run = begun(titles=["A"])
    fault = Failure(stage="engine", error="ValueError: x", cause="ValueError")
    lost = TrialResult(trial=Trial(0, 0, 0), conversation=conversation(), results=(fault, fault), failure=fault)
    unjudged = replace(judged(1), results=(fault, fault), failure=fault)

    database.append("run-1", [run, lost, held(1), unjudged, ended(run, [[lost, unjudged]])])

    assert rows(database, "SELECT trial, stage FROM trials ORDER BY trial") == [(0, "engine"), (1, None)]
    assert [each.trial.index for each in Runs(database).document("run-1").scenarios[0].judgements] == [0, 1]


def test_times_are_read_back_in_their_zone(database: Database) -> None:
    started = datetime(2025, 1, 2, 3, 4, 5, 6, timezone(timedelta(hours=2)))
    said = Conversation(messages=(Message(role="user", content="hi", started=started, seconds=0.1),))

    database.append("run-1", [begun(), TrialConversation(Trial(0, 0, 0), said)])

    read_back = Runs(database).load("run-1").held[0, 0].conversation.messages[0].started
    assert read_back is not None
    assert read_back.utcoffset() == timedelta(hours=2)


def test_a_message_of_a_log_is_read_back_without_times_and_with_its_metadata(database: Database) -> None:
    logged = Message(role="assistant", content="hi", metadata={"model": "m\0", "prompt_tokens": 3})
    said = Conversation(messages=(Message(role="user", content="hi"), logged), ended="recorded")

    database.append("run-1", [begun(), TrialConversation(Trial(0, 0, 0), said)])

    read_back = Runs(database).load("run-1").held[0, 0].conversation
    assert read_back.ended == "recorded"
    assert read_back.messages[1].metadata == logged.metadata
    assert read_back.messages[1].started is None
    assert isnan(read_back.messages[1].seconds)
