"""The reports of marked tests: the worst first, and another sentence for what is open."""

from pathlib import Path

from simeval.core.trial import Score
from simeval.evaluators.scores import SuccessRateEvaluator
from simeval.results.document import RunDocument
from simeval.results.suite import SuiteResult, with_shares
from simeval.testing.marked import MarkedTests
from tests.support.records import RUN, rated, result

TESTS = MarkedTests.of(Path(), {"samples": None, "seed": None, "store": None, "gate": None})


def run() -> RunDocument:
    missed = [Score(value=1, reasoning=f"rule {'ab'[place % 2]} is broken") for place in range(30)]
    fails = with_shares(result(("obeys", [SuccessRateEvaluator(min_proportion=0.9)], missed), title="Fails"))
    return SuiteResult((rated(*[9] * 30, title="Passes"), rated(9, title="Is open"), fails), RUN).document()


def test_what_failed_is_reported_first_then_what_is_open() -> None:
    found = list(TESTS.reports(run()))
    lines = [text for name, text in TESTS.properties(run()) if name == "simeval"]

    assert [each.name.partition(":")[0] for each in found] == ["Fails", "Is open", "Passes"]
    assert [each.partition(":")[0] for each in lines] == ["Fails", "Is open", "Passes"]


def test_what_is_open_has_another_sentence_and_what_failed_its_kinds_of_misses() -> None:
    fails, is_open, _ = TESTS.reports(run())

    assert is_open.text.startswith("neither a pass nor a fail is proven: it works in 1 of 1 conversations")
    assert "30 misses of 2 kinds" in fails.text
