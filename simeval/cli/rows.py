"""The work of `simeval show RUN --rows`: the measures of single answers, chosen by conditions or the worst first."""

import heapq
import operator
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from simeval.cli.output import require_writable, show
from simeval.core.direction import Direction
from simeval.core.row_files import FORMULA_NOTE
from simeval.core.terminal import LINE, counted_of, indent, printable, room_of
from simeval.core.validation import nearest
from simeval.errors import DefinitionError
from simeval.results.document import Document, ExperimentDocument
from simeval.results.rows import Row, Rows, RowScore
from simeval.scorers.metrics import direction_by_name
from simeval.scorers.values import text_of
from simeval.store.database import Database
from simeval.store.runs import Runs
from simeval.store.stored_rows import stored_rows

_SIGNS: Mapping[str, Direction] = {">": "higher", ">=": "higher", "<": "lower", "<=": "lower"}
_LONGEST = 300  # characters of a text that are shown
FORM = "METRIC<0.5"
_FORM = re.compile(r"\s*(.+?)\s*(<=|>=|!=|<|>|=)\s*(.*?)\s*")
_COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
}
_WORDS = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0, "missing": None}


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedRows:
    """Which rows to show, and where to write them instead."""

    where: Sequence[str]
    worst: str | None
    limit: int
    out: str | None


def show_rows(database: Database, run_id: str, wanted: WantedRows) -> None:
    """Print the rows of a run, or write them to a file of CSV or JSON lines. Raises DefinitionError."""
    conditions = [Condition.read(text) for text in wanted.where]
    head, rows = Runs(database).head(run_id), stored_rows(database, run_id)
    named = [*(each.metric for each in conditions), *([wanted.worst] if wanted.worst else [])]
    if named:
        require_metrics(named, dict.fromkeys(name for row in rows for name in row.scores))
    worst = None if wanted.worst is None else (wanted.worst, _direction(head, wanted.worst))
    limit = len(rows) if wanted.out else wanted.limit
    found = chosen_rows(rows, where=conditions, worst=worst, limit=limit)
    if wanted.out is not None:
        quoted = _write(Rows(lambda: iter(found), len(found)), wanted.out)
        note = f"; {FORMULA_NOTE.format(counted_of(quoted, 'text'))}" if quoted else ""
        show(f"{len(found)} of {len(rows)} rows are in {wanted.out}{note}", None)
        return
    room = min(room_of(sys.stdout) or LINE, LINE)
    show("\n\n".join([*(_shown(row, room) for row in found), _counted(len(found), len(rows), wanted)]), None)


def _counted(shown: int, size: int, wanted: WantedRows) -> str:
    said = f"{shown} of {size} rows"
    return f"{said} (--limit {wanted.limit})" if shown == wanted.limit < size else said


def _write(rows: Rows, path: str) -> int | None:
    """Write rows to a file, and return how many texts of CSV are quoted. Raises DefinitionError."""
    require_writable(path)
    writers: Mapping[str, Callable[[str], int | None]] = {".csv": rows.to_csv, ".jsonl": rows.to_jsonl}
    if Path(path).suffix not in writers:
        raise DefinitionError("--out", found=f"found {path!r}", do="name a file that ends in .csv or .jsonl")
    return writers[Path(path).suffix](path)


def _direction(head: Document, metric: str) -> Direction:
    """Return which way a metric is better. Raises DefinitionError if that is unknown."""
    metrics = head.metrics if isinstance(head, ExperimentDocument) else ()
    declared = {each.name: each.direction for each in metrics if each.direction != "unknown"}
    expectations = [one for each in head.scenarios for one in each.expectations]
    cuts = {each.label: verdict.cut for each in expectations for verdict in each.verdicts if verdict.cut}
    sign = cuts[metric].sign if metric in cuts else ""
    found = declared.get(metric) or _SIGNS.get(sign) or direction_by_name(*metric.partition(".")[::2])
    if metric == "seconds" and found is None:
        return "lower"
    if found not in ("higher", "lower"):
        do = f"let its scorer say it (direction=), or choose by --where {metric!r} with a bar"
        raise DefinitionError(f"--worst {metric}", found="it is not known which way it is better", do=do)
    return found


def _shown(row: Row, room: int) -> str:
    title = f"example {row.example}" if row.example else row.title
    lines = [printable(f"trial {row.trial}, {title}" + (f", repetition {row.repetition}" if row.repetition else ""))]
    texts = {**row.inputs, "output": row.output, **({} if row.reference is None else {"reference": row.reference})}
    said = [f"{name}: {_cut(text_of(value))}" for name, value in texts.items()]
    if (turns := len(row.conversation.responses)) > 1 and not row.example:
        said.append(f"turns: {turns}; the input is the first message, the output the last answer")
    if row.failure is not None:
        said.append(f"failure: {row.failure.error}")
    else:
        said += [f"{name}: {_score(score)}" for name, score in row.scores.items()]
    if row.seconds is not None:
        said.append(f"seconds: {row.seconds:.3g}")
    return "\n".join([*lines, *(indent(printable(each), 2, width=room) for each in said)])


def _score(score: RowScore) -> str:
    if score.failure is not None:
        return f"- ({_cut(score.failure.error)})"
    is_number = isinstance(score.value, float) and not isinstance(score.value, bool)
    value = "-" if score.value is None else f"{score.value:.3g}" if is_number else str(score.value)
    return f"{value} ({_cut(score.comment)})" if score.comment else value


def _cut(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _LONGEST else f"{plain[:_LONGEST]}..."


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition on a row: a metric, or `seconds`, and the value to compare with.

    `text` is that as it was written, for categories; `value` the number in it, if there is one, None for missing.
    """

    metric: str
    sign: str
    text: str
    value: float | str | None

    @classmethod
    def read(cls, text: str) -> "Condition":
        """Read a condition such as "right=false" or "tone!=warm". Raises DefinitionError for another text."""
        found = _FORM.fullmatch(text)
        if found is None:
            raise DefinitionError("--where", found=f"found {text!r}", do=f"write it as {FORM}, or METRIC=no")
        metric, sign, word = found.groups()
        value = _WORDS.get(word.casefold(), word) if word.casefold() in _WORDS else _number(word)
        if sign in ("<", ">", "<=", ">=") and not isinstance(value, float):
            raise DefinitionError("--where", found=f"found {word!r} in {text!r}", do="give a number, or use = or !=")
        return cls(metric, sign, word, value)

    def holds(self, row: Row) -> bool:
        """Return whether a row meets it; a missing value meets only a condition for missing ones."""
        found = value_of(row, self.metric)
        if self.value is None:
            return (found is None) == (self.sign == "=")
        if isinstance(found, str):  # a category may be called yes, or 5
            return self.sign in ("=", "!=") and _COMPARED[self.sign](found, self.text)
        return found is not None and not isinstance(self.value, str) and _COMPARED[self.sign](found, self.value)


def value_of(row: Row, metric: str) -> float | bool | str | None:
    """Return a value of a row; None if it has none. A metric called seconds goes before the app's."""
    score = row.scores.get(metric)
    return score.value if score else row.seconds if metric == "seconds" else None


def chosen_rows(
    rows: Iterable[Row], *, where: Sequence[Condition] = (), worst: tuple[str, Direction] | None = None, limit: int
) -> list[Row]:
    """Return at most `limit` rows that meet all conditions, in order, or the worst by a metric first.

    An answer that the app failed on is worst; one without a value of the metric is not among them.
    """
    found = (row for row in rows if all(each.holds(row) for each in where))
    if worst is None:
        return list(islice(found, limit))
    metric, direction = worst
    ranked = (row for row in found if _rank(row, metric, direction))
    return heapq.nsmallest(limit, ranked, lambda row: _rank(row, metric, direction))


def require_metrics(names: Iterable[str], known: Collection[str]) -> None:
    """Raise DefinitionError for a metric that no row has."""
    for name in names:
        if name not in known and name != "seconds":
            raise DefinitionError("rows", found=f"there is no metric {name!r}", do=nearest(name, [*known, "seconds"]))


def _rank(row: Row, metric: str, direction: Direction) -> tuple[float, ...]:
    """Return a key that is smaller the worse a row is; empty if unknown."""
    if row.failure is not None and row.failure.is_of_app:
        return (0.0,)
    value = value_of(row, metric)
    if value is None or isinstance(value, str):
        return ()
    return (1.0, -float(value) if direction == "lower" else float(value))


def _number(word: str) -> float | str:
    try:
        return float(word)
    except ValueError:
        return word
