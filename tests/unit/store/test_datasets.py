"""The datasets of a database: saved by name and version, loaded, listed, deleted."""

import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simeval.core.conversation import Conversation, Message
from simeval.core.feedback import Feedback
from simeval.datasets.dataset import Dataset, Example, check_dataset
from simeval.datasets.files import dataset_of
from simeval.errors import DefinitionError
from simeval.store.database import Database
from simeval.store.datasets import BATCH, PAGE, Datasets
from simeval.store.feedback import FeedbackBook
from simeval.store.schema import VERSION
from tests.support.records import conversation
from tests.support.stores import rows, run_sql, version_one

ODD = "a \0 \ud83d\ude00 \ude00 é 🎁 \\u0000 \\ud83d"
CALLS = ({"name": "track", "arguments": {"order": ODD}},)


def numbered(count: int, *, name: str = "orders", start: int = 0) -> Dataset:
    return dataset_of([{"question": f"question {number}"} for number in range(start, start + count)], name=name)


def test_a_dataset_is_loaded_as_it_was_saved(database: Database) -> None:
    spoken = Message(role="assistant", content=ODD, tool_calls=CALLS, metadata={ODD: ODD})
    examples = [
        Example(
            inputs={"question": ODD, ODD: [ODD, 1, 1.5, True, None]},
            outputs={"answer": {"deep": [ODD]}},
            metadata={"n": 1},
            conversation=Conversation(messages=(*conversation(ODD).messages, spoken), ended="recorded"),
            example_id=ODD,
            split=ODD,
            tags=(ODD, "hard"),
        ),
        Example(inputs={"question": "", ODD: None}, outputs={"answer": None}, conversation=Conversation(ended="user")),
    ]
    saved = check_dataset(lambda: examples, name="orders 🎁")

    Datasets(database).save(saved)
    loaded = Datasets(database).load("orders 🎁")

    assert list(loaded) == list(loaded) == examples
    assert (loaded.name, loaded.kind, loaded.size, loaded.version) == ("orders 🎁", "kv", 2, saved.version)
    assert (loaded.columns, loaded.recorded) == (saved.columns, True)
    assert check_dataset(lambda: loaded, name="again").version == saved.version


@pytest.mark.parametrize("count", [1, PAGE, PAGE + 1, BATCH + 1])
def test_pages_and_batches_lose_nothing(database: Database, count: int) -> None:
    Datasets(database).save(numbered(count))

    loaded = Datasets(database).load("orders")

    assert [example.text for example in loaded] == [f"question {number}" for number in range(count)]


def test_the_same_content_is_stored_once(database: Database) -> None:
    datasets = Datasets(database)
    for _ in range(3):
        datasets.save(numbered(5))
    datasets.save(numbered(3))

    assert rows(database, "SELECT version, count(*) FROM examples GROUP BY version ORDER BY 2") == [
        (numbered(3).version, 3),
        (numbered(5).version, 5),
    ]
    assert [(each.version, each.size) for each in datasets.list()] == [
        (numbered(3).version, 3),
        (numbered(5).version, 5),
    ]


def test_a_version_is_found_by_its_hash_by_a_tag_or_as_the_newest(database: Database) -> None:
    datasets = Datasets(database)
    first, second = numbered(1), numbered(2)
    datasets.save(first, tags=["old", "stable"])
    datasets.save(second, tags=["stable"])

    found = {asked: datasets.load("orders", asked).size for asked in (None, first.version, "old", "stable")}
    datasets.save(first)

    assert found == {None: 2, first.version: 1, "old": 1, "stable": 2}
    assert datasets.load("orders").size == 1
    assert [(each.name, each.tags) for each in datasets.list()] == [("orders", ("old",)), ("orders", ("stable",))]


def test_what_is_not_there_is_said_with_what_is(database: Database) -> None:
    datasets = Datasets(database)
    with pytest.raises(DefinitionError, match="there is no dataset 'orders' in the store; save one first"):
        datasets.load("orders")
    datasets.save(numbered(1), tags=["stable"])

    with pytest.raises(DefinitionError, match="there is no dataset 'order' in the store; give one of orders"):
        datasets.load("order")
    with pytest.raises(DefinitionError, match=f"no version or tag 'new'; give one of stable, {numbered(1).version}"):
        datasets.load("orders", "new")
    with pytest.raises(DefinitionError, match="there is no dataset 'order'"):
        datasets.delete("order")


@pytest.mark.parametrize(("name", "tags"), [("", ()), ("a\0", ()), ("orders", ["\ud83d"]), ("orders", [""])])
def test_a_name_that_no_database_holds_is_refused(database: Database, name: str, tags: Any) -> None:
    with pytest.raises(DefinitionError, match=r"dataset (name|tag): found .*; give a text"):
        Datasets(database).save(numbered(1, name=name), tags=tags)

    assert Datasets(database).list() == []


def test_examples_that_have_changed_since_are_not_saved(database: Database) -> None:
    held = [{"question": "a"}, {"question": "b"}]
    found = dataset_of(held)
    held[1]["question"] = "c"

    with pytest.raises(DefinitionError, match="its examples have changed since it was made; make it again"):
        Datasets(database).save(found)

    assert rows(database, "SELECT * FROM examples") == []
    assert Datasets(database).list() == []


def test_a_save_that_broke_off_is_done_again(database: Database) -> None:
    whole = numbered(BATCH + 5)

    def broken() -> Iterator[Example]:
        for number, example in enumerate(whole):
            if number > BATCH:
                raise OSError("gone")
            yield example

    cut = Dataset(name="orders", kind="kv", size=whole.size, version=whole.version, columns=(), source=broken)
    with pytest.raises(OSError, match="gone"):
        Datasets(database).save(cut)
    listed = Datasets(database).list()

    Datasets(database).save(whole)

    assert listed == []
    assert len(list(Datasets(database).load("orders"))) == BATCH + 5


def test_a_deleted_dataset_leaves_nothing_and_others_stay(database: Database) -> None:
    datasets, book = Datasets(database), FeedbackBook(database)
    for name in ("orders", "refunds"):
        datasets.save(numbered(2, name=name), tags=["stable"])
        key = next(iter(numbered(1))).key
        book.add(Feedback(key="clear", score=True, dataset=name, example=key))
    loaded = datasets.load("orders")

    datasets.delete("orders")

    for table in ("datasets", "dataset_tags", "examples", "feedback"):
        assert rows(database, f"SELECT DISTINCT dataset FROM {table}") == [("refunds",)]
    assert len(list(datasets.load("refunds"))) == 2
    with pytest.raises(DefinitionError, match="it was deleted from the store"):
        list(loaded)


def test_a_dataset_is_saved_and_read_without_being_held(tmp_path: Path) -> None:
    database = Database(tmp_path / "store.db")
    text = "some words " * 20
    found = check_dataset(
        lambda: (Example(inputs={"question": f"{number} {text}"}) for number in range(6_000)), name="large"
    )
    Datasets(database).save(numbered(BATCH))  # what is loaded and compiled once is no part of it
    tracemalloc.start()

    Datasets(database).save(found)
    read = sum(1 for _ in Datasets(database).load("large"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    database.close()

    assert read == 6_000
    assert peak < 2_000_000


def test_large_examples_are_written_few_at_a_time(database: Database) -> None:
    found = dataset_of([{"question": f"{number}{'é' * 900_000}"} for number in range(4)], name="large")

    Datasets(database).save(found)

    assert [len(example.text) for example in Datasets(database).load("large")] == [900_001] * 4


OLDER = (
    "CREATE TABLE datasets (name TEXT NOT NULL PRIMARY KEY, kind TEXT, description TEXT, created TEXT, exact TEXT)",
    "CREATE TABLE examples (dataset TEXT NOT NULL, position INTEGER NOT NULL, inputs TEXT, outputs TEXT,"
    " metadata TEXT, exact TEXT, PRIMARY KEY (dataset, position))",
    "CREATE TABLE feedback (feedback_id TEXT NOT NULL PRIMARY KEY, run_id TEXT, trial INTEGER, scenario INTEGER,"
    " key TEXT, score DOUBLE PRECISION, comment TEXT, source TEXT, created TEXT, exact TEXT)",
    "UPDATE schema_version SET version = 2",
)


@pytest.mark.parametrize("statements", [(), OLDER], ids=["version 1", "version 2"])
def test_a_store_of_an_older_version_can_keep_datasets(where: str, statements: tuple[str, ...]) -> None:
    make_older(where, statements)

    database = Database(where)
    Datasets(database).save(numbered(2))

    assert rows(database, "SELECT version FROM schema_version") == [(VERSION,)]
    assert len(list(Datasets(database).load("orders"))) == 2
    database.close()


def make_older(where: str, statements: tuple[str, ...]) -> None:
    """Make a store of version 1, and of it what the statements say, on a connection that migrates nothing."""
    database = Database(where)
    older = Database(where)
    database.close()
    version_one(where)
    for statement in statements:
        run_sql(older, statement)
    older.close()
