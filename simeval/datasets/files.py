"""Datasets from Python objects and from files, and written to files; read as a stream wherever that will do.

Rows of other libraries' tables, read in parts: frames of pandas and polars, and Parquet files.

Frames are recognised by their methods, so that nothing is imported that the user did not.
"""

import gzip
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from secrets import token_hex
from typing import Any, Literal, TypeVar, get_args

from simeval.core.conversation import Message
from simeval.core.row_files import JSON_LINES, csv_rows, sound_lines, text_lines
from simeval.core.validation import require_file, require_one_of
from simeval.datasets.conversations import sessions_of
from simeval.datasets.dataset import REFERENCE, Dataset, Example, Kind, check_dataset, encode_example, is_chat, text_of
from simeval.datasets.messages import call_of
from simeval.datasets.records import Record, Unreadable, records
from simeval.datasets.rows import Fields, are_turns, example_of, fields_of
from simeval.errors import DefinitionError, StoreError

T = TypeVar("T")

Row = Mapping[str, Any]

PART = 1_000  # rows at once

FineTuningForm = Literal["openai", "sharegpt"]
_SPEAKERS = {"system": "system", "user": "human", "assistant": "gpt", "tool": "tool"}

Form = Literal["simeval", "openai", "sharegpt"]
Columns = str | Sequence[str] | None
Numbered = tuple[int, object]  # a row, and the line it begins at, or its number

DELIMITERS = {".csv": ",", ".tsv": "\t"}  # unless a file shows another
JSON = ".json"
PARQUET = ".parquet"
_QUOTED = re.compile(r'"[^"]*"')  # a cell in quotes, or the text between doubled ones in it
TABLES = (".csv", ".tsv", ".parquet")  # cannot be a log


@dataclass(frozen=True, slots=True)
class FileStamp:
    """The time a file was last written and its length, which identify its version."""

    path: Path
    written: int  # nanoseconds, as finely as the file system stores them
    size: int

    @classmethod
    def of(cls, path: Path) -> "FileStamp":
        """Take the stamp of a file. Raises DefinitionError if it cannot be read."""
        try:
            found = os.stat(path)  # noqa: PTH116 (half the time of Path.stat, once a row)
        except OSError as error:
            do = "check the path, or its permissions"
            raise DefinitionError(str(path), found=f"it cannot be read ({error.strerror})", do=do) from error
        return cls(path, found.st_mtime_ns, found.st_size)

    def watched(self, read: Iterable[T]) -> Iterator[T]:
        """Yield the items read from the file, each only if the file is unchanged.

        Raises DefinitionError if it has changed, at the beginning, after each item and at the end (3 µs each).
        """
        self._require_same()
        try:
            for each in read:
                self._require_same()
                yield each
        except DefinitionError:
            self._require_same()  # an error may come from a half-written change
            raise
        self._require_same()

    def _require_same(self) -> None:
        if FileStamp.of(self.path) != self:
            raise DefinitionError(str(self.path), found="it has changed since it was read", do="read it again")


def frame_rows(frame: Any) -> Callable[[], Iterable[Row]] | None:
    """Return a function that reads the rows of a pandas or polars frame; None for anything else.

    Raises DefinitionError where two columns have one name.
    """
    if all(hasattr(frame, name) for name in ("iloc", "notna", "to_dict")) and hasattr(frame, "columns"):
        if not frame.columns.is_unique:
            twice = sorted({str(name) for name in frame.columns[frame.columns.duplicated()]})
            raise DefinitionError("frame", found=f"several columns named {', '.join(twice)}", do="rename them")
        return lambda: _pandas_rows(frame)
    if hasattr(frame, "iter_rows") and hasattr(frame, "schema"):
        return lambda: frame.iter_rows(named=True, buffer_size=PART)
    return None


def parquet_rows(path: Path) -> Iterator[Row]:
    """Return the rows of a Parquet file, through pyarrow or polars. Raises DefinitionError."""
    try:
        import pyarrow.parquet
    except ImportError:
        yield from _parquet_by_polars(path)
        return
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=PART):
                yield from batch.to_pylist()
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error


def _pandas_rows(frame: Any) -> Iterator[Row]:
    for start in range(0, len(frame), PART):
        part = frame.iloc[start : start + PART]
        yield from part.astype(object).where(part.notna(), None).to_dict("records")


def _parquet_by_polars(path: Path) -> Iterator[Row]:
    try:
        import polars
    except ImportError as error:
        do = "pip install pyarrow, or polars"
        raise DefinitionError(str(path), found="Parquet files need a library that is not installed", do=do) from error
    try:
        frame, start = polars.scan_parquet(path), 0
        while not (part := frame.slice(start, PART).collect()).is_empty():
            yield from part.iter_rows(named=True)
            start += PART
    except (OSError, polars.exceptions.PolarsError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> DefinitionError:
    said = str(error).splitlines() or [type(error).__name__]
    return DefinitionError(str(path), found=f"it cannot be read as Parquet ({said[0]:.200})", do="name a Parquet file")


def fine_tuning_row(example: Example, form: FineTuningForm) -> dict[str, Any]:
    """Return the row of an example: the input, and the reference, or without one the recorded answers.

    `openai` is {"messages": [{"role", "content", "tool_calls"}, ...]}, with a message of the role `tool` for each
    result; `sharegpt` is {"conversations": [{"from", "value"}, ...]}. Raises ValueError without an answer.
    """
    messages = list(_messages(example))
    if not any(message["role"] == "assistant" for message in messages):
        raise ValueError("it has neither a reference nor a recorded answer, so there is nothing to learn")
    if form == "openai":
        return {"messages": messages}
    return {"conversations": [said for message in messages for said in _said(message)]}


def _messages(example: Example) -> Iterator[dict[str, Any]]:
    reference = example.columns().get(REFERENCE)
    given = example.inputs.get("input")
    if reference is None and example.conversation is not None:
        if example.metadata.get("system"):
            yield {"role": "system", "content": str(example.metadata["system"])}
        for message in example.conversation.messages:
            yield from _recorded(message)
        return
    if is_chat(given):
        for each in given:
            yield {"role": each["role"], "content": text_of(each)}
    else:
        yield {"role": "user", "content": example.text}
    if reference is not None:
        yield {"role": "assistant", "content": _as_text(reference)}


def _recorded(message: Message) -> Iterator[dict[str, Any]]:
    calls = [{"id": f"call_{number}", **call_of(call)} for number, call in enumerate(message.tool_calls)]
    if calls:
        asked = [{"id": call["id"], "type": "function", "function": _function(call)} for call in calls]
        yield {"role": "assistant", "content": None, "tool_calls": asked}
        for call, given in zip(calls, message.tool_calls, strict=True):
            yield {"role": "tool", "tool_call_id": call["id"], "content": _as_text(given.get("result", ""))}
    yield {"role": message.role, "content": message.content}


def _function(call: Mapping[str, Any]) -> dict[str, str]:
    return {"name": str(call.get("name", "")), "arguments": json.dumps(call.get("arguments", {}), ensure_ascii=False)}


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _said(message: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    for call in message.get("tool_calls", ()):
        made = {"name": call["function"]["name"], "arguments": json.loads(call["function"]["arguments"])}
        yield {"from": "function_call", "value": json.dumps(made, ensure_ascii=False)}
    if message["content"] is not None:
        yield {"from": _SPEAKERS[message["role"]], "value": message["content"]}


def dataset_of(
    rows: object,
    *,
    name: str = "dataset",
    kind: Kind | None = None,
    inputs: Columns = None,
    outputs: Columns = None,
    recorded: str | None = None,
) -> Dataset:
    """Make a dataset of rows: mappings or Examples, a frame of pandas or polars, a dataset of Hugging Face.

    Rows are examples in simeval's own form or LangSmith's ({"inputs": {...}, "outputs": {...}}), fine-tuning rows
    ({"messages": [...]}), or flat. For flat ones `outputs` names the columns of the reference (by default "output", if
    present, and common names of references, such as "answer"; beside "expected" and its like, "output" is an app's),
    `inputs` those of the inputs (by default the rest; if given, the others are metadata); the columns "id", "split" and
    "tags" set these fields. `recorded` names the column with the recorded answers of an app. Of a table of turns
    (session_id, role, text) each session is a conversation.

    Rows that can be read only once are held in memory; others are read again each time, and must stay as they are.
    Raises DefinitionError naming the first row that cannot be used.
    """
    fields = fields_of(kind, inputs, outputs, recorded)
    read = _reader(rows)
    source = _Source(lambda: enumerate(read(), 1), fields, f"dataset {name!r}, example")
    return check_dataset(source, name=name, kind=kind)


def read_dataset(
    path: str | Path,
    *,
    name: str | None = None,
    kind: Kind | None = None,
    inputs: Columns = None,
    outputs: Columns = None,
    recorded: str | None = None,
) -> Dataset:
    """Read a dataset from a file: JSON lines (.jsonl), .json, .csv, .tsv or .parquet.

    CSV may have semicolons or tabs for commas; its values stay texts, but an empty reference is none. Tables have a
    header; all but .parquet may be .gz, too. `name` is by default that of the file; rows and the other arguments are as
    in `dataset_of`. The file is read again each time the dataset is iterated, and must stay as it is.

    Raises DefinitionError naming the line and the field of the first mistake.
    """
    require_file(path, "dataset")
    file = _File.of(Path(path))
    fields = fields_of(kind, inputs, outputs, recorded)
    source = _Source(file.rows, replace(fields, of_csv=file.form in DELIMITERS), file.place)
    return check_dataset(
        source, name=name or file.path.name.split(".")[0], kind=kind, where=lambda _: f"{file.place} {source.number}"
    )


def table_rows(source: object) -> list[tuple[str, Any]]:
    """Return the rows of a table as they are, each with its place: of a file that `read_dataset` reads, or of `rows`.

    Raises DefinitionError.
    """
    if isinstance(source, (str, Path)):
        require_file(source, "table")
        file = _File.of(Path(source))
        return [(f"{file.place} {number}", row) for number, row in file.rows()]
    return [(f"row {number}", row) for number, row in enumerate(_reader(source)(), 1)]


def write_dataset(dataset: Dataset, path: str | Path, *, form: Form = "simeval") -> None:
    """Write a dataset as JSON lines (.jsonl, or .jsonl.gz); all of it or nothing.

    `form` is simeval's own, or that of rows to fine-tune a model with: "openai" or "sharegpt", where each example
    needs a reference or a recorded answer. Raises DefinitionError and StoreError.
    """
    require_one_of(form, get_args(Form), "form")
    target = Path(path)
    if _form_of(target) not in JSON_LINES:
        raise DefinitionError(str(path), found="datasets are written as JSON lines", do="name a file *.jsonl")
    partial = target.with_name(f".{target.name}.{token_hex(4)}")
    try:
        try:
            with partial.open("xb") as file:
                if target.suffix == ".gz":
                    with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
                        packed.writelines(_lines_of(dataset, form))
                else:
                    file.writelines(_lines_of(dataset, form))
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(str(path), problem=str(error.strerror)) from error


class _Source:
    """The examples of rows, with the place of the current row."""

    def __init__(self, rows: Callable[[], Iterable[Numbered]], fields: Fields, place: str) -> None:
        self._rows, self._fields, self._place = rows, fields, place
        self.number = 0

    def __call__(self) -> Iterator[Example]:
        rows = iter(self._rows())
        first = next(rows, None)
        if first is None:
            return
        rows = chain([first], rows)
        if are_turns(first[1], self._fields, f"{self._place} {first[0]}"):
            yield from self._sessions(rows)
            return
        for number, row in rows:
            self.number = number
            yield example_of(row, self._fields, f"{self._place} {number}")

    def _sessions(self, rows: Iterable[Numbered]) -> Iterator[Example]:
        """Return the conversations of a table of turns, which is held in memory. Raises DefinitionError."""

        def numbered() -> Iterator[Record]:
            for self.number, row in rows:
                yield Record(f"{self._place} {self.number}", row)

        for found in sessions_of(numbered()):
            if isinstance(found, Unreadable):
                do = "mend the row, or say which columns are inputs (--input COLUMN; in Python inputs=)"
                raise DefinitionError(found.place, found=found.reason, do=do)
            yield found


@dataclass(frozen=True, slots=True)
class _File:
    """A file of rows as it was when it was first read."""

    path: Path
    form: str
    stamp: FileStamp

    @classmethod
    def of(cls, path: Path) -> "_File":
        form = _form_of(path)
        if form not in (*JSON_LINES, JSON, *DELIMITERS, PARQUET) or (form == PARQUET and path.suffix == ".gz"):
            do = "name a file *.jsonl, *.json, *.csv, *.tsv (each also .gz) or *.parquet"
            raise DefinitionError(str(path), found=f"found the suffix {path.suffix!r}", do=do)
        return cls(path, form, FileStamp.of(path))

    @property
    def place(self) -> str:
        """The name of a row's number in messages."""
        return f"{self.path}, {'row' if self.form in (JSON, PARQUET) else 'line'}"

    def rows(self) -> Iterator[Numbered]:
        """Return the rows with their numbers. Raises DefinitionError if the file is not as it was, or changes."""
        return self.stamp.watched(self._read())

    def _read(self) -> Iterator[Numbered]:
        if self.form == PARQUET:
            yield from enumerate(parquet_rows(self.path), 1)
            return
        if self.form == JSON:
            yield from _json_elements(self)
            return
        yield from (_json_rows if self.form in JSON_LINES else _csv_rows)(self)


def _reader(rows: Any) -> Callable[[], Iterable[object]]:
    """Return a function that reads the rows again each time."""
    if isinstance(rows, Mapping):
        splits = ", ".join(f"[{name!r}]" for name in list(rows)[:8])
        do = f"give one of its values ({splits}), where it is a mapping of splits, or a list of rows"
        raise DefinitionError("rows", found=f"found a {type(rows).__name__}", do=do)
    frame = frame_rows(rows)
    if frame is not None:
        return frame
    if isinstance(rows, (str, bytes)) or not isinstance(rows, Iterable):
        do = "give an iterable of rows, or a frame (collect a lazy one first); a file is read with read_dataset"
        raise DefinitionError("rows", found=f"found {rows!r:.80}", do=do)
    held = list(rows) if iter(rows) is rows else rows
    return lambda: held


def _json_rows(file: _File) -> Iterator[Numbered]:
    return ((line.number, line.value) for line in sound_lines(file.path, finite=True))


def _json_elements(file: _File) -> Iterator[Numbered]:
    """Yield the objects of one list of JSON, or of JSON lines. Raises DefinitionError."""
    for number, found in enumerate(records(file.path), 1):
        if isinstance(found, Unreadable):
            do = "write a list of JSON objects, or one on each line"
            raise DefinitionError(f"{file.path}, {found.place}", found=found.reason, do=do)
        yield number, found.value


def _csv_rows(file: _File) -> Iterator[Numbered]:
    rows = csv_rows(file.path, delimiter=_delimiter(file))
    header: list[str] | None = None
    for number, cells in rows:
        where = f"{file.place} {number}"
        if header is None:
            header = _header(cells, where)
        else:
            yield number, _row(header, cells, where)


def _delimiter(file: _File) -> str:
    """Return the mark between columns: in a CSV file without commas a tab or semicolon that each of two lines has."""
    usual = DELIMITERS[file.form]
    lines = [_QUOTED.sub("", line) for line in islice(filter(str.strip, text_lines(file.path)), 2)]
    if file.form != ".csv" or len(lines) < 2 or usual in lines[0]:
        return usual
    return next((each for each in "\t;" if 0 < lines[0].count(each) == lines[1].count(each)), usual)


def _header(cells: Sequence[str], where: str) -> list[str]:
    header = [cell.strip() for cell in cells]
    wrong = sorted({repr(name) for name in header if not name or header.count(name) > 1})
    if wrong:
        do = "give each column a name of its own"
        raise DefinitionError(where, found=f"a column without a name, or names twice: {', '.join(wrong)}", do=do)
    return header


def _row(header: Sequence[str], cells: Sequence[str], where: str) -> dict[str, str]:
    if len(cells) != len(header):
        do = "quote cells in which a separator or a line break stands"
        raise DefinitionError(where, found=f"it has {len(cells)} cells under {len(header)} columns", do=do)
    return dict(zip(header, cells, strict=True))


def _lines_of(dataset: Dataset, form: Form) -> Iterator[bytes]:
    for number, example in enumerate(dataset, 1):
        line = json.dumps(_row_of(dataset, number, example, form), ensure_ascii=False)
        yield f"{line}\n".encode(errors="backslashreplace")  # half a surrogate pair, as the escape JSON has for it


def _row_of(dataset: Dataset, number: int, example: Example, form: Form) -> Mapping[str, Any]:
    if form == "simeval":
        return encode_example(example)
    try:
        return fine_tuning_row(example, form)
    except ValueError as error:
        where = f"dataset {dataset.name!r}, example {number}"
        raise DefinitionError(where, found=str(error), do="leave it out: dataset.only(...)") from error


def _form_of(path: Path) -> str:
    """Return the suffix that gives the form of a file, in lower case."""
    plain = path.with_suffix("") if path.suffix == ".gz" else path
    return plain.suffix.lower()
