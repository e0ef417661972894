"""The engine with the embedded models: what it promises, from a scenario to a result."""

import asyncio
import json
import math
import sys
import threading
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

import simeval
from simeval import (
    AppResponse,
    EvaluationResult,
    Expectation,
    MeanEvaluator,
    ProportionEvaluator,
    QuantileEvaluator,
    RatingAverageEvaluator,
    RatingProportionEvaluator,
    ScenarioTest,
    Score,
    Scorer,
    SuccessRateEvaluator,
    SuiteResult,
    WritingStyleAxes,
    WritingStyleConfig,
    scorer,
)
from simeval.core.run_records import Heartbeat, Start
from simeval.core.trial import Failure, Judgement, TrialConversation
from simeval.errors import AppError, DefinitionError, RunStopped, StoreError
from simeval.results.suite import RunRecord
from simeval.scorers import metrics
from simeval.store.journal import JsonLinesJournal
from simeval.testing import MemoryJournal

pytestmark = pytest.mark.anyio
SUCCESS = SuccessRateEvaluator(min_proportion=0.9)
Engine = partial(simeval.Engine, early_stopping=False, store=None)  # whole samples; early stopping has tests of its own


def scenario(title: str = "Bot explains itself", **fields: Any) -> ScenarioTest:
    defaults: dict[str, Any] = {
        "given": "A new user who has not interacted with the bot before",
        "when": "The user asks what the bot can do",
        "sample_size": 30,
        "then": Expectation(expected_behavior="Bot tracks orders, starts returns", evaluator=SUCCESS),
    }
    return ScenarioTest(title=title, **{**defaults, **fields})


async def good_app(message: str, state: dict[str, Any]) -> AppResponse:
    return AppResponse("I can track orders and start returns.", state)


async def test_the_example_of_the_readme_gives_a_result() -> None:
    result = await Engine(judge_model="offline/judge", seed=1).evaluate(scenario(), good_app)

    assert isinstance(result, EvaluationResult)
    assert result.passed
    assert result.p_value == pytest.approx(0.9**30)
    assert result.average_score == 10
    assert [message.role for message in result.conversations[0].messages][:2] == ["user", "assistant"]
    assert "PASS" in str(result)


async def test_a_list_gives_a_sequence_in_the_suites_order() -> None:
    results = await Engine(seed=1).evaluate([scenario("b"), scenario("a")], good_app)

    assert isinstance(results, SuiteResult)
    assert [result.title for result in results] == ["b", "a"]
    assert len(results) == 2
    assert results[-1].title == "a"
    assert results.passed


async def test_conversations_are_simulated_once_for_all_expectations_and_evaluators() -> None:
    answered = Counter[str]()

    async def app(message: str, state: dict[str, Any]) -> str:
        answered["turns"] += 1
        return "I can track orders."

    test = scenario(
        max_turns=1,
        then=[
            Expectation(
                expected_behavior="Bot tracks orders",
                evaluator=[SUCCESS, RatingAverageEvaluator(7), RatingProportionEvaluator(9, 0.5)],
            ),
            Expectation(expected_behavior="Bot gives a joke", evaluator=SUCCESS, label="joke"),
            Expectation(scorer=metrics.turn_count, evaluator=QuantileEvaluator(at_most=3)),
        ],
    )
    result = await Engine(seed=1).evaluate(test, app)

    assert answered["turns"] == 30
    assert [[v.outcome for v in e.verdicts] for e in result.expectations] == [["pass"] * 3, ["fail"], ["pass"]]
    assert result.outcome == "fail"
    assert "joke" in str(result)


@pytest.mark.parametrize("concurrency", [1, 7, 64])
async def test_results_are_the_same_at_any_concurrency(concurrency: int) -> None:
    tests = [scenario(f"s{number}", sample_size=12) for number in range(3)]
    alone = await Engine(seed=5, concurrency=3).evaluate(tests, "offline/app")

    result = await Engine(seed=5, concurrency=concurrency).evaluate(tests, "offline/app")

    assert [r.verdicts for r in result] == [r.verdicts for r in alone]
    for mine, theirs in zip(result, alone, strict=True):
        assert [c.as_chat() for c in mine.conversations] == [c.as_chat() for c in theirs.conversations]


async def test_a_model_as_the_app_answers_each_trial_anew() -> None:
    plain = WritingStyleConfig(enabled=False)
    result = await Engine(seed=1, writing_style_config=plain).evaluate(scenario(max_turns=1), "offline/app")

    assert len({conversation.output for conversation in result.conversations}) > 1


async def test_seeds_change_the_conversations() -> None:
    texts = {
        seed: [c.as_chat() for c in (await Engine(seed=seed).evaluate(scenario(), "offline/app")).conversations]
        for seed in (1, 2)
    }

    assert texts[1] != texts[2]


async def test_a_suite_that_grows_keeps_the_trials_it_had() -> None:
    before = await Engine(seed=5).evaluate([scenario("kept")], "offline/app")

    after = await Engine(seed=5).evaluate([scenario("new"), scenario("kept")], "offline/app")

    assert [c.as_chat() for c in before[0].conversations] == [c.as_chat() for c in after[1].conversations]


async def test_trials_are_concluded_in_the_order_dealt_whatever_order_they_finish_in() -> None:
    async def app(message: str, state: dict[str, Any]) -> str:
        await anyio.sleep(0.02 * (hash(message) % 5))
        return "ok"

    result = await Engine(seed=1).evaluate(scenario(), app)

    assert [judgement.trial.index for judgement in result.judgements] == list(range(30))


async def test_trials_in_flight_are_bounded_and_the_bound_is_reached() -> None:
    under_way: set[int] = set()
    peak = 0

    async def app(message: str, state: dict[str, Any]) -> AppResponse:
        nonlocal peak
        state.setdefault("me", id(state))
        under_way.add(state["me"])
        peak = max(peak, len(under_way))
        await anyio.sleep(0.005)
        under_way.discard(state["me"])
        return AppResponse("ok", state)

    await Engine(seed=1, concurrency=7).evaluate([scenario("a"), scenario("b")], app)

    assert peak == 7


async def test_two_evaluations_of_one_engine_share_its_limits() -> None:
    engine = Engine(seed=1, concurrency=5)
    under_way = peak = 0

    async def app(message: str, state: dict[str, Any]) -> str:
        nonlocal under_way, peak
        under_way += 1
        peak = max(peak, under_way)
        await anyio.sleep(0.005)
        under_way -= 1
        return "ok"

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(engine.evaluate, scenario("a"), app)
        tasks.start_soon(engine.evaluate, scenario("b"), app)

    assert peak == 5


async def test_the_apps_own_limit_holds() -> None:
    under_way = peak = 0

    async def app(message: str, state: dict[str, Any]) -> str:
        nonlocal under_way, peak
        under_way += 1
        peak = max(peak, under_way)
        await anyio.sleep(0.002)
        under_way -= 1
        return "ok"

    await Engine(seed=1, concurrency=20, app_concurrency=3).evaluate(scenario(), app)

    assert peak == 3


async def test_scenarios_are_dealt_in_rounds() -> None:
    order: list[str] = []

    async def app(messages: list[dict[str, str]], state: dict[str, Any]) -> str:
        order.append(messages[0]["content"])
        return "ok"

    tests = [
        scenario(
            name,
            when=name,
            max_turns=1,
            sample_size=3,
            then=Expectation(scorer=metrics.turn_count, evaluator=QuantileEvaluator(at_most=3)),
        )
        for name in ("x", "y")
    ]
    plain = WritingStyleConfig(enabled=False)
    await Engine(seed=1, concurrency=1, writing_style_config=plain).evaluate(tests, app)

    assert order == ["X", "Y"] * 3


class TestHandlers:
    @pytest.mark.parametrize("form", ["text", "pair", "response"])
    async def test_a_handler_may_return(self, form: str) -> None:
        seen: list[Any] = []

        async def app(message: str, state: Any) -> Any:
            seen.append(state)
            new = {"turns": state.get("turns", 0) + 1}
            return {"text": "ok", "pair": ("ok", new), "response": AppResponse("ok", new)}[form]

        when = "The user asks for one. The user asks for two."
        result = await Engine(seed=1).evaluate(scenario(when=when, sample_size=1), app)

        assert result.conversations[0].responses[0].content == "ok"
        assert seen[:2] == ([{}, {}] if form == "text" else [{}, {"turns": 1}])

    async def test_a_plain_function_runs_in_a_thread(self) -> None:
        threads: set[int] = set()

        def app(message: str, state: Any) -> str:
            threads.add(threading.get_ident())
            return "ok"

        await Engine(seed=1).evaluate(scenario(), app)

        assert threads
        assert threading.get_ident() not in threads

    async def test_a_handler_that_names_messages_gets_the_history(self) -> None:
        seen: list[list[str]] = []

        async def app(messages: list[dict[str, str]], state: Any) -> str:
            seen.append([message["role"] for message in messages])
            return "ok"

        when = "The user asks for one. The user asks for two."
        await Engine(seed=1).evaluate(scenario(when=when, sample_size=1), app)

        assert seen[:2] == [["user"], ["user", "assistant", "user"]]

    async def test_a_handler_object_and_a_handler_without_state_are_taken(self) -> None:
        class App:
            async def __call__(self, message: str) -> str:
                return f"I track orders, start returns: {message}"

        result = await Engine(seed=1).evaluate(scenario(), App())

        assert result.passed

    @pytest.mark.parametrize("handler", [None, 3, lambda: "x", lambda message, state, config: "x", str])
    async def test_what_is_no_handler_is_refused_before_the_run(self, handler: Any) -> None:
        with pytest.raises(DefinitionError, match="app handler"):
            await Engine().evaluate(scenario(), handler)

    async def test_tool_calls_stay_in_the_transcript(self) -> None:
        async def app(message: str, state: Any) -> AppResponse:
            return AppResponse("done", state, tool_calls=[{"name": "find_order", "arguments": {"id": 1}}])

        result = await Engine(seed=1).evaluate(scenario(sample_size=1), app)

        assert result.conversations[0].responses[0].tool_calls[0]["name"] == "find_order"

    async def test_the_latency_is_the_apps(self) -> None:
        async def app(message: str, state: Any) -> str:
            await anyio.sleep(0.02)
            return "ok"

        latency = Expectation(scorer=metrics.response_latency, evaluator=QuantileEvaluator(at_most=1.0))
        result = await Engine(seed=1).evaluate(scenario(then=latency), app)

        assert all(0.019 <= value < 0.5 for value in result.expectations[0].scores)


class TestAppErrors:
    @staticmethod
    def failing(kind: str) -> Any:
        turns = Counter[str]()

        async def app(message: str, state: Any) -> Any:
            turns["all"] += 1
            if turns["all"] % 10:
                return "I can track orders and start returns."
            match kind:
                case "raise":
                    raise KeyError("order")
                case "hang":
                    await anyio.sleep(60)
                case "type":
                    return 42
                case _:
                    raise ExceptionGroup("several", [ValueError("inner")])
            return None

        return app

    @pytest.mark.parametrize(
        ("kind", "said"), [("raise", "KeyError"), ("hang", "0.1 seconds"), ("type", "int"), ("group", "inner")]
    )
    async def test_an_app_error_costs_only_its_trial_and_counts_as_not_met(self, kind: str, said: str) -> None:
        engine = Engine(seed=1, app_timeout_seconds=0.1)
        result = await engine.evaluate(scenario(max_turns=1, sample_size=40), self.failing(kind))

        failures = [failure for _, failure in result.failures]
        verdict = result.verdicts[0]
        assert [failure.stage for failure in failures] == ["app"] * 4
        assert all(said in failure.error for failure in failures)
        assert len(result.expectations[0].scores) == 36
        assert (verdict.n, verdict.estimate, verdict.missing) == (40, 0.9, 0)

    async def test_an_answer_that_blocks_past_its_time_counts_as_timed_out(self) -> None:
        async def app(message: str, state: Any) -> str:
            time.sleep(0.05)  # noqa: ASYNC251  (the mistake that is shown)
            return "late"

        engine = Engine(seed=1, app_timeout_seconds=0.01)
        result = await engine.evaluate(scenario(sample_size=2, max_turns=1), app)

        assert ["without awaiting" in failure.error for _, failure in result.failures] == [True, True]

    async def test_a_metric_has_only_the_paths_it_gives(self) -> None:
        latency = Expectation(scorer=metrics.response_latency, score="p95", evaluator=QuantileEvaluator(at_most=1))

        with pytest.raises(DefinitionError, match=r"p95.*max, median"):
            await Engine().evaluate(scenario(then=latency), good_app)

    async def test_what_was_said_before_the_error_is_kept(self) -> None:
        async def app(messages: list[dict[str, str]], state: Any) -> str:
            if len(messages) > 2:
                raise RuntimeError("lost the session")
            return "Which order?"

        result = await Engine(seed=1).evaluate(scenario(when="The user asks. The user waits.", sample_size=1), app)

        assert [m.role for m in result.conversations[0].messages] == ["user", "assistant", "user"]
        assert result.conversations[0].ended == "app_error"
        assert "lost the session" in str(result)

    @pytest.mark.parametrize("kind", ["cancelled", "exit", "exit in a thread", "calls"])
    async def test_a_handler_that_leaves_in_an_unusual_way_has_failed_its_user(self, kind: str) -> None:
        async def app(message: str, state: Any) -> AppResponse:
            match kind:
                case "cancelled":
                    task = asyncio.ensure_future(asyncio.sleep(60))
                    task.cancel()
                    await task
                case "exit":
                    sys.exit(0)
            return AppResponse("I track orders, start returns.", state, tool_calls=["no mapping"])  # type: ignore[list-item]

        def plain(message: str, state: Any) -> str:
            sys.exit(0)

        result = await Engine(seed=1).evaluate(scenario(), plain if kind == "exit in a thread" else app)

        assert {failure.stage for _, failure in result.failures} == {"app"}
        assert len(result.failures) == 30
        assert all(conversation.messages for conversation in result.conversations)
        assert result.outcome == "fail"

    async def test_failures_of_a_scenario_that_passed_are_shown_too(self) -> None:
        lenient = Expectation(expected_behavior="Bot tracks orders", evaluator=SuccessRateEvaluator(min_proportion=0.5))
        result = await Engine(seed=1).evaluate(scenario(max_turns=1, then=lenient), self.failing("raise"))

        assert result.passed
        assert "3 x app: the app failed at turn 1: KeyError" in str(result)

    async def test_a_secret_that_an_app_or_a_scorer_quotes_is_masked(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SHOP_SECRET_ACCESS_KEY", "correct-horse-battery")

        async def app(message: str, state: Any) -> str:
            raise ValueError("refused: correct-horse-battery")

        journal = MemoryJournal()
        result = await Engine(seed=1, store=journal).evaluate(scenario(sample_size=5), app)

        assert "[secret]" in result.failures[0][1].error
        assert "correct-horse-battery" not in f"{result!r} {result} {journal.entries!r}"

    async def test_excluded_errors_leave_the_sample(self) -> None:
        engine = Engine(seed=1, on_app_error="exclude", max_error_rate=0.5)
        result = await engine.evaluate(scenario(max_turns=1, sample_size=40), self.failing("raise"))

        assert (result.verdicts[0].n, result.verdicts[0].estimate) == (36, 1.0)

    async def test_an_error_stops_the_run_where_that_is_asked_for(self) -> None:
        journal = MemoryJournal()
        with pytest.raises(RunStopped, match="KeyError"):
            await Engine(seed=1, on_app_error="stop", store=journal).evaluate(scenario(), self.failing("raise"))

        assert any(isinstance(entry, TrialConversation) and entry.failure for entry in journal.entries)

    async def test_a_mean_takes_a_crash_as_missing_and_not_as_the_lowest_score(self) -> None:
        mean = Expectation(
            expected_behavior="Bot tracks orders, starts returns", evaluator=MeanEvaluator(at_least=8, bounds=(1, 10))
        )
        result = await Engine(seed=1).evaluate(scenario(max_turns=1, then=mean), self.failing("raise"))

        assert result.verdicts[0].estimate == 10
        assert result.verdicts[0].missing == 3


class TestScorers:
    async def test_a_function_measures_and_any_evaluator_concludes(self) -> None:
        @scorer
        def mentions_returns(output: str) -> bool:
            return "returns" in output

        test = scenario(then=Expectation(scorer=mentions_returns, evaluator=ProportionEvaluator(min_proportion=0.9)))
        result = await Engine(seed=1).evaluate(test, good_app)

        assert result.passed
        assert result.expectations[0].label == "mentions_returns"

    async def test_a_scorer_that_raises_loses_its_own_score_only(self) -> None:
        @scorer
        async def fragile(seed: int) -> float:
            if seed % 20 == 0:
                raise ZeroDivisionError("no words")
            return 1.0

        test = scenario(
            sample_size=60,
            then=[
                Expectation(scorer=fragile, evaluator=ProportionEvaluator(min_proportion=0.5)),
                Expectation(scorer=metrics.turn_count, evaluator=QuantileEvaluator(at_most=9)),
            ],
        )
        result = await Engine(seed=3).evaluate(test, good_app)

        lost = [found for found in result.expectations[0].results if isinstance(found, Failure)]
        assert 0 < len(lost) <= 6
        assert all(failure.stage == "scorer" and "no words" in failure.error for failure in lost)
        assert len(result.expectations[1].scores) == 60
        assert result.verdicts[0].missing == len(lost)

    async def test_a_broken_scorer_is_an_error_of_its_own_and_the_others_conclude(self) -> None:
        @scorer
        def broken(output: str) -> float:
            raise ZeroDivisionError("no words")

        test = scenario(
            then=[
                Expectation(scorer=broken, evaluator=ProportionEvaluator(min_proportion=0.5)),
                Expectation(expected_behavior="Bot tracks orders", evaluator=SUCCESS),
            ],
        )
        result = await Engine(seed=3).evaluate(test, good_app)

        assert [expectation.outcome for expectation in result.expectations] == ["error", "pass"]
        assert result.outcome == "error"
        assert "broken: ZeroDivisionError: no words (test_engine.py:" in result.verdicts[0].explanation

    @pytest.mark.parametrize("value", [math.nan, "text", None, {}, {"a": 1, "b": 2}])
    async def test_what_is_no_number_is_a_failure_and_too_many_are_an_error(self, value: Any) -> None:
        @scorer
        def odd(output: str) -> Any:
            return value

        test = scenario(then=Expectation(scorer=odd, evaluator=ProportionEvaluator(min_proportion=0.9)))
        result = await Engine(seed=1).evaluate(test, good_app)

        assert result.outcome == "error"
        assert result.verdicts[0].reason == "errors"
        assert "max_error_rate" in result.verdicts[0].explanation

    async def test_a_scenario_that_can_only_be_an_error_is_not_dealt_to_its_end(self) -> None:
        turns = Counter[str]()

        async def app(message: str, state: Any) -> str:
            turns["all"] += 1
            return "ok"

        @scorer
        def broken(output: str) -> float:
            raise ValueError("always")

        test = scenario(
            max_turns=1,
            sample_size=100,
            then=Expectation(scorer=broken, evaluator=ProportionEvaluator(min_proportion=0.9)),
        )
        await Engine(seed=1, concurrency=2).evaluate(test, app)

        assert turns["all"] < 50

    async def test_a_scorer_that_gives_no_number_costs_the_others_nothing(self) -> None:
        @scorer
        def wrong(output: str) -> Score:
            return Score(value="x")  # type: ignore[arg-type]

        test = scenario(
            then=[
                Expectation(scorer=wrong, evaluator=ProportionEvaluator(min_proportion=0.9)),
                Expectation(expected_behavior="Bot tracks orders", evaluator=SUCCESS),
            ]
        )
        result = await Engine(seed=1, max_error_rate=1).evaluate(test, good_app)

        assert [expectation.outcome for expectation in result.expectations] == ["inconclusive", "pass"]

    async def test_a_scorer_that_asks_for_a_column_there_is_not_is_refused_before_the_run(self) -> None:
        @scorer
        def wants_context(output: str, context: str) -> float:
            return 1.0

        test = scenario(then=Expectation(scorer=wants_context, evaluator=ProportionEvaluator(min_proportion=0.9)))
        with pytest.raises(DefinitionError, match=r"context.*output"):
            await Engine().evaluate(test, good_app)


class TestSettings:
    async def test_a_scenarios_sample_and_level_come_before_the_engines(self) -> None:
        own = scenario("own", sample_size=12, significance_level=0.2)
        default = scenario("default", sample_size=None)
        results = await Engine(seed=1, sample_size=9, significance_level=0.1).evaluate([own, default], good_app)

        assert [result.trials for result in results] == [12, 9]
        assert [result.verdicts[0].significance_level for result in results] == [0.2, 0.1]

    async def test_a_sample_that_cannot_prove_the_bar_is_said(self) -> None:
        result = await Engine(seed=1).evaluate(scenario(sample_size=5), good_app)

        assert result.outcome == "inconclusive"
        assert result.verdicts[0].reason == "never_possible"
        assert any("at least 29" in note for note in result.run.notes)

    async def test_max_turns_ends_a_conversation(self) -> None:
        when = " ".join(f"The user asks for number {number}." for number in range(9))
        result = await Engine(seed=1).evaluate(scenario(when=when, max_turns=2), good_app)

        assert {len(c.responses) for c in result.conversations} == {2}
        assert {c.ended for c in result.conversations} == {"max_turns"}

    async def test_writing_styles_are_drawn_from_the_trials_seed_and_can_be_turned_off(self) -> None:
        axes = WritingStyleAxes(tone=["Grumpy.", "Jolly."])
        styled = await Engine(seed=1, writing_style_config=WritingStyleConfig(axes=axes)).evaluate(scenario(), good_app)
        plain = await Engine(seed=1, writing_style_config=WritingStyleConfig(enabled=False)).evaluate(
            scenario(), good_app
        )

        styles = [conversation.writing_style or {} for conversation in styled.conversations]
        assert {style["tone"] for style in styles} == {"Grumpy.", "Jolly."}
        assert set(styles[0]) == {"proficiency", "tone", "verbosity", "formality"}
        assert {conversation.writing_style for conversation in plain.conversations} == {None}

    async def test_the_embedded_models_are_named_as_what_they_are(self) -> None:
        result = await Engine().evaluate(scenario(sample_size=1), "offline/app")

        assert "heuristic" in str(result)
        assert result.run.judge_model == "offline/judge"
        assert result.run.user_model == "offline/user"

    @pytest.mark.parametrize(
        "options",
        [
            {"concurrency": 0},
            {"sample_size": 0},
            {"significance_level": 0.7},
            {"max_error_rate": 2},
            {"on_app_error": "ignore"},
            {"judge_model": "offline/nobody"},
            {"judge_model": ""},
            {"app_timeout_seconds": 0},
            {"model_concurrency": 2.5},
        ],
    )
    def test_options_that_cannot_be_used_are_refused(self, options: dict[str, Any]) -> None:
        with pytest.raises(DefinitionError) as caught:
            Engine(**options)

        assert str(next(iter(options.values()))) in str(caught.value)

    async def test_an_unknown_provider_is_refused_before_any_call(self) -> None:
        with pytest.raises(DefinitionError, match="provider"):
            await Engine("no-such-provider/model").evaluate(scenario(), good_app)

    async def test_an_empty_suite_is_refused(self) -> None:
        with pytest.raises(DefinitionError, match="no scenario"):
            await Engine().evaluate([], good_app)


class TestJournal:
    async def test_everything_is_recorded_before_it_is_counted(self) -> None:
        journal = MemoryJournal()
        await Engine(seed=1, store=journal).evaluate([scenario("a"), scenario("b")], good_app)

        kinds = Counter(type(entry).__name__ for entry in journal.entries)
        order = [(type(e), e.trial) for e in journal.entries if isinstance(e, (Start, TrialConversation, Judgement))]
        del kinds["Heartbeat"]
        assert kinds == {
            "RunRecord": 1,
            "RubricRecord": 1,
            "Start": 60,
            "TrialConversation": 60,
            "Judgement": 60,
            "SuiteResult": 1,
        }
        assert isinstance(journal.entries[0], RunRecord)
        assert [type(entry) for entry in journal.entries[-2:]] == [Heartbeat, SuiteResult]
        places = [[order.index((kind, trial)) for kind in (Start, TrialConversation, Judgement)] for _, trial in order]
        assert all(found == sorted(found) for found in places)

    async def test_a_json_lines_store_holds_every_trial(self, tmp_path: Path) -> None:
        path = tmp_path / "runs" / "journal.jsonl"
        await Engine(seed=1, store=path).evaluate(scenario(), good_app)
        await Engine(seed=2, store=path).evaluate(scenario(), good_app)

        lines = [json.loads(line) for line in path.read_text().splitlines()]
        kinds = Counter(line["type"] for line in lines if line["type"] != "usage")
        assert kinds == {"run": 4, "rubric": 2, "start": 60, "conversation": 60, "judgement": 60, "verdicts": 2}

    async def test_what_was_finished_when_a_run_stops_is_in_the_store(self, tmp_path: Path) -> None:
        path = tmp_path / "journal.jsonl"
        done = 0

        async def app(message: str, state: Any) -> str:
            nonlocal done
            done += 1
            if done > 20:
                raise AppError(1, "down")
            return "ok"

        with pytest.raises(RunStopped):
            await Engine(seed=1, store=path, on_app_error="stop", concurrency=2).evaluate(scenario(max_turns=1), app)

        kinds = Counter(json.loads(line)["type"] for line in path.read_text().splitlines())
        assert kinds["conversation"] >= 18
        assert kinds["judgement"] >= 16

    async def test_every_line_names_its_run_and_a_torn_one_swallows_no_other(self, tmp_path: Path) -> None:
        path = tmp_path / "journal.jsonl"
        await Engine(seed=1, store=path).evaluate(scenario(sample_size=2), good_app)
        whole = path.read_text()
        path.write_text(whole[:-20])
        await Engine(seed=2, store=path).evaluate(scenario(sample_size=2), good_app)

        lines = path.read_text().splitlines()
        found = [json.loads(line) for line in lines if line.endswith("}")]
        runs = [each["run_id"] for each in found if each["type"] != "usage"]
        assert len(set(runs)) == 2
        assert runs.count(runs[-1]) == 10
        assert json.loads(lines[0])["suite"][0]["title"] == "Bot explains itself"

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
    async def test_a_store_that_is_full_stops_the_run_with_one_sentence(self) -> None:
        journal = JsonLinesJournal(Path("/dev/full"))
        with pytest.raises(StoreError, match="/dev/full"):
            await Engine(store=journal).evaluate(scenario(), good_app)
        journal.close()

    async def test_a_store_that_fails_in_the_middle_ends_the_run_with_what_was_reached(self) -> None:
        class Failing(MemoryJournal):
            def append(self, run_id: str, entries: Any) -> None:
                super().append(run_id, entries)
                if len(self.entries) > 20:
                    raise StoreError("the store", problem="it is gone")

        with pytest.raises(StoreError, match="it is gone") as caught:
            await Engine(seed=1, concurrency=2, store=Failing()).evaluate(scenario(max_turns=1), good_app)

        partial = caught.value.partial
        assert 0 < partial[0].trials < 30
        assert "it is gone" in partial.run.stopped

    async def test_a_store_that_cannot_be_written_is_refused_before_the_run(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("x")

        with pytest.raises(DefinitionError, match="store"):
            await Engine(store=tmp_path / "file" / "journal.jsonl").evaluate(scenario(), good_app)


async def test_cancelling_from_outside_ends_everything_promptly() -> None:
    async def app(message: str, state: Any) -> str:
        await anyio.sleep(3600)
        return "never"

    before = anyio.get_running_tasks()
    with anyio.fail_after(5):
        with anyio.move_on_after(0.2) as scope:
            await Engine(seed=1, app_timeout_seconds=7200).evaluate([scenario("a"), scenario("b")], app)

    assert scope.cancelled_caught
    assert anyio.get_running_tasks() == before


async def test_an_engine_whose_run_was_cancelled_can_be_used_again() -> None:
    engine = Engine(seed=1, concurrency=2)

    async def stuck(message: str, state: Any) -> str:
        await anyio.sleep(3600)
        return "never"

    with anyio.move_on_after(0.1):
        await engine.evaluate(scenario(), stuck)
    with anyio.fail_after(10):
        result = await engine.evaluate(scenario(), good_app)

    assert result.passed


async def test_a_scorer_that_never_answers_is_a_failure_in_time() -> None:
    class Stuck(Scorer):
        timeout_seconds = 0.05

        async def score(self, output: str) -> float:
            await anyio.sleep(3600)
            return 1.0

    test = scenario(sample_size=3, then=Expectation(scorer=Stuck(), evaluator=ProportionEvaluator(min_proportion=0.5)))
    with anyio.fail_after(10):
        result = await Engine(seed=1).evaluate(test, good_app)

    assert "no score within 0.05 seconds" in result.verdicts[0].explanation


async def test_a_plain_scorer_does_not_hold_up_the_event_loop() -> None:
    threads: set[int] = set()

    @scorer
    def slow(output: str) -> float:
        threads.add(threading.get_ident())
        return 1.0

    await Engine(seed=1).evaluate(
        scenario(then=Expectation(scorer=slow, evaluator=ProportionEvaluator(min_proportion=0.5))), good_app
    )

    assert threading.get_ident() not in threads
