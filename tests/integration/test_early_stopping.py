"""Early stopping through the whole engine: which trials are started, which are counted, which are ended."""

import json
from random import Random
from threading import Lock
from time import sleep
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from simeval import (
    Engine,
    Expectation,
    MeanEvaluator,
    ProportionEvaluator,
    ScenarioTest,
    SuccessRateEvaluator,
    scorer,
)
from simeval.core.settings import WritingStyleConfig
from simeval.core.trial import Judgement
from simeval.engine.plans.scenario_plan import make_plans
from simeval.models.protocol.model import Request
from simeval.results.encoding import encode_suite
from simeval.scorers.base import as_scorer
from simeval.store.journal import MemoryJournal
from tests.support.doubles import Acting, no_caller

pytestmark = pytest.mark.anyio
AT_90 = ProportionEvaluator(min_proportion=0.9)


async def _speak_seed(request: Request) -> str:
    return json.dumps({"message": str(request.seed), "continue": False})


def engine(**options: Any) -> Engine:
    """Return an engine whose user says the trial's seed and leaves."""
    defaults: dict[str, Any] = {"seed": 3, "store": None, "writing_style_config": WritingStyleConfig(enabled=False)}
    return Engine("offline/judge", Acting(_speak_seed), **{**defaults, **options})


class SeededApp:
    """Meets its user with a fixed chance that depends on the trial alone; a failure takes longer."""

    def __init__(self, quality: float, *, slow: float = 0.004) -> None:
        self.quality, self.slow, self.started = quality, slow, 0

    async def __call__(self, message: str, state: dict[str, Any]) -> str:
        self.started += 1
        good = Random(message).random() < self.quality
        await anyio.sleep(self.slow / 4 if good else self.slow)
        return "good" if good else "bad"


@scorer
def is_good(output: str) -> bool:
    return output == "good"


@scorer
def is_said(output: str) -> bool:
    return bool(output)


def scenario(*expectations: Expectation, title: str = "s", sample_size: int = 100) -> ScenarioTest:
    return ScenarioTest(
        title=title,
        given="someone",
        when="asks",
        then=list(expectations) or Expectation(scorer=is_good, evaluator=AT_90),
        sample_size=sample_size,
    )


def trial_seeds(made: Engine, test: ScenarioTest) -> list[int]:
    """Return the seeds of a scenario's trials, in the order dealt."""
    seed = made.settings.seed
    assert seed is not None
    [plan] = make_plans([test], settings=made.settings, seed=seed, judge_scorer=as_scorer, callers=no_caller)
    return [plan.trial(index).seed for index in range(plan.sample_size)]


@pytest.mark.parametrize("concurrency", [1, 20, 64])
async def test_no_more_trials_are_started_than_a_pass_can_need(concurrency: int) -> None:
    app = SeededApp(1.0)

    result = await engine(concurrency=concurrency).evaluate(scenario(), app)

    assert result.passed
    assert (result.trials, app.started, result.extras) == (45, 45, ())


async def test_verdicts_are_the_same_at_any_concurrency() -> None:
    found = []
    for concurrency in (1, 7, 64):
        suite = [scenario(title=f"s{number}") for number in range(6)]
        result = await engine(concurrency=concurrency).evaluate(suite, SeededApp(0.93))
        found.append([(each.verdicts[0], each.trials) for each in result])

    assert found[0] == found[1] == found[2]
    assert len({trials for _, trials in found[0]}) > 1


async def test_a_suite_of_good_and_bad_apps_needs_half_of_its_conversations() -> None:
    app = SeededApp(0.99)
    bad = SeededApp(0.80)

    async def either(message: str, state: dict[str, Any]) -> str:
        return await (bad if int(message) in bad_seeds else app)(message, state)

    suite = [scenario(title=f"{'bad' if number % 5 == 0 else 'good'} {number}") for number in range(20)]
    made = engine(concurrency=20)
    bad_seeds = {seed for each in suite if each.title.startswith("bad") for seed in trial_seeds(made, each)}

    result = await made.evaluate(suite, either)

    counted = sum(each.trials for each in result)
    assert counted <= 1_000
    assert app.started + bad.started <= 1.1 * counted
    assert not any(each.passed for each in result if each.title.startswith("bad"))


async def test_what_is_under_way_when_the_verdict_is_settled_is_ended() -> None:
    app = SeededApp(0.0, slow=0.01)
    journal = MemoryJournal()

    async def later_is_slow(message: str, state: dict[str, Any]) -> str:
        number = app.started
        answer = await app(message, state)
        if number >= 10:
            await anyio.sleep(30)
        return answer

    with anyio.fail_after(10):
        result = await engine(concurrency=40, store=journal).evaluate(scenario(), later_is_slow)

    assert (result.outcome, result.trials) == ("fail", 5)
    under_way = len(result.extras)
    assert [extra.trial.index for extra in result.extras] == list(range(5, 5 + under_way))
    assert 35 <= under_way <= 44
    assert any(extra.conversation.ended == "settled" for extra in result.extras)
    assert all(extra.conversation.ended in ("settled", "user") for extra in result.extras)
    kept = [entry for entry in journal.entries if isinstance(entry, Judgement)]
    assert len(kept) == 5 + under_way
    encoded = encode_suite([result], result.run, version="0")["scenarios"][0]
    assert sum(encoded["extras"].values()) == under_way


async def test_a_plain_function_is_never_run_twice_at_once_by_an_end() -> None:
    at_once, lock, most = 0, Lock(), 0

    def app(message: str, state: dict[str, Any]) -> str:
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        sleep(0.002)
        with lock:
            at_once -= 1
        return "bad"

    suite = [scenario(title=f"s{number}") for number in range(8)]
    await engine(concurrency=30, app_concurrency=2).evaluate(suite, app)

    assert most == 2


async def test_each_requirement_stops_at_its_own_trial() -> None:
    test = scenario(
        Expectation(
            scorer=is_said,
            evaluator=[AT_90, ProportionEvaluator(min_proportion=0.5), ProportionEvaluator(min_proportion=0.8)],
        )
    )

    result = await engine().evaluate(test, SeededApp(1.0))

    assert [verdict.n for verdict in result.verdicts] == [45, 11, 26]
    assert result.trials == 45


async def test_a_requirement_that_is_not_met_ends_its_scenario_at_a_gate() -> None:
    test = scenario(
        Expectation(scorer=is_good, evaluator=AT_90, label="good"),
        Expectation(scorer=is_said, evaluator=AT_90, label="said"),
    )

    at_gate = await engine().evaluate(test, SeededApp(0.5))
    to_verdicts = await engine(stop="verdict").evaluate(test, SeededApp(0.5))

    assert [each.verdicts[0].reason for each in at_gate.expectations] == ["proven_below", "scenario_settled"]
    assert [each.outcome for each in to_verdicts.expectations] == ["fail", "pass"]
    assert at_gate.trials < to_verdicts.trials == 45


async def test_a_test_of_a_fixed_sample_keeps_its_scenario_going() -> None:
    test = scenario(
        Expectation(scorer=is_good, evaluator=AT_90, label="good"),
        Expectation(
            scorer=is_said, evaluator=ProportionEvaluator(min_proportion=0.9, early_stopping=False), label="said"
        ),
    )

    result = await engine().evaluate(test, SeededApp(0.5))

    assert result.trials == 100
    assert [each.verdicts[0].n for each in result.expectations][1] == 100
    assert result.expectations[0].verdicts[0].n < 30


async def test_early_stopping_can_be_turned_off_for_a_run_and_on_for_one_requirement() -> None:
    both = [AT_90, ProportionEvaluator(min_proportion=0.9, early_stopping=True)]

    result = await engine(early_stopping=False).evaluate(
        scenario(Expectation(scorer=is_good, evaluator=both)), SeededApp(1.0)
    )

    assert [verdict.n for verdict in result.verdicts] == [100, 45]


async def test_a_suite_that_only_wants_no_proven_fail_looks_for_one() -> None:
    result = await engine(gate="not_fail").evaluate([scenario(sample_size=20)], SeededApp(0.97))

    assert result.outcome == "inconclusive"
    assert not result.passed
    assert result.meets("not_fail")
    assert not result.meets("pass")


async def test_a_judge_that_cannot_be_had_is_an_error_and_not_a_verdict() -> None:
    @scorer
    def broken(output: str) -> bool:
        raise ValueError("no measure")

    result = await engine().evaluate(scenario(Expectation(scorer=broken, evaluator=AT_90)), SeededApp(1.0))

    assert (result.outcome, result.verdicts[0].reason) == ("error", "errors")
    assert result.trials < 15


async def test_a_mean_stops_early_by_betting() -> None:
    test = scenario(Expectation(scorer=is_good, evaluator=MeanEvaluator(at_least=0.6)))

    result = await engine().evaluate(test, SeededApp(1.0))

    assert result.passed
    assert result.trials < 60
    assert result.extras == ()


async def test_ratings_of_the_judge_stop_early_too() -> None:
    test = scenario(
        Expectation(expected_behavior="Bot tracks orders", evaluator=SuccessRateEvaluator(min_proportion=0.9))
    )

    async def app(message: str, state: dict[str, Any]) -> str:
        return "I can track orders."

    result = await engine().evaluate(test, app)

    assert (result.outcome, result.trials) == ("pass", 45)
    assert result.run.usage["judge"].calls == 45


async def test_the_acceptance_table_is_told_before_the_first_call(caplog: pytest.LogCaptureFixture) -> None:
    told: list[bool] = []

    async def app(message: str, state: dict[str, Any]) -> str:
        told.append("0 misses in 45" in caplog.text)
        return "good"

    with caplog.at_level("INFO", logger="simeval"):
        await engine().evaluate(scenario(), app)

    assert all(told)
    assert told


@pytest.mark.parametrize("concurrency", [1, 40])
async def test_a_trial_that_may_still_be_needed_is_never_ended(concurrency: int) -> None:
    async def fails_fast(message: str, state: dict[str, Any]) -> str:
        good = Random(message).random() < 0.85
        await anyio.sleep(0.02 if good else 0.0)
        return "good" if good else "bad"

    result = await engine(concurrency=concurrency, stop="verdict").evaluate(scenario(sample_size=40), fails_fast)

    assert result.verdicts[0].missing == 0
    assert result.extras == ()
    assert result.trials == 40


@pytest.mark.parametrize("seed", range(6))
async def test_crashes_that_are_left_out_can_neither_hang_a_run_nor_prolong_it(seed: int) -> None:
    async def crashes(message: str, state: dict[str, Any]) -> str:
        await anyio.lowlevel.checkpoint()
        if Random(message).random() < 0.3:
            raise ValueError("no")
        return "good"

    test = scenario(
        Expectation(scorer=is_good, evaluator=MeanEvaluator(at_least=0.6), label="mean"),
        Expectation(scorer=is_said, evaluator=ProportionEvaluator(min_proportion=0.7), label="share"),
        sample_size=25,
    )

    with anyio.fail_after(10):
        made = engine(concurrency=8, on_app_error="exclude", max_error_rate=1.0, seed=seed)
        result = await made.evaluate(test, crashes)

    assert all(judgement.trial.index < 25 for judgement in (*result.judgements, *result.extras))
    assert any(verdict.left_out for verdict in result.verdicts)


async def test_too_many_crashes_that_are_left_out_are_an_error_whatever_the_others_prove() -> None:
    async def crashes(message: str, state: dict[str, Any]) -> str:
        if Random(message).random() < 0.3:
            raise ValueError("no")
        return "good"

    result = await engine(on_app_error="exclude").evaluate(scenario(), crashes)

    assert result.outcome == "error"
    assert "left out" in str(result)


def broken_after(trials: int) -> Any:
    calls = 0

    @scorer
    async def breaks(output: str) -> bool:
        nonlocal calls
        calls += 1
        if calls > trials:
            raise ValueError("no measure")
        return True

    return breaks


async def test_what_comes_after_a_verdict_does_not_turn_it_into_an_error() -> None:
    both = [
        ProportionEvaluator(min_proportion=0.5),
        ProportionEvaluator(min_proportion=0.9, early_stopping=False),
    ]

    result = await engine(concurrency=1).evaluate(
        scenario(Expectation(scorer=broken_after(15), evaluator=both)), SeededApp(1.0)
    )

    assert [verdict.outcome for verdict in result.verdicts] == ["pass", "error"]


async def test_a_settled_expectation_is_measured_no_more() -> None:
    measured = 0

    @scorer
    async def counted(output: str) -> bool:
        nonlocal measured
        measured += 1
        return True

    test = scenario(
        Expectation(scorer=counted, evaluator=ProportionEvaluator(min_proportion=0.5), label="soon"),
        Expectation(scorer=is_said, evaluator=AT_90, label="later"),
    )

    result = await engine(concurrency=1).evaluate(test, SeededApp(1.0))

    assert (result.trials, measured, result.verdicts[0].n) == (45, 11, 11)
    assert result.failures == ()
    assert len(result.expectations[0].scores) == 11
    assert result.worst(result.expectations[0]) is None


async def test_calls_that_are_ended_are_counted() -> None:
    asked = 0

    async def slow_later(request: Request) -> str:
        nonlocal asked
        asked += 1
        if asked > 5:
            await anyio.sleep(30)
        return json.dumps({"message": str(request.seed), "continue": False})

    made = Engine("offline/judge", Acting(slow_later), seed=3, concurrency=40, store=None)
    with anyio.fail_after(10):
        result = await made.evaluate(scenario(), SeededApp(0.0, slow=0.001))

    usage = result.run.usage["user"]
    assert usage.calls == 5
    assert usage.calls + usage.ended_calls >= asked > 5
    assert "ended early" in str(result)


async def test_a_crash_that_comes_after_the_verdict_does_not_stop_the_run() -> None:
    made = engine(concurrency=10, on_app_error="stop")
    needed = {str(seed) for seed in trial_seeds(made, scenario())[:5]}

    def app(message: str, state: dict[str, Any]) -> str:
        if message in needed:
            return "bad"
        sleep(0.05)
        raise ValueError("too late to matter")

    result = await made.evaluate(scenario(), app)

    assert (result.outcome, result.trials) == ("fail", 5)


async def test_a_joint_claim_tests_each_requirement_at_its_share_of_the_level() -> None:
    suite = [scenario(title=f"s{number}") for number in range(4)]

    result = await engine(joint=True).evaluate(suite, SeededApp(1.0))

    assert {verdict.significance_level for each in result for verdict in each.verdicts} == {0.0125}
    assert "passes any of these is at most 5% (each of the 4 requirements" in result.guarantee
