"""Which scenarios of a suite are to be run again: those that did not pass when they were last run."""

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from simeval.core.settings import Settings
from simeval.errors import DefinitionError
from simeval.store.database import Database
from simeval.store.opening import open_database
from simeval.store.runs import Runs
from simeval.suites.files import Suite

LOOKED_AT = 20  # runs


def not_passed(suite: Suite, settings: Settings) -> Suite:
    """Return the scenarios of a suite that did not pass when each was last run. Raises DefinitionError."""
    store = settings.store
    if not isinstance(store, (str, Path)) or str(store).endswith(".jsonl"):
        raise DefinitionError(
            "--rerun", found=f"the store {store} has no runs", do="name a SQLite file or PostgreSQL URL"
        )
    outcomes = _last_outcomes(str(store), {scenario.title for scenario in suite})
    known = [scenario for scenario in suite if scenario.title in outcomes]
    if not known:
        found = f"none of these scenarios is in the last {LOOKED_AT} runs that have ended"
        raise DefinitionError("--rerun", found=found, do="run the suite first")
    chosen = tuple(scenario for scenario in known if outcomes[scenario.title] != "pass")
    if not chosen:
        raise DefinitionError("--rerun", found="all scenarios passed when they were last run", do="leave it out")
    return replace(suite, scenarios=chosen)


def _last_outcomes(store: str, titles: Collection[str]) -> Mapping[str, str]:
    """Return the outcome of each of these scenarios in the last run that had it."""
    database: Database = open_database(store, must_exist=True)
    outcomes: dict[str, str] = {}
    try:
        runs = Runs(database)
        for run in runs.recent(LOOKED_AT):
            if outcomes.keys() >= set(titles):
                break
            with suppress(DefinitionError):  # it has not ended
                for each in runs.document(run.run_id).get("scenarios", ()):
                    outcomes.setdefault(each["title"], each["outcome"])
    finally:
        database.close()
    return outcomes
