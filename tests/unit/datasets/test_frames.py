"""Datasets from frames of other libraries, and from Parquet files."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from simeval.datasets.files import dataset_of, read_dataset
from simeval.errors import DefinitionError
from tests.support.rows import written


class Columns(list[str]):
    """The columns of a pandas frame, as far as they are asked for."""

    @property
    def is_unique(self) -> bool:
        return len(set(self)) == len(self)

    def duplicated(self) -> list[bool]:
        return [name in self[:place] for place, name in enumerate(self)]

    def __getitem__(self, wanted: Any) -> Any:
        if isinstance(wanted, list):
            return [name for name, is_wanted in zip(self, wanted, strict=True) if is_wanted]
        return super().__getitem__(wanted)


@dataclass
class PandasLike:
    """What is asked of a pandas frame, of which parts are taken by rows."""

    rows: list[dict[str, Any]]
    columns: Columns
    parts: list[int]

    @property
    def iloc(self) -> "PandasLike":
        return self

    def __getitem__(self, part: slice) -> "PandasLike":
        self.parts.append(len(self.rows[part]))
        return PandasLike(self.rows[part], self.columns, self.parts)

    def __len__(self) -> int:
        return len(self.rows)

    def notna(self) -> str:
        return "where it is not missing"

    def astype(self, kind: type) -> "PandasLike":
        return self

    def where(self, condition: str, other: None) -> "PandasLike":
        return self

    def to_dict(self, form: str) -> list[dict[str, Any]]:
        return self.rows


@dataclass
class PolarsLike:
    """What is asked of a polars frame."""

    rows: list[dict[str, Any]]
    schema: tuple[str, ...] = ()

    def iter_rows(self, *, named: bool, buffer_size: int) -> Iterator[dict[str, Any]]:
        return iter(self.rows) if named else iter(())


def test_frames_are_told_by_what_they_can_do_and_read_in_parts() -> None:
    rows = [{"question": str(number)} for number in range(2_500)]
    frame = PandasLike(rows, Columns(["question"]), [])
    expected = dataset_of(rows).version

    assert dataset_of(frame).version == dataset_of(PolarsLike(rows)).version == expected
    assert frame.parts == [1_000, 1_000, 500]
    with pytest.raises(DefinitionError, match="several columns named a"):
        dataset_of(PandasLike(rows, Columns(["a", "b", "a"]), []))


TABLE = [
    {"q": f"q{n}", "n": n, "at": datetime(2025, 1, 2), "deep": {"x": [1, n]}, "gap": None if n % 2 else 1.5}
    for n in range(1_500)
]


def test_pandas_frames_are_read() -> None:
    pandas = pytest.importorskip("pandas")

    assert dataset_of(pandas.DataFrame(TABLE)).version == dataset_of(TABLE).version


def test_polars_frames_are_read() -> None:
    polars = pytest.importorskip("polars")

    assert dataset_of(polars.DataFrame(TABLE)).version == dataset_of(TABLE).version
    with pytest.raises(DefinitionError, match="collect a lazy one first"):
        dataset_of(polars.LazyFrame(TABLE))


@pytest.mark.parametrize("library", ["pyarrow", "polars"])
def test_parquet_files_are_read(library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(library)
    polars = pytest.importorskip("polars")
    polars.DataFrame(TABLE).write_parquet(tmp_path / "table.parquet")
    if library == "polars":
        monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)

    found = read_dataset(tmp_path / "table.parquet")

    assert (found.name, found.version) == ("table", dataset_of(TABLE).version)
    with pytest.raises(DefinitionError, match="cannot be read as Parquet"):
        read_dataset(written(tmp_path, "bad.parquet", "PAR1 nothing"))
    with pytest.raises(DefinitionError, match=r"table\.parquet, row 1: it has no column answer"):
        read_dataset(tmp_path / "table.parquet", outputs="answer")


def test_hugging_face_datasets_are_read() -> None:
    datasets = pytest.importorskip("datasets")
    examples = datasets.iterable_dataset.ExamplesIterable(lambda: enumerate(TABLE), {})

    found = dataset_of(datasets.IterableDataset(examples))

    assert found.version == dataset_of(TABLE).version
    assert len(list(found)) == len(TABLE)


def test_parquet_needs_a_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pyarrow", "pyarrow.parquet", "polars"):
        monkeypatch.setitem(sys.modules, name, None)

    with pytest.raises(DefinitionError, match="pip install pyarrow, or polars"):
        read_dataset(written(tmp_path, "table.parquet", "PAR1"))
