"""The rows of stored runs, and answers of them that are measured anew."""

from collections.abc import Callable

import pytest

from simeval.errors import DefinitionError
from simeval.store.database import Database
from simeval.store.stored_rows import answers_of, stored_rows
from tests.support.stores import begun, held, judged, whole_run


@pytest.mark.parametrize("read", [stored_rows, answers_of])
def test_a_run_that_has_not_ended_has_no_rows(where: str, read: Callable[[Database, str], object]) -> None:
    first = Database(where)
    first.append("run-1", [begun(), *(entry for index in (0, 2, 4, 5) for entry in (held(index), judged(index)))])
    second = Database(where)

    with pytest.raises(DefinitionError, match=r"being run by process \d+ on .*wait for its end"):
        read(second, "run-1")
    first.close()
    with pytest.raises(DefinitionError, match=r"interrupted.*--resume run-1"):
        read(second, "run-1")
    second.close()


def test_a_run_that_has_ended_has_a_row_for_each_trial_that_was_concluded_on(database: Database) -> None:
    entries, suite = whole_run(begun())
    database.append("run-1", [*entries, held(4), judged(4), suite])

    found = stored_rows(database, "run-1")

    assert [(row.title, row.trial) for row in found] == [(title, n) for title in "AB" for n in range(3)]
    assert len(found) == 6
