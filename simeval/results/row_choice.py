"""The choice of rows: those that meet conditions on their measurements, or the worst by a metric."""

import heapq
import operator
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from simeval.core.direction import Direction
from simeval.core.validation import nearest
from simeval.errors import DefinitionError
from simeval.results.rows import Row

FORM = "METRIC<0.5"
_FORM = re.compile(r"\s*(.+?)\s*(<=|>=|!=|<|>|=)\s*(.*?)\s*")
_SIGNS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
}
_WORDS = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0, "missing": None}


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
            return self.sign in ("=", "!=") and _SIGNS[self.sign](found, self.text)
        return found is not None and not isinstance(self.value, str) and _SIGNS[self.sign](found, self.value)


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
