"""Runs that end with the first scenario that decides them, and the order in which scenarios get their trials."""

import shutil
from datetime import date
from itertools import count, product
from pathlib import Path
from statistics import fmean
from typing import Any

import anyio
import pytest

from simeval import Expectation, ProportionEvaluator, ScenarioTest, scorer
from simeval.core.trial import Quarantine
from simeval.errors import DefinitionError
from simeval.results.suite import SuiteResult
from tests.support.early_stopping import AT_90, SeededApp, engine, is_good, scenario, trial_seeds

pytestmark = pytest.mark.anyio
BAD = (3, 8, 13, 18)


class ScriptedApp:
    """Answers each scenario's trials as its script says, and counts the conversations."""

    def __init__(self, suite: list[ScenarioTest], scripts: dict[str, list[bool]], **options: Any) -> None:
        self.engine, self.started = engine(**options), 0
        self._answers = {
            str(seed): good
            for each in suite
            for seed, good in zip(trial_seeds(self.engine, each), scripts[each.title], strict=True)
        }

    async def __call__(self, message: str, state: dict[str, Any]) -> str:
        self.started += 1
        return "good" if self._answers[message] else "bad"


async def run_of_20(*, seed: int, concurrency: int, **options: Any) -> tuple[int, SuiteResult]:
    """Run 16 apps at 99% and 4 at 80%, with a bar of 90%; return the conversations and the result."""
    good, bad = SeededApp(0.99), SeededApp(0.80)
    suite = [scenario(title=f"s{number}") for number in range(20)]
    made = engine(seed=seed, concurrency=concurrency, min_trials=10, stop=None, **options)
    of_bad = {draw for number in BAD for draw in trial_seeds(made, suite[number])}

    async def either(message: str, state: dict[str, Any]) -> str:
        return await (bad if int(message) in of_bad else good)(message, state)

    result = await made.evaluate(suite, either)
    return good.started + bad.started, result


async def test_a_suite_of_20_with_the_suspects_first_takes_40_conversations_on_average(tmp_path: Path) -> None:
    before = tmp_path / "before.db"
    plain, _ = await run_of_20(seed=1, concurrency=16, store=before)
    in_rounds = [await run_of_20(seed=seed, concurrency=16, fail_fast=True) for seed in (2, 3, 5)]
    by_history = []
    for seed in range(2, 6):
        store = shutil.copy(before, tmp_path / f"{seed}.db")
        options: dict[str, Any] = {"store": store, "fail_fast": True, "order": "history"}
        by_history += [await run_of_20(seed=seed, concurrency=1, **options)]

    assert {result.outcome for _, result in in_rounds + by_history} <= {"fail", "inconclusive"}
    assert fmean(taken for taken, _ in by_history) <= 40
    assert fmean(taken for taken, _ in in_rounds) <= plain / 2


async def test_a_scenario_is_concluded_on_as_in_a_run_to_the_end_or_not_at_all() -> None:
    for seed in (1, 2):
        _, whole = await run_of_20(seed=seed, concurrency=16)
        _, ended = await run_of_20(seed=seed, concurrency=16, fail_fast=True)

        for alone, cut in zip(whole, ended, strict=True):
            if cut.verdicts[0].reason == "suite_settled":
                assert (cut.outcome, cut.verdicts[0].chart and cut.verdicts[0].chart.met) == (
                    "inconclusive",
                    alone.verdicts[0].chart and alone.verdicts[0].chart.met[: cut.trials],
                )
            else:
                assert (cut.outcome, cut.trials) == (alone.outcome, alone.trials)
        assert whole.passed == ended.passed


async def test_the_chance_of_a_wrong_pass_over_all_sequences_is_no_larger_than_without() -> None:
    at_bar = ProportionEvaluator(min_proportion=0.5, min_trials=5)
    suite = [
        scenario(Expectation(scorer=is_good, evaluator=at_bar), title=title, sample_size=6) for title in ("a", "b")
    ]
    passes = {True: 0, False: 0}
    for outcomes in product((True, False), repeat=6):
        for fail_fast in passes:
            scripts = {"a": list(outcomes), "b": [True, False] * 3}
            app = ScriptedApp(suite, scripts, stop=None, fail_fast=fail_fast, concurrency=4)
            result = await app.engine.evaluate(suite, app)
            passes[fail_fast] += result[0].passed

    assert passes[True] <= passes[False] == 2  # five good ones of five: 2 of 64 sequences
    assert passes[False] / 64 <= 0.05


async def test_a_run_in_which_all_pass_is_the_same_with_fail_fast() -> None:
    suite = [scenario(title=title) for title in ("a", "b")]

    plain, fast = [await engine(fail_fast=fast).evaluate(suite, SeededApp(1.0)) for fast in (False, True)]

    assert fast.passed
    assert [each.verdicts for each in fast] == [each.verdicts for each in plain]


async def test_those_that_were_not_decided_say_so_and_the_run_is_complete() -> None:
    suite = [scenario(title="broken"), scenario(title="later")]
    scripts = {"broken": [False] * 100, "later": [True] * 100}
    app = ScriptedApp(suite, scripts, stop=None, fail_fast=True, order="file", concurrency=1, min_trials=10)

    result = await app.engine.evaluate(suite, app)

    assert (result.outcome, result.run.stopped, app.started) == ("fail", "", 10)
    [verdict] = result[1].verdicts
    assert (verdict.outcome, verdict.reason, verdict.n) == ("inconclusive", "suite_settled", 0)
    assert verdict.why == "not run: the run ended because 'broken' did not pass (fail-fast)"
    assert "1 of 2 scenarios fails, 1 is not decided" in str(result)


async def test_only_what_keeps_the_suite_from_its_gate_ends_it() -> None:
    scripts = {"poor": ([True] * 8 + [False]) * 10, "good": [True] * 90}
    suite = [scenario(title=title, sample_size=90) for title in scripts]
    app = ScriptedApp(suite, scripts, fail_fast=True, gate="not_fail", order="file", stop="gate")

    result = await app.engine.evaluate(suite, app)

    assert [each.outcome for each in result] == ["inconclusive", "pass"]


async def test_a_scenario_in_quarantine_ends_no_run() -> None:
    held = ScenarioTest(
        title="held",
        given="someone",
        when="asks",
        then=Expectation(scorer=is_good, evaluator=ProportionEvaluator(min_proportion=0.9)),
        sample_size=50,
        quarantine=Quarantine("known", date(2999, 1, 1)),
    )
    suite = [held, scenario(title="good")]
    app = ScriptedApp(suite, {"held": [False] * 50, "good": [True] * 100}, fail_fast=True, order="file")

    result = await app.engine.evaluate(suite, app)

    assert [each.outcome for each in result] == ["fail", "pass"]
    assert result.passed


async def test_a_fail_fast_run_that_a_budget_cut_ends_as_one_that_was_not(tmp_path: Path) -> None:
    suite = [scenario(title="a"), scenario(title="b")]
    scripts = {"a": [True] * 100, "b": [True, False] * 50}
    options: dict[str, Any] = {"fail_fast": True, "concurrency": 1, "min_trials": 10, "stop": None}
    whole = ScriptedApp(suite, scripts, **options)
    cut = ScriptedApp(suite, scripts, **options, store=tmp_path / "runs.db", max_calls=20)
    rest = ScriptedApp(suite, scripts, **options, store=tmp_path / "runs.db", resume="last")

    expected = await whole.engine.evaluate(suite, whole)
    await cut.engine.evaluate(suite, cut)
    resumed = await rest.engine.evaluate(suite, rest)

    assert [each.verdicts for each in resumed] == [each.verdicts for each in expected]
    assert cut.started + rest.started == whole.started


async def test_a_run_goes_on_without_fail_fast_and_pays_for_the_rest_alone(tmp_path: Path) -> None:
    suite = [scenario(title="bad"), scenario(title="good")]
    scripts = {"bad": [False] * 100, "good": [True] * 100}
    options: dict[str, Any] = {"concurrency": 1, "store": tmp_path / "runs.db"}
    first = ScriptedApp(suite, scripts, **options, fail_fast=True)
    rest = ScriptedApp(suite, scripts, **options, resume="last", accept_changes=True)
    unchanged = ScriptedApp(suite, scripts, **options, resume="last")

    ended = await first.engine.evaluate(suite, first)
    with pytest.raises(DefinitionError, match="--fail-fast"):
        await unchanged.engine.evaluate(suite, unchanged)
    whole = await rest.engine.evaluate(suite, rest)

    assert [each.outcome for each in ended] == ["fail", "inconclusive"]
    assert [each.outcome for each in whole] == ["fail", "pass"]
    assert first.started + rest.started == sum(each.trials for each in whole)


async def test_one_that_has_ended_loses_nothing_of_the_others_where_it_is_resumed(tmp_path: Path) -> None:
    measured, enough = count(1), anyio.Event()

    @scorer
    async def good(output: str) -> bool:
        if next(measured) == 30:  # of the fast one: the slow one is not answered yet
            enough.set()
        return output == "good"

    then = Expectation(scorer=good, evaluator=AT_90)
    suite = [scenario(then, title="slow"), scenario(then, title="fast")]
    scripts = {"slow": [False] * 100, "fast": [True] * 100}
    options: dict[str, Any] = {"fail_fast": True, "concurrency": 90, "min_trials": 5, "store": tmp_path / "runs.db"}
    known = ScriptedApp(suite, scripts, **options)
    of_slow = {str(seed) for seed in trial_seeds(known.engine, suite[0])}

    async def app(message: str, state: dict[str, Any]) -> str:
        if message in of_slow:
            await enough.wait()
        return await known(message, state)

    ended, started = await known.engine.evaluate(suite, app), known.started
    again = await engine(**options, resume="last").evaluate(suite, app)

    assert ended[1].trials >= 20
    assert (again[0].trials, again[0].verdicts) == (ended[0].trials, ended[0].verdicts)
    assert again[1].trials >= ended[1].trials  # what had come too late to be concluded on is known by now
    assert again[1].outcome in (ended[1].outcome, "pass")  # and may be enough for a pass
    assert known.started == started


async def test_a_file_s_order_holds_each_scenario_to_its_end() -> None:
    suite = [scenario(title=title, sample_size=50) for title in ("a", "b")]
    order: list[str] = []
    made = engine(order="file", concurrency=1)
    of_a = {str(seed) for seed in trial_seeds(made, suite[0])}

    async def app(message: str, state: dict[str, Any]) -> str:
        order.append("a" if message in of_a else "b")
        return "good"

    await made.evaluate(suite, app)

    assert order == sorted(order)
    assert {"a", "b"} == set(order)


async def test_history_needs_a_store_with_runs() -> None:
    with pytest.raises(DefinitionError, match="this needs a database"):
        await engine(order="history").evaluate(scenario(), SeededApp(1.0))
