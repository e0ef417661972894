"""The two checks of a classifier's number: against an expected score, and against golden texts."""

from math import sqrt
from threading import Barrier, Thread
from typing import Any

import anyio
import pytest

from simeval.errors import DefinitionError
from simeval.extras.local.classifiers.checks import Check
from simeval.extras.local.classifiers.harms import (
    BiasConsistency,
    BiasMatch,
    BiasScorer,
    ToxicityConsistency,
    ToxicityMatch,
    ToxicityScorer,
)
from simeval.extras.local.classifiers.sentiment import SentimentConsistency, SentimentMatch, SentimentScorer
from tests.support.classifiers import Written, leaning

pytestmark = pytest.mark.anyio


def sentiments(**scores: float) -> Written:
    return Written({text: leaning(score) for text, score in scores.items()})


def toxicities(**scores: float) -> Written:
    return Written({text: {"neutral": 1 - score, "toxic": score} for text, score in scores.items()})


def matches(score: float, **settings: Any) -> SentimentMatch:
    return SentimentMatch(by=SentimentScorer(sentiments(x=score)), **settings)


def like(score: float, *references: float, **settings: Any) -> SentimentConsistency:
    texts = {f"r{number}": reference for number, reference in enumerate(references)}
    return SentimentConsistency(by=SentimentScorer(sentiments(x=score, **texts)), references=list(texts), **settings)


@pytest.mark.parametrize(
    ("score", "passed"), [(0.45, True), (0.55, True), (0.52, True), (0.551, False), (0.449, False)]
)
async def test_a_score_matches_within_the_uncertainty_and_on_its_borders(score: float, passed: bool) -> None:
    found = await matches(score, expected=0.5).score("x")

    assert found["passed"] is passed
    assert found["sentiment_result"] == ("pass" if passed else "fail")


async def test_nothing_is_allowed_but_the_expected_score_itself_where_the_uncertainty_is_0() -> None:
    assert (await matches(0.3, expected=0.3, uncertainty=0).score("x"))["passed"] is True
    assert (await matches(0.31, expected=0.3, uncertainty=0).score("x"))["passed"] is False


async def test_a_match_says_all_that_it_was_made_of() -> None:
    found = await matches(0.75, expected=0.5, uncertainty=0.25).score("x")

    assert found == {
        "sentiment": 0.75,
        "response": "x",
        "expected_score": 0.5,
        "allowed_uncertainty": 0.25,
        "sentiment_result": "pass",
        "passed": True,
        "difference": 0.25,
        "side": "both",
        "why": "sentiment is 0.75, and at least 0.25 and at most 0.75 was allowed",
        "model": "written",
    }


async def test_consistency_says_all_that_it_was_made_of() -> None:
    found = await like(0.5, 0, 0.25, 0.5).score("x")

    assert found == {
        "sentiment": 0.5,
        "response": "x",
        "references": ["r0", "r1", "r2"],
        "reference_scores": [0.0, 0.25, 0.5],
        "mean_score": 0.25,
        "calculated_uncertainty": 0.25,
        "standard_deviation": 0.25,
        "scale": 1.0,
        "interval": "sd",
        "sentiment_result": "pass",
        "passed": True,
        "difference": 0.25,
        "side": "both",
        "why": "sentiment is 0.5, and at least 0 and at most 0.5 was allowed",
        "model": "written",
    }


@pytest.mark.parametrize(("scale", "covered"), [(1, 0.6826894921), (2, 0.9544997361), (3, 0.9973002039)])
async def test_three_references_predict_with_the_factors_of_students_t(scale: float, covered: float) -> None:
    # with two degrees of freedom t's quantile has a closed form
    factor = covered * sqrt(2 / (1 - covered**2)) * sqrt(1 + 1 / 3)

    found = await like(0.0, -0.1, 0.0, 0.1, scale=scale, interval="prediction").score("x")

    assert found["standard_deviation"] == pytest.approx(0.1)
    assert found["calculated_uncertainty"] == pytest.approx(0.1 * factor, rel=1e-6)


async def test_a_prediction_of_many_deviations_is_wide_and_not_infinite() -> None:
    found = await like(0.0, *(-0.1, 0.1) * 100, scale=10, interval="prediction").score("x")

    # t with 199 degrees of freedom, of a tail of 7.6e-24: between the normal 10 and its first correction, 10 + 1.27
    assert found["calculated_uncertainty"] == pytest.approx(1.1, abs=0.1)


async def test_many_references_predict_about_as_wide_as_their_standard_deviation() -> None:
    found = await like(0.0, *(-0.1, 0.1) * 100, interval="prediction").score("x")

    assert found["calculated_uncertainty"] == pytest.approx(0.1, rel=0.01)


async def test_references_that_are_all_the_same_leave_room_for_the_same_again() -> None:
    assert (await like(0.5, 0.5, 0.5, 0.5).score("x"))["passed"] is True
    assert (await like(0.509, 0.5, 0.5, 0.5).score("x"))["calculated_uncertainty"] == 0.01
    assert (await like(0.52, 0.5, 0.5, 0.5).score("x"))["passed"] is False
    assert (await like(0.52, 0.5, 0.5, 0.5, floor=0.05).score("x"))["passed"] is True


async def test_golden_references_are_measured_once_for_all_answers() -> None:
    written = sentiments(x=0.1, y=0.2, a=0.0, b=0.1, c=0.2)
    check = SentimentConsistency(by=SentimentScorer(written), references=["a", "b", "c", "a"])

    scores = [(await check.score(text))["reference_scores"] for text in ("x", "y")]

    assert scores == [[0.0, pytest.approx(0.1), pytest.approx(0.2), 0.0]] * 2
    assert set(written.asked.values()) == {1}


def test_one_check_serves_several_event_loops_at_once() -> None:
    class Waiting:
        async def classify(self, text: str) -> dict[str, float]:
            together.wait(10)
            await anyio.lowlevel.checkpoint()
            return leaning(0.5)

    together, found = Barrier(2), []
    check = SentimentConsistency(by=SentimentScorer(Waiting()), references=["a", "b", "c"])
    threads = [Thread(target=lambda: found.append(anyio.run(check.score, "x")), daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)

    assert [each["passed"] for each in found] == [True, True]


async def test_what_is_expected_may_stand_in_columns() -> None:
    written = sentiments(x=0.1, a=0.0, b=0.1, c=0.2)
    match = SentimentMatch(by=SentimentScorer(written))
    consistency = SentimentConsistency(by=SentimentScorer(written))

    match.check(["output", "expected_score"])
    consistency.check(["output", "references"])
    assert (await match.score("x", expected_score=0.1))["passed"] is True
    assert (await consistency.score("x", references=["a", "b", "c"]))["passed"] is True


@pytest.mark.parametrize("kind", [SentimentMatch, SentimentConsistency])
def test_a_check_against_nothing_is_told_before_a_run(kind: type[Check]) -> None:
    check: Any = kind(by=SentimentScorer(sentiments(x=0.1)))

    with pytest.raises(DefinitionError, match="or name its column"):
        check.check(["output", "reference"])

    renamed = kind(
        by=SentimentScorer(sentiments()),
        column_map={"expected_score": "reference"} if kind is SentimentMatch else {"references": "reference"},
    )
    renamed.check(["output", "reference"])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"expected": 1.5}, "from -1 to 1"),
        ({"expected": float("nan")}, "from -1 to 1"),
        ({"expected": True}, "from -1 to 1"),
        ({"expected": 0.5, "uncertainty": -0.1}, "0 or more"),
        ({"expected": 0.5, "side": "above"}, "at_most"),
        ({"expected": 0.5, "by": "lexicon"}, "SentimentScorer"),
    ],
)
def test_a_match_that_cannot_be_meant_is_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(DefinitionError, match=said):
        SentimentMatch(**{"by": SentimentScorer(sentiments()), **settings})


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"references": ["a", "b"]}, "at least 3"),
        ({"references": "abc"}, "at least 3"),
        ({"references": ["a", "b", " "]}, "at least 3"),
        ({"references": ["a", "b", 3]}, "at least 3"),
        ({"references": ["a", "b", "c"], "scale": 0}, "positive"),
        ({"references": ["a", "b", "c"], "scale": -1}, "positive"),
        ({"references": ["a", "b", "c"], "scale": 40, "interval": "prediction"}, "at most 30"),
        ({"references": ["a", "b", "c"], "floor": -1}, "0 or more"),
        ({"references": ["a", "b", "c"], "interval": "t"}, "prediction"),
    ],
)
def test_a_consistency_that_cannot_be_meant_is_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(DefinitionError, match=said):
        SentimentConsistency(**{"by": SentimentScorer(sentiments()), **settings})


async def test_an_expected_score_of_a_column_is_held_to_the_same_bounds() -> None:
    with pytest.raises(DefinitionError, match="from -1 to 1"):
        await matches(0.5).score("x", expected_score=7)


async def test_an_answer_or_a_reference_without_text_is_not_measured() -> None:
    with pytest.raises(ValueError, match="nothing in 'output'"):
        await matches(0.5, expected=0.5).score(" ")


async def test_what_a_reference_raises_is_raised_as_itself() -> None:
    check = SentimentConsistency(by=SentimentScorer(sentiments(x=0.5, a=0.1, b=0.1)), references=["a", "b", "unknown"])

    with pytest.raises(KeyError, match="unknown"):
        await check.score("x")


@pytest.mark.parametrize(("side", "passed"), [("at_most", True), ("both", False), ("at_least", False)])
async def test_an_answer_less_toxic_than_expected_fails_only_where_that_is_asked(side: Any, passed: bool) -> None:
    found = await ToxicityMatch(by=ToxicityScorer(toxicities(x=0.02)), expected=0.1, side=side).score("x")

    assert found["passed"] is passed
    assert found["toxicity_result"] == ("pass" if passed else "fail")


async def test_an_answer_more_toxic_than_golden_references_fails() -> None:
    by = ToxicityScorer(toxicities(x=0.9, y=0.0, a=0.1, b=0.2, c=0.3))
    check = ToxicityConsistency(by=by, references=["a", "b", "c"])

    assert [(await check.score(text))["passed"] for text in ("x", "y")] == [False, True]
    assert (await check.score("x"))["why"] == "toxicity is 0.9, and at most 0.3 was allowed"


async def test_bias_has_the_same_two_checks() -> None:
    by = BiasScorer(Written({text: {"BIASED": 0.3, "NEUTRAL": 0.7} for text in "xabc"}))

    match = await BiasMatch(by=by, expected=0.2).score("x")
    consistency = await BiasConsistency(by=by, references=["a", "b", "c"]).score("x")

    assert (match["bias"], match["bias_result"], match["passed"]) == (0.3, "fail", False)
    assert (consistency["mean_score"], consistency["bias_result"]) == (pytest.approx(0.3), "pass")


async def test_an_equivalent_answer_passes_a_prediction_as_often_as_it_promises() -> None:
    import numpy as np

    draws = np.random.default_rng(5).normal(0, 0.1, size=(400, 4)).clip(-1, 1)

    found = [await like(*map(float, row), interval="prediction", floor=0).score("x") for row in draws]
    passed = [each["passed"] is True for each in found]

    assert sum(passed) / len(passed) == pytest.approx(0.683, abs=4 * sqrt(0.683 * 0.317 / 400))
