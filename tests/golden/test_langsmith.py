"""Evaluator results, exact match, edit distance, JSON and tool calls as recorded from LangSmith and openevals."""

from typing import Any

import pytest

from simeval.core.conversation import Conversation, Message
from simeval.errors import DefinitionError
from simeval.scorers.returned import metrics_of, select, whole
from simeval.scorers.text.formats import JSONMatch
from simeval.scorers.text.similarity import ExactMatch, LevenshteinSimilarity
from simeval.scorers.text.tool_calls import ToolCallMatch
from tests.support.golden_cases import TOLERANCE, cases_in, chosen, ids

RESULTS = ids("langsmith", 1, 2, 3, 4, 5, 7, 8, 9, 10)
EXACT = ids("langsmith", 15, 16, 17)
DISTANCES = ids("langsmith", 20, 21, 22)
OBJECTS = ids("langsmith", 27, 28, 29, 30, 32, 35, 36, 37)
TOOL_CALLS = ids("langsmith", 40, 41, 42, 43, 44, 45, 46, 47)
COVERED = RESULTS | EXACT | DISTANCES | OBJECTS | TOOL_CALLS

WRONG = {
    "langsmith-017": "an answer of None is a wrong answer, no error of the scorer",
    "langsmith-045": "the first call that fits leaves the second without one, though all can be paired",
}


def of_result(case: dict[str, Any]) -> object:
    value = case["inputs"]["value"]
    try:
        kept = whole(value, None, name="evaluator")
    except DefinitionError:
        return "raises"
    if isinstance(value, list):
        return {"results": [{"key": key, "score": number} for key, number in metrics_of(kept.details).items()]}
    return kept.details if isinstance(value, str) else {"score": select(value, None, name="evaluator").value}


def of_exact(case: dict[str, Any]) -> object:
    return ExactMatch().score(case["inputs"]["outputs"], case["inputs"]["reference_outputs"])


def of_distance(case: dict[str, Any]) -> object:
    found = LevenshteinSimilarity().score(case["inputs"]["outputs"], case["inputs"]["reference_outputs"])
    return found["similarity"]


def of_object(case: dict[str, Any]) -> object:
    asked = case["inputs"]["kwargs"]
    modes = {"same_elements": "same", "superset": "superset", "subset": "subset"}
    match = JSONMatch(ignore=asked.get("exclude_keys", ()), lists=modes.get(asked.get("list_match_mode"), "ordered"))  # type: ignore[arg-type]
    found: Any = match.score(case["inputs"]["outputs"], case["inputs"]["reference_outputs"])
    if "aggregator" not in asked:
        return [[f"json_match:{key}", int(matches)] for key, matches in found["members"].items()]
    return [[f"json_match:{asked['aggregator']}", found["all" if asked["aggregator"] == "all" else "share"]]]


def of_tool_calls(case: dict[str, Any]) -> object:
    asked, made = case["inputs"]["kwargs"], case["inputs"]["outputs"]
    said = [Message(role="assistant", content=each["content"], tool_calls=tuple(each["tool_calls"])) for each in made]
    reference = [call for each in case["inputs"]["reference_outputs"] for call in each["tool_calls"]]
    found = {}
    for mode in case["expected"]:
        match = ToolCallMatch(
            mode=mode,
            argument_mode=asked.get("tool_args_match_mode", "exact"),
            overrides=asked.get("tool_args_match_overrides", {}),
        )
        found[mode] = match.score(Conversation(messages=tuple(said)), reference)["match"]
    return found


ANSWERS = [(RESULTS, of_result), (EXACT, of_exact), (DISTANCES, of_distance), (OBJECTS, of_object)]


def ours(case: dict[str, Any]) -> object:
    return next((answer for group, answer in ANSWERS if case["id"] in group), of_tool_calls)(case)


def agrees(found: object, expected: Any) -> bool:
    if isinstance(expected, dict) and "raises" in expected:
        return found == "raises"
    if isinstance(expected, list):
        return isinstance(found, list) and all(map(agrees, found, expected)) and len(found) == len(expected)
    return bool(found == pytest.approx(expected, abs=TOLERANCE) if isinstance(expected, float) else found == expected)


@pytest.mark.parametrize("case", chosen("langsmith", COVERED - WRONG.keys()))
def test_a_case_of_langsmiths_comes_out_the_same(case: dict[str, Any]) -> None:
    assert agrees(ours(case), case["expected"])


EXPECTED_INSTEAD: dict[str, object] = {
    "langsmith-017": False,
    "langsmith-045": {"strict": False, "unordered": True, "subset": True, "superset": True},
}


@pytest.mark.parametrize("case", chosen("langsmith", frozenset(WRONG)))
def test_where_langsmith_is_wrong_this_is_right(case: dict[str, Any]) -> None:
    assert not agrees(ours(case), case["expected"])
    assert ours(case) == EXPECTED_INSTEAD[case["id"]]


def test_the_reasons_are_of_cases_there_are() -> None:
    assert WRONG.keys() == EXPECTED_INSTEAD.keys() <= COVERED
    assert not cases_in("langsmith") or cases_in("langsmith").keys() >= COVERED
