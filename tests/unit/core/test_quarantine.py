"""Until which day a quarantine holds, and what that makes of a whole suite."""

from dataclasses import replace
from datetime import date, timedelta

import pytest

from simeval.core.trial import Quarantine, Score
from simeval.errors import DefinitionError
from simeval.evaluators.scores import SuccessRateEvaluator
from simeval.results.suite import SuiteResult
from tests.support.records import NOON, RUN, result

HELD = Quarantine(reason="#81", until=date(2026, 3, 10))


@pytest.mark.parametrize(("day", "holds"), [(9, True), (10, False), (11, False)])
def test_it_holds_until_the_day_before(day: int, holds: bool) -> None:
    assert HELD.holds(date(2026, 3, day)) is holds


@pytest.mark.parametrize("reason", ["", "  ", 81])
def test_it_needs_a_reason(reason: str) -> None:
    with pytest.raises(DefinitionError, match="say why"):
        Quarantine(reason=reason, until=date(2026, 3, 10))


@pytest.mark.parametrize(("days", "outcome"), [(1, "inconclusive"), (0, "fail")])
def test_a_suite_of_which_all_is_in_quarantine_is_inconclusive(days: int, outcome: str) -> None:
    rule = SuccessRateEvaluator(min_proportion=0.9).with_defaults(
        significance_level=0.05, early_stopping=False, min_trials=1
    )
    failed = result(("helps", [rule], [Score(value=1.0)] * 30))
    held = replace(failed, quarantine=Quarantine(reason="#81", until=NOON.date() + timedelta(days=days)))

    assert failed.outcome == "fail"
    assert SuiteResult((held,), RUN).outcome == outcome
