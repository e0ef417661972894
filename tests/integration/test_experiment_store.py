"""Experiments in the store: kept, stopped, resumed, without secrets."""

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from simeval import (
    MeanEvaluator,
    Scorer,
    scorer,
)
from simeval.datasets.dataset import Example, check_dataset
from simeval.errors import DatasetChanged, DefinitionError
from simeval.results.encoding import encode_document
from simeval.results.experiment import ExperimentResult
from simeval.store.database import Database
from simeval.store.runs import Runs
from simeval.suites.scenario import Expectation
from tests.support.experiments import double, engine, length, logged, right, sums, values

pytestmark = pytest.mark.anyio


class TestStore:
    async def test_a_run_is_kept_with_its_dataset_and_metadata(self, tmp_path: Path) -> None:
        store = tmp_path / "store.db"
        result = await engine(store=store).evaluate(sums(5), double, scorers=[right], metadata={"branch": "main"})
        database = Database(store)
        kept = Runs(database).document(result.run.run_id)
        report = Runs(database).report(result.run.run_id)
        database.close()
        document = encode_document(kept)

        assert document["dataset"]["version"] == sums(5).version
        assert document["metadata"] == {"branch": "main"}
        assert document["metrics"][0]["value"] == 1
        assert [each["turns"][-1]["content"] for each in document["answered"]] == ["0", "2", "4", "6", "8"]
        assert report == str(result)
        assert kept.seconds == result.run.seconds

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
        document = str(encode_document(Runs(database).document(result.run.run_id)))
        database.close()

        assert [metric.estimate.value for metric in result.metrics] == [1, 0]  # two, though their names are masked
        assert "tok-" not in document + str(result) + repr(result)
        assert b"tok-" not in store.read_bytes()

    async def test_answers_that_were_masked_are_counted_in_a_note(self) -> None:
        result = await engine(secret_patterns=["hello"]).evaluate(
            logged(["a", "hello"], ["b", "bye"]), scorers=[length]
        )

        assert "secrets were masked in 1 answer before" in result.run.notes[-1]

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

        with anyio.fail_after(60):
            result = await made.evaluate(sums(200), stops, scorers=[right])

        assert 5 <= result.answers < 200

    async def test_a_dataset_that_cannot_be_read_any_more_stops_the_run(self) -> None:
        rows = [Example(inputs={"n": n}, outputs={"answer": str(2 * n)}) for n in range(3)]
        is_gone = False

        def read() -> Iterator[Example]:
            yield rows[0]
            if is_gone:
                raise OSError("the disk is gone")
            yield from rows[1:]

        dataset = check_dataset(read, name="d")
        is_gone = True

        with pytest.raises(DatasetChanged, match="the disk is gone"):
            await engine().evaluate(dataset, double, scorers=[right])

    async def test_a_dataset_that_has_become_shorter_stops_the_run_and_what_was_measured_is_there(self) -> None:
        rows = [Example(inputs={"n": n}, outputs={"answer": str(2 * n)}) for n in range(40)]
        dataset = check_dataset(lambda: iter(rows), name="d")
        del rows[30:]

        with pytest.raises(DatasetChanged, match="it has only 30 examples now, and had 40") as stopped:
            await engine().evaluate(dataset, double, scorers=[right])
        assert isinstance(stopped.value.partial, ExperimentResult)
