"""Scorers: columns in, one number out."""

import gc
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

from simeval.core.capture import capture
from simeval.core.trial import Score
from simeval.errors import DefinitionError
from simeval.scorers.base import COLUMNS, Scorer, as_scorer, scorer
from simeval.scorers.returned import select

pytestmark = pytest.mark.anyio

COLUMN_VALUES = {name: f"the {name}" for name in COLUMNS}


@scorer
def output_length(output: str) -> int:
    return len(output)


@scorer(name="politeness")
async def polite(output: str, *, word: str = "please") -> bool:
    return word in output


@dataclass(frozen=True)
class Contains(Scorer):
    word: str

    @property
    def name(self) -> str:
        return f"contains {self.word}"

    def score(self, output: str) -> bool:
        return self.word in output


class Asks(Scorer):
    async def score(self, output: str, input: str) -> Mapping[str, bool]:
        return {"asks": output.endswith("?"), "echoes": input in output}


async def test_a_function_is_a_scorer_and_still_a_function() -> None:
    assert output_length.name == "output_length"
    assert output_length("abc") == output_length.score(output="abc") == 3
    assert await output_length.measure({"output": "abcd", "input": "x"}) == 4


async def test_an_async_function_is_a_scorer_under_the_name_it_is_given() -> None:
    assert polite.name == "politeness"
    assert await polite.score(output="yes, please") is True
    assert await polite.measure({"output": "no"}) is False


async def test_a_class_is_a_scorer() -> None:
    found = Contains("refund")

    assert found.name == "contains refund"
    assert found.score(output="a refund") is True
    assert await found.measure({"output": "nothing", "seed": 3}) is False


async def test_an_async_class_is_a_scorer_named_like_itself() -> None:
    assert Asks().name == "Asks"
    assert await Asks().measure({"output": "hi?", "input": "hi"}) == {"asks": True, "echoes": True}


async def test_every_column_goes_to_a_scorer_that_takes_any() -> None:
    def everything(**columns: Any) -> int:
        return len(columns)

    assert await as_scorer(everything).measure(COLUMN_VALUES) == len(COLUMNS)


async def test_only_the_columns_named_are_given() -> None:
    def of_title(title: str, seed: str = "none") -> str:
        return title + seed

    assert await as_scorer(of_title).measure({"title": "t", "given": "g"}) == "tnone"


def test_a_plain_function_and_a_callable_object_become_scorers() -> None:
    def length(output: str) -> int:
        return len(output)

    assert as_scorer(length).name == "length"
    assert as_scorer(output_length) is output_length
    assert as_scorer(partial(length)).name
    assert as_scorer(partial(length)).score(output="abc") == 3


@pytest.mark.parametrize("candidate", [None, "response_latency", 3, {"score": 1}])
def test_what_is_neither_a_scorer_nor_a_function_is_refused(candidate: object) -> None:
    with pytest.raises(DefinitionError, match="give a Scorer instance or a function"):
        as_scorer(candidate)


def test_of_a_class_an_object_is_to_be_made() -> None:
    with pytest.raises(DefinitionError, match=r"EachTurn\.scorer: found the class Contains; make an object of it"):
        as_scorer(Contains, "EachTurn.scorer")


def test_every_column_may_be_asked_for() -> None:
    def all_of_them(
        output: str, input: str, conversation: str, title: str, given: str, when: str, expected_behavior: str, seed: int
    ) -> float:
        return 1.0

    as_scorer(all_of_them).check()
    output_length.check()
    Asks().check()


def test_a_parameter_that_is_no_column_is_refused_by_name() -> None:
    def compare(output: str, reference: str, tolerance: float = 0.1) -> float:
        return 1.0

    with pytest.raises(DefinitionError, match=r"scorer compare: .*\['reference'\]; a simulated conversation has none"):
        as_scorer(compare).check()
    with pytest.raises(DefinitionError, match=r"scorer compare: .*\['reference'\].*the columns are output, input"):
        as_scorer(compare).check(["output", "input"])


def test_a_scorer_without_a_score_method_is_refused() -> None:
    class Empty(Scorer):
        pass

    with pytest.raises(DefinitionError, match=r"scorer Empty: .*define score"):
        Empty().check()


@pytest.mark.parametrize(
    ("measured", "path", "value"),
    [
        (3, None, 3.0),
        (True, None, 1.0),
        (np.float32(0.5), None, 0.5),
        (np.bool_(False), None, 0.0),
        ({"ok": True}, None, 1.0),
        ({"ok": True}, "ok", 1.0),
        ({"text": "x", "ok": 2}, None, 2.0),
        ({"a": {"b": {"c": 0.25}}, "d": 1}, "a.b.c", 0.25),
        ({"a": {"b": 0.25}}, None, 0.25),
        ({1: 0.5, 2: 0.75}, "2", 0.75),
        ({"f1.macro": 0.5, "other": 1}, "f1.macro", 0.5),
    ],
)
def test_a_number_is_taken_from_its_place(measured: object, path: str | None, value: float) -> None:
    assert select(measured, path, name="x").value == value


def test_what_else_was_returned_is_kept_as_details() -> None:
    measured = {"score": 1, "why": "because"}

    assert select(measured, None, name="x").details == measured
    assert select(1, None, name="x").details == {}


def test_a_score_is_taken_as_it_is() -> None:
    score = Score(value=7.0, reasoning="fine")

    assert select(score, None, name="x") is score


@pytest.mark.parametrize("path", [None, "c", "a.c", ""])
def test_several_numbers_without_a_place_among_them_are_refused_with_their_paths(path: str | None) -> None:
    with pytest.raises(DefinitionError) as raised:
        select({"a": {"b": 1.0}, "ok": True, "text": "x"}, path, name="mine")

    assert raised.value.where == "scorer mine"
    assert "'a.b', 'ok'" in str(raised.value)
    assert "set Expectation.score" in str(raised.value)


@pytest.mark.parametrize("measured", ["good", None, {}, {"label": "good"}, [1, 2], 1j, object()])
def test_what_holds_no_number_is_refused(measured: object) -> None:
    with pytest.raises(DefinitionError, match="scorer mine: it returned"):
        select(measured, None, name="mine")


def test_values_that_are_no_numbers_stand_beside_one_that_is() -> None:
    measured = {"score": 0.5, "embedding": np.arange(3.0), "reason": "so"}

    assert select(measured, "score", name="x").value == 0.5


async def test_a_class_of_ones_own_takes_a_column_map_when_it_is_made() -> None:
    mapped = Asks(column_map={"input": "question"})

    assert await mapped.measure({"output": "Who asks?", "question": "asks"}) == {"asks": True, "echoes": True}
    assert Asks().column_map == {}


def test_a_column_map_given_when_it_is_made_is_checked_before_a_run() -> None:
    with pytest.raises(DefinitionError, match="column_map for"):
        Asks(column_map={"question": "input"}).check()


@pytest.mark.parametrize(
    "path", ["title.x", "output.answer", "conversation.turns", "seed.x", "response.content.x", "responses.seconds.x"]
)
def test_a_path_into_what_nothing_is_below_is_refused_before_a_run(path: str) -> None:
    with pytest.raises(DefinitionError, match=r"scorer within: found .column_map to"):
        scorer(lambda part: 1.0, name="within", column_map={"part": path}).check()


def test_a_path_into_an_example_s_own_answer_is_none_of_those() -> None:
    scorer(lambda part: 1.0, name="within", column_map={"part": "output.answer"}).check(("output", "question"))


@pytest.mark.parametrize(
    ("candidate", "do"), [(3, "give a Scorer instance or a function"), ("bleu", "such as ValidJSON()")]
)
def test_something_else_than_a_scorer_is_refused_and_a_name_gets_an_example(candidate: object, do: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        as_scorer(candidate)

    assert refused.value.where == "Expectation.scorer"
    assert do in refused.value.do
    assert ("ValidJSON" in refused.value.do) is isinstance(candidate, str)


def test_a_function_calls_no_model() -> None:
    assert output_length.calls == 0


async def test_what_a_function_that_fails_holds_is_free_at_once() -> None:
    held: list[weakref.ref[Contains]] = []

    @scorer
    def fails(output: str) -> bool:
        model = Contains(word=output)
        held.append(weakref.ref(model))
        raise ValueError(f"cannot load {model.name}")

    gc.disable()
    try:
        for _ in range(2):  # a thread lets go of the first result before it begins with the second
            found = str(await capture(partial(fails.measure, {"output": "hi"})))
        left = held[0]()
    finally:
        gc.enable()

    assert "cannot load contains hi" in found
    assert left is None
