"""Files of rows, JSON lines and CSV, packed with gzip or not: read as streams, each row with its line's number."""

import csv
import gzip
import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedIOBase
from itertools import chain, count
from pathlib import Path
from typing import Any

from simeval.errors import DefinitionError

JSON_LINES = (".jsonl", ".ndjson")
LONGEST_LINE = 100_000_000  # bytes: a longer line is not read into memory
DAMAGED = (OSError, EOFError, zlib.error)  # the errors of reading a damaged gzip file
WHAT_TO_WRITE = "write a JSON object on each line"

FORMULA_NOTE = "an apostrophe stands before {} that a spreadsheet would take for a formula"
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?%?")
_GZIP = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LARGEST_CELL = 1 << 27  # characters; the csv module's own limit is 131,072


@dataclass(frozen=True, slots=True)
class JsonLine:
    """A line that is not empty: its number, from 1, and its value, or the problem instead.

    `do` is how to fix the problem, if that is not to write other JSON.
    """

    number: int
    value: Any = None
    problem: str = ""
    do: str = ""


def open_file(path: Path) -> BufferedIOBase:
    """Open a file, through gzip if it begins like one. Raises DefinitionError if it cannot be read."""
    try:
        with path.open("rb") as file:
            packed = file.read(len(_GZIP)) == _GZIP
        return gzip.open(path, "rb") if packed else path.open("rb")
    except OSError as error:
        found = f"it cannot be read ({error.strerror})"
        raise DefinitionError(str(path), found=found, do="check the path") from error


def parse_json(text: str | bytes, *, finite: bool = False) -> Any:
    """Return the value of a JSON text. Raises ValueError with the reason; where `finite`, also for NaN and Infinity."""
    try:
        return json.loads(text, parse_constant=_refuse if finite else None)
    except json.JSONDecodeError as error:
        place = min(error.pos, len(error.doc.rstrip()))
        lines = error.doc[:place].split("\n")
        line = f"line {len(lines)}, " if "\n" in error.doc.strip() else ""
        raise ValueError(f"it is not JSON: {error.msg}, at {line}column {len(lines[-1]) + 1}") from error
    except UnicodeDecodeError as error:
        raise ValueError(_not_utf_8(error)) from error
    except ValueError as error:
        raise ValueError(f"it is not JSON: {error}") from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def json_lines(path: Path, *, finite: bool = False) -> Iterator[JsonLine]:
    """Return the lines of a file, each error as the line's problem. Raises DefinitionError as `open_file` does."""
    for number, line, problem in _lines(path):
        if problem:
            yield JsonLine(number, problem=problem, do="write the file again, one object a line")
        elif line.strip():
            try:
                yield JsonLine(number, parse_json(line.decode(), finite=finite))
            except UnicodeDecodeError as error:
                yield JsonLine(number, problem=_not_utf_8(error), do="save it as UTF-8")
            except ValueError as error:
                yield JsonLine(number, problem=str(error))


def sound_lines(path: Path, *, finite: bool = False, do: str = WHAT_TO_WRITE) -> Iterator[JsonLine]:
    """Return the lines of a file. Raises DefinitionError with the number of the first that has a problem."""
    for line in json_lines(path, finite=finite):
        if line.problem:
            raise DefinitionError(f"{path}, line {line.number}", found=line.problem, do=line.do or do)
        yield line


def json_objects(path: Path, *, do: str = WHAT_TO_WRITE) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return the objects of a file, each with its place. Raises DefinitionError for a line that is none."""
    for line in sound_lines(path, do=do):
        where = f"{path}, line {line.number}"
        if not isinstance(line.value, dict):
            raise DefinitionError(where, found=f"found {line.value!r:.80}", do=do)
        yield where, line.value


def csv_rows(path: Path, *, delimiter: str | None = None, strict: bool = True) -> Iterator[tuple[int, list[str]]]:
    """Return the cells of each row that is not empty, its header among them, with the line it begins at.

    The default `delimiter` is the commonest in the first line: a comma, a semicolon or a tab. If `strict`, quotes that
    do not fit are an error. Raises DefinitionError with the line.
    """
    csv.field_size_limit(max(_LARGEST_CELL, csv.field_size_limit()))  # of the whole process: there is no other
    texts = text_lines(path)
    first = next(texts, "")
    reader = csv.reader(chain([first], texts), delimiter=delimiter or max(",;\t", key=first.count), strict=strict)
    number = 1
    try:
        for cells in reader:
            if any(map(str.strip, cells)):
                yield number, cells
            number = reader.line_num + 1
    except csv.Error as error:
        raise DefinitionError(f"{path}, line {number}", found=str(error), do="write it as CSV") from error


def quoted_cell(value: object) -> object:
    """Return a cell of CSV that no spreadsheet takes for a formula: a text that begins like one has an apostrophe.

    Numbers stay as they are, also those that are texts. `unquoted_cell` takes it away again.
    """
    is_formula = isinstance(value, str) and _FORMULA.match(value) and not _NUMBER.fullmatch(value)
    return f"'{value}" if is_formula else value


def unquoted_cell(text: str) -> str:
    """Return the text of a cell before `quoted_cell`."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def text_lines(path: Path) -> Iterator[str]:
    """Return the lines of a file with their ends, of whichever system. Raises DefinitionError."""
    for number, line, problem in _lines(path):
        where = f"{path}, line {number}"
        if problem:
            raise DefinitionError(where, found=problem, do="write it as CSV")
        try:
            yield from [each.decode() for each in line.splitlines(keepends=True)]
        except UnicodeDecodeError as error:
            raise DefinitionError(where, found=_not_utf_8(error), do="save it as UTF-8") from error


def _lines(path: Path) -> Iterator[tuple[int, bytes, str]]:
    """Return the lines of a file with their numbers; the last one is a problem if the file is damaged."""
    with open_file(path) as file:
        for number in count(1):
            try:
                line, is_cut = _next_line(file)
            except DAMAGED as error:
                yield number, b"", f"the file is damaged from here on ({error})"
                return
            if not line:
                return
            problem = f"it is longer than {LONGEST_LINE:,} bytes" if is_cut else ""
            yield number, line.removeprefix(_BYTE_ORDER_MARK), problem


def _next_line(file: BufferedIOBase) -> tuple[bytes, bool]:
    """Return the next line, as far as it is not too long, and whether it is."""
    line = rest = file.readline(LONGEST_LINE)
    while len(rest) == LONGEST_LINE and not rest.endswith(b"\n"):
        rest = file.readline(LONGEST_LINE)
    return line, rest is not line


def _not_utf_8(error: UnicodeDecodeError) -> str:
    return f"it is not UTF-8: {error.reason} at byte {error.start}"


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is none of its numbers (write null)")
