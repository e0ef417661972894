"""Results of older versions, read from their JSON."""

from collections.abc import Mapping
from typing import Any

from simeval.core.trial import Failure
from simeval.results.document import RunDocument
from simeval.results.html.trials import required_of
from simeval.results.reading import read_document
from simeval.results.screen.report import chosen, conversations_text
from simeval.results.suite import encode_suite
from tests.support.reported import failing

LAST, TRIAL = 2, 1


def with_null_scores(*errors: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result with a trial whose only score is null."""
    suite = failing()
    found = encode_suite(suite.results, suite.run, version="1")
    scenario = found["scenarios"][LAST]
    scenario["conversations"][TRIAL]["scores"] = {
        label: {**each, "score": None} for label, each in scenario["conversations"][TRIAL]["scores"].items()
    }
    scenario["errors"] = list(errors)
    return found


def read(found: Mapping[str, Any]) -> tuple[list[str], list[Failure], str]:
    """Return the states of the trial, its failures, and how a screen shows it."""
    page = read_document(found)
    assert isinstance(page, RunDocument)
    scenario = page.scenarios[LAST]
    trial = scenario.by_index()[TRIAL]
    required = required_of([each.label for each in scenario.expectations], scenario.expectations)
    states = [each.state(result) for each, result in zip(required, trial.results, strict=True)]
    return (
        states,
        list(trial.failures),
        conversations_text(chosen(page, trial=TRIAL, failed=True, title=scenario.title)),
    )


def test_a_score_that_is_null_is_missing_with_its_reasoning() -> None:
    states, failures, shown = read(with_null_scores())

    assert set(states) == {"missing"}
    assert failures[0].error in shown
    assert "✗" not in shown


def test_a_score_that_is_null_is_missing_for_the_failure_of_its_trial() -> None:
    states, failures, shown = read(with_null_scores({"index": TRIAL, "stage": "judge", "error": "no answer"}))

    assert set(states) == {"missing"}
    assert {each.error for each in failures} == {"no answer"}
    assert shown.endswith("! no answer")
