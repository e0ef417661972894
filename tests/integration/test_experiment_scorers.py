"""Scorers of an experiment: metrics in the order of the dataset, failures in their places."""

from collections.abc import Mapping, Sequence
from math import isnan, nan
from pathlib import Path

import anyio
import pytest

from simeval import (
    Classification,
    Scorer,
    scorer,
)
from simeval.core.trial import Estimate, Scored
from simeval.datasets.dataset import Example, check_dataset
from simeval.errors import DefinitionError
from simeval.results.encoding import encode_document
from simeval.store.database import Database
from simeval.store.runs import Runs
from simeval.testing import ScriptedModel
from tests.support.experiments import Good, double, engine, logged, right, sums, values

pytestmark = pytest.mark.anyio


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
        [first, *_] = encode_document(Runs(database).document(result.run.run_id))["answered"]
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
        [first, *_] = encode_document(Runs(database).document(result.run.run_id))["answered"]
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
