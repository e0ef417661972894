"""The trials of a scenario in outline: what each came to, and nothing that was said; quick to read, however many."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Select, Table, select

from simeval.core.trial import UNNEEDED, Failure, Score
from simeval.results.html.source import Outline
from simeval.store.reading import read_failure, read_number
from simeval.store.schema import SCORES, TRIALS

Result = Score | Failure
FAILURE = ("stage", "error", "cause", "exact")


def read_outlines(
    connection: Connection, run_id: str, scenario: int, *, measures: int, required: Sequence[int]
) -> list[Outline]:
    """Return the trials of a scenario with their `measures`, in the order dealt.

    Scores are without reasons and details. Of a measure that is not `required`, by its place, only failures are read.
    """
    scores, found = _results(connection, run_id, scenario, required), []
    for index, *failed in connection.execute(_rows(TRIALS, run_id, scenario, FAILURE)).all():
        failure, held = read_failure(*failed), scores.get(index, {})
        results = tuple(failure or held.get(place, UNNEEDED) for place in range(measures))
        found.append(Outline(index, results, failure))
    return found


def _results(
    connection: Connection, run_id: str, scenario: int, required: Sequence[int]
) -> Mapping[int, Mapping[int, Result]]:
    """Return what was measured on each trial, by the position of its measure."""
    found: defaultdict[int, dict[int, Result]] = defaultdict(dict)
    query = _rows(SCORES, run_id, scenario, ("expectation", "value", *FAILURE))
    wanted = SCORES.c.expectation.in_(required) | SCORES.c.stage.is_not(None)
    for index, place, value, *failed in connection.execute(query.where(wanted)).all():
        found[index][place] = read_failure(*failed) or Score(value=read_number(value, failed[-1]))
    return found


def _rows(table: Table, run_id: str, scenario: int, names: Sequence[str]) -> Select[Any]:
    columns = [table.c[name] for name in ("trial", *names)]
    query = select(*columns).where(table.c.run_id == run_id, table.c.scenario == scenario)
    return query.order_by(*table.primary_key.columns)
