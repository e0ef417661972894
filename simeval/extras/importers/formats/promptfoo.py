"""promptfoo's test cases (CSV): an example a row, whose inputs are the columns.

Columns that begin with "__" are promptfoo's own: they are kept as metadata, under their names without it
("__metadata:severity" as "severity").
"""

import csv
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

from simeval.datasets.dataset import Example
from simeval.datasets.messages import is_reference
from simeval.datasets.records import Opening, Unreadable, read_text

NAME = "promptfoo"
_OWN = "__"


def looks_like(opening: Opening) -> bool:
    """Return whether the file is named .csv and has a column of promptfoo's."""
    head = opening.head.decode("utf-8-sig", "replace").partition("\n")[0]
    return opening.name.endswith(".csv") and any(name.startswith(_OWN) for name in next(csv.reader([head]), []))


def read(path: Path) -> Iterator[Example | Unreadable]:
    """Return the test cases. A row with more cells than there are columns is reported."""
    try:
        rows = csv.DictReader(StringIO(read_text(path), newline=""), strict=True)
        for row in rows:
            yield _converted(row, rows.line_num)
    except (ValueError, csv.Error) as error:
        yield Unreadable("the file", str(error))


def _converted(row: dict[str | None, str | None], line: int) -> Example | Unreadable:
    if None in row or None in row.values():
        return Unreadable(f"line {line}", "it has another number of cells than there are columns")
    cells = {str(name): str(value) for name, value in row.items()}
    own = {name: value for name, value in cells.items() if name.startswith(_OWN) and value}
    return Example(
        inputs={name: value for name, value in cells.items() if not is_reference(name)},
        outputs={name: value for name, value in cells.items() if is_reference(name) and not name.startswith(_OWN)},
        metadata={name.removeprefix(_OWN).removeprefix("metadata:"): value for name, value in own.items()},
    )
