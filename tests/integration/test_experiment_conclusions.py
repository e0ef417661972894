"""What is concluded on a dataset."""

import json
from typing import Any

import pytest

from simeval import (
    Conversation,
    MeanEvaluator,
    Message,
    PassHatKEvaluator,
    ProportionEvaluator,
    SuccessRateEvaluator,
    scorer,
)
from simeval.core.trial import Failure, Score
from simeval.datasets.dataset import Example, check_dataset
from simeval.errors import DefinitionError, RunStopped
from simeval.results.experiment import ExperimentResult
from simeval.suites.scenario import Expectation
from simeval.testing import ScriptedModel
from tests.support.doubles import LEVELS
from tests.support.experiments import MOSTLY, double, engine, length, logged, right, sums

pytestmark = pytest.mark.anyio


class TestConclusions:
    async def test_any_metric_is_concluded_on_in_one_line_and_measured_once(self) -> None:
        calls: list[str] = []

        @scorer
        def counted(output: str, answer: str) -> dict[str, object]:
            calls.append(output)
            return {"right": output == answer, "length": len(output)}

        result = await engine().evaluate(
            sums(30),
            double,
            scorers=[counted],
            then=[
                Expectation(scorer=counted, score="right", evaluator=MOSTLY),
                Expectation(scorer="counted", score="length", evaluator=MeanEvaluator(at_most=5, bounds=(0, 10))),
            ],
        )

        assert result.passed
        assert [verdict.outcome for verdict in result.verdicts] == ["pass", "pass"]
        assert result.verdicts[0].p_value == pytest.approx(0.7**30)
        assert len(calls) == 30

    async def test_of_answers_in_memory_those_that_miss_a_requirement_keep_their_reasons(self) -> None:
        @scorer
        def less(n: int) -> dict[str, object]:
            return {"size": 5 - n, "reason": f"it has {n}"}

        large = Expectation(scorer=less, score="size", evaluator=ProportionEvaluator(threshold=4, min_proportion=0.5))

        result = await engine(concurrency=1).evaluate(sums(4), double, then=large)

        found = result.expectations[0].results
        reasons = [each.details.get("reason") for each in found if isinstance(each, Score)]
        assert reasons == [None, None, "it has 2", "it has 3"]

    async def test_the_kinds_of_misses_are_those_of_all_and_not_of_the_worst_alone(self) -> None:
        @scorer
        def spoken(output: str, n: int) -> dict[str, object]:
            return {"said": False, "reasoning": f"it lacks {'today' if n % 4 else 'tomorrow'}"}

        said = Expectation(scorer=spoken, score="said", evaluator=MOSTLY)

        result = await engine().evaluate(sums(40), double, then=said)

        kinds = {each.said: len(each.trials) for each in result.expectations[0].kinds}
        assert kinds == {"it lacks today": 30, "it lacks tomorrow": 10}

    async def test_an_app_that_fails_has_not_met_what_is_required(self) -> None:
        def crashes(n: int) -> str:
            if n % 2:
                raise ValueError("odd")
            return double(n)

        result = await engine().evaluate(
            sums(40), crashes, scorers=[right, length], then=Expectation(scorer=right, evaluator=MOSTLY)
        )

        assert result.outcome == "fail"
        assert result.verdicts[0].estimate == 0.5
        assert result.metric("right").estimate.value == 0.5
        assert result.metric("right").crashed == 20
        assert result.metric("length").estimate.n == 20
        assert "ValueError: odd" in str(result)

    async def test_an_app_that_fails_ends_the_run_where_that_is_asked_for(self) -> None:
        def crashes(n: int) -> str:
            raise ValueError("no")

        with pytest.raises(RunStopped) as stopped:
            await engine(on_app_error="stop").evaluate(sums(3), crashes, scorers=[length])
        assert isinstance(stopped.value.partial, ExperimentResult)

    async def test_failures_of_the_app_are_left_out_where_that_is_asked_for(self) -> None:
        def crashes(n: int) -> str:
            if n < 10:
                raise ValueError("early")
            return double(n)

        result = await engine(on_app_error="exclude").evaluate(
            sums(40), crashes, scorers=[right], then=Expectation(scorer=right, evaluator=MOSTLY)
        )

        assert result.passed
        assert (result.verdicts[0].n, result.verdicts[0].left_out) == (30, 10)
        assert result.metric("right").estimate.n == 30

    async def test_too_many_lost_scores_are_an_error_and_no_verdict(self) -> None:
        @scorer
        def broken(n: int) -> bool:
            if n < 10:
                raise RuntimeError("lost")
            return True

        result = await engine().evaluate(sums(40), double, then=Expectation(scorer=broken, evaluator=MOSTLY))

        assert result.outcome == "error"
        assert result.verdicts[0].p_value is None

    async def test_repetitions_of_an_example_are_one_value_and_never_counted_as_independent(self) -> None:
        tries: dict[int, int] = {}

        async def sometimes(n: int) -> str:
            tries[n] = tries.get(n, 0) + 1
            return double(n) if tries[n] < 3 or n < 10 else "wrong"

        result = await engine().evaluate(
            sums(20), sometimes, scorers=[right], then=Expectation(scorer=right, evaluator=MOSTLY), repetitions=3
        )

        assert result.answers == 60
        assert result.metric("right").estimate.n == 20
        assert result.metric("right").estimate.value == pytest.approx(50 / 60)
        assert result.verdicts[0].n == 20
        assert result.verdicts[0].estimate == 0.5
        assert "an example has 3 answers, which all have to meet it" in " ".join(str(result).split())

    async def test_an_expected_behaviour_is_judged_on_recorded_conversations(self) -> None:
        dataset = logged(*[["what can you do?", "I can book flights and hotels"]] * 12)
        expected = Expectation(
            expected_behavior="The assistant says that it can book flights and hotels",
            evaluator=SuccessRateEvaluator(min_proportion=0.5),
        )

        result = await engine().evaluate(dataset, then=expected)

        assert result.passed
        assert "judge offline/judge: a lexical heuristic" in result.run.notes[0]

    async def test_too_few_examples_are_said_before_the_run(self) -> None:
        result = await engine().evaluate(sums(3), double, then=Expectation(scorer=right, evaluator=MOSTLY))

        assert result.outcome == "inconclusive"
        assert "cannot be proven on 3 examples" in result.run.notes[0]

    async def test_a_scorer_that_is_not_listed_is_refused_by_name(self) -> None:
        with pytest.raises(DefinitionError, match="name one of the scorers: 'length'"):
            await engine().evaluate(
                sums(3), double, scorers=[length], then=Expectation(scorer="width", evaluator=MOSTLY)
            )

    async def test_nothing_to_measure_is_refused(self) -> None:
        with pytest.raises(DefinitionError, match="found no scorer"):
            await engine().evaluate(sums(3), double)

    async def test_what_requires_nothing_has_not_passed_and_says_so(self) -> None:
        result = await engine().evaluate(sums(3), double, scorers=[length])

        with pytest.raises(AssertionError, match=r"^nothing was required, so nothing has passed: give then=\["):
            result.assert_passed()
        assert repr(result).endswith(": measured, 3 answers>")

    async def test_a_repr_does_not_say_measured_of_nothing(self) -> None:
        @scorer
        def fails(output: object) -> float:
            raise ValueError("no")

        result = await engine().evaluate(sums(1), double, scorers=[fails])

        assert repr(result).endswith(": nothing was measured, 1 answer>")

    async def test_columns_do_not_change_what_a_behaviour_is_judged_by(self) -> None:
        rows = [
            Example(inputs={"n": n, "when": f"moment {n}", "given": "x"}, conversation=Conversation()) for n in range(3)
        ]
        model = ScriptedModel([json.dumps({"levels": LEVELS}), '{"reasoning": "r", "score": 8}'])
        bar = SuccessRateEvaluator(min_proportion=0.5)

        result = await engine(judge_model=model, rubric_folder=None).evaluate(
            check_dataset(lambda: rows, name="d"), then=Expectation(expected_behavior="be good", evaluator=bar)
        )

        assert result.run.usage["rubric"].calls == 1

    async def test_an_example_in_which_no_user_speaks_is_missing_and_not_answered_by_nothing(self) -> None:
        silent = [Example(conversation=Conversation(messages=(Message(role="assistant", content="hello"),)))]

        async def bot(message: str, state: Any) -> str:
            return "hi"

        result = await engine().evaluate(check_dataset(lambda: silent, name="d"), bot, scorers=[length])

        assert result.metric("length").missing == 1
        assert list(result.failures) == ["engine: no message of a user to put to the app"]

    @pytest.mark.parametrize("then", [5, "right", [5]])
    async def test_what_is_no_expectation_is_refused(self, then: Any) -> None:
        with pytest.raises(DefinitionError, match="give Expectations"):
            await engine().evaluate(sums(3), double, scorers=[right], then=then)


async def test_scorers_of_a_scenario_are_refused_beside_it() -> None:
    with pytest.raises(DefinitionError, match="give it with a Dataset"):
        await engine().evaluate([], double, scorers=[length])  # type: ignore[call-overload]


async def test_results_of_a_concluded_scorer_keep_their_places() -> None:
    @scorer
    def picky(n: int) -> bool:
        if n == 1:
            raise RuntimeError("x")
        return n > 1

    result = await engine().evaluate(sums(4), double, then=Expectation(scorer=picky, evaluator=MOSTLY))

    kinds = [type(found) for found in result.expectations[0].results]
    assert kinds == [Score, Failure, Score, Score]


async def test_a_dataset_is_evaluated_as_an_experiment() -> None:
    dataset = sums(5)

    one = await engine().evaluate(dataset, double, scorers=[right], repetitions=2, metadata={"version": 3})
    other = await engine().experiment(dataset, double, scorers=[right], repetitions=2, metadata={"version": 3})

    assert one.run.definition == other.run.definition
    assert [metric.estimate for metric in one.metrics] == [metric.estimate for metric in other.metrics]


@pytest.mark.parametrize("measured", [{"ok": True}, {"ok": False}])
async def test_yes_or_no_is_no_rating(measured: dict[str, bool]) -> None:
    @scorer
    def named(output: object) -> dict[str, bool]:
        return measured

    bar = SuccessRateEvaluator(min_proportion=0.5)
    result = await engine().evaluate(sums(20), double, then=Expectation(scorer=named, score="ok", evaluator=bar))

    said = (
        f"it returned {measured['ok']}, and SuccessRateEvaluator is for ratings from 1 to 10; use a ProportionEvaluator"
    )
    assert result.outcome == "error"
    assert said in str(result.expectations[0].results[0])


async def test_a_bar_that_no_yes_meets_is_told_and_no_fail() -> None:
    @scorer
    def named(output: object) -> dict[str, object]:
        return {"ok": True}

    bar = PassHatKEvaluator(k=2, at_least=0.5)
    result = await engine().evaluate(sums(20), double, then=Expectation(scorer=named, score="ok", evaluator=bar))

    assert result.outcome == "error"
    assert "it returned True, and every score from 0 to 1 misses it; put the bar" in str(
        result.expectations[0].results[0]
    )
