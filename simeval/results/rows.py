"""Rows: one for each answer of an experiment, or each conversation of a scenario, with all its measurements.

They are read in each iteration, from the store if there is one, so that none need be held in memory.
"""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import isnan
from pathlib import Path
from typing import Any

from simeval.core.conversation import Conversation, encode_conversation, last_exchange
from simeval.core.drafts import whole
from simeval.core.row_files import quoted_cell
from simeval.core.serialization import Json, plain
from simeval.core.trial import Failure, Score, TrialConversation, TrialResult
from simeval.datasets.dataset import RETURNED
from simeval.errors import DefinitionError
from simeval.scorers.returned import parts_of, reason_at

MOST_KEPT = 10_000  # rows of an experiment without a store, the first of its dataset; of the others only the numbers
_OWN = ("example", "scenario", "trial", "repetition")  # the columns that identify the row


@dataclass(frozen=True, slots=True, kw_only=True)
class RowScore:
    """One measured value of a row: a number, a boolean or a category, with its comment.

    `value` is None if it is missing; `failure` is why, if known.
    """

    value: float | bool | str | None = None
    comment: str = ""
    failure: Failure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One answer, with its example's inputs and reference and its scores by the names that metrics have.

    `title` is the scenario's or the dataset's, `example` the key of the example, `trial` its place in the order dealt,
    `seconds` how long the app took for all of its answers, `failure` the error before any measurement.
    """

    title: str
    trial: int
    inputs: Mapping[str, Any]
    output: Any
    conversation: Conversation
    scores: Mapping[str, RowScore]
    reference: Any = None
    seconds: float | None = None
    failure: Failure | None = None
    example: str = ""
    repetition: int = 0

    def encode(self) -> Json:
        """Return the row as JSON has it."""
        return {
            "title": self.title,
            "example": self.example,
            "trial": self.trial,
            "repetition": self.repetition,
            "inputs": plain(self.inputs),
            "output": plain(self.output),
            "reference": plain(self.reference),
            "seconds": plain(self.seconds),
            "failure": self.failure.error if self.failure else None,
            "scores": {
                name: {
                    "value": plain(each.value),
                    "comment": each.comment,
                    "failure": each.failure.error if each.failure else None,
                }
                for name, each in self.scores.items()
            },
            **encode_conversation(self.conversation),
        }

    def flat(self) -> dict[str, object]:
        """Return the row as the cells of a table, by their columns; values other than numbers and texts are JSON.

        A metric that is called like a column of its own has "scores." before its name.
        """
        which = {"example": self.example} if self.example else {"scenario": self.title}
        found: dict[str, object] = {**which, "trial": self.trial, "repetition": self.repetition}
        found |= {f"inputs.{name}": _cell(value) for name, value in self.inputs.items()}
        found |= {"output": _cell(self.output), "reference": _cell(self.reference), "seconds": self.seconds}
        found["failure"] = self.failure.error if self.failure else None
        own, said = frozenset(found), set[str]()
        for metric, each in self.scores.items():
            name = f"scores.{metric}" if metric in own else metric
            found[name] = each.value
            if each.comment and each.comment not in said:  # of several metrics, one comment is beside the first
                said.add(each.comment)
                found[f"{name}.comment"] = each.comment
            if each.failure:
                found[f"{name}.failure"] = each.failure.error
        return found


@dataclass(frozen=True, slots=True, repr=False)
class Rows:
    """The rows of a result, read again in each iteration: `source` opens them.

    `left_out` are the rows whose texts were not kept, because there is no store: they are not among them.
    """

    source: Callable[[], Iterator[Row]] = field(default=lambda: iter(()))
    size: int = 0
    left_out: int = 0

    def __iter__(self) -> Iterator[Row]:
        return self.source()

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        left = f", {self.left_out} more not kept: name a store" if self.left_out else ""
        return f"<{self.size} rows{left}>"

    def to_csv(self, path: str | Path) -> int:
        """Write the rows as a table. Goes through them twice: columns are those of all of them.

        A text that a spreadsheet would take for a formula, as it begins with = + - @ or a tab, has an apostrophe before
        it; returns how many these are. JSON lines have every text as it is.
        """
        columns, quoted = self.columns(), 0
        with whole(path, newline="") as file:
            writer = csv.writer(file)
            writer.writerow(map(quoted_cell, columns))
            for row in self:
                found = row.flat()
                cells = [found.get(name) for name in columns]
                written = list(map(quoted_cell, cells))
                quoted += sum(before is not after for before, after in zip(cells, written, strict=True))
                writer.writerow(written)
        return quoted

    def to_jsonl(self, path: str | Path) -> None:
        """Write one JSON object a line, with the whole conversation."""
        with whole(path) as file:
            file.writelines(f"{json.dumps(row.encode(), ensure_ascii=False)}\n" for row in self)

    def to_pandas(self) -> Any:
        """Return the rows as a DataFrame of pandas. Raises DefinitionError if that is not installed."""
        try:
            import pandas as pd
        except ImportError:
            raise _not_installed("pandas") from None
        return pd.DataFrame([row.flat() for row in self], columns=self.columns())

    def to_polars(self) -> Any:
        """Return the rows as a DataFrame of polars. Raises DefinitionError if that is not installed."""
        try:
            import polars as pl
        except ImportError:
            raise _not_installed("polars") from None
        table = [row.flat() for row in self]
        return pl.DataFrame({name: [row.get(name) for row in table] for name in self.columns()}, strict=False)

    def columns(self) -> list[str]:
        """Return the columns of the table: the identity of the row, inputs, answer, then the measurements."""
        found = dict.fromkeys(name for row in self for name in row.flat())
        return [*(name for name in _OWN if name in found), *(name for name in found if name not in _OWN)]


NO_ROWS = Rows()


def chained(parts: Sequence[Rows]) -> Rows:
    """Return the rows of several as those of one, in their order."""
    return Rows(lambda: chain.from_iterable(parts), sum(map(len, parts)), sum(part.left_out for part in parts))


def row_of(
    held: TrialConversation | TrialResult,
    results: Iterable[tuple[str, Score | Failure]],
    *,
    title: str,
    concluded: frozenset[str],
    **which: Any,
) -> Row:
    """Return the row of a trial; `results` have labels, the first of one counts, `concluded` those of one number.

    The columns of its example, if it has one, hold its inputs and its reference; `which` are further fields.
    """
    conversation, columns = held.conversation, held.columns
    said = conversation.responses
    last = last_exchange(conversation)
    returned = None if last is None else conversation.messages[last.place].metadata.get(RETURNED)
    inputs = columns.get("inputs") or {"input": columns.get("input", conversation.input)}
    seconds = sum(message.seconds for message in said)
    scores: dict[str, RowScore] = {}
    seen: set[str] = set()
    for label, result in results:
        if label not in seen:
            found = dict(_scores(label, result, is_concluded=label in concluded))
            scores = {**found, **scores} if label in concluded else {**scores, **found}  # the scorer's own come first
        seen.add(label)
    return Row(
        title=title,
        trial=held.trial.index,
        inputs=inputs if isinstance(inputs, Mapping) else {"inputs": inputs},
        output=conversation.output if returned is None else returned,
        reference=columns.get("reference", columns.get("reference_outputs") or None),
        conversation=conversation,
        scores=scores,
        seconds=None if isnan(seconds) or not said else seconds,
        failure=held.failure,
        **which,
    )


def _scores(label: str, result: Score | Failure, *, is_concluded: bool) -> Iterator[tuple[str, RowScore]]:
    """Return all values of one scorer, by the names of metrics; for one that is concluded on, its number first."""
    if isinstance(result, Failure):
        if not result.is_unneeded:
            yield label, RowScore(failure=result)
        return
    parts, of_scorer = dict(parts_of(result)), label
    if is_concluded:
        within = _concluded_path(label, result, parts)
        of_scorer = label.removesuffix(f".{within}")  # the label of a number is the scorer's, with its path
        comment = result.reasoning or reason_at(result.details, within)
        yield label, RowScore(value=_known(parts[within] if within else result.value), comment=comment)
        parts = {path: part for path, part in parts.items() if result.details and path != within}
    for path, part in parts.items():
        name = f"{of_scorer}.{path}" if path else of_scorer
        if not is_concluded or name != label:
            comment = reason_at(result.details, path) or result.reasoning
            yield name, RowScore(value=_known(part), comment=comment)


def _concluded_path(label: str, result: Score, parts: Mapping[str, object]) -> str:
    """Return the place among the details of the number whose path ends a label; empty if there is none."""
    alike = [path for path, part in parts.items() if path and label.endswith(f".{path}") and part == result.value]
    return max(alike, key=len, default="")


def _known(value: float | bool | str | None) -> float | bool | str | None:
    return None if isinstance(value, float) and isnan(value) else value


def _cell(value: object) -> object:
    is_simple = value is None or isinstance(value, (str, int, float))
    return value if is_simple else json.dumps(plain(value), ensure_ascii=False)


def _not_installed(library: str) -> DefinitionError:
    return DefinitionError("rows", found=f"{library} is not installed", do=f"pip install {library}, or use to_jsonl")
