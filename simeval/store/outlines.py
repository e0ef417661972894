"""The trials of a scenario in outline: the result of each, without its messages; quick to read, however many."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Select, Table

from simeval.core.trial import NOTHING_SAID, UNNEEDED, Failure, Score, Trial, TrialResult
from simeval.store.reading import Part, of_run, read_failure, read_number
from simeval.store.schema import SCORES, TRIALS

Result = Score | Failure
FAILURE = ("stage", "error", "cause", "exact")


def read_outlines(
    connection: Connection, run_id: str, part: Part, *, measures: int, required: Sequence[int]
) -> list[TrialResult]:
    """Return trials of a scenario with their `measures`, in the order dealt.

    Scores are without reasons and details. Of a measure that is not `required`, by its place, only failures are read.
    """
    scores, found = _results(connection, run_id, part, required), []
    for index, *failed in connection.execute(_rows(TRIALS, run_id, part, FAILURE)).all():
        failure, held = read_failure(*failed), scores.get(index, {})
        results = tuple(failure or held.get(place, UNNEEDED) for place in range(measures))
        trial = Trial(part.scenario, index, 0)
        found.append(TrialResult(trial=trial, conversation=NOTHING_SAID, results=results, failure=failure))
    return found


def _results(
    connection: Connection, run_id: str, part: Part, required: Sequence[int]
) -> Mapping[int, Mapping[int, Result]]:
    """Return the results on each trial, by the position of the measure."""
    found: defaultdict[int, dict[int, Result]] = defaultdict(dict)
    query = _rows(SCORES, run_id, part, ("expectation", "value", *FAILURE))
    wanted = SCORES.c.expectation.in_(required) | SCORES.c.stage.is_not(None)
    for index, place, value, *failed in connection.execute(query.where(wanted)).all():
        found[index][place] = read_failure(*failed) or Score(value=read_number(value, failed[-1]))
    return found


def _rows(table: Table, run_id: str, part: Part, names: Sequence[str]) -> Select[Any]:
    return of_run(table, run_id, [table.c[name] for name in ("trial", *names)], part)
