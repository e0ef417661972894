"""Formats, strings, classification and column maps as recorded from W&B Weave 0.54.0."""

from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import BaseModel

from simeval.core.trial import Scored
from simeval.errors import DefinitionError
from simeval.scorers.base import Scorer, scorer
from simeval.scorers.returned import metrics_of
from simeval.scorers.text.classification import Classification
from simeval.scorers.text.formats import PydanticScorer, ValidJSON, ValidXML
from simeval.scorers.text.similarity import Contains, LevenshteinSimilarity
from tests.support.golden_cases import TOLERANCE, cases_in, chosen, ids

FORMATS = ids("weave", 1, 2, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 21, 24, 25, 27, 28, 31, 33)
STRINGS = ids("weave", 63, 65, 67)
CLASSES = ids("weave", 72, 73)
METRICS = ids("weave", 74, 76, 77, 78, 80)
COLUMN_MAPS = ids("weave", 89, 90)
COVERED = FORMATS | STRINGS | CLASSES | METRICS | COLUMN_MAPS

WRONG = {
    "weave-005": "null is neither an object nor an array, as Weave's own document says",
    "weave-006": "NaN is no JSON (RFC 8259)",
    "weave-010": "an answer of None is an invalid answer, no error of the scorer",
    "weave-011": "a dict can be written as JSON, so it is valid",
    "weave-017": "a dict is no XML, whatever stands under its key 'output'",
    "weave-024": "a document that declares entities is refused: they can grow without bounds",
    "weave-065": "an empty text stands in every other: nothing was measured, which is an error",
    "weave-073": "a missing answer where the right one is negative is no miss of the positive ones: recall is 1/2",
    "weave-074": "a failed row has no score, so it counts neither in a mean nor in a share: 1 of 2, not of 3",
    "weave-080": "a text beside numbers is feedback, no crash",
    "weave-089": "a column map is meant, also where the dataset has a column of the argument's name",
}


class FinancialReport(BaseModel):
    revenue: int
    year: str


def raises(act: Any) -> Any:
    try:
        return act()
    except DefinitionError:
        return "raises"


def of_format(case: dict[str, Any]) -> object:
    function = case["function"]
    scorer_of = {"ValidJSON": ValidJSON(), "ValidXMLS": ValidXML(), "PydanticS": PydanticScorer(FinancialReport)}
    found = scorer_of[function[:9]].score(case["inputs"]["output"])
    return dict.fromkeys(case["expected"], found["valid"]) if "raises" not in case["expected"] else found["valid"]


def of_string(case: dict[str, Any]) -> object:
    output, target = case["inputs"]["output"], case["inputs"]["target"]
    if "Levenshtein" in case["function"]:
        return {"levenshtein_distance": LevenshteinSimilarity().score(output, target)["distance"]}
    swapped = Contains(ignore_case=True, column_map={"output": "target", "reference": "output"})
    columns = {"output": output, "target": target}
    return raises(lambda: {"string_in_input": swapped.score(**swapped.arguments(columns))})


def summary(answers: Sequence[tuple[object, object]]) -> dict[str, float | None]:
    classes = Classification(labels=[True, False], positive=True)
    scored = [Scored(example=at, columns={}, measured=classes.score(*each)) for at, each in enumerate(answers)]
    found = classes.summarize(scored)
    return {name: found[name].value for name in ("f1", "precision", "recall")}


def of_classes(case: dict[str, Any]) -> object:
    if isinstance(case["inputs"], list):
        hits, false_alarms, misses = case["inputs"]
        found = summary([(True, True)] * hits + [(True, False)] * false_alarms + [(False, True)] * misses)
        return [found["precision"], found["recall"], found["f1"]]
    rows = list(zip(case["inputs"]["outputs"], case["inputs"]["targets"], strict=True))
    return {
        name: summary([((output or {}).get(name), target[name]) for output, target in rows])
        for name in case["inputs"]["class_names"]
    }


def of_metrics(case: dict[str, Any]) -> object:
    values: dict[str, list[float | bool]] = {}
    for row in case["inputs"]["rows"]:
        for path, value in metrics_of(row).items():
            values.setdefault(path, []).append(value)
    shares = {
        path: {"true_count": sum(found), "true_fraction": sum(found) / len(found)}
        if isinstance(found[0], bool)
        else {"mean": sum(found) / len(found)}
        for path, found in values.items()
    }
    return shares.get("", shares.get("mean", shares))


def of_column_map(case: dict[str, Any]) -> object:
    @scorer(column_map=case["inputs"]["column_map"])
    def is_column(text: str) -> bool:
        return text == "col"

    assert isinstance(is_column, Scorer)
    found = is_column.score(**is_column.arguments(case["inputs"]["row"]))
    return {"Txt": {"t": {"true_count": int(found), "true_fraction": float(found)}}}


ANSWERS = [(FORMATS, of_format), (STRINGS, of_string), (CLASSES, of_classes), (METRICS, of_metrics)]


def ours(case: dict[str, Any]) -> object:
    return next((answer for group, answer in ANSWERS if case["id"] in group), of_column_map)(case)


def agrees(found: object, expected: object) -> bool:
    if isinstance(expected, dict) and isinstance(found, dict):
        return found.keys() == expected.keys() and all(agrees(found[key], expected[key]) for key in expected)
    return bool(found == pytest.approx(expected, abs=TOLERANCE))


@pytest.mark.parametrize("case", chosen("weave", COVERED - WRONG.keys()))
def test_a_case_of_weaves_comes_out_the_same(case: dict[str, Any]) -> None:
    assert agrees(ours(case), case["expected"])


@pytest.mark.parametrize("case", chosen("weave", frozenset(WRONG)))
def test_a_case_where_weave_is_wrong_comes_out_otherwise(case: dict[str, Any]) -> None:
    assert not agrees(ours(case), case["expected"])


EXPECTED_INSTEAD: dict[str, object] = {
    "weave-010": False,
    "weave-011": True,
    "weave-065": "raises",
    "weave-073": {
        "a": {"f1": pytest.approx(2 / 3), "precision": 1.0, "recall": 0.5},
        "b": {"f1": 0.0, "precision": 0.0, "recall": 0.0},
    },
    "weave-074": {"s": {"mean": 0.5}, "p": {"true_count": 1, "true_fraction": 0.5}},
    "weave-080": {"s": {"mean": 1.0}},
    "weave-089": {"Txt": {"t": {"true_count": 1, "true_fraction": 1.0}}},
}


@pytest.mark.parametrize("case", chosen("weave", frozenset(EXPECTED_INSTEAD)))
def test_where_weave_is_wrong_this_is_right(case: dict[str, Any]) -> None:
    assert ours(case) == EXPECTED_INSTEAD[case["id"]]


def test_the_reasons_are_of_cases_there_are() -> None:
    assert WRONG.keys() <= COVERED
    assert not cases_in("weave") or cases_in("weave").keys() >= COVERED
