"""Bounds that scorers declare: of every number that has some, so that no interval is one that cannot be."""

from math import inf

import pytest

from simeval.core.direction import Bounds
from simeval.results.estimates import estimate_mean
from simeval.scorers import (
    Alignment,
    PeoplesFeedback,
    Persona,
    Readability,
    RougeL,
    Scorer,
    SentimentMatch,
    SentimentScorer,
    Stability,
    Summarization,
    TokenF1,
)

pytest.importorskip("vaderSentiment", reason="the extra 'sentiment' is not installed")

LEXICON = SentimentScorer("lexicon")
STABILITY = Stability(encoder="hashed")
ALIGNMENT = Alignment(persona=Persona(id="it", examples=["A new one ships today."]), encoder="hashed")


@pytest.mark.parametrize(
    ("scorer", "path", "bounds"),
    [
        (RougeL(), "recall", (0, 1)),
        (TokenF1(), "f1", (0, 1)),
        (Summarization(), "quality", (0, 1)),
        (Summarization(), "entity_density", (0, inf)),
        (Readability(), "syllables_per_word", (0, inf)),
        (PeoplesFeedback(key="helpful"), "people", (0, inf)),
        (STABILITY, "responses", (0, inf)),
        (STABILITY, "mean_distance", (0, 2)),
        (ALIGNMENT, "stability.responses", (0, inf)),
        (LEXICON, "sentiment", (-1, 1)),
        (LEXICON, "windows", (0, inf)),
        (LEXICON, "distribution.Neutral", (0, 1)),
        (SentimentMatch(by=LEXICON), "sentiment", (-1, 1)),
        (SentimentMatch(by=LEXICON), "difference", (-2, 2)),
        (SentimentMatch(by=LEXICON), "allowed_uncertainty", (0, inf)),
    ],
)
def test_a_number_has_the_bounds_of_what_it_is(scorer: Scorer, path: str, bounds: Bounds) -> None:
    assert scorer.bounds_of(path) == bounds


def test_a_count_that_is_always_1_has_no_interval_below_it() -> None:
    found = estimate_mean([1.0] * 20, bounds=LEXICON.bounds_of("windows"))

    assert (found.value, found.interval) == (1.0, None)


def test_a_mean_of_counts_is_not_below_zero() -> None:
    found = estimate_mean([1.0, 2.0], bounds=STABILITY.bounds_of("responses"))

    assert found.interval is not None
    assert found.interval[0] >= 0


def test_what_a_label_is_worth_was_not_measured_and_has_no_interval() -> None:
    assert estimate_mean([1.0] * 20, bounds=LEXICON.bounds_of("label_map.Positive")).interval is None
