"""The results of scenarios in the runs of a store, the newest first."""

from collections import Counter
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
    """The result of a scenario in a run, and whether that was by its own verdicts: the run may have ended before."""

    outcome: Outcome
    is_decided: bool


def past_outcomes(database: Database) -> Iterator[Mapping[str, PastOutcome]]:
    """Yield the result of each scenario, by its title, in the newest runs of suites that have ended, newest first."""
    runs = Runs(database)
    for run in runs.recent(LOOKED_AT, lambda each: each.status in ("finished", "stopped")):
        yield {each["title"]: _past(each) for each in runs.head(run.run_id).get("scenarios", ())}


@dataclass(frozen=True, slots=True)
class Asked:
    """The identity of a scenario: user, goal, and each requirement with its label and its other side, if any."""

    given: str
    when: str
    requirements: frozenset[tuple[str, str, str]]


def runs_since_pass(database: Database, app: str, asked: Mapping[str, Asked]) -> Mapping[str, int]:
    """Count, by title, an app's runs since a scenario's last pass that concluded on it without a pass.

    A scenario that has changed since, or was in error, is not counted. Only the newest runs are looked at.
    """
    runs, counts, open_titles = Runs(database), Counter[str](), set(asked)
    for run in runs.recent(LOOKED_AT, lambda each: each.status in ("finished", "stopped")):
        if not open_titles:
            break
        if run.app != app:
            continue
        for each in runs.head(run.run_id).get("scenarios", ()):
            if (title := each["title"]) not in open_titles or _asked(each) != asked[title]:
                continue
            if each["outcome"] == "pass":
                open_titles.remove(title)
            elif each["outcome"] != "error" and each["trials"]:
                counts[title] += 1
    return counts


def _asked(scenario: Json) -> Asked:
    found = frozenset(
        (each["label"], verdict["evaluator"], verdict.get("against", ""))
        for each in scenario["expectations"]
        for verdict in each["verdicts"]
    )
    return Asked(scenario.get("given", ""), scenario.get("when", ""), found)


def _past(scenario: Json) -> PastOutcome:
    reasons = [verdict["reason"] for each in scenario["expectations"] for verdict in each["verdicts"]]
    undecided = scenario["outcome"] == "inconclusive" and any(reason in _UNDECIDED for reason in reasons)
    return PastOutcome(scenario["outcome"], not undecided)
