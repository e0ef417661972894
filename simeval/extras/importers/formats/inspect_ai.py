"""Inspect's evaluation logs: `.eval` archives and `.json` files, an example for each sample and epoch.

The conversation is the sample's messages, with attachments put back; its times, models and usage are those of the model
events that made them. Scores, the target (as "reference"), the task and the sample's own metadata are kept as metadata.
The events' pool of messages is not needed: a sample holds its own.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile, ZipInfo
from zlib import error as zlib_error

from simeval.core.row_files import parse_json
from simeval.core.serialization import nested
from simeval.datasets.conversations import example_of
from simeval.datasets.dataset import Example
from simeval.datasets.messages import Turn, filled, first, identity, mapping, moment, turns_of, usage
from simeval.datasets.records import (
    MOST_BYTES,
    Opening,
    Record,
    Unreadable,
    examples_from,
    openings,
    records,
)
from simeval.extras.importers.traces import seconds_between

NAME = "inspect"
_SAMPLES = "samples/"
_ATTACHMENT = re.compile(r"(?:attachment|tc)://([0-9a-f]+)")
_NUMBERS = re.compile(r"(\d+)")
_REFERENCE = "reference"


def looks_like(opening: Opening) -> bool:
    """Return whether the file is an archive named `.eval`, or a log with its evaluation."""
    return (opening.is_zip and opening.name.endswith(".eval")) or opening.has("eval", "status")


def read(path: Path) -> Iterator[Example | Unreadable]:
    """Return the samples; of an archive, one at a time."""
    if next(openings(path)).is_zip:
        yield from _archived(path)
        return
    for record in records(path):
        if isinstance(record, Unreadable):
            yield record
        elif not isinstance(record.value, Mapping) or not isinstance(record.value.get("samples"), list):
            yield Unreadable(record.place, 'it has no "samples"; the log was written without them')
        else:
            listed = enumerate(record.value["samples"], 1)
            samples = [Record(f"{record.place}, sample {number}", sample) for number, sample in listed]
            header = mapping(record.value.get("eval"))
            yield from examples_from(samples, partial(_converted, header=header))


def _archived(path: Path) -> Iterator[Example | Unreadable]:
    try:
        archive = ZipFile(path)
    except BadZipFile as error:
        yield Unreadable("the file", f"it is no zip archive, or a damaged one ({error})")
        return
    with archive:
        names = [entry for entry in archive.infolist() if entry.filename.startswith(_SAMPLES)]
        header = mapping(_header(archive).get("eval"))
        for entry in sorted(names, key=_order):
            found = _entry(archive, entry)
            yield from examples_from([found], partial(_converted, header=header))


def _order(entry: ZipInfo) -> list[Any]:
    """Return a sort key that puts sample 2 before sample 10."""
    return [(not each.isdigit(), int(each) if each.isdigit() else each) for each in _NUMBERS.split(entry.filename)]


def _header(archive: ZipFile) -> Mapping[str, Any]:
    """Return the log's header; while an evaluation runs there is only the journal's."""
    known = {entry.filename: entry for entry in archive.infolist()}
    name = next((name for name in ("header.json", "_journal/start.json") if name in known), None)
    found = _entry(archive, known[name]) if name else None
    return mapping(found.value) if isinstance(found, Record) else {}


def _entry(archive: ZipFile, entry: ZipInfo) -> Record | Unreadable:
    """Return the record in an entry of the archive, unless it is larger than a document may be."""
    if entry.file_size > MOST_BYTES:
        return Unreadable(entry.filename, f"it has {entry.file_size:,} bytes, more than the {MOST_BYTES:,} allowed")
    try:
        return Record(entry.filename, parse_json(archive.read(entry)))
    except ValueError as error:
        return Unreadable(entry.filename, str(error))
    except (
        OSError,
        EOFError,
        BadZipFile,
        RuntimeError,
        zlib_error,
    ) as damage:  # of zlib; encrypted or packed otherwise
        return Unreadable(entry.filename, f"it cannot be unpacked ({damage})")


def _converted(sample: Mapping[str, Any], header: Mapping[str, Any]) -> Iterator[Example]:
    transcript = mapping(sample.get("transcript"))
    attachments = mapping(sample.get("attachments")) or mapping(transcript.get("content"))
    events = sample.get("events") or transcript.get("events") or []
    made = _made([each for each in events if isinstance(each, Mapping) and each.get("event") == "model"])
    if isinstance(sample.get("messages"), str):
        raise ValueError("its messages were left out of the log")
    messages = _restored(sample.get("messages") or [], attachments)
    turns = [_known(turn, message, made) for message in messages for turn in turns_of(message)]
    epoch = sample.get("epoch", 1)
    metadata = {
        **mapping(sample.get("metadata")),
        **filled(
            task=header.get("task"),
            model=header.get("model"),
            sample=sample.get("id"),
            epoch=epoch,
            scores=[{"name": name, **mapping(score)} for name, score in mapping(sample.get("scores")).items()],
            error=first(mapping(sample.get("error")), "message"),
            **{_REFERENCE: sample.get("target")},
        ),
    }
    yield example_of(turns, example_id=f"{sample.get('id')}_epoch_{epoch}", metadata=metadata)


def _restored(value: Any, attachments: Mapping[str, Any]) -> Any:
    """Return a value with every attachment in its place."""

    def put_back(leaf: Any) -> Any:
        whole = _ATTACHMENT.fullmatch(leaf) if isinstance(leaf, str) else None
        return attachments.get(whole[1], leaf) if whole else leaf

    return nested(value, put_back)


def _made(events: list[Mapping[str, Any]]) -> dict[str, Turn]:
    """Return how each message was made, by its id, else by its text."""
    found: dict[str, Turn] = {}
    for event in events:
        output = mapping(event.get("output"))
        choice = mapping(next(iter(output.get("choices") or []), None))
        message = mapping(choice.get("message"))
        started = moment(event.get("timestamp"))
        took = first(output, "time") or first(event, "working_time")
        seconds = took if isinstance(took, int | float) else seconds_between(started, moment(event.get("completed")))
        details = {
            **filled(model=first(output, "model") or event.get("model"), finish_reason=choice.get("stop_reason")),
            **usage(output.get("usage")),
        }
        turn = Turn(role="assistant", started=started, seconds=float(seconds), details=details)
        found.setdefault(_name(message), turn)
    return found


def _name(message: Mapping[str, Any]) -> str:
    return identity(message, "id") or str(message.get("content"))


def _known(turn: Turn, message: Mapping[str, Any], made: Mapping[str, Turn]) -> Turn:
    event = made.get(_name(message)) if turn.role == "assistant" else None
    if event is None:
        return turn
    details = {**turn.details, **event.details}
    return replace(turn, started=event.started, seconds=event.seconds, details=details)
