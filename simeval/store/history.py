"""The results of scenarios in the runs of a store, the newest first."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from simeval.core.trial import Outcome
from simeval.results.document import RunDocument, ScenarioDocument
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
        yield {each.title: _past(each) for each in _scenarios(runs, run.run_id)}


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
        for each in _scenarios(runs, run.run_id):
            if (title := each.title) not in open_titles or _asked(each) != asked[title]:
                continue
            if each.outcome == "pass":
                open_titles.remove(title)
            elif each.outcome != "error" and each.trials:
                counts[title] += 1
    return counts


def _scenarios(runs: Runs, run_id: str) -> Sequence[ScenarioDocument]:
    """Return the scenarios of a run; none of an experiment, and none if an older version kept too little."""
    from simeval.store.documents import UnreadableResult  # most runs do not look back

    try:
        found = runs.head(run_id)
    except UnreadableResult:
        return ()
    return found.scenarios if isinstance(found, RunDocument) else ()


def _asked(scenario: ScenarioDocument) -> Asked:
    found = frozenset(
        (each.label, verdict.evaluator, verdict.against or "")
        for each in scenario.expectations
        for verdict in each.verdicts
    )
    return Asked(scenario.given or "", scenario.when or "", found)


def _past(scenario: ScenarioDocument) -> PastOutcome:
    undecided = scenario.outcome == "inconclusive" and any(each.reason in _UNDECIDED for each in scenario.verdicts)
    return PastOutcome(scenario.outcome, not undecided)
