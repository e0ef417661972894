"""Formats and texts as recorded from audacia-llm-evaluation."""

from typing import Any

import pytest

from simeval.errors import DefinitionError
from simeval.scorers.base import scorer
from simeval.scorers.text.formats import ValidJSON
from simeval.scorers.text.similarity import Contains, ContextMatch, ExactMatch, LevenshteinSimilarity, RougeL, TokenF1
from tests.support.golden_cases import TOLERANCE, cases_in, chosen, ids

JSON = ids("audacia", 33, 34, 35, 37, 39)
TYPES = ids("audacia", 40, 41, 42, 43, 44)
TOKENS = ids("audacia", 45, 47, 48, 49)
ROUGE = ids("audacia", 51, 52, 54)
SIMILARITY = ids("audacia", 55, 56, 57)
PRESENCE = ids("audacia", 60, 61, 62, 63)
EXACT = ids("audacia", 64, 66)
RANKING = ids("audacia", 68)
COVERED = JSON | TYPES | TOKENS | ROUGE | SIMILARITY | PRESENCE | EXACT | RANKING

WRONG = {
    "audacia-033": "an array is JSON",
    "audacia-035": "NaN is no JSON (RFC 8259)",
    "audacia-037": "a dict can be written as JSON",
    "audacia-048": "two texts without words agree, as SQuAD 2.0 counts them: 1, not 0",
    "audacia-063": "an empty reference stands in every text: nothing was measured, which is an error",
}
INSTEAD: dict[str, object] = {
    "audacia-033": "pass",
    "audacia-035": "fail",
    "audacia-037": "pass",
    "audacia-048": 1.0,
    "audacia-063": "raises",
}


def result(passes: object) -> str:
    return "pass" if passes else "fail"


def ours(case: dict[str, Any]) -> object:
    given = case["inputs"]
    if case["id"] in JSON:
        return result(ValidJSON().score(given["response"])["valid"])
    if case["id"] in TYPES:
        kind = {"str": str, "dict": dict, "int": int, "float": float}[given["expected_type"]]
        return result(scorer(lambda output: isinstance(output, kind), name="type").score(output=given["response"]))
    if case["id"] in RANKING:
        return ContextMatch().score(given["retrieved_contexts"], given["reference_contexts"])["precision"]
    return of_texts(case["id"], given["response"], given["reference"])


def of_texts(case_id: str, response: str, reference: str) -> object:
    if case_id in TOKENS:
        return TokenF1().score(response, reference)["f1"]
    if case_id in ROUGE:
        return RougeL().score(response, reference)
    if case_id in SIMILARITY:
        return LevenshteinSimilarity().score(response, reference)["similarity"]
    if case_id in EXACT:
        return float(ExactMatch().score(response, reference))
    try:
        return float(Contains().score(response, reference))
    except DefinitionError:
        return "raises"


def theirs(case: dict[str, Any]) -> object:
    expected = case["expected"]
    if case["id"] in ROUGE:
        return {name: expected[f"rouge_{name}"] for name in ("precision", "recall")} | {
            "f1": expected["rouge_f1_score"]
        }
    names = ("json_response_result", "custom_response_result", "f1_score", "non_llmstring_similarity")
    others = ("string_presence", "exact_match", "non_llmcontext_precision_with_reference")
    return next(expected[name] for name in names + others if name in expected)


@pytest.mark.parametrize("case", chosen("audacia", COVERED - WRONG.keys()))
def test_a_case_of_audacias_comes_out_the_same(case: dict[str, Any]) -> None:
    assert ours(case) == pytest.approx(theirs(case), abs=max(TOLERANCE, case["tolerance"]))


@pytest.mark.parametrize("case", chosen("audacia", frozenset(WRONG)))
def test_where_audacia_is_wrong_this_is_right(case: dict[str, Any]) -> None:
    assert ours(case) == INSTEAD[case["id"]] != theirs(case)


def test_the_reasons_are_of_cases_there_are() -> None:
    assert WRONG.keys() == INSTEAD.keys() <= COVERED
    assert not cases_in("audacia") or cases_in("audacia").keys() >= COVERED
