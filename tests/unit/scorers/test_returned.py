"""What scorers return: nothing of it disappears."""

from collections import deque
from dataclasses import dataclass
from enum import Enum
from math import isnan, nan
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel

from simeval.core.trial import Score
from simeval.errors import DefinitionError
from simeval.scorers.returned import measured_of, parts_of, reason_at, select, whole


class Feedback(BaseModel):
    key: str
    score: float | None = None
    comment: str | None = None


class Tone(Enum):
    WARM = "warm"


@dataclass
class Marks:
    style: float
    label: str


def parts(measured: object) -> dict[str, object]:
    """Return what is counted of it, by its path; a missing value is None."""
    return dict(parts_of(whole(measured, None, name="mine")))


@pytest.mark.parametrize(
    ("measured", "counted"),
    [
        ("good", {"": "good"}),
        ({"tone": "warm", "score": 1}, {"tone": "warm", "score": 1.0}),
        ({"score": None}, {"score": None}),
        ({"a": {"b": True, "c": None}}, {"a.b": True, "a.c": None}),
        ({"valid": True, "reason": "fits", "reasoning": {"a": "so"}}, {"valid": True}),
        ({"share": np.float32(0.5), "found": ["a", "b"]}, {"share": 0.5}),
        ({"share": 0.5, "seen": deque(["a"])}, {"share": 0.5}),
        ({"tone": Tone.WARM, "score": 1}, {"tone": "warm", "score": 1.0}),
        (Marks(0.5, "brisk"), {"style": 0.5, "label": "brisk"}),
        (Score(value=0.5, details={"missing": ["a"]}), {"": 0.5}),
        (Score(value=0.5, details={"tone": "warm"}), {"": 0.5, "tone": "warm"}),
        (Score(value=0.5, details={"value": "warm"}), {"": 0.5, "value": "warm"}),
        (Score(value=0.5, details={"share": 0.5, "of": 2}), {"share": 0.5, "of": 2.0}),
    ],
)
def test_numbers_texts_and_missing_values_are_counted_by_their_paths(
    measured: object, counted: dict[str, object]
) -> None:
    assert parts(measured) == counted


@pytest.mark.parametrize(
    ("measured", "counted"),
    [
        ({"key": "tone", "score": 1, "comment": "warm"}, {"tone": 1.0}),
        ({"key": "tone", "score": None, "value": "warm"}, {"tone": "warm"}),
        ({"key": "tone", "score": 0.5, "value": "warm"}, {"tone": 0.5, "tone.value": "warm"}),
        ({"key": "tone", "score": None}, {"tone": None}),
        ([{"key": "a", "score": True}, {"key": "b", "value": "x"}], {"a": True, "b": "x"}),
        ({"results": [{"key": "a", "score": 1}]}, {"a": 1.0}),
        (Feedback(key="a", score=0.25, comment="why not"), {"a": 0.25}),
        ({"results": [Feedback(key="a", score=0.25)]}, {"a": 0.25}),
    ],
)
def test_langsmiths_forms_mean_metrics_by_their_keys(measured: object, counted: dict[str, object]) -> None:
    assert parts(measured) == counted


def test_a_comment_stays_with_its_metric() -> None:
    score = whole([{"key": "a", "score": 1, "comment": "first"}, {"key": "b", "score": 0}], None, name="mine")

    assert [reason_at(score.details, path) for path in ("a", "b")] == ["first", ""]


def test_the_reason_nearest_to_a_value_is_its_own() -> None:
    details = {"reasoning": {"a": "of a", "b": "of b"}, "c": {"score": 1, "why": "of c"}, "comment": "of all"}

    assert [reason_at(details, path) for path in ("a", "b", "c.score", "d")] == ["of a", "of b", "of c", "of all"]


@pytest.mark.parametrize(
    ("measured", "said"),
    [
        (None, r"scorer mine: it returned nothing \(None\); .*is a `return` missing\?"),
        ([1, 2], r"it returned \[1, 2\] \(list\); return a number, a boolean, a text or a dict of them"),
        ({1, 2}, r"it returned \{1, 2\} \(set\)"),
        (b"good", r"it returned b'good' \(bytes\)"),
        (np.arange(3), r"\(ndarray\)"),
        (object(), r"it returned <object .*> \(object\)"),
        ({}, "it returned an empty dict"),
        ({"claims": [], "reason": "none"}, "it returned a dict without a number, a boolean or a text"),
        ({"a.b": 1, "a": {"b": 2}}, "two of the values it returned are called 'a.b'; give each a name of its own"),
        ({1: 0.5, "1": 0.75}, "two of the values it returned are called '1'"),
        ({"a": object(), "b": 1}, r"it returned an object that is no JSON \(object at \['a'\]\)"),
        ({"b": 1, "a": [b"x"]}, r"\(bytes at \['a'\]\[0\]\)"),
        ({"b": 1, "of": float}, r"\(type at \['of'\]\)"),
        (Score(value=1.0, details={"a": object()}), r"\(object at \['a'\]\)"),
        ([{"key": "a", "score": 1}, {"key": "a", "score": 0}], "two of the values it returned are called 'a'"),
    ],
)
def test_what_nothing_can_be_made_of_is_an_error_with_its_cause(measured: object, said: str) -> None:
    with pytest.raises(DefinitionError, match=said):
        whole(measured, None, name="mine")
    with pytest.raises(DefinitionError, match=said):
        select(measured, None, name="mine")


def test_a_scorer_with_a_summary_may_keep_any_value_for_it() -> None:
    kept = whole(["a", "b"], None, name="mine", keeps_any=True)

    assert measured_of(kept) == ["a", "b"]
    assert isnan(kept.value)


def test_what_is_kept_for_a_summary_is_json_too() -> None:
    with pytest.raises(DefinitionError, match=r"scorer mine: it returned an object that is no JSON \(object\)"):
        whole(object(), None, name="mine", keeps_any=True)


def test_a_score_of_ones_own_is_taken_as_it_is() -> None:
    score = Score(value=nan, reasoning="cannot say", details={"label": "x"})

    assert whole(score, None, name="mine") == score


def test_a_number_is_taken_from_langsmiths_forms_by_its_key() -> None:
    found: Any = [{"key": "a", "score": 1, "comment": "first"}, {"key": "b", "score": 0}]

    assert select(found, "b", name="mine").value == 0


@pytest.mark.parametrize(
    ("measured", "path", "said"),
    [
        (2.0, "style", "it returned 2.0, and no number called 'style'; leave Expectation.score out."),
        ({"a": 1, "b": 2}, None, "it returned numbers called 'a', 'b', and which is meant is not said; set "),
        (
            {"a": 1, "b": 2},
            "c",
            "no number at 'c' in what it returned ('a', 'b'); set Expectation.score to one of them.",
        ),
        ("warm", None, "it returned 'warm', in which there is no number; return a number, or one in a dict."),
        ((each for each in "ab"), None, "<genexpr>> (generator); return a number, "),
    ],
)
def test_what_is_wrong_with_a_score_is_told_as_it_is(measured: object, path: str | None, said: str) -> None:
    with pytest.raises(DefinitionError) as raised:
        select(measured, path, name="mine")

    assert said in str(raised.value)
