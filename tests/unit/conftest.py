"""Property tests draw the same examples each time, and a slow machine does not fail them; and empty stores."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from simeval.store.database import Database

settings.register_profile("unit", deadline=None, derandomize=True, database=None)
settings.load_profile("unit")


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty store."""
    if request.param == "sqlite":
        return str(tmp_path / "made" / "store.db")
    return str(request.getfixturevalue("postgres_server").fresh())


@pytest.fixture
def database(where: str) -> Iterator[Database]:
    found = Database(where)
    yield found
    found.close()
