"""Logs of any format as datasets: the first records identify the format, unreadable ones are reported."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol

from simeval.core.terminal import counted_of
from simeval.core.validation import require, require_file
from simeval.datasets import conversations
from simeval.datasets.dataset import Example, check_dataset, own_ids
from simeval.datasets.files import FileStamp
from simeval.datasets.records import UNKNOWN_FORMAT, ImportedLog, Opening, Unreadable, openings, records
from simeval.errors import DefinitionError
from simeval.extras.importers.formats import (
    botium,
    chatml,
    deepeval,
    inspect_ai,
    langfuse,
    langsmith,
    openai_chat,
    opentelemetry,
    promptfoo,
    rasa,
    sharegpt,
)
from simeval.extras.importers.formats import simeval as own

AUTO = "auto"
MOST_UNREAD = 0.01  # for each example that was read: more may be what the app did worst
MOST_REASONS = 3  # that are shown if nothing could be read
_ENDINGS = (".gz", ".jsonl", ".ndjson", ".json", ".simeval", ".csv", ".txt", ".yml", ".yaml", ".eval")


class LogReader(Protocol):
    """A reader of logs of one format: a module, or an object."""

    @property
    def NAME(self) -> str:  # noqa: N802  (a module's constant)
        """The name of the format."""

    def read(self, path: Path) -> Iterator[Example | Unreadable]:
        """Return the examples of a file, one by one."""


class LogFormat(LogReader, Protocol):
    """A reader that knows its files."""

    def looks_like(self, opening: Opening) -> bool:
        """Return whether a file that begins so is of this format."""


# A new one is a module and a row here. In the order they are tried in: those with the plainest marks first.
FORMATS: tuple[LogFormat, ...] = (
    own,
    inspect_ai,
    opentelemetry,
    langfuse,
    langsmith,
    deepeval,
    conversations,
    sharegpt,
    openai_chat,
    chatml,
    rasa,
    botium,
    promptfoo,
)
NAMES = tuple(each.NAME for each in FORMATS)


def import_log(path: str | Path, *, format: str | LogReader = AUTO, name: str | None = None) -> ImportedLog:
    """Read a log as a dataset, called `name` (by default as the file is).

    `format` is the name of one; "auto", to detect it by the file's beginning; or a reader of your own. A conversation
    is an example with the recording in `conversation`; the log's data about it are the example's metadata. Files of one
    document a line are read line by line, others at once. Unreadable parts are in `problems`, and the rest is there.
    Raises DefinitionError if the file cannot be opened, the format is unknown, or nothing can be read.
    """
    require_file(path, "log")
    path = Path(path)
    reader = _reader_of(path, format)
    stamp = FileStamp.of(path)
    problems: list[Unreadable] = []
    found = _Counted(stamp.watched(reader.read(path)), problems)
    try:
        checked = check_dataset(lambda: own_ids(found), name=name or plain_name(path))
    except DefinitionError as error:
        raise error if found.examples else _nothing_read(path, reader.NAME, problems) from error
    doubt = _doubt(path, problems, len(checked))
    dataset = replace(checked, source=partial(_read_again, reader, stamp), doubt=doubt)
    return ImportedLog(dataset=dataset, format=reader.NAME, problems=tuple(problems))


def _doubt(path: Path, problems: Sequence[Unreadable], read: int) -> str:
    """Return why what could be read may be no fair sample; empty if hardly anything could not be."""
    if len(problems) <= MOST_UNREAD * read:
        return ""
    return f"{counted_of(len(problems), 'part')} of {path.name} could not be read (first: {problems[0]})"


def plain_name(path: Path) -> str:
    """Return a file's name without the endings that only show its format."""
    name = path.name
    while (ending := Path(name).suffix.lower()) in _ENDINGS and Path(name).stem:
        name = name[: -len(ending)]
    return name


@dataclass(slots=True)
class _Counted:
    """Reads a log once: examples are passed on and counted, problems kept."""

    found: Iterable[Example | Unreadable]
    problems: list[Unreadable]
    examples: int = 0

    def __iter__(self) -> Iterator[Example]:
        for each in self.found:
            if isinstance(each, Unreadable):
                self.problems.append(each)
            else:
                self.examples += 1
                yield each


def _read_again(reader: LogReader, stamp: FileStamp) -> Iterator[Example]:
    """Return the examples of a file that is unchanged: the dataset's version is that of its content."""
    return own_ids(each for each in stamp.watched(reader.read(stamp.path)) if isinstance(each, Example))


def _reader_of(path: Path, format: str | LogReader) -> LogReader:
    """Return the reader that is meant, or the first format that knows one of the records that the file begins with."""
    if not isinstance(format, str):
        is_reader = isinstance(getattr(format, "NAME", None), str) and callable(getattr(format, "read", None))
        require(is_reader, "log format", found=format, do="give a name, or what has a NAME and read(path)")
        return format
    if format == AUTO:
        tried = ((each, opening) for opening in openings(path) for each in FORMATS)
        told = next((each for each, opening in tried if each.looks_like(opening)), None)
        if told is None:
            if not any(opening.head.strip() for opening in openings(path)):
                raise DefinitionError(f"log {str(path)!r}", found="the file is empty", do="name another file")
            if broken := _broken(path):
                raise broken
            do = f"name its format with --format (in Python format=): {', '.join(NAMES)}"
            raise DefinitionError(f"log {str(path)!r}", found=UNKNOWN_FORMAT, do=do)
        return told
    if format not in NAMES:
        raise DefinitionError("log format", found=f"found {format!r}", do=f"use {AUTO} or one of {', '.join(NAMES)}")
    return FORMATS[NAMES.index(format)]


def _broken(path: Path) -> DefinitionError | None:
    """Return the error of a file that begins as JSON does, if no record can be read; None for another."""
    begun = next(openings(path))
    is_json = begun.head.lstrip()[:1] in (b"{", b"[")
    first = next(iter(records(path)), None) if is_json and all(each.first is None for each in openings(path)) else None
    if not isinstance(first, Unreadable):
        return None
    return DefinitionError(f"{path}, {first.place}", found=first.reason, do="write a JSON object on each line")


def _nothing_read(path: Path, format: str, problems: list[Unreadable]) -> DefinitionError:
    reasons = list(dict.fromkeys(str(each) for each in problems))
    more = [f"and {len(reasons) - MOST_REASONS} more"] if len(reasons) > MOST_REASONS else []
    told = "; ".join([*reasons[:MOST_REASONS], *more]) or "there is no record in it"
    do = f"check the file, or name another format: {', '.join(NAMES)}"
    return DefinitionError(f"log {str(path)!r}", found=f"nothing could be read as {format} ({told})", do=do)
