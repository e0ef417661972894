"""Sentiment of a text: what labels are worth, the expected value, and the lexicon."""

from typing import Any

import pytest

from simeval.errors import DefinitionError
from simeval.extras.local.classifiers.harms import BiasScorer, ToxicityScorer
from simeval.extras.local.classifiers.sentiment import SentimentScorer, guessed
from tests.support.classifiers import FIVE, Written

pytestmark = pytest.mark.anyio

WORTHS = (-1.0, -0.5, 0.0, 0.5, 1.0)


def says(**probabilities: float) -> Written:
    return Written({"x": probabilities})


@pytest.mark.parametrize(
    ("labels", "worths"),
    [
        (FIVE, WORTHS),
        (["very_negative", "NEGATIVE", "neutral", "Positive", "VERY POSITIVE"], WORTHS),
        (["Very Positive", "Positive", "Neutral", "Negative", "Very Negative"], WORTHS[::-1]),
        (["NEGATIVE", "POSITIVE"], (-1.0, 1.0)),
        (["POS", "NEU", "NEG"], (1.0, 0.0, -1.0)),
        (["neutral", "positive", "negative"], (0.0, 1.0, -1.0)),
        (["1 star", "2 stars", "3 stars", "4 stars", "5 stars"], WORTHS),
        (["LABEL_0", "LABEL_1"], (-1.0, 1.0)),
        (["LABEL_0", "LABEL_1", "LABEL_2"], (-1.0, 0.0, 1.0)),
        (["LABEL_4", "LABEL_3", "LABEL_2", "LABEL_1", "LABEL_0"], WORTHS[::-1]),
    ],
)
def test_what_labels_are_worth_is_guessed_from_their_names(labels: list[str], worths: tuple[float, ...]) -> None:
    assert guessed(labels, "test") == dict(zip(labels, worths, strict=True))


@pytest.mark.parametrize(
    "labels",
    [
        ["joy", "anger"],
        ["negative", "neutral"],
        ["negative", "mixed", "positive"],
        ["0", "1"],
        ["1", "2", "3", "4", "5"],
        ["LABEL_0", "LABEL_1", "LABEL_2", "LABEL_3"],
        ["LABEL_1", "LABEL_2"],
        ["1 star", "2 stars", "3 stars", "4 stars"],
        ["1 star", "2 stars", "3 stars", "4 stars", "5 stars", "none"],
        ["NEG", "negative", "positive"],
        ["positive"],
        [],
    ],
)
def test_labels_whose_meaning_is_not_clear_are_asked_for(labels: list[str]) -> None:
    with pytest.raises(DefinitionError, match="label_map="):
        guessed(labels, "test")


async def test_a_score_is_the_expected_worth_and_shows_what_it_was_made_of() -> None:
    found = await SentimentScorer(says(NEGATIVE=0.25, POSITIVE=0.75)).score("x")

    assert found == {
        "sentiment": 0.5,
        "spread": pytest.approx(0.8660, abs=1e-4),
        "distribution": {"NEGATIVE": 0.25, "POSITIVE": 0.75},
        "label_map": {"NEGATIVE": -1.0, "POSITIVE": 1.0},
        "windows": 1,
        "truncated": None,
        "model": "written",
    }


async def test_the_spread_tells_a_torn_text_from_a_neutral_one() -> None:
    torn = await SentimentScorer(says(negative=0.5, neutral=0.0, positive=0.5)).score("x")
    neutral = await SentimentScorer(says(negative=0.0, neutral=1.0, positive=0.0)).score("x")

    assert torn["sentiment"] == neutral["sentiment"] == 0.0
    assert (torn["spread"], neutral["spread"]) == (1.0, 0.0)


async def test_a_label_map_says_what_labels_are_worth() -> None:
    said: Any = {"joy": "very positive", "calm": 0.25, "anger": "Very Negative"}

    found = await SentimentScorer(says(joy=0.5, calm=0.4, anger=0.1), label_map=said).score("x")

    assert found["sentiment"] == pytest.approx(0.5)
    assert found["label_map"] == {"joy": 1.0, "calm": 0.25, "anger": -1.0}


async def test_a_label_map_must_name_all_labels_and_no_others() -> None:
    with pytest.raises(DefinitionError, match="where the model has"):
        await SentimentScorer(says(joy=0.5, anger=0.5), label_map={"joy": 1.0}).score("x")


@pytest.mark.parametrize("worth", [1.5, float("nan"), "good", None, True])
def test_a_worth_that_is_no_sentiment_is_refused(worth: Any) -> None:
    with pytest.raises(DefinitionError, match=r"label_map\['joy'\]"):
        SentimentScorer(says(), label_map={"joy": worth})


@pytest.mark.parametrize("label_map", [["joy"], "joy", 3])
def test_a_label_map_that_is_none_is_refused(label_map: Any) -> None:
    with pytest.raises(DefinitionError, match=r"label_map: found .* give a dict"):
        SentimentScorer(says(), label_map=label_map)


async def test_probabilities_that_are_off_by_rounding_are_held_within_0_and_1() -> None:
    found = await ToxicityScorer(says(toxic=1.0005, neutral=-0.0005)).score("x")

    assert found["toxicity"] == 1.0
    assert found["distribution"] == {"toxic": 1.0, "neutral": 0.0}


@pytest.mark.parametrize("output", ["", "  \n", None, [], {}])
async def test_without_a_text_there_is_no_sentiment(output: Any) -> None:
    with pytest.raises(ValueError, match="nothing in 'output'"):
        await SentimentScorer(says(negative=0.5, positive=0.5)).score(output)


@pytest.mark.parametrize(
    "probabilities",
    [
        {"negative": 0.9, "positive": 0.8},
        {"negative": -1.0, "positive": 2.0},
        {"negative": float("nan"), "positive": 0.5},
        {},
    ],
)
async def test_what_are_no_probabilities_is_no_score(probabilities: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="probabilities"):
        await SentimentScorer(says(**probabilities)).score("x")


@pytest.mark.parametrize("model", [3, None, object()])
def test_what_is_no_classifier_is_refused(model: Any) -> None:
    with pytest.raises(DefinitionError, match="async classify"):
        SentimentScorer(model)


async def test_a_class_is_found_by_its_name_whatever_its_place_and_case() -> None:
    for probabilities in ({"TOXIC": 0.7, "neutral": 0.3}, {"neutral": 0.3, "TOXIC": 0.7}):
        found = await ToxicityScorer(Written({"x": probabilities})).score("x")

        assert (found["toxicity"], found["label"]) == (0.7, "TOXIC")


async def test_a_class_that_a_model_does_not_have_is_told_with_those_it_has() -> None:
    with pytest.raises(DefinitionError, match=r"no label 'BIASED' but \['LABEL_0', 'LABEL_1'\]"):
        await BiasScorer(says(LABEL_0=0.1, LABEL_1=0.9)).score("x")
    assert (await BiasScorer(says(LABEL_0=0.1, LABEL_1=0.9), label="LABEL_1").score("x"))["bias"] == 0.9


async def test_a_model_with_several_labels_at_once_can_say_how_toxic_a_text_is() -> None:
    assert (await ToxicityScorer(says(toxic=0.9, insult=0.8)).score("x"))["toxicity"] == 0.9


async def test_the_lexicon_gives_its_own_number_and_names_itself() -> None:
    pytest.importorskip("vaderSentiment", reason="the extra 'sentiment' is not installed")

    good = await SentimentScorer("lexicon").score("The food was great, I loved it!")
    torn = await SentimentScorer("lexicon").score("The food was great, the waiter was horrible.")

    # great 3.1, loved 2.9, and 0.292 for the exclamation mark: 6.292 / sqrt(6.292 ** 2 + 15)
    assert good["sentiment"] == pytest.approx(0.8516)
    assert str(good["model"]).startswith("lexicon (VADER")
    assert torn["spread"] > good["spread"]


async def test_the_lexicon_reads_a_long_text_in_windows() -> None:
    pytest.importorskip("vaderSentiment", reason="the extra 'sentiment' is not installed")
    good, bad = "good " * 100, "awful " * 100

    found = [await SentimentScorer("lexicon").score(text) for text in (good, bad, good + bad)]

    lengths = len(good.strip()), len(bad.strip())
    mean = sum(float(str(each["sentiment"])) * length for each, length in zip(found, lengths, strict=False)) / sum(
        lengths
    )
    assert found[2]["windows"] == 2
    assert found[2]["sentiment"] == pytest.approx(mean)


def test_the_lexicon_needs_no_label_map() -> None:
    with pytest.raises(DefinitionError, match="leave it out"):
        SentimentScorer("lexicon", label_map={"Positive": 1.0})
