"""Runs side by side: the names of their scenarios, and the result of each requirement in one run after another."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import Connection, Select, func, select

from simeval.core.serialization import Json
from simeval.errors import DefinitionError
from simeval.store.database import Database
from simeval.store.schema import RUNS, SCENARIOS, VERDICTS
from simeval.store.text_encoding import from_json

MOST_TITLES = 30  # of a run: the first of its scenarios identify its suite

RequirementKey = tuple[str, str, str]  # the titles of its scenario and its expectation, and the evaluator


@dataclass(frozen=True, slots=True, kw_only=True)
class PastVerdict:
    """The result of a requirement in one run, in short."""

    run_id: str
    key: RequirementKey
    outcome: str
    estimate: float | None
    low: float | None
    high: float | None
    n: int


class Overview:
    """The common data of a database's runs. Texts are as the database holds them: readable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def stamp(self, run_id: str) -> tuple[str, str]:
        """Return the status and the last sign of life of a run: data read from it are valid while they are the same.

        Raises DefinitionError if there is no such run.
        """
        query = select(RUNS.c.status, RUNS.c.heartbeat).where(RUNS.c.run_id == run_id)
        found = self._database.read(lambda connection: connection.execute(query).one_or_none())
        if found is None:
            raise DefinitionError("store", found=f"there is no run {run_id!r}", do="see `simeval runs`")
        return found[0], found[1]

    def titles(self, run_ids: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """Return the titles of the first scenarios of each run, in the suite's order."""
        columns = (SCENARIOS.c.run_id, SCENARIOS.c.title)
        wanted = (SCENARIOS.c.run_id.in_(run_ids), SCENARIOS.c.scenario < MOST_TITLES)
        query = select(*columns).where(*wanted).order_by(SCENARIOS.c.run_id, SCENARIOS.c.scenario)
        found: defaultdict[str, list[str]] = defaultdict(list)
        for run_id, title in self._database.read(lambda connection: connection.execute(query).all()):
            found[run_id].append(title)
        return found

    def verdicts(self, run_ids: Sequence[str], titles: Sequence[str] | None = None) -> Sequence[PastVerdict]:
        """Return the verdicts of runs, by default on all of their scenarios, in the order of each run."""
        return self._database.read(partial(_verdicts, run_ids=run_ids, titles=titles))

    def bars(self, run_id: str, titles: Sequence[str]) -> Mapping[RequirementKey, Json]:
        """Return the bars of a run for these scenarios, from its result; older runs have none."""
        whole = RUNS.c.run_id == SCENARIOS.c.run_id  # an experiment has one result, that of the run
        query = (
            select(SCENARIOS.c.title, func.coalesce(SCENARIOS.c.result, RUNS.c.result))
            .select_from(SCENARIOS.join(RUNS, whole))
            .where(SCENARIOS.c.run_id == run_id, SCENARIOS.c.title.in_(titles))
        )
        rows = self._database.read(lambda connection: connection.execute(query).all())
        return {
            (title, expectation["label"], verdict["evaluator"]): verdict["bar"]
            for title, result in rows
            for expectation in from_json(result or "{}").get("expectations", ())
            for verdict in expectation["verdicts"]
            if verdict.get("bar")
        }


def _joined(*columns: Any) -> Select[Any]:
    same = (VERDICTS.c.run_id == SCENARIOS.c.run_id) & (VERDICTS.c.scenario == SCENARIOS.c.scenario)
    return select(*columns).select_from(VERDICTS.join(SCENARIOS, same))


def _verdicts(connection: Connection, *, run_ids: Sequence[str], titles: Sequence[str] | None) -> Sequence[PastVerdict]:
    names = ("run_id", "label", "evaluator", "outcome", "estimate", "interval_low", "interval_high", "n")
    query = _joined(SCENARIOS.c.title, *(VERDICTS.c[name] for name in names)).where(VERDICTS.c.run_id.in_(run_ids))
    if titles is not None:
        query = query.where(SCENARIOS.c.title.in_(titles))
    rows = connection.execute(query.order_by(*VERDICTS.primary_key.columns)).all()
    return [
        PastVerdict(
            run_id=run_id, key=(title, label, evaluator), outcome=outcome, estimate=estimate, low=low, high=high, n=n
        )
        for title, run_id, label, evaluator, outcome, estimate, low, high, n in rows
    ]
