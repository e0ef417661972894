"""Log files as records: opened, split into JSON documents, each with its place; unreadable ones have a reason."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from simeval.core.row_files import DAMAGED, JSON_LINES, LONGEST_LINE, json_lines, open_file, parse_json
from simeval.datasets.dataset import Dataset

Read = TypeVar("Read")

MOST_BYTES = 500_000_000  # of one document, unpacked: more is refused, it may be a bomb
HEAD_BYTES = 65_536
UNKNOWN_FORMAT = "the format of its first records is not known"
LINES_TRIED = 20  # lines read to distinguish JSON lines from one document

_ZIP = b"PK\x03\x04"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An unreadable part of a log: its place in the file (such as "line 3", from 1) and the reason."""

    place: str
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedLog:
    """A log as a dataset, and its unreadable parts.

    Going through `dataset` reads the file again, so it must stay as it is; if it has changed, that raises
    DefinitionError.
    """

    dataset: Dataset
    format: str
    problems: tuple[Unreadable, ...] = ()


@dataclass(frozen=True, slots=True)
class Record:
    """A JSON document of a log and its place in the file."""

    place: str
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """The beginning of a file, which identifies its format.

    `name` is that of the file, in lower case and without ".gz"; `head` its first bytes, unpacked; `first` one of its
    first records that are JSON, None if only the others are used.
    """

    name: str
    head: bytes
    first: Any = None

    @property
    def is_zip(self) -> bool:
        """Whether the file is a zip archive."""
        return self.head.startswith(_ZIP)

    def has(self, *keys: str) -> bool:
        """Return whether the record is an object with all these keys."""
        return isinstance(self.first, dict) and all(key in self.first for key in keys)


def openings(path: Path) -> Iterator[Opening]:
    """Yield the opening of a file for each of its first records: the first may be broken.

    Raises DefinitionError if it cannot be read.
    """
    name = path.name.lower().removesuffix(".gz")
    with open_file(path) as file:
        try:
            head = file.read(HEAD_BYTES)
        except DAMAGED:
            head = b""
    is_json = head.lstrip(_BYTE_ORDER_MARK + b" \t\r\n")[:1] in (b"{", b"[") or name.endswith((*JSON_LINES, ".json"))
    tried = islice(records(path), LINES_TRIED) if is_json else ()
    yield Opening(name=name, head=head)
    yield from (Opening(name=name, head=head, first=each.value) for each in tried if isinstance(each, Record))


def read_text(path: Path) -> str:
    """Return the text of a file. Raises ValueError with the reason if it is too large, damaged or not UTF-8."""
    found = _whole(path)
    try:
        return found.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8: {error.reason} at byte {error.start}") from error


def records(path: Path) -> Iterator[Record | Unreadable]:
    """Return the JSON documents of a file: one a line, the elements of a list, or a single one.

    A file of lines is never held as a whole. Raises DefinitionError if the file cannot be opened.
    """
    return _lines(path) if _is_lines(path) else _elements(path)


def examples_from(
    found: Iterable[Record | Unreadable], convert: Callable[[Any], Iterable[Read]]
) -> Iterator[Read | Unreadable]:
    """Convert each record by itself, and yield the reason if one cannot be."""
    for record in found:
        if isinstance(record, Unreadable):
            yield record
            continue
        try:
            yield from convert(record.value)
        except REFUSALS as error:
            yield Unreadable(record.place, reason_of(error))


# a converter may trust the form of a record: whatever it trips over is the reason why the record is not read
REFUSALS = (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError, RecursionError)


def reason_of(error: Exception) -> str:
    """Say why a record was refused."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if type(error) is ValueError:
        return str(error)
    missing = f"it has no {error.args[0]!r}" if isinstance(error, KeyError) and error.args else str(error)
    return f"it has another form than the format's ({missing})"


def _is_lines(path: Path) -> bool:
    """Return whether a file holds one JSON document a line."""
    if path.name.lower().removesuffix(".gz").endswith(JSON_LINES):
        return True
    seen = objects = 0
    with open_file(path) as file:
        try:
            for line in islice(filter(bytes.strip, iter(partial(file.readline, LONGEST_LINE), b"")), LINES_TRIED):
                if not seen and line.strip() in (b"{", b"["):
                    return False
                seen, objects = seen + 1, objects + _is_object(line)
                if seen > 1 and objects:
                    return True
        except DAMAGED:
            return False
    return False


def _is_object(line: bytes) -> bool:
    """Return whether a line is a whole JSON object, as no line of an indented document is."""
    text = line.removeprefix(_BYTE_ORDER_MARK)
    try:
        return text.startswith(b"{") and bool(parse_json(text))
    except ValueError:
        return False


def _lines(path: Path) -> Iterator[Record | Unreadable]:
    for line in json_lines(path):
        place = f"line {line.number}"
        yield Unreadable(place, line.problem) if line.problem else Record(place, line.value)


def _elements(path: Path) -> Iterator[Record | Unreadable]:
    try:
        document = parse_json(_whole(path))
    except ValueError as error:
        yield Unreadable("the file", str(error))
        return
    elements = document if isinstance(document, list) else [document]
    yield from (Record(f"record {number}", element) for number, element in enumerate(elements, 1))


def _whole(path: Path) -> bytes:
    """Return the content of a file. Raises ValueError with the reason if it is damaged or too large."""
    unpacked = BytesIO()
    with open_file(path) as file:
        try:
            while block := file.read(1 << 20):
                unpacked.write(block)
                if unpacked.tell() > MOST_BYTES:
                    raise ValueError(f"it has more than {MOST_BYTES:,} bytes; give one JSON document a line")
        except DAMAGED as error:
            raise ValueError(f"the file is damaged ({error})") from error
    return unpacked.getvalue()
