"""What scenarios came to in the runs that a store has, the newest first."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from simeval.core.serialization import Json
from simeval.core.trial import Outcome
from simeval.store.database import Database
from simeval.store.runs import Runs

LOOKED_AT = 20  # runs
_UNDECIDED = ("suite_settled", "run_stopped")


@dataclass(frozen=True, slots=True)
class PastOutcome:
    """What a scenario came to in a run, and whether that was by its own verdicts: the run may have ended before."""

    outcome: Outcome
    is_decided: bool


def past_outcomes(database: Database) -> Iterator[Mapping[str, PastOutcome]]:
    """Yield what each scenario came to, by its title, in the newest runs of suites that have ended, newest first."""
    runs = Runs(database)
    for run in runs.recent(LOOKED_AT, lambda each: each.status in ("finished", "stopped")):
        yield {each["title"]: _past(each) for each in runs.head(run.run_id).get("scenarios", ())}


def _past(scenario: Json) -> PastOutcome:
    reasons = [verdict["reason"] for each in scenario["expectations"] for verdict in each["verdicts"]]
    undecided = scenario["outcome"] == "inconclusive" and any(reason in _UNDECIDED for reason in reasons)
    return PastOutcome(scenario["outcome"], not undecided)
