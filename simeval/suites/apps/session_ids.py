"""Names of conversations in answers: an app that gives a new one at every turn has forgotten the turn before."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simeval.core.logs import warn_all
from simeval.suites.apps.streams import value_of
from simeval.suites.apps.templates import path_of

Ids = Mapping[str, str]  # values that look like the name of a session, by their path in an answer
TURNS = 48  # answers of a run that are looked at
CONVERSATIONS = 16  # that they are from: the first answers of many at once prove nothing
PROOF = 2  # conversations in which the name changes

_ID_NAMES = re.compile(r"(session|thread|conversation|chat|dialog(ue)?|context)_?(id|key)", re.IGNORECASE)
_BARE_NAMES = re.compile(r"session|thread", re.IGNORECASE)
_ID = re.compile(r"(?=\S*\d)\S{6,}|\S{16,}")  # under a bare name


def ids_of(body: str) -> Ids:
    """Return the values in an answer that look like the name of a session, by their paths."""
    value = value_of(body)
    lines = [line[line.find("{") :] for line in body.splitlines() if "{" in line]
    values = map(value_of, lines) if isinstance(value, str) else [value]
    return {path_of(steps): found for each in values for steps, found in _ids_in(each, ())}


def changed_id(conversations: Sequence[tuple[Ids, Ids]]) -> tuple[str, str, str] | None:
    """Return the path of a name that differs between two turns of each conversation, and its values in the first."""
    for path, value in conversations[0][0].items() if conversations else ():
        pairs = [(before.get(path), after.get(path)) for before, after in conversations]
        if all(None not in pair and pair[0] != pair[1] for pair in pairs):
            return path, value, conversations[0][1][path]
    return None


@dataclass(slots=True)
class SessionIds:
    """Looks at so many answers of a run as are `left`, and warns once if each turn is a new conversation to the app."""

    left: int = TURNS
    found: str = ""
    _last: dict[str, Ids] = field(default_factory=dict)
    _pairs: dict[str, tuple[Ids, Ids]] = field(default_factory=dict)

    def listens_to(self, conversation: str) -> bool:
        """Return whether another answer of a conversation is needed."""
        is_looked_at = conversation in self._last or len(self._last) < CONVERSATIONS
        return is_looked_at and self.left > 0 and not self.found

    def hear(self, conversation: str, body: str, advice: Callable[[str], str]) -> None:
        """Take in an answer; `advice` gives the words on a name at a path that changes."""
        self.left -= 1
        ids = ids_of(body)
        if conversation in self._last:
            self._pairs[conversation] = (self._last[conversation], ids)
        self._last[conversation] = ids
        changed = changed_id(list(self._pairs.values())) if len(self._pairs) >= PROOF else None
        if changed:
            path, before, after = changed
            self.found = (
                f'each turn is a new conversation to your app: {path} of its answer is new at every turn ("{before}", '
                f'then "{after}"){advice(path)}'
            )
            warn_all(self.found)


def _ids_in(value: Any, steps: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the values that look like the name of a session, with the steps to each."""
    named = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for name, part in named:
        if isinstance(part, Mapping | list):
            yield from _ids_in(part, (*steps, name))
        elif isinstance(part, str | int) and not isinstance(part, bool) and part != "":
            is_id = _ID_NAMES.fullmatch(str(name)) or (_BARE_NAMES.fullmatch(str(name)) and _ID.fullmatch(str(part)))
            if is_id:
                yield (*steps, name), str(part)
