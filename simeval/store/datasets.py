"""The datasets of a database: saved by name and version, read back a page at a time."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import Any

from sqlalchemy import Connection, Select, delete, select

from simeval.core.validation import first_of
from simeval.datasets.dataset import ContentHash, Dataset, Example, Kind, decode_example, encode_example
from simeval.errors import DefinitionError
from simeval.store.backends.base import Row
from simeval.store.database import Database, as_open
from simeval.store.rows import row
from simeval.store.schema import DATASET_TAGS, DATASETS, EXAMPLES, METADATA
from simeval.store.text_encoding import as_written, from_json, is_storable, to_json

PAGE = 200  # examples that are read at once
BATCH = 500  # examples that are written at once, at most
BATCH_CHARACTERS = 2_000_000  # of texts, after which no more are written with them
MOST_NAMED = 8

_TEXTS = ("inputs", "outputs", "metadata", "conversation", "tags")  # columns of JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetSummary:
    """A version of a dataset in a line, with the tags that name it."""

    name: str
    version: str
    kind: Kind
    size: int
    tags: tuple[str, ...]
    saved: datetime


class Datasets:
    """The datasets that a database keeps."""

    def __init__(self, database: Database) -> None:
        self._database = as_open(database, "Datasets")

    def save(self, dataset: Dataset, *, tags: Sequence[str] = ()) -> None:
        """Keep a dataset under its name and version, which the tags name from now on. Raises StoreError.

        A version that is there already is not written again; it becomes the newest. Raises DefinitionError if the
        examples have changed since the version was made.
        """
        names = (tags,) if isinstance(tags, str) else tuple(tags)
        for what, text in (("name", dataset.name), *(("tag", tag) for tag in names)):
            if not isinstance(text, str) or not text or not is_storable(text):
                do = "give a text without control characters"
                raise DefinitionError(f"dataset {what}", found=f"found {text!r}", do=do)
        if not self._database.read(partial(_versions, name=dataset.name, version=dataset.version)):
            self._save_examples(dataset)
        tagged = [row(DATASET_TAGS, dataset=dataset.name, tag=tag, version=dataset.version) for tag in names]
        self._database.put({DATASETS: [_dataset_row(dataset)], DATASET_TAGS: tagged})

    def load(self, name: str, version: str | None = None) -> Dataset:
        """Return a dataset by its name; of several versions the one saved last, or that of this version or tag.

        Its examples are read a page at a time, while the database is open. Raises DefinitionError naming the existing
        ones.
        """
        found = self._database.read(lambda connection: _find(connection, name, version))
        return Dataset(
            name=name,
            kind=found["kind"],
            size=found["size"],
            version=found["version"],
            columns=tuple(from_json(found["columns"])),
            source=partial(self._examples, name, found["version"], found["size"]),
            recorded=bool(found["recorded"]),
        )

    def delete(self, name: str) -> None:
        """Remove all versions of a dataset with the feedback on it. Raises DefinitionError if there is none."""
        self._database.write(lambda connection: _delete(connection, name))

    def list(self) -> Sequence[DatasetSummary]:
        """Return the versions of all datasets, by name, of each the one saved last first."""
        return self._database.read(_summaries)

    def _save_examples(self, dataset: Dataset) -> None:
        content = ContentHash()
        for batch in _batches(_example_rows(dataset, content)):
            self._database.put({EXAMPLES: batch})
        if content.version != dataset.version:
            written = (EXAMPLES.c.dataset == dataset.name, EXAMPLES.c.version == dataset.version)
            self._database.write(lambda connection: connection.execute(delete(EXAMPLES).where(*written)))
            found = "its examples have changed since it was made"
            raise DefinitionError(f"dataset {dataset.name!r}", found=found, do="make it again")

    def _examples(self, name: str, version: str, size: int) -> Iterator[Example]:
        query = select(EXAMPLES).where(EXAMPLES.c.dataset == name, EXAMPLES.c.version == version)
        query = query.order_by(EXAMPLES.c.position)
        for start in range(0, size, PAGE):
            page = query.where(EXAMPLES.c.position >= start, EXAMPLES.c.position < start + PAGE)
            rows = self._database.read(partial(_rows, query=page))
            if len(rows) < min(PAGE, size - start):
                do = "save it again"
                raise DefinitionError(f"dataset {name!r}", found="it was deleted from the store", do=do)
            yield from map(_example, rows)


def _example_rows(dataset: Dataset, content: ContentHash) -> Iterator[Row]:
    """Return the rows of a dataset's examples, and count their content in."""
    for position, example in enumerate(dataset):
        content.add(example)
        found = encode_example(example)
        texts = {name: to_json(found[name]) for name in _TEXTS if name in found}
        place = {"dataset": dataset.name, "version": dataset.version, "position": position}
        named = {"key": example.key, "example_id": example.example_id or None, "split": example.split or None}
        yield row(EXAMPLES, **place, **named, **texts)


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    waiting = iter(rows)
    while batch := list(islice(waiting, 1)):
        characters = 0
        for each in islice(waiting, BATCH - 1):
            batch.append(each)
            characters += sum(len(value) for value in each if isinstance(value, str))
            if characters > BATCH_CHARACTERS:
                break
        yield batch


def _rows(connection: Connection, *, query: Select[Any]) -> Sequence[Mapping[Any, Any]]:
    return connection.execute(query).mappings().all()


def _example(found: Mapping[Any, Any]) -> Example:
    written = as_written(found)
    texts = {name: from_json(written[name]) for name in _TEXTS if written[name] is not None}
    return decode_example({"id": written["example_id"], "split": written["split"], **texts})


def _dataset_row(dataset: Dataset) -> Row:
    return row(
        DATASETS,
        dataset=dataset.name,
        version=dataset.version,
        kind=dataset.kind,
        size=dataset.size,
        recorded=int(dataset.recorded),
        columns=to_json(dataset.columns),
        saved=datetime.now(UTC).isoformat(),
    )


def _versions(connection: Connection, *, name: str, version: str | None = None) -> list[dict[str, Any]]:
    """Return the versions of a dataset, the one saved last first."""
    query = select(DATASETS).where(DATASETS.c.dataset == name).order_by(DATASETS.c.saved.desc(), DATASETS.c.version)
    if version is not None:
        query = query.where(DATASETS.c.version == version)
    return [as_written(each) for each in connection.execute(query).mappings()]


def _find(connection: Connection, name: str, version: str | None) -> dict[str, Any]:
    found = _versions(connection, name=name)
    if not found:
        names = connection.execute(select(DATASETS.c.dataset).distinct().order_by(DATASETS.c.dataset)).scalars().all()
        do = f"give one of {first_of(names, MOST_NAMED)}" if names else "save one first"
        raise DefinitionError("dataset", found=f"there is no dataset {name!r} in the store", do=do)
    if version is None:
        return found[0]
    tags = _tags(connection, name)
    for each in found:
        if each["version"] in (version, tags.get(version)):
            return each
    do = f"give one of {first_of([*tags, *(each['version'] for each in found)], MOST_NAMED)}"
    raise DefinitionError(f"dataset {name!r}", found=f"it has no version or tag {version!r}", do=do)


def _tags(connection: Connection, name: str) -> dict[str, str]:
    query = select(DATASET_TAGS).where(DATASET_TAGS.c.dataset == name).order_by(DATASET_TAGS.c.tag)
    return {each.tag: each.version for each in connection.execute(query)}


def _summaries(connection: Connection) -> Sequence[DatasetSummary]:
    tags: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for each in connection.execute(select(DATASET_TAGS).order_by(DATASET_TAGS.c.tag)):
        tags[each.dataset, each.version].append(each.tag)
    rows = connection.execute(select(DATASETS).order_by(DATASETS.c.dataset, DATASETS.c.saved.desc())).mappings()
    return [
        DatasetSummary(
            name=each["dataset"],
            version=each["version"],
            kind=each["kind"],
            size=each["size"],
            tags=tuple(tags[each["dataset"], each["version"]]),
            saved=datetime.fromisoformat(each["saved"]),
        )
        for each in rows
    ]


def _delete(connection: Connection, name: str) -> None:
    _find(connection, name, None)
    for table in METADATA.sorted_tables:
        if "dataset" in table.c:
            connection.execute(delete(table).where(table.c.dataset == name))
