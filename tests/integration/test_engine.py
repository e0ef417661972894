"""The engine with the embedded models: what it promises, from a scenario to a result."""

from collections import Counter
from typing import Any

import pytest

from simeval import (
    Expectation,
    QuantileEvaluator,
    RatingAverageEvaluator,
    RatingProportionEvaluator,
    ScenarioResult,
    SuiteResult,
    WritingStyleAxes,
    WritingStyleConfig,
)
from simeval.errors import DefinitionError
from simeval.scorers import metrics
from tests.support.suites import SUCCESS, Engine, good_app, scenario

pytestmark = pytest.mark.anyio


async def test_the_example_of_the_readme_gives_a_result() -> None:
    result = await Engine(judge_model="offline/judge", seed=1).evaluate(scenario(), good_app)

    assert isinstance(result, ScenarioResult)
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
        assert "at least 29 are needed" in result.verdicts[0].why
        assert not any("at least 29" in note for note in result.run.notes)  # it is told once

    async def test_max_turns_ends_a_conversation(self) -> None:
        when = " ".join(f"The user asks for number {number}." for number in range(9))
        result = await Engine(seed=1).evaluate(scenario(when=when, max_turns=2), good_app)

        assert {len(c.responses) for c in result.conversations} == {2}
        assert {c.ended for c in result.conversations} == {"turn_limit"}

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
