"""Rows that people labelled as examples of a graded scorer: drawn, shown, and left out of what it is validated on."""

from typing import Any

import pytest

from simeval import Engine
from simeval.datasets.files import dataset_of
from simeval.errors import DefinitionError
from simeval.scorers import Criteria, Helpfulness, draw_examples
from simeval.testing import ScriptedModel
from tests.support.grading import MET

pytestmark = pytest.mark.anyio
ROWS = [{"input": f"ask {n}", "said": f"answer <{n}>", "helps": n % 3 == 0, "meta": {"deep": n}} for n in range(12)]
LABELLED = dataset_of(ROWS, recorded="said")


def test_rows_are_drawn_with_every_label_by_turns_and_left_out_of_the_rest() -> None:
    examples, rest = draw_examples(LABELLED, label="helps", number=4, seed=3)

    drawn = {each["input"] for each in examples}
    assert [each["label"] for each in examples] == [False, True, False, True]
    assert {each.inputs["input"] for each in rest} == {row["input"] for row in ROWS} - drawn
    assert draw_examples(LABELLED, label="helps", number=4, seed=3)[0] == examples


def test_a_conversation_that_stands_there_twice_is_left_out_twice() -> None:
    rows = [
        {"input": f"ask {n % 6}", "said": f"answer  {n % 6}" if n < 6 else f"answer {n % 6}", "helps": n < 6, "n": n}
        for n in range(12)
    ]

    examples, rest = draw_examples(dataset_of(rows, recorded="said"), label="helps", number=3, seed=1)

    drawn = {each["input"] for each in examples}
    assert not drawn & {each.inputs["input"] for each in rest}
    assert rest.size == 12 - 2 * len(drawn)


def test_a_blank_label_is_none() -> None:
    rows = [{"input": f"ask {n}", "said": "answer", "helps": "" if n % 2 else "yes"} for n in range(12)]

    examples, _ = draw_examples(dataset_of(rows, recorded="said"), label="helps", number=4)

    assert {each["label"] for each in examples} == {"yes"}


def test_a_label_may_stand_at_a_path() -> None:
    examples, _ = draw_examples(LABELLED, label="meta.deep", number=2)

    assert all(each["label"] == each["meta"]["deep"] for each in examples)


@pytest.mark.parametrize(
    ("dataset", "options", "told"),
    [
        (LABELLED, {"label": "nothing"}, "no row has a label in 'nothing'"),
        (LABELLED, {"label": "helps", "number": 12}, "no example for validation"),
        (dataset_of([{"input": "a", "helps": True}]), {"label": "helps"}, "it has no recorded answers"),
    ],
)
def test_what_cannot_be_drawn_is_told(dataset: Any, options: dict[str, Any], told: str) -> None:
    with pytest.raises(DefinitionError, match=told):
        draw_examples(dataset, **options)


async def test_the_model_is_shown_them_escaped_with_what_people_said() -> None:
    examples, rest = draw_examples(LABELLED, label="helps", number=2)
    model = ScriptedModel([MET] * len(rest))

    result = await Engine(store=None).experiment(rest, scorers=[Helpfulness(model=model, examples=examples)])

    text = str(model.requests[0].messages()[1]["content"])
    assert text.count("<people>\ntrue\n</people>") == text.count("<people>\nfalse\n</people>") == 1
    assert f"&lt;{examples[0]['input'].split()[1]}&gt;" in text
    assert result.metrics[0].estimate.n == 10


async def test_it_is_not_asked_about_its_own_examples() -> None:
    examples, _ = draw_examples(LABELLED, label="helps", number=2)
    model = ScriptedModel([MET] * 10)

    result = await Engine(store=None).experiment(LABELLED, scorers=[Helpfulness(model=model, examples=examples)])

    assert (result.metrics[0].estimate.n, len(model.requests)) == (10, 10)
    assert any("one of the scorer's own examples" in cause for cause in result.failures)


async def test_examples_of_criteria_take_the_criteria_of_the_scorer() -> None:
    model = ScriptedModel(['{"rulings": {"kind": {"reasoning": "r", "met": true}}}'])
    row = {"output": "no", "input": "why", "label": {"kind": False}}
    scorer = Criteria(model=model, criteria={"kind": "It is kind."}, examples=[row])

    found = await scorer.measure({"output": "yes", "input": "why"})

    text = str(model.requests[0].messages()[1]["content"])
    assert found["kind"] is True
    assert text.count("kind: It is kind.") == 2
    assert '<people>\n{"kind": false}\n</people>' in text


@pytest.mark.parametrize("row", [{"output": "no"}, {"label": True}, "text"])
def test_an_example_that_lacks_something_is_refused_at_once(row: Any) -> None:
    with pytest.raises(DefinitionError, match="examples, 0"):
        Helpfulness(examples=[row])
