"""A run held against an app, through the whole engine: both are asked in each trial, and the other's are a run, too."""

from pathlib import Path
from typing import Any

import pytest

from simeval import Expectation, MeanEvaluator, SuiteResult
from simeval.analysis import against
from simeval.engine.suite_run import other_id
from simeval.errors import DefinitionError
from simeval.results.encoding import encode_document
from simeval.store.database import Database
from simeval.store.runs import Runs
from tests.integration.test_against import SUITE, Worse, baseline, ends
from tests.support.early_stopping import SeededApp, engine, is_good, scenario

pytestmark = pytest.mark.anyio


def document(store: Path, name: str) -> dict[str, Any]:
    database = Database(store)
    try:
        return encode_document(Runs(database).document(Runs(database).find(name)))
    finally:
        database.close()


def runs(store: Path) -> list[str]:
    """Return the apps of the runs in a store, the newest first."""
    database = Database(store)
    try:
        return [each.app for each in Runs(database).recent()]
    finally:
        database.close()


def other_of(result: SuiteResult) -> str:
    """Return the id of the run that keeps the other side."""
    [note] = [note for note in result.run.notes if "was asked in the same trials" in note]
    return note.split(" run ")[1].split()[0]


def named(name: str, app: Any) -> Any:
    async def asked(message: str, state: dict[str, Any]) -> Any:
        return await app(message, state)

    asked.__module__, asked.__qualname__ = "app", name
    return asked


@pytest.mark.parametrize("concurrency", [1, 64])
@pytest.mark.parametrize("loss", [0.0, 0.3])
async def test_it_concludes_as_against_a_stored_run_of_that_app(concurrency: int, loss: float) -> None:
    stored = await engine().evaluate(against(SUITE, await baseline()), Worse(0.9, loss))
    old, new = SeededApp(0.9), Worse(0.9, loss)

    result = await engine(concurrency=concurrency).evaluate(against(SUITE, old), new)

    assert ends(result) == ends(stored)
    assert [each.verdicts[0].estimate for each in result] == [each.verdicts[0].estimate for each in stored]
    assert old.started >= sum(each.trials for each in result)
    assert old.started - new.started <= concurrency


async def test_the_other_side_is_a_run_that_further_ones_can_be_held_against(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    held = against(SUITE, named("old", SeededApp(0.9)))
    result = await engine(store=store).evaluate(held, named("new", SeededApp(0.9)))

    other = document(store, other_of(result))
    again = await engine().evaluate(against(SUITE, other), SeededApp(0.9))

    assert runs(store) == ["app:new", "app:old"]
    assert (other["app"], other["seed"], other["stopped"]) == ("app:old", 3, "")
    assert [each["trials"] for each in other["scenarios"]] == [each.trials for each in result] == [75] * 3
    assert {each.verdicts[0].against for each in again} == {other["run_id"]}
    assert "stopped early on its data" in " ".join(again.run.notes)


@pytest.mark.parametrize("turn", [1, 20, 90])
async def test_a_resumed_run_pays_for_no_pair_twice_and_concludes_the_same(tmp_path: Path, turn: int) -> None:
    store = tmp_path / "runs.db"
    whole = await engine().evaluate(against(SUITE, named("old", SeededApp(0.9))), named("new", Worse(0.9, 0.1)))
    old, new = SeededApp(0.9), Worse(0.9, 0.1)
    made = engine(store=store)

    async def stopping(message: str, state: dict[str, Any]) -> str:
        if new.started == turn:
            made.stop()
        return await new(message, state)

    stopped = await made.evaluate(against(SUITE, named("old", old)), named("new", stopping))
    resumed = await engine(store=store, resume="last").evaluate(against(SUITE, named("old", old)), named("new", new))

    assert stopped.run.stopped
    assert resumed.run.run_id == stopped.run.run_id
    assert [each.verdicts for each in resumed] == [each.verdicts for each in whole]
    assert runs(store) == ["app:new", "app:old"]
    assert document(store, other_of(resumed))["stopped"] == ""
    assert old.started <= sum(each.trials + len(each.extras) for each in resumed) + 60


async def test_a_pair_that_the_run_was_cut_off_in_is_missing_on_both_sides(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    made, new = engine(store=store, concurrency=1), SeededApp(0.9)

    async def cut(message: str, state: dict[str, Any]) -> str:
        if new.started == 30:
            made.end()
        return await new(message, state)

    suite = [scenario(title="s0")]
    await made.evaluate(against(suite, named("old", SeededApp(0.9))), named("new", cut))
    [resumed] = await engine(store=store, resume="last").evaluate(
        against(suite, named("old", SeededApp(0.9))), named("new", SeededApp(0.9))
    )

    other = document(store, other_of(SuiteResult((resumed,), resumed.run)))
    assert resumed.verdicts[0].missing == 1
    assert resumed.verdicts[0].estimate == 0
    assert [each["trials"] for each in other["scenarios"]] == [resumed.trials]


async def stopped_at(turn: int, store: Path) -> SuiteResult:
    """Return a run of one scenario against an app that was stopped in a turn."""
    made, new = engine(store=store, concurrency=1), SeededApp(0.9)

    async def stopping(message: str, state: dict[str, Any]) -> str:
        if new.started == turn:
            made.stop()
        return await new(message, state)

    held = against([scenario(title="s0")], named("old", SeededApp(0.9)))
    return await made.evaluate(held, named("new", stopping))


async def test_the_other_side_is_not_gone_on_with_alone(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    stopped = await stopped_at(30, store)

    alone = engine(store=store, resume=other_id(stopped.run.run_id))
    with pytest.raises(DefinitionError, match=f"other side of run {stopped.run.run_id}.*--resume {stopped.run.run_id}"):
        await alone.evaluate([scenario(title="s0")], named("old", SeededApp(0.9)))


async def test_with_another_margin_what_the_other_side_said_is_taken_over_and_kept(tmp_path: Path) -> None:
    store, old = tmp_path / "runs.db", SeededApp(0.9)
    await stopped_at(30, store)

    again = engine(store=store, resume="last", accept_changes=True, concurrency=1)
    held = against([scenario(title="s0")], named("old", old), margin=0.1)
    result = await again.evaluate(held, named("new", SeededApp(0.9)))

    database = Database(store)
    kept = Runs(database).load(other_of(result)).held
    database.close()
    assert len(kept) == result[0].trials
    assert old.started < result[0].trials


async def test_a_comparison_by_betting_goes_on_with_more_pairs_and_asks_for_none_again(tmp_path: Path) -> None:
    store, old, new = tmp_path / "runs.db", SeededApp(0.9), SeededApp(0.9)
    options: dict[str, Any] = {"store": store, "early_stopping": "anytime", "concurrency": 1}

    def suite(size: int) -> Any:
        return against([scenario(title="s0", sample_size=size)], named("old", old))

    [short] = await engine(**options).evaluate(suite(40), named("new", new))
    more = engine(**options, resume="last", accept_changes=True)
    [longer] = await more.evaluate(suite(200), named("new", new))
    asked = old.started
    [whole] = await engine(early_stopping="anytime").evaluate(suite(200), named("new", SeededApp(0.9)))

    assert short.verdicts[0].inconclusive
    assert longer.passed
    assert longer.verdicts == whole.verdicts
    assert new.started == asked == longer.trials


async def test_both_sides_are_in_the_forecast_the_budget_and_the_usage() -> None:
    alone = await engine(max_calls=100, concurrency=1).evaluate(against(SUITE, await baseline()), SeededApp(0.9))
    both = await engine(max_calls=100, concurrency=1).evaluate(against(SUITE, SeededApp(0.9)), SeededApp(0.9))

    trials = [sum(each.trials for each in result) for result in (alone, both)]
    assert 0 < trials[1] <= trials[0] / 2
    assert both.run.usage["user"].calls <= 100
    assert "max_calls of 100 is reached" in both.run.stopped


async def test_a_crash_of_the_other_app_is_a_gain() -> None:
    answers = iter(["hello"])

    async def crashing(message: str, state: dict[str, Any]) -> str:
        if (answer := next(answers, None)) is None:
            raise RuntimeError("down")
        return answer

    [result] = await engine().evaluate(against([scenario()], crashing), SeededApp(0.9))

    assert result.passed
    assert result.verdicts[0].estimate is not None
    assert result.verdicts[0].estimate > 0.8


async def test_what_cannot_be_asked_together_is_refused_before_an_app_is_asked(tmp_path: Path) -> None:
    old, new = SeededApp(0.9), SeededApp(0.9)
    mean = scenario(Expectation(scorer=is_good, evaluator=MeanEvaluator(at_least=0.5, bounds=(0, 1))))

    with pytest.raises(DefinitionError, match="against an app: shard: found '1/2'; hold it against a stored run"):
        await engine(shard="1/2").evaluate(against(SUITE, old), new)
    with pytest.raises(DefinitionError, match="against an app: executor: found 'ray'; hold it against a stored run"):
        await engine(executor="ray", store=tmp_path / "runs.db").evaluate(against(SUITE, old), new)
    with pytest.raises(DefinitionError, match="one for all"):
        await engine().evaluate([*against(SUITE[:1], old), *SUITE[1:]], new)
    with pytest.raises(DefinitionError, match="no requirement has a yes or no"):
        against([mean], old)
    assert old.started == new.started == 0


async def test_nothing_is_concluded_against_an_app_that_never_answered(tmp_path: Path) -> None:
    async def down(message: str, state: dict[str, Any]) -> str:
        raise ConnectionError("nobody is there")

    result = await engine(store=tmp_path / "runs.db").evaluate(against(SUITE, named("old", down)), SeededApp(0.9))

    assert result.outcome == "error"
    assert {each.verdicts[0].why.partition(": ")[0] for each in result} == {
        "the app app:old never answered in 45 conversations"
    }
    with pytest.raises(DefinitionError, match="the app app:old never answered"):
        against(SUITE, document(tmp_path / "runs.db", other_of(result)))
