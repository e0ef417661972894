"""How an app does with each row of a table, and the slices of the table that it does worse with."""

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simeval.core.filling import as_text
from simeval.core.serialization import plain
from simeval.core.trial import Failure, Score, TrialResult
from simeval.evaluators.base import Evaluator
from simeval.results.text import speaks_against

LEVEL = 0.05  # of naming any slice where columns have nothing to do with failing
MOST_ROWS = 2_000  # above so many nothing is tested
LONGEST_VALUE = 40  # characters of a text that groups rows
Case = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseShare:
    """The number of a row's `n` trials that met the expectation. Missing trials do not count."""

    values: Case
    met: int
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSlice:
    """Rows that the app does worse with than with the others, in words, with the failed trials of each side.

    `interval` has the share that fails, at the level of all slices together; `p_value` is adjusted for all of them.
    """

    words: str
    failed: int
    n: int
    failed_of_others: int
    others: int
    interval: tuple[float, float]
    p_value: float

    def __str__(self) -> str:
        counts = f"{self.failed} of {self.n} against {self.failed_of_others} of {self.others}"
        return f"{self.words} fails more often than the rest ({counts})"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseTable:
    """The rows that were tried, those that fail most first, and the named ones of the slices that were compared.

    Of an experiment there are no `rows`: its examples are shown by themselves.
    """

    rows: tuple[CaseShare, ...]
    looked_at: int
    slices: tuple[NamedSlice, ...]

    def __str__(self) -> str:
        whole = sum(row.met == row.n for row in self.rows)
        tried = [f"{whole} of {len(self.rows)} rows tried were met in every trial"] if self.rows else []
        named = " and ".join(map(str, self.slices)) or "none fails more often than the rest"
        return "; ".join([*tried, *([f"of {self.looked_at:,} slices looked at, {named}"] if self.looked_at else [])])


def case_of(judgement: TrialResult) -> tuple[str, Case] | None:
    """Return the key and the values of a trial's row; None if its scenario has no table of cases."""
    case = judgement.columns.get("inputs")
    return (json.dumps(plain(case), sort_keys=True), case) if isinstance(case, Mapping) and case else None


def table_of(
    rows: Iterable[Hashable],
    results: Iterable[Score | Failure],
    evaluators: Sequence[Evaluator],
    *,
    values: Mapping[Any, Case],
    leaves_out_crashes: bool = False,
) -> CaseTable | None:
    """Return how rows fared; each result had one or none; None if no trial that counts had one."""
    found: dict[Hashable, list[bool]] = {}
    for row, result in zip(rows, results, strict=True):
        if row is not None and (isinstance(result, Score) or result.is_miss(leaves_out_crashes=leaves_out_crashes)):
            found.setdefault(row, []).append(not speaks_against(result, evaluators))
    shares = [CaseShare(values=values[row], met=sum(met), n=len(met)) for row, met in found.items()]
    if not shares:
        return None
    looked_at, named = _slices(shares, *_compared(list(found.values())))
    by_share = sorted(shares, key=lambda each: (each.met / each.n, -each.n))
    return CaseTable(rows=tuple(by_share), looked_at=looked_at, slices=named)


def _compared(met: Sequence[Sequence[bool]]) -> tuple[list[int], list[int]]:
    """Return how many trials of each row failed, and of how many: as many of each row, if their numbers differ.

    One trial more or less depends on the end of a block alone; more depends on weights or missing trials, and so
    perhaps on the columns.
    """
    sizes = [*map(len, met)]
    most = min(sizes) if max(sizes) - min(sizes) > 1 else max(sizes)
    return [sum(not each for each in row[:most]) for row in met], [min(size, most) for size in sizes]


def _slices(
    rows: Sequence[CaseShare], failed_first: Sequence[int], first: Sequence[int]
) -> tuple[int, tuple[NamedSlice, ...]]:
    """Return the number of slices compared, and those that fail more often than other rows, no two with a common row.

    If nothing failed, none is compared.

    The rows are the units: the shares that failed, `failed_first` of the `first` trials of each, are permuted (see
    `stats.slices`).
    """
    failed, n = [row.n - row.met for row in rows], [row.n for row in rows]
    if not any(failed) or not 1 < len(rows) <= MOST_ROWS:
        return 0, ()
    from simeval.stats.binomial import clopper_pearson
    from simeval.stats.slices import find_slices, rank_slices

    slices = find_slices([groupable(row.values) for row in rows])
    if not slices:
        return 0, ()
    named: list[NamedSlice] = []
    taken: set[int] = set()
    for each in rank_slices(slices, failed_first, first, seed=0):
        inside = each.slice.rows
        if each.p_value > LEVEL:
            break
        if taken & inside:
            continue
        taken |= inside
        bad, size = sum(failed[at] for at in inside), sum(n[at] for at in inside)
        named.append(
            NamedSlice(
                words=_words(each.slice.conditions),
                failed=bad,
                n=size,
                failed_of_others=sum(failed) - bad,
                others=sum(n) - size,
                interval=clopper_pearson(bad, size, LEVEL / len(slices) / 2),
                p_value=each.p_value,
            )
        )
    return len(slices), tuple(named)


def groupable(values: Case) -> Case:
    """Return the values that can group rows: numbers, yes and no, and short texts."""
    return {
        name: value
        for name, value in values.items()
        if value is None
        or (isinstance(value, (bool, int, float)) and value == value)
        or (isinstance(value, str) and len(value) <= LONGEST_VALUE)
    }


def _words(conditions: Sequence[tuple[str, str, Any]]) -> str:
    """Return conditions in words: nights >= 4 with breakfast."""
    first, *second = sorted(conditions, key=lambda each: isinstance(each[2], bool))
    return " ".join([_condition(*first), *(_condition(*each, is_second=True) for each in second)])


def _condition(name: str, sign: str, value: Any, *, is_second: bool = False) -> str:
    if isinstance(value, bool):
        without = "with" if value else "without"
        return f"{without} {name}" if is_second or not value else name
    said = f"{name} {sign} {as_text(value) or 'nothing'}"
    return f"and {said}" if is_second else said
