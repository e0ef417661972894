"""Which scenarios of a suite are to be run again: those that did not pass in the last run of a store."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from simeval.core.settings import Settings
from simeval.errors import DefinitionError
from simeval.store.database import Database
from simeval.store.opening import open_database
from simeval.store.runs import LAST, Runs
from simeval.suites.files import Suite


def not_passed(suite: Suite, settings: Settings) -> Suite:
    """Return the scenarios of a suite that did not pass in the last run of the store. Raises DefinitionError."""
    store = settings.store
    if not isinstance(store, (str, Path)) or str(store).endswith(".jsonl"):
        raise DefinitionError(
            "--rerun", found=f"the store {store} has no runs", do="name a SQLite file or PostgreSQL URL"
        )
    document = _last(str(store))
    run_id = document["run_id"]
    if "scenarios" not in document:
        raise DefinitionError("--rerun", found=f"the last run, {run_id}, is an experiment", do="run a suite first")
    outcomes: Mapping[str, str] = {each["title"]: each["outcome"] for each in document["scenarios"]}
    known = [scenario for scenario in suite if scenario.title in outcomes]
    if not known:
        raise DefinitionError("--rerun", found=f"the last run, {run_id}, was of another suite", do="run this one first")
    chosen = tuple(scenario for scenario in known if outcomes[scenario.title] != "pass")
    if not chosen:
        raise DefinitionError("--rerun", found=f"all scenarios passed in the last run, {run_id}", do="leave it out")
    return replace(suite, scenarios=chosen)


def _last(store: str) -> Mapping[str, Any]:
    database: Database = open_database(store, must_exist=True)
    try:
        runs = Runs(database)
        return runs.document(runs.find(LAST))
    finally:
        database.close()
