"""Which scenarios of a suite to run again: those that did not pass when they were last run."""

from collections.abc import Collection, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from simeval.core.settings import Settings
from simeval.errors import DefinitionError
from simeval.store.opening import open_database
from simeval.store.runs import LOOKED_AT, past_outcomes
from simeval.suites.files import Suite


def not_passed(suite: Suite, settings: Settings) -> Suite:
    """Return the scenarios of a suite that did not pass when each was last run. Raises DefinitionError."""
    store = settings.store
    if not isinstance(store, (str, Path)) or str(store).endswith(".jsonl"):
        raise DefinitionError(
            "--rerun", found=f"--store {store or 'none'} keeps no runs", do="name a SQLite file or PostgreSQL URL"
        )
    outcomes = _last_outcomes(str(store), {scenario.title for scenario in suite})
    known = [scenario for scenario in suite if scenario.title in outcomes]
    if not known:
        found = f"none of these scenarios is in the last {LOOKED_AT} runs that have ended"
        raise DefinitionError("--rerun", found=found, do="run the suite first")
    chosen = tuple(scenario for scenario in known if outcomes[scenario.title] != "pass")
    if not chosen:
        others = len(suite.scenarios) - len(known)
        ran = "the scenario that was run" if len(known) == 1 else f"each of the {len(known)} scenarios that were run"
        more = f"; {others} more {'has' if others == 1 else 'have'} not been run yet" if others else ""
        raise DefinitionError("--rerun", found=f"{ran} passed in its last run{more}", do="leave --rerun out")
    return replace(suite, scenarios=chosen)


def _last_outcomes(store: str, titles: Collection[str]) -> Mapping[str, str]:
    """Return the outcome of each of these scenarios in the last run that had it."""
    outcomes: dict[str, str] = {}
    with closing(open_database(store, must_exist=True)) as database:
        for run in past_outcomes(database):
            outcomes = {**{title: each.outcome for title, each in run.items()}, **outcomes}
            if outcomes.keys() >= set(titles):
                break
    return outcomes
