"""Formats: what is JSON, XML, or an instance of a model, and what only looks like it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from simeval.errors import DefinitionError
from simeval.evaluators.scores import ProportionEvaluator
from simeval.scorers.returned import select
from simeval.scorers.text.formats import FormatScorer, PydanticScorer, ValidJSON, ValidXML

BILLION_LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol0 "lol">'
    + "".join("<!ENTITY lol{} '{}'>".format(n, f"&lol{n - 1};" * 10) for n in range(1, 10))
    + "]><lolz>&lol9;</lolz>"
)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


class Order(BaseModel):
    item: str
    amount: int


def reason(scorer: FormatScorer, output: object) -> str:
    found = scorer.score(output)
    assert found["valid"] is (found["reason"] == "")
    return str(found["reason"])


@pytest.mark.parametrize(
    "output",
    [
        '{"a": 1}',
        "[]",
        " \n[1, 2]\t\n",
        '{"größe": "大きい 🦜"}',
        '{"a": 1, "a": 2}',
        {"a": [None, True]},
        [],
        "[1e308]",
    ],
)
def test_objects_and_arrays_are_valid_json(output: object) -> None:
    assert reason(ValidJSON(), output) == ""


@pytest.mark.parametrize(
    ("output", "says"),
    [
        ("5", "a number, neither an object nor an array"),
        ('"s"', "a text, neither"),
        ("null", "null, neither"),
        ("true", "a boolean, neither"),
        ("NaN", "NaN is no JSON"),
        ('{"a": [1, NaN]}', "NaN is no JSON"),
        ("[-Infinity]", "-Infinity is no JSON"),
        ("[-1e999]", "-1e999 is no number that a program could read"),
        ("", "empty"),
        (" \n", "empty"),
        (None, "empty"),
        (5, "a number, no text"),
        (b"{}", "of type bytes, no text"),
        ("{'a': 1}", "Expecting property name"),
        ('{"a": 1} I hope this helps!', "Extra data"),
        ('{"a": 1', "Expecting ',' delimiter"),
        ('\ufeff{"a": 1}', "BOM"),
        ('{"a": "\ud800"}', "surrogates not allowed"),
        ('```json\n{"a": 1}\n```', "Expecting value"),
        ({"a": float("nan")}, "Out of range float"),
        ({"a": {1, 2}}, "not JSON serializable"),
    ],
)
def test_what_is_no_object_or_array_is_invalid_and_says_why(output: object, says: str) -> None:
    assert says in reason(ValidJSON(), output)


def test_json_nested_too_deeply_to_be_read_is_invalid() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]

    assert reason(ValidJSON(), "[" * 100_000 + "]" * 100_000) == "nested too deeply to be read"
    assert reason(ValidJSON(), deep) == "nested too deeply to be written"


def test_whole_numbers_of_any_length_are_json() -> None:
    assert reason(ValidJSON(), f"[{'9' * 10_000}]") == ""


def test_a_megabyte_of_json_and_of_xml_is_judged_by_its_last_character() -> None:
    rows = json.dumps([{"naïve": "é" * 100, "n": n} for n in range(2_000)])
    document = "<a>" + '<b c="d">text</b>' * 60_000 + "</a>"

    assert len(rows) > 1_000_000 < len(document)
    assert reason(ValidJSON(), rows) == reason(ValidXML(), document) == ""
    assert reason(ValidJSON(), rows[:-1]) != "" != reason(ValidXML(), document[:-1])


@given(JSON_VALUES)
def test_whatever_is_written_as_json_is_valid_exactly_where_it_is_an_object_or_array(value: object) -> None:
    assert (reason(ValidJSON(), json.dumps(value)) == "") is isinstance(value, (dict, list))


@pytest.mark.parametrize("output", ['```json\n{"a": "```"}\n```', "```\n[1]\n```\n", "  ```JSON\n[1]```", "[1]"])
def test_one_fence_is_accepted_where_that_is_wanted(output: str) -> None:
    assert reason(ValidJSON(fenced=True), output) == ""


@pytest.mark.parametrize(
    "output",
    [
        "```json\n[1]",
        "```python\n[1]\n```",
        "Here:\n```json\n[1]\n```",
        "```json\n[1]\n```\n```json\n[1]\n```",
        "```json```",
    ],
)
def test_no_other_fence_is(output: str) -> None:
    assert reason(ValidJSON(fenced=True), output) != ""


@pytest.mark.parametrize(
    "output",
    [
        "<a/>",
        '\n<?xml version="1.0"?><a>&lt;&#233;</a>\n',
        "<größe>大きい</größe>",
        '<?xml version="1.0" encoding="latin-1"?><a>€</a>',
        "<!DOCTYPE html><html/>",
        "<a>" * 10_000 + "</a>" * 10_000,
    ],
)
def test_a_well_formed_document_is_valid_xml(output: str) -> None:
    assert reason(ValidXML(), output) == ""


@pytest.mark.parametrize(
    ("output", "says"),
    [
        ("<a><b></a>", "mismatched tag: line 1, column 8"),
        ("<a/><b/>", "junk after document element"),
        ("plain", "syntax error"),
        ("<a>&nbsp;</a>", "undefined entity"),
        ("<a>\x00</a>", "not well-formed"),
        ("<a>\ud800</a>", "surrogates not allowed"),
        ("", "empty"),
        (None, "empty"),
        ({"output": "<a/>"}, "of type dict, no text"),
        ("<!-- only this -->", "no element found"),
    ],
)
def test_malformed_xml_is_invalid_and_says_where(output: object, says: str) -> None:
    assert says in reason(ValidXML(), output)


@pytest.mark.parametrize("output", [BILLION_LAUGHS, '<!DOCTYPE a [<!ENTITY % p SYSTEM "file:///etc/passwd"> %p;]><a/>'])
def test_xml_that_declares_entities_is_refused_before_one_is_expanded(output: str) -> None:
    assert reason(ValidXML(), output) == "declares an entity, which is refused"


def test_xml_in_a_fence_is_accepted_where_that_is_wanted() -> None:
    assert reason(ValidXML(), "```xml\n<a/>\n```") != ""
    assert reason(ValidXML(fenced=True), "```xml\n<a/>\n```") == ""


@pytest.mark.parametrize(
    "output", ['{"item": "Käse", "amount": 2}', {"item": "x", "amount": "2"}, Order(item="x", amount=1)]
)
def test_an_instance_a_dict_and_json_text_fit_a_model(output: object) -> None:
    assert reason(PydanticScorer(Order), output) == ""


@pytest.mark.parametrize(
    ("output", "says"),
    [
        ('{"item": "x"}', "amount: Field required"),
        ('{"item": 1, "amount": "many"}', "item: Input should be a valid string (and 1 more)"),
        ('{"item": "x", "amount": NaN}', "NaN is no JSON"),
        ("[1]", "Input should be an object"),
        ("", "empty"),
        (None, "Input should be a valid dictionary or instance of Order"),
        ("not JSON", "Expecting value"),
    ],
)
def test_what_does_not_fit_a_model_says_the_first_mistakes_place(output: object, says: str) -> None:
    assert reason(PydanticScorer(model=Order), output).startswith(says)


def test_a_strict_model_converts_nothing() -> None:
    assert reason(PydanticScorer(Order, strict=True), '{"item": "x", "amount": "2"}').startswith("amount: ")
    assert reason(PydanticScorer(Order, strict=True), '{"item": "x", "amount": 2}') == ""


def test_what_is_no_model_is_refused_when_the_scorer_is_made() -> None:
    with pytest.raises(DefinitionError, match=r"PydanticScorer.model: found <class 'dict'>; give a class"):
        PydanticScorer(dict)  # type: ignore[arg-type]


def test_a_format_can_be_concluded_on_without_naming_a_score() -> None:
    scorer = ValidJSON(name="answers in JSON")
    answers = ["{}"] * 60 + ["sorry"]

    values = [select(scorer.score(each), scorer.default_score, name=scorer.name).value for each in answers]

    assert ProportionEvaluator(threshold=1, min_proportion=0.9).evaluate(values).passed
    assert scorer.name == "answers in JSON"
