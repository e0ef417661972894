"""The sentence of the guarantee is made of what was done: an app exactly at the bar, and how often it is passed."""

from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

from simeval import Engine, Expectation, ProportionEvaluator
from simeval.analysis.merging import read_ended
from simeval.results.guarantee import NO_RATE
from simeval.results.html.sentences import error_rates
from simeval.results.junit import junit_xml
from simeval.results.suite import SuiteResult, encode_suite
from simeval.store.opening import open_database
from simeval.store.stored_rows import answers_of
from simeval.testing import user_reply
from tests.support.at_the_bar import QUESTION, TRIALS, at_the_bar, erring_user, is_good, run, suite, wrong

pytestmark = pytest.mark.anyio

MOST_WRONG = 9  # of 60 that are each wrong with a chance of 5%: more in one of 1,500 such tests
PROMISED = "an app below a bar passes it with a chance of at most 5%."


async def test_a_run_that_is_as_it_was_planned_promises_its_level_and_keeps_it() -> None:
    result = await run(at_the_bar(1), suite())

    passed, promised = wrong(result)
    assert passed == promised <= MOST_WRONG


async def test_where_conversations_are_held_again_for_a_fault_that_depends_on_the_app_nothing_is_promised() -> None:
    result = await run(at_the_bar(2), suite(), by=erring_user, on_user_fault="retry", seed=3)

    passed, promised = wrong(result)
    assert passed > MOST_WRONG >= promised
    assert result.guarantee.startswith(NO_RATE)
    assert "--on-user-fault retry" in result.guarantee


async def test_where_no_conversation_was_held_again_the_level_holds_under_retry_too() -> None:
    result = await run(lambda message: "good: F1001 comes", suite(1), on_user_fault="retry")

    assert result.guarantee == PROMISED


async def test_where_faults_of_users_only_count_nothing_is_promised() -> None:
    def erring(request: Any) -> Mapping[str, Any]:
        is_first = not request.history
        errs = not is_first and len(request.history) == 2 and Random(request.seed).random() < 0.3
        return user_reply(QUESTION if is_first else "..." if errs else "", goes_on=is_first or errs)

    result = await run(lambda message: "good: F1001 comes", suite(1), by=erring, on_user_fault="count", seed=1)

    assert result.passed
    assert result.guarantee.startswith(NO_RATE)
    assert "--on-user-fault count" in result.guarantee


async def test_where_crashes_are_left_out_nothing_is_promised_of_an_app_that_crashes() -> None:
    result = await run(at_the_bar(4, crashes=True), suite(), on_app_error="exclude")

    passed, promised = wrong(result)
    assert passed > MOST_WRONG >= promised
    assert "left out (--on-app-error exclude)" in result.guarantee


async def test_where_trials_are_taken_over_into_a_larger_sample_nothing_is_promised(tmp_path: Path) -> None:
    store = {"store": tmp_path / "store.db"}
    app = at_the_bar(5)
    first = await run(app, suite(20), **store)

    again = await run(app, suite(20, 2 * TRIALS), **store, resume=first.run.run_id, accept_changes=True)

    assert wrong(again)[1] == 0
    if any(each.passed for each in again):
        assert again.guarantee.startswith(NO_RATE)
        assert f"taken over from run {first.run.run_id}" in again.guarantee
        assert "sample_size was 20 and is 40" in again.guarantee
    last = await run(app, suite(20, 2 * TRIALS), **store, resume=again.run.run_id)
    assert last.guarantee == again.guarantee


@pytest.mark.parametrize("early_stopping", [True, False])
async def test_answers_of_a_run_that_its_data_ended_promise_nothing_when_they_are_scored(
    tmp_path: Path, early_stopping: bool
) -> None:
    store: dict[str, Any] = {"store": tmp_path / "store.db"}
    [result] = await run(lambda message: "good", suite(1), **store, early_stopping=early_stopping, min_trials=5)
    database = open_database(store["store"])
    then = Expectation(scorer=is_good, evaluator=ProportionEvaluator(min_proportion=0.7))

    again = Engine(**store, display="none")
    scored = await again.experiment(answers_of(database, result.run.run_id).first(14), then=[then])

    assert result.passed
    assert scored.outcome == "pass"
    assert scored.guarantee.startswith(NO_RATE) is early_stopping
    assert ("ended before its last trial" in scored.guarantee) is early_stopping
    database.close()


async def test_a_run_after_two_that_did_not_pass_says_what_three_give(tmp_path: Path) -> None:
    answers = ["bad"]

    def app(message: str) -> str:
        return answers[0]

    for seed in (1, 2):
        assert not (await run(app, suite(1), store=tmp_path / "store.db", seed=seed)).passed
    answers[0] = "good"

    third = await run(app, suite(1), store=tmp_path / "store.db", seed=3)
    fourth = await run(app, suite(1), store=tmp_path / "store.db", seed=4)

    assert third.guarantee == (
        "'scenario 0' did not pass in the 2 runs before this one: an unchanged app below a bar passes it in at least "
        "one of 3 such runs with a chance of at most 14.3%."
    )
    assert fourth.guarantee == PROMISED


async def test_an_app_at_the_bar_passes_one_of_three_runs_as_often_as_is_said(tmp_path: Path) -> None:
    app, passed, missed_last = at_the_bar(7), set[str](), set[str]()
    for seed in (1, 2, 3):
        result = await run(app, suite(), store=tmp_path / "store.db", seed=seed)
        for each in result:
            said = SuiteResult((each,), each.run).guarantee
            assert not each.passed or ("at most 5%" in said) == (each.title not in missed_last)
        missed_last = {each.title for each in result if not each.passed}
        passed |= {each.title for each in result if each.passed}

    assert len(passed) <= 17  # of 60 with a chance of 14.3% each: more in one of 1,000 such tests


async def test_a_scenario_that_asks_for_something_else_now_begins_anew(tmp_path: Path) -> None:
    await run(lambda message: "bad", suite(1), store=tmp_path / "store.db")

    lower = await run(lambda message: "good", suite(1, bar=0.7), store=tmp_path / "store.db")

    assert lower.guarantee == PROMISED


async def test_trials_that_are_held_again_because_the_app_failed_promise_nothing(tmp_path: Path) -> None:
    crashes = [True]

    def app(message: str) -> str:
        if crashes and crashes.pop():
            raise RuntimeError("the app fell over")
        return "good"

    options: dict[str, Any] = {"store": tmp_path / "store.db", "on_app_error": "stop", "concurrency": 1}
    with pytest.raises(Exception, match="the run stopped"):
        await run(app, suite(1, 60), **options)
    result = await run(app, suite(1, 60), **options, resume="last")

    assert result.passed
    assert result.guarantee.startswith(NO_RATE)
    assert "held again (--on-app-error stop)" in result.guarantee


async def test_one_text_is_in_every_report_and_in_the_store(tmp_path: Path) -> None:
    result = await run(at_the_bar(2), suite(20), by=erring_user, on_user_fault="retry", seed=3, store=tmp_path / "s.db")
    said = result.guarantee
    database = open_database(str(tmp_path / "s.db"), must_exist=True)
    stored = read_ended(database, result.run.run_id).result
    database.close()

    assert said.startswith(NO_RATE)
    assert stored.guarantee == said
    assert encode_suite(result.results, result.run, version="1")["guarantee"] == said
    assert said in " ".join(str(result).split())
    assert said in " ".join(result.to_markdown().replace("\\", "").split())
    assert f'name="guarantee" value="{said}"' in junit_xml(result.results, result.run)
    assert not any("at most 5%" in line for line in error_rates(result.document().verdicts, said))
