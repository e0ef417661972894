"""Columns of a table by their names: which hold references, and which make a table of turns."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from simeval.datasets.messages import ROLES, Role
from simeval.errors import DefinitionError

OWN_MARK = "__"  # the prefix of promptfoo's own columns; __expected* are references
_WORD_GAPS = re.compile(r"[\W_]+")
_EXPECTED = re.compile(
    r"(expected|reference|groundtruth|ideal|gold(en)?|(correct|right|true|desired)(answer|output|response))"
)
_USUAL = re.compile(r"((target|desired)(answer|output|response)?|answer|label|solution)s?")
_TURN_PARTS = {
    "session": ("session", "conversation", "thread", "dialogue", "dialog", "chat", "ticket"),
    "role": ("role", "speaker", "sender", "author", "authortype", "from"),
    "text": ("text", "content", "message", "utterance", "body"),
}
_SPEAKERS: Mapping[str, Role] = {
    **{name: role for name, role in ROLES.items() if role != "tool"},
    **dict.fromkeys(("customer", "client", "visitor", "caller"), "user"),
    **dict.fromkeys(("agent", "operator", "chatbot"), "assistant"),
}


def plain_name(column: str) -> str:
    """Return a column's name without case, spaces and marks, so that "Ground Truth" is ground_truth."""
    return _WORD_GAPS.sub("", column.casefold())


def is_reference(column: str) -> bool:
    """Return whether a column is called as one with right answers, or is promptfoo's own: no app is shown it."""
    name = plain_name(column)
    return column.strip().startswith(OWN_MARK) or bool(_EXPECTED.match(name) or _USUAL.fullmatch(name))


def references_in(columns: Iterable[str]) -> tuple[str, ...]:
    """Return the columns that hold the right answers.

    Where some are called expected, reference, ideal, gold or ground truth, those alone: beside them a column called
    answer may well be an app's.
    """
    named = [each for each in columns if is_reference(each)]
    sure = [each for each in named if _EXPECTED.match(plain_name(each))]
    return tuple(sure or [each for each in named if not each.strip().startswith(OWN_MARK)])


@dataclass(frozen=True, slots=True)
class TurnColumns:
    """The columns of a table of turns that name the session, the speaker, and the text.

    A row without a role is an exchange, with the columns "user" and "assistant".
    """

    session: str = "session_id"
    role: str = "role"
    text: str = "text"

    @classmethod
    def of(cls, row: Mapping[str, Any], where: str) -> "TurnColumns | None":
        """Return the columns of a table of turns by one of its rows; None for another table.

        Raises DefinitionError if two columns may mean the same, or none names the session.
        """
        session, role, text = ([each for each in row if _is_part(each, part)] for part in _TURN_PARTS)
        if session and not role and {"user", "assistant"} <= row.keys():
            return cls(_only("session", session, where))
        if not (role and text):
            return None
        if session:
            return cls(_only("session", session, where), _only("speaker", role, where), _only("text", text, where))
        if not any(speaker_of(row[each]) for each in role):
            return None
        do = "add a column session_id, or say which columns are inputs (--input COLUMN; in Python inputs=)"
        found = f"the columns {role[0]} and {text[0]} are of turns, and no column says of which session"
        raise DefinitionError(where, found=found, do=do)


def speaker_of(value: object) -> Role | None:
    """Return whose turn it is by the name a log has for whoever speaks; None for a name that is not known."""
    return _SPEAKERS.get(value.strip().casefold()) if isinstance(value, str) else None


def _is_part(column: str, part: str) -> bool:
    name = plain_name(column)
    return name in _TURN_PARTS[part] or (part == "session" and name.removesuffix("id") in _TURN_PARTS[part])


def _only(what: str, names: list[str], where: str) -> str:
    if len(names) > 1:
        do = "keep one of them, or say which columns are inputs (--input COLUMN; in Python inputs=)"
        raise DefinitionError(where, found=f"the columns {' and '.join(names)} may each be the {what} of a turn", do=do)
    return names[0]
