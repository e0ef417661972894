"""Sessions: a turn a line with its `session_id`, as Alignmenter has them, grouped to conversations.

A line is {"session_id", "turn_index", "role", "text"}, or an exchange {"session_id", "turn", "user", "assistant"}; the
columns may have the other names that `simeval.datasets.columns` knows, such as conversation_id and speaker.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from simeval.core.row_files import csv_rows
from simeval.datasets.coercion import moment
from simeval.datasets.columns import TurnColumns, plain_name, speaker_of
from simeval.datasets.conversations import example_of
from simeval.datasets.dataset import Example
from simeval.datasets.messages import Turn
from simeval.datasets.records import REFUSALS, Opening, Record, Unreadable, reason_of, records
from simeval.errors import DefinitionError

NAME = "sessions"
_TABLES = (".csv", ".tsv")
_SEPARATORS = re.compile("[,;\t]")
_SIDES = ("user", "assistant")
_PLACES = ("turn", "turnindex", "turnnumber", "turnid", "index", "position", "step", "sequence")
_TIMES = ("timestamp", "time", "createdat", "datetime", "sentat")


def looks_like(opening: Opening) -> bool:
    """Return whether the first record, or the header of a table, is that of a turn of a session."""
    if opening.has("session_id", "user"):
        return True
    row = opening.first
    if opening.name.endswith(_TABLES):
        header = opening.head.decode("utf-8-sig", "replace").partition("\n")[0]
        row = dict.fromkeys(each.strip('\r "') for each in _SEPARATORS.split(header))
    try:
        return isinstance(row, dict) and _columns_of(row) is not None
    except DefinitionError:
        return False


def read(path: Path) -> Iterator[Example | Unreadable]:
    """Return the conversations, in the order in which they begin. All lines are held until the last is read."""
    is_table = path.name.lower().removesuffix(".gz").endswith(_TABLES)
    return sessions_of(_rows(path) if is_table else records(path))


def _rows(path: Path) -> Iterator[Record]:
    rows = csv_rows(path)
    header = [name.strip() for name in next(rows, (1, []))[1]]
    for number, cells in rows:
        yield Record(f"line {number}", dict(zip(header, cells, strict=False)))


def sessions_of(found: Iterable[Record | Unreadable]) -> Iterator[Example | Unreadable]:
    """Return the conversations of turns, a record each, in the order of their beginnings."""
    sessions: dict[str, list[tuple[Record, list[Turn]]]] = {}
    columns: TurnColumns | None = None
    for record in found:
        if isinstance(record, Unreadable):
            yield record
            continue
        try:
            columns = columns or _columns_of(record.value) or TurnColumns()
            turns, session = _turns(record.value, columns), record.value[columns.session]
            if session in (None, ""):
                raise ValueError(f"{columns.session} is empty: it says of no session")
            sessions.setdefault(str(session), []).append((record, turns))
        except (*REFUSALS, DefinitionError) as error:
            yield Unreadable(record.place, reason_of(error))
    for name, lines in sessions.items():
        try:
            yield _session(name, lines, columns or TurnColumns())
        except REFUSALS as error:
            yield Unreadable(lines[0][0].place, reason_of(error))


def _columns_of(row: Mapping[str, Any]) -> TurnColumns | None:
    return TurnColumns.of(row, "a line")


def _session(name: str, lines: list[tuple[Record, list[Turn]]], columns: TurnColumns) -> Example:
    rows = [record.value for record, _ in lines]
    key = _place if any(_place(row) is not None for row in rows) or not all(map(_time, rows)) else _time
    ordered = sorted(lines, key=lambda line: key(line[0].value) or 0.0)  # equal ones keep their order
    kept = [_rest(record.value, columns) for record, _ in ordered]
    shared = {name: value for name, value in kept[0].items() if all(row.get(name) == value for row in kept)}
    return example_of([turn for _, turns in ordered for turn in turns], example_id=name, metadata=shared)


def _turns(row: Mapping[str, Any], columns: TurnColumns) -> list[Turn]:
    """Return the turns of a line. Raises ValueError if it has no speaker or text."""
    if columns.role in row:
        said = [(str(row[columns.role]), row[columns.text])]
    else:
        said = [(side, row[side]) for side in _SIDES if row.get(side) is not None]
    turns = []
    for name, text in said:
        role = speaker_of(name)
        if role is None:
            raise ValueError(f"the role {name!r} is none of user, assistant, system")
        if not isinstance(text, str):
            raise ValueError(f"what {name} says is no text, found {text!r:.80}")
        details = _rest(row, columns) if role == "assistant" else {}
        turns.append(Turn(role=role, text=text, started=moment(_first(row, _TIMES)), details=details))
    if not said:
        raise ValueError('it has neither "role" and "text" nor "user" and "assistant"')
    return turns


def _first(row: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    """Return the value of the first column with one of these names."""
    return next((row[each] for each in row if plain_name(each) in names), None)


def _place(row: Mapping[str, Any]) -> float | None:
    """Return the place of a turn in its session, even if a table has it as text."""
    place = _first(row, _PLACES)
    try:
        return float(place) if isinstance(place, (int, float, str)) else None
    except ValueError:
        return None


def _time(row: Mapping[str, Any]) -> float | None:
    at = moment(_first(row, _TIMES))
    return at.timestamp() if at else None


def _rest(row: Mapping[str, Any], columns: TurnColumns) -> dict[str, Any]:
    known = {columns.session, columns.role, columns.text, *_SIDES}
    return {key: value for key, value in row.items() if key not in known and plain_name(key) not in (*_PLACES, *_TIMES)}
