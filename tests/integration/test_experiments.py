"""Experiments: a dataset put to an app, or taken as it was recorded, measured and concluded on."""

import json
from collections.abc import Mapping, Sequence
from math import isnan, nan
from pathlib import Path
from typing import Any, ClassVar

import anyio
import pytest

from simeval import (
    AppResponse,
    Classification,
    Conversation,
    Engine,
    MeanEvaluator,
    Message,
    ProportionEvaluator,
    Scorer,
    SuccessRateEvaluator,
    scorer,
)
from simeval.core.trial import Estimate, Failure, Score, Scored
from simeval.datasets.dataset import Dataset, Example, check_dataset
from simeval.errors import DatasetChanged, DefinitionError, RunStopped
from simeval.models.protocol.replies import Reply
from simeval.results.experiment import ExperimentResult
from simeval.scorers.llm.base import ModelScorer
from simeval.store.database import Database
from simeval.store.runs import Runs
from simeval.suites.scenario import Expectation
from simeval.testing import ScriptedModel
from tests.support.doubles import LEVELS

pytestmark = pytest.mark.anyio

MOSTLY = ProportionEvaluator(threshold=1, min_proportion=0.7)


def sums(count: int = 40, **changes: Any) -> Dataset:
    examples = [
        Example(inputs={"question": f"{n} + {n}?", "n": n}, outputs={"answer": str(2 * n)}, **changes)
        for n in range(count)
    ]
    return check_dataset(lambda: examples, name="sums")


def logged(*dialogues: Sequence[str]) -> Dataset:
    """Return recorded conversations; the user speaks first."""
    roles = ("user", "assistant")
    examples = [
        Example(
            conversation=Conversation(
                messages=tuple(
                    Message(role=roles[place % 2], content=text)  # type: ignore[arg-type]
                    for place, text in enumerate(said)
                ),
                ended="recorded",
            ),
            metadata={"system": "Be brief."},
        )
        for said in dialogues
    ]
    return check_dataset(lambda: examples, name="log")


def engine(**options: Any) -> Engine:
    return Engine(**{"store": None, "seed": 7, "progress": False, **options})


@scorer
def right(output: str, answer: str) -> bool:
    return output == answer


@scorer
def length(output: str) -> int:
    return len(output)


@scorer
def as_known(output: str, reference: str) -> bool:
    return output == reference


def double(n: int) -> str:
    return str(2 * n)


def values(result: ExperimentResult, name: str) -> list[float]:
    return list(result.values[name])


class Opinion(Reply):
    good: bool
    json_schema: ClassVar[Mapping[str, Any]] = {"type": "object"}


class Good(ModelScorer):
    async def score(self, output: str) -> bool:
        return (await self.ask(Opinion, system="Judge.", user="{output}", output=output)).good


class TestTargets:
    async def test_a_function_of_columns_answers_every_example_and_values_stand_in_the_datasets_order(self) -> None:
        async def late_first(n: int) -> str:
            await anyio.sleep(0.05 if n % 2 == 0 else 0)
            return str(n)

        result = await engine().evaluate(sums(20), late_first, scorers=[scorer(lambda output: int(output), name="n")])

        assert values(result, "n") == list(range(20))
        assert result.answers == 20

    async def test_a_plain_function_runs_in_a_thread_and_may_take_all_inputs_and_the_seed(self) -> None:
        seen: list[tuple[Mapping[str, Any], int]] = []

        def answer(inputs: Mapping[str, Any], seed: int) -> str:
            seen.append((inputs, seed))
            return "x"

        await engine().evaluate(sums(3), answer, scorers=[length])

        assert sorted(inputs["n"] for inputs, _ in seen) == [0, 1, 2]
        assert len({seed for _, seed in seen}) == 3

    async def test_an_app_is_never_shown_the_reference(self) -> None:
        seen: list[set[str]] = []

        def anything(**columns: Any) -> str:
            seen.append({*columns, *columns["inputs"]})
            return "x"

        await engine().evaluate(sums(2), anything, scorers=[length])

        assert seen == [{"inputs", "seed", "question", "n"}] * 2
        with pytest.raises(DefinitionError, match="inputs of the dataset by their names"):
            await engine().evaluate(sums(2), lambda answer: answer, scorers=[length])

    async def test_an_answer_may_be_any_json_and_a_scorer_takes_a_part_of_it(self) -> None:
        def rag(question: str) -> dict[str, Any]:
            return {"answer": question.upper(), "context": ["a", "b"]}

        @scorer(column_map={"text": "output.answer", "documents": "output.context"})
        def counted(text: str, documents: list[str], output: object) -> dict[str, object]:
            return {"upper": text.isupper(), "documents": len(documents), "whole": isinstance(output, dict)}

        result = await engine().evaluate(sums(2), rag, scorers=[counted])

        assert values(result, "counted.documents") == [2, 2]
        assert values(result, "counted.whole") == [1, 1]

    async def test_an_answer_of_nothing_is_a_failure_of_the_app(self) -> None:
        result = await engine().evaluate(sums(2), lambda n: None, scorers=[length])

        assert [(metric.name, metric.estimate.n, metric.crashed) for metric in result.metrics] == [("length", 0, 2)]
        assert [text for text in result.failures if "returned NoneType" in text]

    async def test_an_app_handler_is_given_the_text_of_an_example(self) -> None:
        examples = [Example(inputs={"input": "hi"}, outputs={"output": "HI"})]
        dataset = check_dataset(lambda: examples, name="echo")

        async def shout(message: str, state: dict[str, Any]) -> AppResponse:
            return AppResponse(message.upper(), state)

        result = await engine().evaluate(dataset, shout, scorers=[as_known])

        assert dataset.kind == "llm"
        assert values(result, "as_known") == [1]

    async def test_a_handler_of_messages_gets_the_history_of_a_chat_with_its_system_prompt(self) -> None:
        chat = [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "one"},
            {"role": "assistant", "content": "1"},
            {"role": "user", "content": "two"},
        ]
        examples = [Example(inputs={"input": chat}, outputs={"output": [{"role": "assistant", "content": "2"}]})]
        heard: list[Any] = []

        async def bot(messages: list[Any], state: Any) -> str:
            heard.extend(messages)
            return "2"

        result = await engine().evaluate(
            check_dataset(lambda: examples, name="chat"),
            bot,
            scorers=[as_known],
        )

        assert heard == chat
        assert values(result, "as_known") == [1]

    async def test_a_new_version_answers_the_users_side_of_logged_conversations(self) -> None:
        dataset = logged(["one", "old 1", "two", "old 2"], ["three", "old 3"])

        async def bot(message: str, state: dict[str, int]) -> tuple[str, dict[str, int]]:
            return f"new {message} {len(state)}", {**state, message: 1}

        @scorer
        def said(conversation: Conversation) -> dict[str, object]:
            return {"turns": len(conversation.messages), "text": " / ".join(m.content for m in conversation.messages)}

        result = await engine(store=None).evaluate(dataset, bot, scorers=[said])

        assert values(result, "said.turns") == [4, 2]

    async def test_a_model_is_a_target_by_its_name(self) -> None:
        result = await engine().evaluate(logged(["hello", "x"]), "offline/app", scorers=[length])

        assert result.run.app == "offline/app"
        assert values(result, "length")[0] > 0
        assert "app offline/app" in result.run.notes[0]

    async def test_a_function_of_something_else_is_refused_with_the_columns_there_are(self) -> None:
        with pytest.raises(DefinitionError, match=r"inputs of the dataset by their names.*question, n"):
            await engine().evaluate(sums(2), lambda colour: "x", scorers=[length])

    async def test_what_was_recorded_is_measured_as_it_is(self) -> None:
        result = await engine().evaluate(logged(["hi", "hello there"], ["hm", "oh"]), scorers=[length])

        assert values(result, "length") == [11, 2]
        assert result.run.app == "what was recorded"

    async def test_without_an_app_every_example_must_hold_what_was_recorded(self) -> None:
        with pytest.raises(DefinitionError, match="hold no recorded conversation; give the app"):
            await engine().evaluate(sums(2), scorers=[length])


class TestScorers:
    async def test_one_that_raises_leaves_a_failure_in_its_own_place_and_the_others_their_values(self) -> None:
        @scorer
        def picky(n: int) -> bool:
            if n == 1:
                raise RuntimeError("not this one")
            return True

        result = await engine().evaluate(sums(3), double, scorers=[right, picky])

        assert values(result, "right") == [1, 1, 1]
        assert values(result, "picky")[0] == values(result, "picky")[2] == 1
        assert isnan(values(result, "picky")[1])
        assert result.metric("picky").missing == 1
        assert result.metric("picky").estimate.n == 2
        assert [text for text in result.failures if "picky: RuntimeError: not this one" in text]

    async def test_two_of_one_class_have_names_of_their_own(self) -> None:
        class Equals(Scorer):
            def __init__(self, text: str) -> None:
                self.text = text

            def score(self, output: str) -> bool:
                return output == self.text

        result = await engine().evaluate(sums(3), double, scorers=[Equals("0"), Equals("2")])

        assert values(result, "Equals") == [1, 0, 0]
        assert values(result, "Equals (2)") == [0, 1, 0]

    async def test_a_column_map_wins_over_a_column_of_the_parameters_name(self) -> None:
        @scorer(column_map={"question": "answer"})
        def same(output: str, question: str) -> bool:
            return output == question

        result = await engine().evaluate(sums(3), double, scorers=[same])

        assert values(result, "same") == [1, 1, 1]

    async def test_a_missing_column_is_refused_before_any_call(self) -> None:
        calls: list[int] = []

        @scorer
        def lost(output: str, colour: str) -> bool:
            return output == colour

        with pytest.raises(DefinitionError, match=r"scorer lost: .*colour.*the columns are reference, answer"):
            await engine().evaluate(sums(2), calls.append, scorers=[lost])
        assert not calls

    async def test_several_numbers_are_metrics_and_texts_are_kept_beside_them(self, tmp_path: Path) -> None:
        @scorer
        def rich(output: str) -> dict[str, object]:
            return {"deep": {"length": len(output), "short": len(output) < 2}, "why": "because"}

        store = tmp_path / "store.db"
        result = await engine(store=store).evaluate(sums(12), double, scorers=[rich])
        database = Database(store)
        [first, *_] = Runs(database).document(result.run.run_id)["answered"]
        database.close()

        assert [(metric.name, metric.kind) for metric in result.metrics] == [
            ("rich.deep.length", "mean"),
            ("rich.deep.short", "share"),
        ]
        assert first["scores"]["rich"]["details"]["why"] == "because"

    async def test_a_label_is_no_number_and_is_kept(self, tmp_path: Path) -> None:
        store = tmp_path / "store.db"
        label = scorer(lambda output: "digit", name="label")
        result = await engine(store=store).evaluate(sums(2), double, scorers=[label])
        database = Database(store)
        [first, *_] = Runs(database).document(result.run.run_id)["answered"]
        database.close()

        assert result.metrics == ()
        assert first["scores"]["label"]["details"] == {"value": "digit"}

    async def test_nan_is_missing_and_never_a_value(self) -> None:
        odd = scorer(lambda n: nan if n == 0 else 1.0, name="odd")

        result = await engine().evaluate(sums(3), double, scorers=[odd])

        assert result.metric("odd").estimate.value == 1
        assert result.metric("odd").missing == 1

    async def test_one_of_a_whole_dataset_sees_every_answer_with_its_columns(self) -> None:
        class Accuracy(Scorer):
            def score(self, output: str, answer: str) -> dict[str, object]:
                return {"correct": output == answer, "predicted": output}

            def summarize(self, scored: Sequence[Scored]) -> Mapping[str, Estimate]:
                crashed = [each for each in scored if each.failure is not None]
                good = sum(each.measured == {"correct": True, "predicted": each.columns["answer"]} for each in scored)
                assert [each.columns["answer"] for each in crashed] == ["2"]
                return {"accuracy": Estimate(value=good / len(scored), n=len(scored))}

        def crashes_once(n: int) -> str:
            if n == 1:
                raise ValueError("one")
            return double(n)

        result = await engine().evaluate(sums(4), crashes_once, scorers=[Accuracy()])

        assert result.summaries == {"Accuracy": {"accuracy": Estimate(value=0.75, n=4)}}
        assert "Accuracy: accuracy" in str(result)

    async def test_one_that_asks_a_model_asks_the_engines_judge_and_is_counted(self) -> None:
        model = ScriptedModel(['{"good": true}', "no JSON", '{"good": false}'])
        result = await engine(judge_model=model, max_calls=10, concurrency=1).evaluate(
            sums(2), double, scorers=[Good(name="good")]
        )

        assert sorted(values(result, "good")) == [0, 1]
        assert result.run.usage["scorer"].calls == model.calls == 3

    async def test_a_budget_stops_before_the_calls_of_scorers_exceed_it(self) -> None:
        model = ScriptedModel(['{"good": true}'])
        result = await engine(judge_model=model, max_calls=5).evaluate(sums(20), double, scorers=[Good()])

        assert model.calls == result.answers == 5
        assert "max_calls of 5 is reached" in result.run.stopped
        assert "15 not reached" in str(result)

    async def test_one_of_a_whole_dataset_counts_crashes_by_a_column_inside_another(self) -> None:
        rows = [Example(inputs={"n": n, "expected": {"label": "even" if n % 2 == 0 else "odd"}}) for n in range(20)]
        dataset = check_dataset(lambda: rows, name="labels")

        def crashes(n: int) -> str:
            if n % 2:
                raise ValueError("odd")
            return "even"

        labels = Classification(column_map={"reference": "expected.label"})
        counted = await engine().evaluate(dataset, crashes, scorers=[labels])
        excluded = await engine(on_app_error="exclude").evaluate(dataset, crashes, scorers=[labels])

        assert counted.summaries["Classification"]["accuracy"].value == 0.5
        assert excluded.summaries["Classification"]["accuracy"].value == 1.0

    async def test_a_summary_that_raises_costs_nothing_but_itself(self) -> None:
        class Broken(Scorer):
            def score(self, output: str) -> bool:
                return True

            def summarize(self, scored: Sequence[Scored]) -> Mapping[str, Estimate]:
                raise ZeroDivisionError("no")

        result = await engine().evaluate(sums(3), double, scorers=[Broken(), right])

        assert result.summaries == {}
        assert result.metric("right").estimate.value == 1
        assert [text for text in result.failures if "summary of Broken: ZeroDivisionError: no" in text]

    async def test_metrics_stand_in_the_order_of_the_first_answer_whichever_comes_first(self) -> None:
        async def late_first(n: int) -> str:
            await anyio.sleep(0.05 if n == 0 else 0)
            return str(n)

        two = scorer(lambda output: {"a": 1, "z": 1} if output == "0" else {"z": 1, "a": 1}, name="two")
        result = await engine().evaluate(sums(4), late_first, scorers=[two])

        assert [metric.name for metric in result.metrics] == ["two.a", "two.z"]

    async def test_what_no_answer_could_be_measured_by_is_still_shown(self) -> None:
        result = await engine().evaluate(sums(3), lambda n: 1 / 0, scorers=[right])

        assert "right" in str(result)
        assert (result.metric("right").estimate.n, result.metric("right").crashed) == (0, 3)

    async def test_the_input_is_the_message_that_was_answered(self) -> None:
        @scorer
        def asked(input: str) -> dict[str, bool]:
            return {"last": input == "two"}

        recorded = await engine().evaluate(logged(["one", "1", "two", "2"]), scorers=[asked])

        assert values(recorded, "asked.last") == [1]

    async def test_columns_are_each_trials_own(self) -> None:
        rows = [Example(inputs={"n": 1, "seen": []})]

        def grows(n: int, seen: list[int]) -> str:
            seen.append(n)
            return str(len(seen))

        kept = scorer(lambda output, seen: int(output) + len(seen), name="kept")
        result = await engine(concurrency=1).evaluate(
            check_dataset(lambda: rows, name="d"), grows, scorers=[kept], repetitions=3
        )

        assert values(result, "kept") == [1, 1, 1]

    async def test_a_scorer_that_needs_a_model_is_refused_where_there_is_only_the_embedded_judge(self) -> None:
        calls: list[int] = []

        with pytest.raises(DefinitionError, match="offline/judge, which cannot grade answers; name the engine's judge"):
            await engine().evaluate(sums(3), calls.append, scorers=[Good()])
        assert not calls


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


class TestStore:
    async def test_a_run_is_kept_with_its_dataset_and_metadata(self, tmp_path: Path) -> None:
        store = tmp_path / "store.db"
        result = await engine(store=store).evaluate(sums(5), double, scorers=[right], metadata={"branch": "main"})
        database = Database(store)
        document = Runs(database).document(result.run.run_id)
        report = Runs(database).report(result.run.run_id)
        database.close()

        assert document["dataset"]["version"] == sums(5).version
        assert document["metadata"] == {"branch": "main"}
        assert document["metrics"][0]["value"] == 1
        assert [each["turns"][-1]["content"] for each in document["answered"]] == ["0", "2", "4", "6", "8"]
        assert report == str(result)

    async def test_a_stopped_experiment_goes_on_where_it_was_and_pays_only_for_the_rest(self, tmp_path: Path) -> None:
        store, calls = tmp_path / "store.db", list[int]()
        made = engine(store=store, concurrency=1)

        async def stops(n: int) -> str:
            calls.append(n)
            if n == 4:
                made.stop("enough")
            return double(n)

        first = await made.evaluate(sums(10), stops, scorers=[right, length])
        second = await engine(store=store, resume="last").evaluate(sums(10), stops, scorers=[right, length])

        assert first.answers == 5
        assert first.run.stopped == "enough"
        assert second.run.run_id == first.run.run_id
        assert sorted(calls) == list(range(10))
        assert second.answers == 10
        assert values(second, "length") == [1, 1, 1, 1, 1, 2, 2, 2, 2, 2]

    async def test_an_answer_that_is_no_text_is_the_same_to_scorers_of_a_resumed_run(self, tmp_path: Path) -> None:
        store = tmp_path / "store.db"
        broken = scorer(lambda output: 1 / 0, name="part")
        whole = scorer(lambda output: output["n"], name="part")
        await engine(store=store).evaluate(sums(3), lambda n: {"n": n}, scorers=[broken])

        result = await engine(store=store, resume="last", accept_changes=True).evaluate(
            sums(3), lambda n: {"n": -1}, scorers=[whole]
        )

        assert values(result, "part") == [0, 1, 2]

    async def test_another_version_of_the_dataset_is_another_experiment(self, tmp_path: Path) -> None:
        store = tmp_path / "store.db"
        await engine(store=store).evaluate(sums(3), double, scorers=[right])

        with pytest.raises(DefinitionError, match="sums, version"):
            await engine(store=store, resume="last").evaluate(sums(4), double, scorers=[right])
        taken_over = await engine(store=store, resume="last", accept_changes=True).evaluate(
            sums(4), lambda n: "other", scorers=[right]
        )
        assert values(taken_over, "right") == [0, 0, 0, 0]

    async def test_secrets_reach_neither_the_store_nor_the_result(self, tmp_path: Path) -> None:
        class Secretive(Scorer):
            def __init__(self) -> None:
                self.prompt = "tok-7 is the key"

            @property
            def name(self) -> str:
                return "by tok-6"

            def score(self, output: object, ideal: str) -> dict[str, object]:
                return {"tok-1": True, "tok-2": False, "why": f"tok-3 {ideal}"}

        rows = [Example(inputs={"n": n}, outputs={"ideal": f"tok-{n}8"}, example_id=f"id tok-{n}") for n in range(2)]
        store = tmp_path / "store.db"
        result = await engine(store=store, secret_patterns=[r"tok-\d+"]).evaluate(
            check_dataset(lambda: rows, name="set tok-4"),
            lambda n: {"said": f"tok-{n}99"},
            scorers=[Secretive()],
            then=Expectation(scorer=length, label="label tok-9", evaluator=MeanEvaluator(at_least=1, bounds=(0, 99))),
            metadata={"key": "tok-5"},
        )
        database = Database(store)
        document = str(Runs(database).document(result.run.run_id))
        database.close()

        assert [metric.estimate.value for metric in result.metrics] == [1, 0]  # two, though their names are masked
        assert "tok-" not in document + str(result) + repr(result)
        assert b"tok-" not in store.read_bytes()

    async def test_answers_that_were_masked_are_counted_in_a_note(self) -> None:
        result = await engine(secret_patterns=["hello"]).evaluate(
            logged(["a", "hello"], ["b", "bye"]), scorers=[length]
        )

        assert "secrets were masked in 1 answers" in result.run.notes[-1]

    async def test_scores_are_taken_over_by_their_scorer_also_where_a_conclusion_has_its_name(
        self, tmp_path: Path
    ) -> None:
        store = tmp_path / "store.db"
        calls: list[int] = []

        @scorer
        def counted(n: int) -> dict[str, float]:
            calls.append(n)
            return {"value": n}

        then = Expectation(scorer=counted, label="counted", evaluator=MeanEvaluator(at_least=1, bounds=(0, 99)))
        first = await engine(store=store).evaluate(sums(6), double, scorers=[counted], then=then)
        again = await engine(store=store, resume="last", accept_changes=True, max_error_rate=0.5).evaluate(
            sums(6), double, scorers=[counted], then=then
        )

        assert len(calls) == 6
        assert again.verdicts[0].estimate == first.verdicts[0].estimate == 2.5

    async def test_a_run_can_be_stopped_from_a_plain_handlers_thread(self) -> None:
        made = engine(concurrency=1)

        def stops(n: int) -> str:
            if n == 4:
                made.stop("enough")
            return double(n)

        with anyio.fail_after(20):
            result = await made.evaluate(sums(200), stops, scorers=[right])

        assert 5 <= result.answers < 200

    async def test_a_dataset_that_has_become_shorter_stops_the_run_and_what_was_measured_is_there(self) -> None:
        rows = [Example(inputs={"n": n}, outputs={"answer": str(2 * n)}) for n in range(40)]
        dataset = check_dataset(lambda: iter(rows), name="d")
        del rows[30:]

        with pytest.raises(DatasetChanged, match="it has only 30 examples now, and had 40") as stopped:
            await engine().evaluate(dataset, double, scorers=[right])
        assert isinstance(stopped.value.partial, ExperimentResult)


async def test_scorers_of_a_scenario_are_refused_beside_it() -> None:
    with pytest.raises(DefinitionError, match="give them with a Dataset"):
        await engine().evaluate([], double, scorers=[length])  # type: ignore[call-overload]


async def test_a_dataset_is_evaluated_as_an_experiment() -> None:
    dataset = sums(5)

    one = await engine().evaluate(dataset, double, scorers=[right], repetitions=2, metadata={"version": 3})
    other = await engine().experiment(dataset, double, scorers=[right], repetitions=2, metadata={"version": 3})

    assert one.run.definition == other.run.definition
    assert [metric.estimate for metric in one.metrics] == [metric.estimate for metric in other.metrics]


async def test_results_of_a_concluded_scorer_keep_their_places() -> None:
    @scorer
    def picky(n: int) -> bool:
        if n == 1:
            raise RuntimeError("x")
        return n > 1

    result = await engine().evaluate(sums(4), double, then=Expectation(scorer=picky, evaluator=MOSTLY))

    kinds = [type(found) for found in result.expectations[0].results]
    assert kinds == [Score, Failure, Score, Score]
