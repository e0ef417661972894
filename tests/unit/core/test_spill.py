"""Records on disk: what is read is what was laid down, and nothing is lost where it cannot be."""

import copy
import os
import pickle
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from decimal import Decimal
from math import inf, isnan, nan
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock
from typing import IO, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simeval.core.conversation import Conversation, Message
from simeval.core.spill import MOST_READ, Mapped, NotExact, Spilled, SpillFile, decode_judgement, encode_judgement
from simeval.core.trial import Failure, Rating, Score, Trial, TrialResult, TurnCounts

TEXTS = st.text(st.characters(blacklist_categories=["Cs"]), max_size=12)
PLAIN = st.dictionaries(
    TEXTS, st.none() | st.booleans() | st.integers() | TEXTS | st.lists(TEXTS, max_size=2), max_size=2
)
MESSAGES = st.builds(
    Message,
    role=st.sampled_from(("user", "assistant")),
    content=TEXTS,
    started=st.none() | st.datetimes(timezones=st.just(UTC)).map(lambda time: time.replace(fold=0)),
    seconds=st.floats(allow_nan=False),
    tool_calls=st.lists(PLAIN, max_size=2).map(tuple),
    metadata=PLAIN,
)
RATINGS = st.builds(Rating, judge=TEXTS, repeat=st.integers(0, 9), score=st.floats(1, 10), reasoning=TEXTS)
SCORES = st.builds(
    Score,
    value=st.floats(allow_nan=False) | st.integers() | st.booleans(),
    reasoning=TEXTS,
    details=PLAIN,
    ratings=st.lists(RATINGS, max_size=2).map(tuple),
    turn_counts=st.none() | st.builds(TurnCounts, st.integers(0, 5), st.integers(5, 9)),
)
FAILURES = st.builds(Failure, stage=st.sampled_from(("app", "judge", "scorer")), error=TEXTS, cause=TEXTS)
JUDGEMENTS = st.builds(
    TrialResult,
    trial=st.builds(Trial, st.integers(0, 9), st.integers(0, 99), st.integers(0, 2**64)),
    conversation=st.builds(
        Conversation,
        messages=st.lists(MESSAGES, max_size=3).map(tuple),
        writing_style=st.none() | st.dictionaries(TEXTS, TEXTS, max_size=2),
        ended=st.sampled_from(("turn_limit", "gave_up")),
    ),
    results=st.lists(SCORES | FAILURES, max_size=3).map(tuple),
    failure=st.none() | FAILURES,
    columns=PLAIN,
)


def nested(levels: int) -> list[Any]:
    """Return a list so many levels deep."""
    found: list[Any] = []
    for _ in range(levels):
        found = [found]
    return found


def judged(number: int, **metadata: Any) -> TrialResult:
    """Return a judgement with this number as its score."""
    said = (Message(role="assistant", content=f"answer {number}", seconds=0.5, metadata=metadata),)
    return TrialResult(
        trial=Trial(0, number, 7), conversation=Conversation(messages=said), results=(Score(value=float(number)),)
    )


def spilled(records: Sequence[TrialResult], file: SpillFile | None = None) -> Spilled:
    found = Spilled(file or SpillFile())
    for each in records:
        found.append(each)
    return found


@given(JUDGEMENTS)
def test_a_judgement_comes_back_equal_with_all_its_types(judgement: TrialResult) -> None:
    found = decode_judgement(encode_judgement(judgement))

    assert found == judgement
    assert repr(found) == repr(judgement)


def test_numbers_that_are_none_come_back() -> None:
    said = (Message(role="user", content="", seconds=nan),)
    odd = TrialResult(trial=Trial(0, 0, 1), conversation=Conversation(messages=said), results=(Score(value=-inf),))

    found = decode_judgement(encode_judgement(odd))

    assert isnan(found.conversation.messages[0].seconds)
    assert found.results == odd.results


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param(judged(1, lock=Lock()), id="an object"),
        pytest.param(judged(1, price=Decimal("1.10")), id="a decimal"),
        pytest.param(judged(1, pair=("a", "b")), id="a tuple"),
        pytest.param(judged(1, at=datetime(2026, 5, 1, tzinfo=UTC)), id="a time"),
        pytest.param(judged(1, deep=nested(50_000)), id="nested too deep"),
        pytest.param(judged(1, half="\ud83d"), id="half of a surrogate pair"),
    ],
)
def test_what_json_does_not_give_back_as_it_is_stays_in_memory(odd: TrialResult) -> None:
    with pytest.raises(NotExact):
        encode_judgement(odd)

    found = spilled([judged(0), odd, judged(2)])

    assert found[1] is odd
    assert found == [judged(0), odd, judged(2)]


def test_it_is_the_list_of_what_was_laid_down() -> None:
    records = [judged(number) for number in range(5)]

    found = spilled(records)

    assert len(found) == 5
    assert found == records
    assert found[1:-1] == tuple(records[1:-1])
    assert found[-1] == records[-1]
    assert found != [*records, judged(9)]
    assert spilled([]) == ()


def test_lists_that_share_a_file_do_not_mix() -> None:
    file = SpillFile()
    lists = [Spilled(file) for _ in range(3)]

    for number in range(2 * MOST_READ):
        lists[number % 3].append(judged(number))

    for place, each in enumerate(lists):
        assert list(each) == [judged(number) for number in range(place, 2 * MOST_READ, 3)]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_a_full_disk_loses_nothing() -> None:
    records = [judged(number) for number in range(3)]

    def always_full() -> IO[bytes]:
        return Path("/dev/full").open("r+b", buffering=0)

    found = spilled(records, SpillFile(always_full))

    assert list(found) == records


def test_a_temporary_folder_that_cannot_be_used_loses_nothing() -> None:
    def refused() -> IO[bytes]:
        raise PermissionError("read-only file system")

    found = spilled([judged(0), judged(1)], SpillFile(refused))

    assert list(found) == [judged(0), judged(1)]


def test_threads_read_what_they_ask_for() -> None:
    found = spilled([judged(number) for number in range(3 * MOST_READ)])

    def add(start: int) -> int:
        return sum(found[place].trial.index for place in range(start, len(found), 8))

    with ThreadPoolExecutor(8) as pool:
        sums = list(pool.map(add, range(8)))

    assert sum(sums) == sum(range(3 * MOST_READ))


@pytest.mark.skipif(not hasattr(os, "pread"), reason="this system reads at the file's position alone")
def test_reading_leaves_the_position_of_the_file_alone_which_forked_processes_share() -> None:
    opened: list[IO[bytes]] = []

    def open_file() -> IO[bytes]:
        opened.append(TemporaryFile(buffering=0))  # noqa: SIM115 - the SpillFile closes it
        return opened[0]

    found = spilled([judged(0), judged(1)], SpillFile(open_file))
    before = opened[0].tell()

    assert (found[0], opened[0].tell()) == (judged(0), before)


def test_copies_are_tuples() -> None:
    found = spilled([judged(0), judged(1)])

    assert pickle.loads(pickle.dumps(found)) == (judged(0), judged(1))
    assert copy.deepcopy(found) == (judged(0), judged(1))
    assert isinstance(copy.copy(found), tuple)


def test_what_is_worked_out_of_each_is_made_when_it_is_asked_for() -> None:
    made: list[int] = []

    def double(index: int, record: TrialResult) -> int:
        made.append(index)
        return 2 * record.trial.index

    found = Mapped(spilled([judged(5), judged(6), judged(7)]), double)

    assert (len(found), made) == (3, [])
    assert (found[1], made) == (12, [1])
    assert found == [10, 12, 14]
    with pytest.raises(TypeError, match="unhashable"):
        hash(found)
