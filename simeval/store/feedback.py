"""Feedback in a database: added, listed, exported and imported as JSON lines."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, delete, func, select

from simeval.core.drafts import whole
from simeval.core.feedback import Feedback, decode_feedback, encode_feedback
from simeval.core.redaction import Redactor
from simeval.core.row_files import json_objects
from simeval.core.validation import first_of
from simeval.errors import DefinitionError, StoreError
from simeval.store.database import Database, as_open
from simeval.store.schema import DATASETS, EXAMPLES, FEEDBACK, RUNS, SCENARIOS, TRIALS
from simeval.store.text_encoding import as_written, exact_values, from_json, storable

Columns = dict[str, Any]

_ID_CHARACTERS = 32
_SHOWN = 8


class FeedbackBook:
    """The feedback that a database keeps on its trials and examples."""

    def __init__(self, database: Database) -> None:
        self._database = as_open(database, "FeedbackBook")

    def add(self, feedback: Feedback) -> None:
        """Store feedback, without anything that looks like a key or a password; another of the same id is replaced.

        Raises DefinitionError if its trial or example does not exist, and StoreError if it cannot be stored.
        """
        found = _masked([_Given("", feedback)])
        self._database.write(lambda connection: _keep(connection, found))

    def of_run(self, run_id: str) -> list[Feedback]:
        """Return the feedback on a run's trials, in the order it was given. Raises DefinitionError for no run."""
        return self._database.read(lambda connection: _of_run(connection, run_id))

    def of_dataset(self, name: str) -> list[Feedback]:
        """Return the feedback on a dataset's examples, in the order it was given. Raises DefinitionError for none."""
        return self._database.read(lambda connection: _of_dataset(connection, name))

    def count(self, run_id: str) -> int:
        """Return how much feedback there is on a run's trials."""
        query = select(func.count()).select_from(FEEDBACK).where(FEEDBACK.c.run_id == run_id)
        return self._database.read(lambda connection: connection.execute(query).scalar() or 0)

    def remove(self, feedback_id: str) -> None:
        """Remove one feedback. Raises DefinitionError if there is none of this id."""
        same = delete(FEEDBACK).where(FEEDBACK.c.feedback_id == feedback_id)
        if not self._database.write(lambda connection: connection.execute(same).rowcount):
            raise DefinitionError("feedback", found=f"no feedback has the id {feedback_id!r}", do="list it first")

    def export(self, path: str | Path, *, run_id: str = "", dataset: str = "") -> int:
        """Write feedback as JSON lines, all or that of a run or a dataset; give how many. Raises StoreError."""
        if run_id or dataset:
            found = self.of_run(run_id) if run_id else self.of_dataset(dataset)
        else:
            found = self._database.read(lambda connection: _read(connection))
        lines = [json.dumps(encode_feedback(each)) for each in found]  # plain ASCII, which holds every text
        try:
            with whole(path) as file:
                file.writelines(f"{line}\n" for line in lines)
        except OSError as error:
            raise StoreError(str(path), problem=str(error.strerror)) from error
        return len(found)

    def load(self, path: str | Path, *, run_id: str = "") -> int:
        """Keep the feedback of a file of JSON lines, all or none; give how much of it is new.

        A line without an id has one by its content, so that nothing is kept twice; one without a run or a dataset is
        of the run `run_id`. Raises DefinitionError naming the first line that cannot be used.
        """
        found = _masked(_lines(Path(path), run_id))
        return self._database.write(lambda connection: _keep(connection, found))


@dataclass(frozen=True, slots=True)
class _Given:
    """Feedback with the place it was read from, and whether its id is that of its content."""

    where: str
    feedback: Feedback
    has_content_id: bool = False


class _Places:
    """Looks up the trial or example of feedback."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._titles: dict[str, Mapping[int, str]] = {}

    def has(self, table: Any, **values: Any) -> bool:
        """Return whether a table has a row with these values."""
        same = [table.c[name] == value for name, value in storable(values).items() if name in values]
        return self._connection.execute(select(1).select_from(table).where(*same).limit(1)).scalar() is not None

    def columns(self, feedback: Feedback) -> Columns:
        """Return where feedback belongs. Raises DefinitionError if that is not in the store."""
        if feedback.dataset:
            self._require_example(feedback.dataset, feedback.example)
            return {"dataset": feedback.dataset, "example": feedback.example}
        return {"run_id": feedback.run_id, "trial": feedback.trial, "scenario": self._scenario(feedback)}

    def titles(self, run_id: str) -> Mapping[int, str]:
        """Return the titles of a run's scenarios by their positions. Raises DefinitionError for no run."""
        if run_id not in self._titles:
            if not self.has(RUNS, run_id=run_id):
                raise DefinitionError("feedback run_id", found=f"there is no run {run_id!r}", do="see `simeval runs`")
            query = select(SCENARIOS).where(SCENARIOS.c.run_id == run_id).order_by(SCENARIOS.c.scenario)
            rows = [as_written(each) for each in self._connection.execute(query).mappings()]
            self._titles[run_id] = {each["scenario"]: each["title"] for each in rows}
        return self._titles[run_id]

    def require_dataset(self, name: str) -> None:
        """Raise DefinitionError if there is no such dataset."""
        if not self.has(DATASETS, dataset=name):
            do = "see `simeval datasets`; save it with Datasets(database).save, or a file with `simeval import --store`"
            raise DefinitionError("feedback dataset", found=f"there is no dataset {name!r} in the store", do=do)

    def _scenario(self, feedback: Feedback) -> int:
        titles = self.titles(feedback.run_id)
        part = feedback.scenario.casefold()
        fitting = [place for place, title in titles.items() if feedback.scenario == title]
        fitting = fitting or [place for place, title in titles.items() if part in title.casefold()]
        if len(fitting) != 1:
            named = f"there is no scenario {feedback.scenario!r}"
            if fitting:
                named = f"{len(fitting)} scenarios have {feedback.scenario!r} in their titles"
            found = named if feedback.scenario else "no scenario is named"
            do = f"name one of {first_of([repr(title) for title in titles.values()], _SHOWN)}, with --scenario"
            raise DefinitionError("feedback scenario", found=f"{found} in run {feedback.run_id}", do=do)
        if not self.has(TRIALS, run_id=feedback.run_id, scenario=fitting[0], trial=feedback.trial):
            found = f"there is no trial {feedback.trial} of {titles[fitting[0]]!r} in run {feedback.run_id}"
            raise DefinitionError("feedback trial", found=found, do="give the number of one that was held, from 0")
        return fitting[0]

    def _require_example(self, name: str, key: str) -> None:
        self.require_dataset(name)
        if not self.has(EXAMPLES, dataset=name, key=key):
            found = f"dataset {name!r} has no example {key!r} in any version"
            do = "give an example's id, or where it has none its key (Example.key)"
            raise DefinitionError("feedback example", found=found, do=do)


def _masked(found: Iterable[_Given]) -> list[_Given]:
    """Return feedback without secrets in its texts."""
    clean = Redactor.of(()).clean
    return [
        replace(
            each,
            feedback=replace(
                each.feedback,
                key=clean(each.feedback.key),
                comment=clean(each.feedback.comment),
                source=clean(each.feedback.source),
            ),
        )
        for each in found
    ]


def _keep(connection: Connection, found: Sequence[_Given]) -> int:
    """Store feedback; return how much of it is new.

    Feedback with an id made from its content is left alone if it exists.
    """
    places = _Places(connection)
    rows: list[Columns] = []
    replaced = 0
    for given in found:
        feedback = given.feedback
        try:
            made = _row(feedback, places.columns(feedback))
        except DefinitionError as error:
            raise _at(given.where, error) from error
        must_exist = places.has(FEEDBACK, feedback_id=feedback.feedback_id)
        if must_exist and given.has_content_id:
            continue
        replaced += must_exist
        connection.execute(delete(FEEDBACK).where(FEEDBACK.c.feedback_id == feedback.feedback_id))
        rows.append(made)
    if rows:
        connection.execute(FEEDBACK.insert(), rows)
    return len(rows) - replaced


def _row(feedback: Feedback, place: Columns) -> Columns:
    empty: Columns = {column.name: None for column in FEEDBACK.columns}
    said = {name: getattr(feedback, name) for name in ("feedback_id", "key", "comment", "source", "labeller")}
    created = feedback.created.astimezone(UTC).isoformat()
    numbers = {"score": feedback.score, "inclusion": feedback.inclusion}
    found = storable({**empty, **said, **place, **numbers, "created": created})
    if feedback.score is not None:
        found["score"] = float(feedback.score)
    if feedback.score is not None and type(feedback.score) is not float:
        exact = from_json(found["exact"]) if found["exact"] else {}
        found["exact"] = json.dumps({**exact, "score": json.dumps(feedback.score)})
    return found


def _of_run(connection: Connection, run_id: str) -> list[Feedback]:
    _Places(connection).titles(run_id)
    return _read(connection, FEEDBACK.c.run_id == run_id)


def _of_dataset(connection: Connection, name: str) -> list[Feedback]:
    _Places(connection).require_dataset(name)
    return _read(connection, FEEDBACK.c.dataset == name)


def _read(connection: Connection, *conditions: Any) -> list[Feedback]:
    query = select(FEEDBACK).where(*conditions).order_by(FEEDBACK.c.created, FEEDBACK.c.feedback_id)
    places = _Places(connection)
    return [_feedback(each, places) for each in connection.execute(query).mappings().all()]


def _feedback(found: Mapping[Any, Any], places: _Places) -> Feedback:
    written = as_written(found)
    exact = exact_values(found["exact"]) if found["exact"] else {}
    names = ("comment", "source", "run_id", "dataset", "example", "labeller")
    texts: dict[str, Any] = {name: written[name] or "" for name in names}
    return Feedback(
        **texts,
        key=written["key"],
        feedback_id=written["feedback_id"],
        score=from_json(exact["score"]) if "score" in exact else found["score"],
        scenario=places.titles(written["run_id"])[written["scenario"]] if written["run_id"] else "",
        trial=written["trial"],
        inclusion=found["inclusion"],
        created=datetime.fromisoformat(written["created"]),
    )


def _lines(path: Path, run_id: str) -> Iterator[_Given]:
    """Return the feedback of a file. Raises DefinitionError."""
    seen: dict[str, str] = {}
    alike: Counter[str] = Counter()
    for where, line in json_objects(path):
        try:
            found = _of(run_id, line)
            content_id = _content_id(found, alike)
            feedback = decode_feedback({"feedback_id": content_id, **found} if content_id else found)
        except DefinitionError as error:
            raise _at(where, error) from error
        if feedback.feedback_id in seen:
            same = f"the feedback_id {feedback.feedback_id!r} is also that of {seen[feedback.feedback_id]}"
            raise DefinitionError(where, found=same, do="give each its own, or none")
        seen[feedback.feedback_id] = where
        yield _Given(where, feedback, bool(content_id))


def _of(run_id: str, found: Columns) -> Columns:
    """Add the run to a line that names none."""
    given = {name: value for name, value in found.items() if value is not None}
    says = any(given.get(name) for name in ("run_id", "dataset"))
    return given if says or not run_id else {**given, "run_id": run_id}


def _content_id(found: Columns, alike: Counter[str]) -> str:
    """Return an id by the content of a line that has none; equal lines of a file get different ones."""
    if "feedback_id" in found:
        return ""
    content = json.dumps(found, sort_keys=True)
    alike[content] += 1
    return sha256(f"{alike[content]} {content}".encode()).hexdigest()[:_ID_CHARACTERS]


def _at(where: str, error: DefinitionError) -> DefinitionError:
    """Return an error with the place of its subject."""
    return DefinitionError(where, found=f"{error.where}: {error.found}", do=error.do) if where else error
