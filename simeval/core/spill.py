"""Spill the records of very large runs to a temporary file and read them on access.

All of a run share one temporary file, a SpillFile, which is deleted with the last list of it in use. Spilled is a list
whose records are in that file, Mapped a list computed from each of them on access.
"""

import json
import os
import zlib
from abc import abstractmethod
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from tempfile import TemporaryFile
from threading import Lock
from typing import IO, Any, Generic, TypeVar, overload
from weakref import finalize

from simeval.core.conversation import Conversation, Message
from simeval.core.logs import log
from simeval.core.serialization import survives_json
from simeval.core.trial import Failure, Rating, Score, Trial, TrialResult, TurnCounts

_write = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_FAILED = 3  # values of a failure; a score has more

T = TypeVar("T")
U = TypeVar("U")
NO_ROOM = "no room in the temporary folder, so conversations stay in memory (TMPDIR names another)"
FASTEST = 1  # of zlib's levels: half of a conversation's bytes for 30 microseconds
MOST_READ = 500  # records that were read last, kept as they are: reports look at those of one scenario several times


class NotExact(Exception):
    """JSON would not give it back as it is."""


def encode_judgement(judgement: TrialResult) -> bytes:
    """Return a judgement as JSON. Raises NotExact where JSON would not give it back with all its types."""
    try:
        return _write(_row(judgement)).encode()
    except (TypeError, ValueError, RecursionError) as error:  # half of a surrogate pair is a ValueError, too
        raise NotExact from error


def decode_judgement(written: bytes) -> TrialResult:
    """Return the judgement that `encode_judgement` wrote."""
    trial, messages, style, ended, results, failure, columns = json.loads(written)
    return TrialResult(
        trial=Trial(*trial),
        conversation=Conversation(messages=tuple(map(_message, messages)), writing_style=style, ended=ended),
        results=tuple(map(_result, results)),
        failure=None if failure is None else _failure(failure),
        columns=columns,
    )


def _row(judgement: TrialResult) -> list[Any]:
    trial, held = judgement.trial, judgement.conversation
    return [
        [trial.scenario, trial.index, trial.seed],
        [_message_row(each) for each in held.messages],
        None if held.writing_style is None else _same(held.writing_style),
        held.ended,
        [_result_row(each) for each in judgement.results],
        None if judgement.failure is None else _result_row(judgement.failure),
        _same(judgement.columns),
    ]


def _message_row(message: Message) -> list[Any]:
    started = message.started
    return [
        message.role,
        message.content,
        None if started is None else started.isoformat(),
        message.seconds,
        _same(list(message.tool_calls)),
        _same(message.metadata),
    ]


def _message(row: Sequence[Any]) -> Message:
    role, content, started, seconds, calls, metadata = row
    return Message(
        role=role,
        content=content,
        started=None if started is None else datetime.fromisoformat(started),
        seconds=seconds,
        tool_calls=tuple(calls),
        metadata=metadata,
    )


def _result_row(result: Score | Failure) -> list[Any]:
    if isinstance(result, Failure):
        return [result.stage, result.error, result.cause]
    if type(result.value) not in (bool, int, float):
        raise NotExact
    counts = result.turn_counts
    return [
        result.value,
        result.reasoning,
        _same(result.details),
        [[each.judge, each.repeat, each.score, each.reasoning] for each in result.ratings],
        None if counts is None else [counts.good, counts.turns],
    ]


def _result(row: Sequence[Any]) -> Score | Failure:
    if len(row) == _FAILED:
        return _failure(row)
    value, reasoning, details, ratings, counts = row
    return Score(
        value=value,
        reasoning=reasoning,
        details=details,
        ratings=tuple(
            Rating(judge=judge, repeat=repeat, score=score, reasoning=why) for judge, repeat, score, why in ratings
        ),
        turn_counts=None if counts is None else TurnCounts(*counts),
    )


def _failure(row: Sequence[Any]) -> Failure:
    stage, error, cause = row
    return Failure(stage=stage, error=error, cause=cause)


def _same(value: Mapping[str, object] | list[Any]) -> Mapping[str, object] | list[Any]:
    if value and not survives_json(value):
        raise NotExact
    return value


def _open_file() -> IO[bytes]:
    return TemporaryFile(buffering=0, prefix="simeval-")


class SpillFile:
    """A temporary file of records. Records that cannot be written there stay in memory; nothing is lost.

    `open_file` opens it; whoever holds a list of its records keeps it open.
    """

    def __init__(self, open_file: Callable[[], IO[bytes]] = _open_file) -> None:
        self._lock, self._end = Lock(), 0
        self._file: IO[bytes] | None = None
        self._read: OrderedDict[int, TrialResult] = OrderedDict()
        try:
            self._file = open_file()
        except OSError:
            log.warning(NO_ROOM)
            self._is_full = True
        else:
            finalize(self, self._file.close)
            self._is_full = False

    def write(self, record: TrialResult) -> tuple[int, int] | None:
        """Write a record and return its place and length in bytes; None if that fails."""
        if self._is_full or self._file is None:
            return None
        try:
            written = zlib.compress(encode_judgement(record), FASTEST)
        except NotExact:
            return None
        with self._lock:
            place = self._end
            try:
                self._file.seek(place)
                is_whole = self._file.write(written) == len(written)
            except OSError:
                is_whole = False
            if not is_whole:
                self._is_full = True
                log.warning(NO_ROOM)
                return None
            self._end += len(written)
        return place, len(written)

    def read(self, place: int, length: int) -> TrialResult:
        """Return the record at this place."""
        with self._lock:
            if place in self._read:
                self._read.move_to_end(place)
                return self._read[place]
            written = self._bytes(place, length)
        record = decode_judgement(zlib.decompress(written))
        with self._lock:
            self._read[place] = record
            if len(self._read) > MOST_READ:
                self._read.popitem(last=False)
        return record

    def _bytes(self, place: int, length: int) -> bytes:
        assert self._file is not None
        if hasattr(os, "pread"):  # a process that was forked shares the file's position, and no lock
            return os.pread(self._file.fileno(), length, place)
        self._file.seek(place)
        return self._file.read(length)


class _Read(Sequence[T]):
    """A sequence whose items are made when they are asked for. Equal to any with the same items; copied as a tuple."""

    __slots__ = ()

    @abstractmethod
    def _item(self, index: int) -> T:
        """Return the item in this place, from 0."""

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        places = range(len(self))[index]
        return self._item(places) if isinstance(places, int) else tuple(map(self._item, places))

    def __iter__(self) -> Iterator[T]:
        return map(self._item, range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, (str, bytes)):
            return NotImplemented
        return len(self) == len(other) and all(mine == yours for mine, yours in zip(self, other, strict=True))

    def __hash__(self) -> int:
        raise TypeError(f"unhashable type: {type(self).__name__!r}")

    def __repr__(self) -> str:
        return f"<{len(self)} records, read when they are looked at>"

    def __reduce__(self) -> tuple[type[tuple[T, ...]], tuple[list[T]]]:
        return tuple, (list(self),)


class Spilled(_Read[TrialResult]):
    """Records in the order they were laid down."""

    __slots__ = ("_file", "_held", "_lengths", "_places")

    def __init__(self, file: SpillFile) -> None:
        self._file, self._places, self._lengths = file, array("Q"), array("Q")
        self._held: dict[int, TrialResult] = {}  # records that could not be written

    def append(self, record: TrialResult) -> None:
        """Lay down one more."""
        where = self._file.write(record)
        if where is None:
            self._held[len(self._places)] = record
        place, length = where or (0, 0)
        self._places.append(place)
        self._lengths.append(length)

    def __len__(self) -> int:
        return len(self._places)

    def _item(self, index: int) -> TrialResult:
        if index in self._held:
            return self._held[index]
        return self._file.read(self._places[index], self._lengths[index])


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Mapped(_Read[U], Generic[T, U]):
    """The results of `make` for each record of `source` and its index, computed on access."""

    source: Sequence[T]
    make: Callable[[int, T], U]

    def __len__(self) -> int:
        return len(self.source)

    def _item(self, index: int) -> U:
        return self.make(index, self.source[index])
