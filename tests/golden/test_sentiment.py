"""Sentiment, toxicity, bias and the two checks, as audacia-llm-evaluation has them in its code and its document."""

from statistics import pstdev
from typing import Any

import pytest

from simeval.errors import DefinitionError
from simeval.extras.local.classifiers.harms import BiasScorer, ToxicityMatch, ToxicityScorer
from simeval.extras.local.classifiers.sentiment import SentimentConsistency, SentimentMatch, SentimentScorer
from tests.support.classifiers import Written, leaning
from tests.support.golden_cases import TOLERANCE, cases_in, chosen, ids

SCORES = ids("audacia", 1, 3, 4, 5, 6, 7) | ids("doc", 37, 38, 39)
CLASSES = ids("audacia", 8, 9)
MATCHES = ids("audacia", 11, 13, 14, 15, 17) | ids("doc", 40, 41)
CONSISTENCY = ids("audacia", 19, 20, 21, 22, 24, 27, 28, 29)
TOXICITY = ids("audacia", 31)
DEVIATION = ids("doc", 45)
ALL = SCORES | CLASSES | MATCHES | CONSISTENCY | TOXICITY | DEVIATION
COVERED = {name: frozenset(each for each in ALL if each.startswith(name[:3])) for name in ("audacia", "documented")}

WRONG = {
    "audacia-013": "a score on the border of what is allowed is allowed",
    "audacia-014": "a negative uncertainty allows nothing: it is a mistake of who wrote it",
    "audacia-015": "no text has a sentiment of 2",
    "audacia-022": "a score on the border of what is allowed is allowed",
    "audacia-024": "two references: its document asks for three",
    "audacia-027": "a scale of 0 allows nothing: its document asks for a positive number",
    "audacia-028": "a negative scale allows nothing: its document asks for a positive number",
    "audacia-031": "an answer less toxic than expected is no failure; side='both' fails it as there",
}
INSTEAD = dict.fromkeys(WRONG, "raises") | {"audacia-013": "pass", "audacia-022": "pass", "audacia-031": "pass"}


async def ours(case: dict[str, Any]) -> Any:
    given = case["inputs"]
    try:
        if case["id"] in SCORES:
            written = Written({"x": given.get("probabilities", given)})
            return (await SentimentScorer(written).score("x"))["sentiment"]
        if case["id"] in CLASSES:
            return await of_class(given)
        if case["id"] in MATCHES:
            return await matched(given)
        if case["id"] in TOXICITY:
            written = Written({"x": {"toxic": given["toxicity"], "neutral": 1 - given["toxicity"]}})
            return await ToxicityMatch(
                by=ToxicityScorer(written), expected=given["expected_score"], uncertainty=given["allowed_uncertainty"]
            ).score("x")
        return await consistent(given)
    except DefinitionError:
        return "raises"


async def of_class(given: dict[str, Any]) -> object:
    written = Written({"x": dict(zip(given["labels"], given["scores"], strict=True))})
    scorer = BiasScorer(written) if "BIASED" in given["labels"] else ToxicityScorer(written)
    return (await scorer.score("x"))[scorer.metric]


async def matched(given: dict[str, Any]) -> object:
    allowed = {"uncertainty": given["allowed_uncertainty"]} if "allowed_uncertainty" in given else {}
    by = SentimentScorer(Written({"x": leaning(given["sentiment"])}))
    return await SentimentMatch(by=by, expected=given.get("expected_score", 0.5), **allowed).score("x")


async def consistent(given: dict[str, Any]) -> object:
    scores = given.get("reference_scores") or given["reference_sentiments"]
    texts = {f"r{number}": leaning(score) for number, score in enumerate(scores)}
    by = SentimentScorer(Written(texts | {"x": leaning(given.get("sentiment", 0.0))}))
    return await SentimentConsistency(by=by, references=list(texts), scale=given.get("scale_uncertainty", 1)).score("x")


def result_of(found: Any) -> object:
    if isinstance(found, dict):
        return next(value for name, value in found.items() if name.endswith("_result"))
    return found


@pytest.mark.anyio
@pytest.mark.parametrize("case", chosen("audacia", COVERED["audacia"] - WRONG.keys()))
async def test_a_case_of_audacias_comes_out_the_same_in_every_value(case: dict[str, Any]) -> None:
    found, expected = await ours(case), case["expected"]

    if case["id"] in SCORES | CLASSES:
        assert found == pytest.approx(next(iter(expected.values())), abs=TOLERANCE)
        return
    for name, value in expected.items():
        assert found[name] == (value if isinstance(value, (str, list)) and not _numbers(value) else _near(value))
    assert found["passed"] is (expected["sentiment_result"] == "pass")


@pytest.mark.anyio
@pytest.mark.parametrize("case", chosen("audacia", frozenset(WRONG)))
async def test_where_audacia_is_wrong_this_is_right(case: dict[str, Any]) -> None:
    assert result_of(await ours(case)) == INSTEAD[case["id"]] != result_of(case["expected"])


@pytest.mark.anyio
@pytest.mark.parametrize("case", chosen("documented", COVERED["documented"]))
async def test_a_documented_case_of_audacias_comes_out_the_same(case: dict[str, Any]) -> None:
    found, expected = await ours(case), case["expected"]

    if case["id"] in DEVIATION:
        assert found["mean_score"] == _near(expected["mean_score"])
        assert found["standard_deviation"] == _near(expected["sample_sd"])
        assert pstdev(found["reference_scores"]) == _near(expected["population_sd"])
    else:
        assert result_of(found) == (expected if isinstance(expected, str) else _near(expected))


@pytest.mark.anyio
@pytest.mark.parametrize("case", chosen("audacia", TOXICITY))
async def test_a_two_sided_check_of_toxicity_fails_the_less_toxic_as_audacias_does(case: dict[str, Any]) -> None:
    given = case["inputs"]
    by = ToxicityScorer(Written({"x": {"toxic": given["toxicity"], "neutral": 1 - given["toxicity"]}}))

    found = await ToxicityMatch(by=by, expected=given["expected_score"], side="both").score("x")

    assert {name: found[name] for name in case["expected"]} == case["expected"]


def test_the_reasons_are_of_cases_there_are() -> None:
    assert WRONG.keys() == INSTEAD.keys() <= COVERED["audacia"]
    assert not cases_in("audacia") or cases_in("audacia").keys() >= COVERED["audacia"]


def _near(value: object) -> object:
    return pytest.approx(value, abs=TOLERANCE)


def _numbers(value: object) -> bool:
    return isinstance(value, list) and not any(isinstance(each, str) for each in value)
