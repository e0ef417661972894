"""Records on disk: what is read is what was laid down, and nothing is lost where it cannot be."""

import copy
import pickle
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simeval.core.conversation import Conversation, Message
from simeval.core.spill import MOST_READ, Mapped, Spilled, SpillFile
from simeval.core.trial import Failure, Judgement, Score, Trial


def spilled(records: Sequence[Any], file: SpillFile | None = None) -> Spilled[Any]:
    found: Spilled[Any] = Spilled(file or SpillFile())
    for each in records:
        found.append(each)
    return found


@given(st.lists(st.binary() | st.text() | st.integers() | st.lists(st.floats(allow_nan=False)), max_size=12))
def test_it_is_the_list_of_what_was_laid_down(records: list[Any]) -> None:
    found = spilled(records)

    assert len(found) == len(records)
    assert found == records
    assert list(found) == records
    assert found[1:-1] == tuple(records[1:-1])
    assert found != [*records, 0]
    assert [found[-1]] == records[-1:] if records else found == ()


def test_a_judgement_comes_back_equal() -> None:
    said = (Message(role="user", content="你好 \ud800"), Message(role="assistant", content="Hi.", seconds=0.5))
    judged = Judgement(
        trial=Trial(0, 3, 7),
        conversation=Conversation(messages=said, writing_style={"Tone": "curt"}, ended="turn_limit"),
        results=(Score(value=8.0, reasoning="good"), Failure(stage="judge", error="late", cause="timeout")),
    )

    [found] = spilled([judged])

    assert found.results == judged.results
    assert found.conversation.messages[1] == said[1]
    assert found.conversation.messages[0].content == said[0].content
    assert found.conversation.writing_style == {"Tone": "curt"}


def test_lists_that_share_a_file_do_not_mix() -> None:
    file = SpillFile()
    lists = [Spilled[str](file) for _ in range(3)]

    for number in range(2 * MOST_READ):
        lists[number % 3].append(f"record {number}")

    for place, each in enumerate(lists):
        assert list(each) == [f"record {number}" for number in range(place, 2 * MOST_READ, 3)]


def test_what_cannot_be_written_stays_in_memory() -> None:
    lock = Lock()

    found = spilled(["before", lock, "after"])

    assert list(found) == ["before", lock, "after"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_a_full_disk_loses_nothing() -> None:
    with Path("/dev/full").open("r+b", buffering=0) as full:
        found = spilled(["one", "two", "three"], SpillFile(full))

        assert list(found) == ["one", "two", "three"]


def test_threads_read_what_they_ask_for() -> None:
    found = spilled(range(3 * MOST_READ))

    with ThreadPoolExecutor(8) as pool:
        sums = list(pool.map(lambda start: sum(found[place] for place in range(start, len(found), 8)), range(8)))

    assert sum(sums) == sum(range(3 * MOST_READ))


def test_copies_are_tuples() -> None:
    found = spilled(["a", "b"])

    assert pickle.loads(pickle.dumps(found)) == ("a", "b")
    assert copy.deepcopy(found) == ("a", "b")
    assert isinstance(copy.copy(found), tuple)


def test_what_is_worked_out_of_each_is_made_when_it_is_asked_for() -> None:
    made: list[int] = []

    def double(index: int, record: int) -> int:
        made.append(index)
        return 2 * record

    found = Mapped(spilled([5, 6, 7]), double)

    assert (len(found), made) == (3, [])
    assert (found[1], made) == (12, [1])
    assert found == [10, 12, 14]
    with pytest.raises(TypeError, match="unhashable"):
        hash(found)
