"""What scorers and apps of an experiment return: each gives a row, a count or a failure with its cause."""

from pathlib import Path
from typing import Any

import pytest

from simeval import scorer
from simeval.results.encoding import encode_document
from simeval.store.database import Database
from simeval.store.runs import Runs
from tests.support.experiments import double, engine, length, sums

pytestmark = pytest.mark.anyio


def returning(measured: object) -> Any:
    return scorer(lambda output: measured, name="mine")


class TestScorers:
    @pytest.mark.parametrize(
        "measured", [None, [1, 2], {1, 2}, object(), {}, {"a": object(), "b": 1}, {"a.b": 1, "a": {"b": 2}}]
    )
    async def test_what_cannot_be_read_is_missing_with_its_cause(self, measured: object) -> None:
        result = await engine().evaluate(sums(3), double, scorers=[returning(measured), length])

        assert (result.metric("mine").missing, result.metric("length").missing) == (3, 0)
        assert [count for text, count in result.failures.items() if "scorer mine: " in text] == [3]

    async def test_a_value_that_is_none_has_its_row_and_counts_as_missing(self) -> None:
        result = await engine().evaluate(sums(3), double, scorers=[returning({"score": None, "reason": None})])

        assert [metric.name for metric in result.metrics] == ["mine.score"]
        assert (result.metric("mine.score").missing, result.metric("mine.score").kind) == (3, "mean")

    async def test_texts_are_tallied_as_categories_the_most_frequent_first(self) -> None:
        @scorer
        def size(n: int) -> dict[str, object]:
            return {"is": "big" if n >= 10 else "small", "odd": bool(n % 2)}

        result = await engine().evaluate(sums(40), double, scorers=[size])

        assert {text: found.value for text, found in result.categories["size.is"].items()} == {
            "big": 0.75,
            "small": 0.25,
        }
        assert result.categories["size.is"]["big"].n == 40
        assert [metric.name for metric in result.metrics] == ["size.odd"]
        assert "size.is      big" in str(result)

    async def test_a_bare_text_is_a_category_of_the_scorer_itself(self) -> None:
        result = await engine().evaluate(sums(4), double, scorers=[scorer(lambda n: "ab"[n % 2], name="side")])

        assert {text: found.value for text, found in result.categories["side"].items()} == {"a": 0.5, "b": 0.5}
        assert not result.metrics

    async def test_too_many_different_texts_are_no_categories_and_have_one_row(self) -> None:
        result = await engine().evaluate(sums(60), double, scorers=[scorer(lambda n: f"text {n}", name="free")])

        [(said, found)] = result.categories["free"].items()
        assert said == "(more than 50 different texts)"
        assert found.n == 60

    async def test_a_resumed_run_tallies_as_one_that_was_not_cut(self, tmp_path: Path) -> None:
        store = tmp_path / "store.db"
        halves = scorer(lambda n: {"side": "ab"[n % 2], "of": {n % 3}}, name="halves")
        whole = await engine(store=store).evaluate(sums(30), double, scorers=[halves])
        again = await engine(store=store, resume=whole.run.run_id).evaluate(sums(30), double, scorers=[halves])
        database = Database(store)
        document = encode_document(Runs(database).document(whole.run.run_id))
        database.close()

        assert whole.categories == again.categories
        assert document["categories"]["halves.side"]["a"]["value"] == 0.5


class TestApps:
    @pytest.mark.parametrize(
        ("answer", "what"),
        [(object(), "object"), (b"text", "bytes"), ({1, 2}, "set"), ({"a": [b"x"]}, "bytes at ['a'][0]")],
    )
    async def test_an_answer_that_is_no_text_and_no_json_is_a_named_failure(self, answer: object, what: str) -> None:
        result = await engine().evaluate(sums(2), lambda n: answer, scorers=[length])

        [(said, count)] = result.failures.items()
        assert count == result.metric("length").crashed == 2
        assert f"returned what is no text and no JSON ({what})" in said
