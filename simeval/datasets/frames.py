"""Rows of other libraries' tables, read in parts: frames of pandas and polars, and Parquet files.

Frames are recognised by their methods, so that nothing is imported that the user did not.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from simeval.errors import DefinitionError

Row = Mapping[str, Any]

PART = 1_000  # rows at once


def frame_rows(frame: Any) -> Callable[[], Iterable[Row]] | None:
    """Return a function that reads the rows of a pandas or polars frame; None for anything else.

    Raises DefinitionError where two columns have one name.
    """
    if all(hasattr(frame, name) for name in ("iloc", "notna", "to_dict")) and hasattr(frame, "columns"):
        if not frame.columns.is_unique:
            twice = sorted({str(name) for name in frame.columns[frame.columns.duplicated()]})
            raise DefinitionError("frame", found=f"several columns named {', '.join(twice)}", do="rename them")
        return lambda: _pandas_rows(frame)
    if hasattr(frame, "iter_rows") and hasattr(frame, "schema"):
        return lambda: frame.iter_rows(named=True, buffer_size=PART)
    return None


def parquet_rows(path: Path) -> Iterator[Row]:
    """Return the rows of a Parquet file, through pyarrow or polars. Raises DefinitionError."""
    try:
        import pyarrow.parquet
    except ImportError:
        yield from _parquet_by_polars(path)
        return
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=PART):
                yield from batch.to_pylist()
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error


def _pandas_rows(frame: Any) -> Iterator[Row]:
    for start in range(0, len(frame), PART):
        part = frame.iloc[start : start + PART]
        yield from part.astype(object).where(part.notna(), None).to_dict("records")


def _parquet_by_polars(path: Path) -> Iterator[Row]:
    try:
        import polars
    except ImportError as error:
        do = "pip install pyarrow, or polars"
        raise DefinitionError(str(path), found="Parquet files need a library that is not installed", do=do) from error
    try:
        frame, start = polars.scan_parquet(path), 0
        while not (part := frame.slice(start, PART).collect()).is_empty():
            yield from part.iter_rows(named=True)
            start += PART
    except (OSError, polars.exceptions.PolarsError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> DefinitionError:
    said = str(error).splitlines() or [type(error).__name__]
    return DefinitionError(str(path), found=f"it cannot be read as Parquet ({said[0]:.200})", do="name a Parquet file")
