"""Records of a very large run that are laid on disk, and read again when they are looked at.

All of a run share one temporary file, a SpillFile, which is gone with the last list of it that somebody holds. Spilled
is a list whose records are in that file, Mapped what is worked out of each of them when it is asked for.
"""

import copyreg
import io
import pickle
import zlib
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from operator import attrgetter
from tempfile import TemporaryFile
from threading import Lock
from typing import IO, Any, Generic, TypeVar, overload
from weakref import finalize

from simeval.core.conversation import Conversation, Message
from simeval.core.logs import log
from simeval.core.trial import Failure, Judgement, Rating, Score, Trial, TurnCounts

T = TypeVar("T")
U = TypeVar("U")
FASTEST = 1  # of zlib's levels: half of a conversation's bytes for 30 microseconds
MOST_READ = 500  # records that were read last, kept as they are: reports look at those of one scenario several times
UNWRITABLE = (pickle.PicklingError, TypeError, AttributeError, RecursionError)  # what pickle says of such an object


_KINDS = (Judgement, Trial, Score, Rating, TurnCounts, Failure, Conversation, Message)  # all have several fields
_NAMES: Mapping[type, tuple[str, ...]] = {kind: tuple(each.name for each in fields(kind)) for kind in _KINDS}
_VALUES = {kind: attrgetter(*names) for kind, names in _NAMES.items()}


def _made(kind: type, *values: object) -> object:
    made: object = object.__new__(kind)
    for name, value in zip(_NAMES[kind], values, strict=True):
        object.__setattr__(made, name, value)
    return made


def _reduced(record: object) -> tuple[Callable[..., object], tuple[object, ...]]:
    return _made, (type(record), *_VALUES[type(record)](record))


_TABLE = {**copyreg.dispatch_table, **dict.fromkeys(_KINDS, _reduced)}


def _pickled(record: object) -> bytes:
    """Return a record as bytes; those of trials in a third of the time that frozen records with slots take."""
    found = io.BytesIO()
    pickler = pickle.Pickler(found, pickle.HIGHEST_PROTOCOL)
    pickler.dispatch_table = _TABLE
    pickler.dump(record)
    return found.getvalue()


class SpillFile:
    """A temporary file of records. What cannot be written there stays in memory; nothing is lost."""

    def __init__(self, file: IO[bytes] | None = None) -> None:
        self._file = file or TemporaryFile(buffering=0, prefix="simeval-")  # noqa: SIM115 - closed below
        finalize(self, self._file.close)
        self._lock, self._end, self._is_full = Lock(), 0, False
        self._read: OrderedDict[int, Any] = OrderedDict()

    def write(self, record: object) -> tuple[int, int] | None:
        """Lay a record down and give its place and length in bytes; None where it cannot be."""
        if self._is_full:
            return None
        try:
            written = zlib.compress(_pickled(record), FASTEST)
        except UNWRITABLE:
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
                log.warning("no room in the temporary folder, so conversations stay in memory (TMPDIR names another)")
                return None
            self._end += len(written)
        return place, len(written)

    def read(self, place: int, length: int) -> Any:
        """Return the record at this place."""
        with self._lock:
            if place in self._read:
                self._read.move_to_end(place)
                return self._read[place]
            self._file.seek(place)
            written = self._file.read(length)
        record = pickle.loads(zlib.decompress(written))  # noqa: S301 - this process wrote it, where nobody else can
        with self._lock:
            self._read[place] = record
            if len(self._read) > MOST_READ:
                self._read.popitem(last=False)
        return record


class _Read(Sequence[T]):
    """A sequence whose items are made when they are asked for. Equal to any with the same items; copied as a tuple."""

    __slots__ = ()

    def _item(self, index: int) -> T:
        raise NotImplementedError

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


class Spilled(_Read[T]):
    """Records in the order they were laid down."""

    __slots__ = ("_file", "_held", "_lengths", "_places")

    def __init__(self, file: SpillFile) -> None:
        self._file, self._places, self._lengths = file, array("Q"), array("Q")
        self._held: dict[int, T] = {}  # what could not be written

    def append(self, record: T) -> None:
        """Lay down one more."""
        where = self._file.write(record)
        if where is None:
            self._held[len(self._places)] = record
        place, length = where or (0, 0)
        self._places.append(place)
        self._lengths.append(length)

    def __len__(self) -> int:
        return len(self._places)

    def _item(self, index: int) -> T:
        if index in self._held:
            return self._held[index]
        found: T = self._file.read(self._places[index], self._lengths[index])
        return found


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Mapped(_Read[U], Generic[T, U]):
    """What `make` works out of each record of `source` and its index, whenever it is asked for."""

    source: Sequence[T]
    make: Callable[[int, T], U] = field(hash=False)

    def __len__(self) -> int:
        return len(self.source)

    def _item(self, index: int) -> U:
        return self.make(index, self.source[index])
