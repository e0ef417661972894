"""Turns folded into a conversation of a user and an assistant, whose messages carry the tools that were called.

Assistant turns that only call tools, and the tools' results, belong to the next turn with text; if none follows, to a
message without text.

A line of sessions, as Alignmenter has them, is {"session_id", "turn_index", "role", "text"}, or an exchange
{"session_id", "turn", "user", "assistant"}; other names that `simeval.datasets.messages` knows may be used.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import chain
from math import isnan, nan
from pathlib import Path
from typing import Any

from simeval.core.conversation import Conversation, Message
from simeval.core.row_files import csv_rows
from simeval.core.serialization import Json, plain
from simeval.datasets.dataset import Example
from simeval.datasets.messages import Turn, TurnColumns, filled, moment, plain_name, speaker_of
from simeval.datasets.records import REFUSALS, Opening, Record, Unreadable, reason_of, records
from simeval.errors import DefinitionError

_SUMS = ("prompt_tokens", "completion_tokens", "cost_usd")

NAME = "sessions"
_TABLES = (".csv", ".tsv")
_SEPARATORS = re.compile("[,;\t]")
_SIDES = ("user", "assistant")
_PLACES = ("turn", "turnindex", "turnnumber", "turnid", "index", "position", "step", "sequence")
_TIMES = ("timestamp", "time", "createdat", "datetime", "sentat")


def example_of(
    turns: Iterable[Turn],
    *,
    example_id: str = "",
    metadata: Mapping[str, Any] | None = None,
    runs: Sequence[Json] = (),
) -> Example:
    """Return the conversation that turns make, as an example; system prompts become its metadata "system".

    `runs` are tools that ran, each with id or name and arguments, and its result: they complete calls whose result is
    in no message. Raises ValueError without a message.
    """
    folding = _Folding()
    for turn in turns:
        folding.add(turn)
    folding.close()
    folding.complete(runs)
    if not folding.messages:
        raise ValueError("there is no message of a user or an assistant in it")
    system = filled(system="\n\n".join(folding.system))
    return Example(
        conversation=Conversation(messages=tuple(folding.messages), ended="recorded"),
        metadata={**plain(metadata or {}), **system},
        example_id=example_id,
    )


@dataclass(slots=True)
class _Folding:
    """A conversation that is being put together.

    `silent` are the assistant's turns since the last message that had no text, `calls` theirs; `open` are all calls
    whose result is not yet known, in order.
    """

    system: list[str] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    silent: list[Turn] = field(default_factory=list)
    calls: list[Json] = field(default_factory=list)
    open: list[Json] = field(default_factory=list)

    def add(self, turn: Turn) -> None:
        """Take the next turn."""
        if turn.role == "system":
            self.system += [turn.text] if turn.text not in ("", *self.system) else []
        elif turn.role == "tool":
            for result in turn.results:
                self._answer(result)
        elif turn.role == "user":
            self.close()
            self.messages.append(
                Message(role="user", content=turn.text, started=turn.started, metadata=dict(turn.details))
            )
        else:
            self._call(turn.calls)
            self.silent.append(turn)
            if turn.text:
                self._speak()

    def close(self) -> None:
        """End an assistant's turns that nothing follows."""
        if self.silent or self.calls:
            self._speak()

    def complete(self, runs: Sequence[Json]) -> None:
        """Return calls without a result the one of a tool that ran, each run to one call."""
        left = list(runs)
        for call in self.open:
            run = next((run for run in left if is_run_of(call, run)), None)
            if run is not None:
                left.remove(run)
                call.update({name: run[name] for name in ("result", "error") if name in run})

    def _call(self, calls: Iterable[Json]) -> None:
        made = [dict(call) for call in calls]
        self.calls += made
        self.open += [call for call in made if "result" not in call and "error" not in call]

    def _answer(self, result: Json) -> None:
        """Put a result to its call: by its id, else its name, else the first that waits; or keep it as a call."""
        waiting = [
            *(call for call in self.open if result.get("id") and call.get("id") == result["id"]),
            *(call for call in self.open if "id" not in result and call.get("name") == result.get("name")),
            *(call for call in self.open if "id" not in result and "name" not in result),
        ]
        if waiting:
            call = waiting[0]
            self.open = [each for each in self.open if each is not call]
            call.update({name: value for name, value in result.items() if name != "name" or "name" not in call})
        else:
            self.calls.append(dict(result))

    def _speak(self) -> None:
        """Make a message of the turns since the last one."""
        turns, calls = self.silent, self.calls
        started, seconds = _time(turns)
        self.messages.append(
            Message(
                role="assistant",
                content=turns[-1].text if turns else "",
                started=started,
                seconds=seconds,
                tool_calls=tuple(calls),
                metadata=_details(turns),
            )
        )
        self.silent, self.calls = [], []


def _time(turns: Sequence[Turn]) -> tuple[Any, float]:
    """Return when the first turn began, and the seconds until the last one ended, as far as they are known."""
    timed = [(turn.started, turn.seconds) for turn in turns if turn.started is not None]
    if not timed:
        return None, turns[0].seconds if len(turns) == 1 else nan
    started = min(start for start, _ in timed)
    ends = [start + timedelta(seconds=seconds) for start, seconds in timed if not isnan(seconds)]
    return started, (max(ends) - started).total_seconds() if ends else nan


def _details(turns: Sequence[Turn]) -> Json:
    """Return the details of how turns were made: the last value of each, tokens and costs as sums."""
    found: Json = dict(chain.from_iterable(turn.details.items() for turn in turns))
    counted = [turn for turn in turns if any(name in turn.details for name in _SUMS)]
    for name in _SUMS:
        if name in found:
            found[name] = sum(turn.details.get(name, 0) for turn in counted)
    if len(counted) > 1:
        found["model_calls"] = len(counted)
    return plain(found)  # type: ignore[no-any-return]


def is_run_of(call: Json, run: Json) -> bool:
    """Return whether a tool that ran is the one called; tracers write its name after a word of their own."""
    if call.get("id") and run.get("id"):
        return bool(call["id"] == run["id"])
    name, ran = str(call.get("name")), str(run.get("name"))
    is_same = ran == name or ran.endswith((f" {name}", f".{name}"))
    return is_same and ("arguments" not in run or "arguments" not in call or run["arguments"] == call["arguments"])


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
    key = _place if any(_place(row) is not None for row in rows) or not all(map(_time_of, rows)) else _time_of
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


def _time_of(row: Mapping[str, Any]) -> float | None:
    at = moment(_first(row, _TIMES))
    return at.timestamp() if at else None


def _rest(row: Mapping[str, Any], columns: TurnColumns) -> dict[str, Any]:
    known = {columns.session, columns.role, columns.text, *_SIDES}
    return {key: value for key, value in row.items() if key not in known and plain_name(key) not in (*_PLACES, *_TIMES)}
