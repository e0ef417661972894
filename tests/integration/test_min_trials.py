"""No verdict before so many trials, through the whole engine; runs of older versions, which knew of no such number."""

from pathlib import Path
from typing import Any

import pytest

from simeval import Engine, Expectation, ProportionEvaluator, SuiteResult
from simeval.errors import DefinitionError
from tests.support.early_stopping import AT_90, SeededApp, engine, is_good, is_said, scenario

pytestmark = pytest.mark.anyio
OTHER_NUMBER = r"evaluators: \w+: min_trials was (10|not set) and is 20 \(--min-trials\)"
WRITTEN_THEN = (
    "ProportionEvaluator(significance_level=0.05, early_stopping=True, threshold=1.0, min_proportion=0.9, "
    "max_proportion=None, at_least=True)"
)


@pytest.mark.parametrize("concurrency", [1, 7, 64])
async def test_a_bad_app_is_failed_after_the_tenth_trial_and_none_is_started_once_that_is_known(
    concurrency: int,
) -> None:
    app = SeededApp(0.0)

    result = await engine(min_trials=10, concurrency=concurrency).evaluate(scenario(sample_size=100), app)

    assert (result.outcome, result.trials) == ("fail", 10)
    assert 10 <= app.started < 10 + concurrency  # while others are under way, one more may still be needed


async def test_a_requirement_that_is_settled_at_once_waits_for_the_others() -> None:
    own = ProportionEvaluator(min_proportion=0.9, min_trials=25)
    test = scenario(Expectation(scorer=is_good, evaluator=own), Expectation(scorer=is_said, evaluator=AT_90))

    result = await engine(min_trials=10).evaluate(test, SeededApp(0.0))

    assert [verdict.n for verdict in result.verdicts] == [25, 25]


@pytest.mark.parametrize(("most", "is_said"), [(200, True), (30, False)])
async def test_a_number_that_no_sample_has_is_told(most: int, is_said: bool) -> None:
    result = await engine(min_trials=most).evaluate([scenario(sample_size=30)], SeededApp(1.0))

    late = "'is_good': no verdict comes before the last trial, for min_trials is 200"
    assert any(late in note for note in result.run.notes) is is_said


class BadApp:
    """Meets nobody; at a turn it lets an engine start no more trials."""

    def __init__(self, turn: int = 0, made: Engine | None = None) -> None:
        self.turn, self.turns, self.made = turn, 0, made

    async def __call__(self, message: str, state: dict[str, Any]) -> str:
        self.turns += 1
        if self.made and self.turns == self.turn:
            self.made.stop()
        return "bad"


async def stopped_at(turn: int, store: Path, **options: Any) -> SuiteResult:
    """Run a scenario of a bad app and start no more trials from a turn of the app on."""
    made = engine(store=store, concurrency=1, **options)
    return await made.evaluate([scenario()], BadApp(turn, made))


def resumed(store: Path, **options: Any) -> Engine:
    """Return an engine that goes on with the last run; what it is set to is that of a new run."""
    return engine(**{"store": store, "resume": "last", "min_trials": 10, **options})


async def test_a_run_of_an_older_version_goes_on_by_the_design_it_was_begun_with(tmp_path: Path) -> None:
    cut = await stopped_at(3, tmp_path / "runs.db", min_trials=1)
    [expectation] = cut.run.definition["scenarios"][0]["then"]

    result = await resumed(tmp_path / "runs.db").evaluate([scenario()], BadApp())

    assert expectation["evaluators"] == [WRITTEN_THEN]
    assert (result.run.run_id, result.run.definition) == (cut.run.run_id, cut.run.definition)
    assert (result[0].outcome, result[0].trials) == ("fail", 5)


async def test_a_run_goes_on_by_its_own_number_and_by_no_other(tmp_path: Path) -> None:
    cut = await stopped_at(3, tmp_path / "runs.db", min_trials=10)

    with pytest.raises(DefinitionError, match=OTHER_NUMBER):
        await resumed(tmp_path / "runs.db", min_trials=20).evaluate([scenario()], BadApp())
    result = await resumed(tmp_path / "runs.db").evaluate([scenario()], BadApp())

    assert result.run.run_id == cut.run.run_id
    assert (result[0].outcome, result[0].trials) == ("fail", 10)


async def test_an_older_run_is_not_gone_on_with_by_another_number_unless_that_is_accepted(tmp_path: Path) -> None:
    cut = await stopped_at(3, tmp_path / "runs.db", min_trials=1)

    with pytest.raises(DefinitionError, match=OTHER_NUMBER):
        await resumed(tmp_path / "runs.db", min_trials=20).evaluate([scenario()], BadApp())
    taken_over = resumed(tmp_path / "runs.db", min_trials=20, accept_changes=True)
    result = await taken_over.evaluate([scenario()], BadApp())

    assert result.run.run_id != cut.run.run_id
    assert result[0].trials == 20


async def test_what_a_run_that_was_stopped_before_has_proves_nothing(tmp_path: Path) -> None:
    cut = await stopped_at(6, tmp_path / "runs.db", min_trials=10)

    [verdict] = cut[0].verdicts
    assert (verdict.outcome, verdict.reason, verdict.n) == ("inconclusive", "run_stopped", 6)
    assert (verdict.p_value_fail, verdict.confidence_interval) == (1.0, (0.0, 1.0))
