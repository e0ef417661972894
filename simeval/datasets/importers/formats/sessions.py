"""Sessions: a turn a line with its `session_id`, as Alignmenter has them, grouped to conversations.

A line is {"session_id", "turn_index", "role", "text"}, or an exchange {"session_id", "turn", "user", "assistant"}.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from simeval.datasets.dataset import Example
from simeval.datasets.importers.conversations import example_of
from simeval.datasets.importers.messages import ROLES, Turn
from simeval.datasets.importers.records import REFUSALS, Opening, Record, Unreadable, reason_of, records

NAME = "sessions"
_SIDES = ("user", "assistant")
_KNOWN = {"session_id", "turn", "turn_index", "role", "text", *_SIDES}


def looks_like(opening: Opening) -> bool:
    """Return whether the first record is a turn of a session."""
    return opening.has("session_id", "role", "text") or opening.has("session_id", "user")


def read(path: Path) -> Iterator[Example | Unreadable]:
    """Return the conversations, in the order in which they begin. All lines are held until the last is read."""
    sessions: dict[str, list[tuple[Record, list[Turn]]]] = {}
    for record in records(path):
        if isinstance(record, Unreadable):
            yield record
            continue
        try:
            sessions.setdefault(str(record.value["session_id"]), []).append((record, _turns(record.value)))
        except REFUSALS as error:
            yield Unreadable(record.place, reason_of(error))
    for name, lines in sessions.items():
        try:
            yield _session(name, lines)
        except REFUSALS as error:
            yield Unreadable(lines[0][0].place, reason_of(error))


def _session(name: str, lines: list[tuple[Record, list[Turn]]]) -> Example:
    ordered = sorted(lines, key=lambda line: _number(line[0].value))  # equal ones stay as they stand
    rows = [_rest(record.value) for record, _ in ordered]
    shared = {key: value for key, value in rows[0].items() if all(row.get(key) == value for row in rows)}
    return example_of([turn for _, turns in ordered for turn in turns], example_id=name, metadata=shared)


def _turns(row: Mapping[str, Any]) -> list[Turn]:
    """Return what a line says. Raises ValueError where nobody says anything in it."""
    if "role" in row:
        said = [(str(row["role"]), row["text"])]
    else:
        said = [(side, row[side]) for side in _SIDES if row.get(side) is not None]
    for role, text in said:
        if role not in (*_SIDES, "system"):
            raise ValueError(f"the role {role!r} is none of user, assistant, system")
        if not isinstance(text, str):
            raise ValueError(f"what {role} says is no text, found {text!r:.80}")
    if not said:
        raise ValueError('it has neither "role" and "text" nor "user" and "assistant"')
    return [Turn(role=ROLES[role], text=text, details=_rest(row) if role == "assistant" else {}) for role, text in said]


def _number(row: Mapping[str, Any]) -> float:
    """Return the place of a turn in its session."""
    place = row.get("turn_index", row.get("turn"))
    return float(place) if isinstance(place, (int, float)) else 0.0


def _rest(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in _KNOWN}
