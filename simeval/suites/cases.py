"""Tables of cases: the rows that a scenario is tried with, and which of them each trial has."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import isfinite
from pathlib import Path
from typing import Any

from simeval.core import filling, seeds
from simeval.core.validation import is_number, nearest, require
from simeval.errors import DefinitionError

Case = Mapping[str, Any]
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")


def read_cases(found: object, where: str) -> tuple[Case, ...]:
    """Return the rows of a table: mappings, a frame, or the path of a file with them (see `read_dataset`).

    A column of a CSV file with only numbers has numbers, one of true and false has these, and an empty cell is None.
    Raises DefinitionError.
    """
    if isinstance(found, Mapping):
        raise DefinitionError(where, found=f"found {found!r:.80}", do="give a list of rows, each a mapping")
    if isinstance(found, (list, tuple)):
        numbered = [(f"row {number}", row) for number, row in enumerate(found, 1)]
    else:
        from simeval.datasets.files import table_rows  # most suites have no table in a file

        numbered = table_rows(found)
    for place, row in numbered:
        do = "give a mapping of columns to values, such as {nights: 2, total: 270}"
        require(isinstance(row, Mapping) and bool(row), f"{where}: {place}", found=row, do=do)
        for name in row:
            usable = isinstance(name, str) and bool(name.strip()) and name not in filling.OF_DATES
            do = "give the column another name: {today} is the date of the run"
            require(usable, f"{where}: {place}", found=name, do=do)
    if not numbered:
        raise DefinitionError(where, found="found no row", do="give one or more rows, or leave the table out")
    rows = [dict(row) for _, row in numbered]
    return tuple(_with_types(rows) if isinstance(found, (str, Path)) else rows)


def require_places(value: object, cases: Sequence[Case], where: str) -> None:
    """Raise DefinitionError for a place in a text that a row has no column for."""
    for name in dict.fromkeys(filling.places_in(value)):
        lacks = next((number for number, row in enumerate(cases, 1) if name not in row), None)
        if lacks is None:
            continue
        columns = list(dict.fromkeys(column for row in cases for column in row))
        at = f"row {lacks} of the cases" if name in columns else "the table of cases"
        found = f"found {{{name}}}, and {at} has no column {name!r}"
        do = f"give the row a value (null for none), or write {{{{{name}}}}} where no value is meant"
        raise DefinitionError(where, found=found, do=do if name in columns else nearest(name, columns))


def require_weights(column: str, cases: Sequence[Case], where: str) -> None:
    """Raise DefinitionError unless a column has a number above 0 in each row."""
    columns = list(dict.fromkeys(name for row in cases for name in row))
    require(column in columns, where, found=column, do=nearest(column, columns) if columns else "give cases")
    for number, row in enumerate(cases, 1):
        weight, do = row.get(column), "give each row a number above 0: how often it is drawn, beside the others"
        is_weight = is_number(weight) and isfinite(weight) and weight > 0
        require(is_weight, where, found=f"{weight!r} in row {number}", do=do)


def case_at(cases: Sequence[Case], index: int, *, seed: int, weights: str | None = None) -> int:
    """Return the place of a trial's row.

    Rows are dealt in blocks that have each row once, in an order drawn for each block; an order that stays the same
    would let the bad rows come last, behind the verdict. With a column of `weights` each trial draws its own.
    """
    if weights is not None:
        [drawn] = seeds.generator(seed, "case", index).choices(range(len(cases)), [row[weights] for row in cases])
        return drawn
    block, place = divmod(index, len(cases))
    return _order(seed, block, len(cases))[place]


@lru_cache(maxsize=100)  # it is looked up for each trial
def _order(seed: int, block: int, size: int) -> Sequence[int]:
    order = list(range(size))
    seeds.generator(seed, "cases", block).shuffle(order)
    return order


def show_case(case: Case) -> str:
    """Return a row in words."""
    return ", ".join(f"{name}={filling.as_text(value)}" for name, value in case.items())


def are_wanted(case: Case, wanted: Mapping[str, Sequence[str]]) -> bool:
    """Return whether a row has, in each of these columns, one of the values that are asked for, as texts."""
    return all(name in case and filling.as_text(case[name]) in values for name, values in wanted.items())


def _with_types(rows: Sequence[Case]) -> list[Case]:
    """Return rows of a file with numbers, true and false in the columns that have nothing else."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    meant = {name: _meant([row[name] for row in rows if isinstance(row.get(name), str)]) for name in columns}
    return [
        {name: meant[name].get(value, value) if isinstance(value, str) else value for name, value in row.items()}
        for row in rows
    ]


def _meant(texts: Sequence[str]) -> Mapping[str, Any]:
    """Return the values of the texts of a column; 0012 is a code, and no number."""
    said = {text: text.strip() for text in texts if text.strip()}
    values: dict[str, Any] = {}
    if all(word.lower() in ("true", "false") for word in said.values()):
        values = {text: word.lower() == "true" for text, word in said.items()}
    elif all(_NUMBER.fullmatch(word) for word in said.values()):
        values = {text: float(word) if "." in word else int(word) for text, word in said.items()}
    return {**values, **dict.fromkeys(text for text in texts if not text.strip())}
