"""A text that gives nothing to compare never scores best."""

from decimal import Decimal
from math import inf, nan
from typing import Any

import pytest

from simeval import dataset_of, scorer
from simeval.errors import DefinitionError
from simeval.scorers import Bleu, Gleu, JSONMatch, Meteor, RegexMatch, RougeL, RougeN, TokenF1, ValidJSON
from simeval.store.opening import open_database
from simeval.store.runs import Runs
from simeval.store.stored_rows import answers_of
from tests.support.experiments import engine

pytestmark = pytest.mark.anyio

NOTHING = {"f1": 0.0, "precision": 0.0, "recall": 0.0}


@pytest.mark.parametrize("n", [2, 3])
def test_an_answer_shorter_than_the_sequences_shares_none(n: int) -> None:
    assert RougeN(n=n).score("London", "Paris is the capital") == NOTHING


@pytest.mark.parametrize(("output", "reference", "n"), [("London", "Paris", 2), ("Paris", "Paris", 2), ("", "a b", 3)])
def test_a_reference_shorter_than_the_sequences_has_no_score(output: str, reference: str, n: int) -> None:
    with pytest.raises(ValueError, match=f"the reference has fewer than {n} words"):
        RougeN(n=n).score(output, reference)


@pytest.mark.parametrize("measured", [RougeN(), Bleu(), Gleu(), Meteor()])
@pytest.mark.parametrize("output", ["", "anything"])
def test_nothing_is_near_to_a_reference_without_a_word(measured: Any, output: str) -> None:
    with pytest.raises(ValueError, match="nothing to be near to"):
        measured.score(output, "")


@pytest.mark.parametrize(("output", "reference"), [("???", "!!!"), ("", "..."), ("a ?", "the !")])
def test_different_texts_without_words_do_not_agree(output: str, reference: str) -> None:
    assert RougeL().score(output, reference) == NOTHING
    assert TokenF1().score(output, reference) == NOTHING


def test_no_answer_where_there_is_none_agrees_as_squad_has_it() -> None:
    assert TokenF1().score("", "")["f1"] == 1.0


def test_a_pattern_that_every_text_has_is_refused() -> None:
    with pytest.raises(DefinitionError, match="a regular expression that a text may lack"):
        RegexMatch("")


NO_JSON = [{"a": nan}, [inf], {"a": {"b": [-inf]}}, {"a": Decimal("NaN")}]


@pytest.mark.parametrize("answer", NO_JSON)
async def test_an_answer_with_a_number_that_json_lacks_is_invalid_also_when_it_is_scored_again(
    answer: Any, tmp_path: Any
) -> None:
    store = f"sqlite:///{tmp_path / 'runs.db'}"
    valid = ValidJSON(name="valid")

    result = await engine(store=store).experiment(
        dataset_of([{"question": "?"}]), lambda question: answer, scorers=[valid]
    )
    database = open_database(store)
    again = await engine().experiment(answers_of(database, Runs(database).find("last")), scorers=[valid])

    assert [row.scores["valid.valid"].value for row in (*result.rows, *again.rows)] == [False, False]


@pytest.mark.parametrize("text", ['{"a": NaN}', "[Infinity]", "[-Infinity]"])
def test_a_text_with_such_a_number_is_no_json(text: str) -> None:
    assert not ValidJSON().score(text)["valid"]
    assert not JSONMatch().score(text, {"a": None} if "a" in text else [None])["all"]


@pytest.mark.parametrize("answer", [{"a": nan}, {"a": inf}])
def test_such_a_number_is_not_null(answer: Any) -> None:
    assert not JSONMatch().score(answer, {"a": None})["all"]


async def test_a_recorded_answer_with_such_a_number_is_invalid() -> None:
    @scorer
    def shown(output: Any) -> str:
        return str(output)

    rows = [{"question": "?", "answer": {"a": nan}}, {"question": "!", "answer": {"a": 1.5}}]

    result = await engine().experiment(dataset_of(rows, recorded="answer"), scorers=[ValidJSON(name="valid"), shown])

    assert [row.scores["valid.valid"].value for row in result.rows] == [False, True]
    assert [row.scores["shown"].value for row in result.rows] == ['{"a": NaN}', "{'a': 1.5}"]
