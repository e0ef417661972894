"""The rows of stored runs, and answers of them that are measured anew."""

from collections.abc import Callable
from typing import Any

import pytest

from simeval.core.feedback import Feedback
from simeval.errors import DefinitionError
from simeval.store.database import Database
from simeval.store.stored_rows import answers_of, said_by_people, stored_rows
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


def by_person(trial: int, score: float | None = 1, **more: Any) -> Feedback:
    return Feedback(key="kind", score=score, run_id="run-1", scenario="A", trial=trial, labeller="person", **more)


def test_feedback_of_people_is_of_the_trial_that_they_gave_it_on() -> None:
    found = said_by_people([by_person(0, 1, source="ann"), by_person(0, 0, source="bob"), by_person(2, 1)], ["kind"])

    assert {place: means["kind"]["score"] for place, means in found.items()} == {("A", 0): 0.5, ("A", 2): 1}


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ([by_person(0, None, comment="odd")], "no person has scored a trial under kind"),
        ([by_person(0), by_person(1, inclusion=0.5)], "some of its trials were drawn"),
        ([by_person(0, inclusion=0.2), by_person(1, inclusion=0.5)], "drawn with different probabilities"),
    ],
)
def test_feedback_that_gives_no_mean_over_a_run_is_refused(given: list[Feedback], found: str) -> None:
    with pytest.raises(DefinitionError, match=found):
        said_by_people(given, ["kind"])
