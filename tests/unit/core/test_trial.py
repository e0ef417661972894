"""Scores: their details are read into fields, and kept in the form that stores have had from the first."""

import pytest

from simeval.core.trial import Rating, Score, TurnCounts

RATINGS = [
    {"judge": "a", "repeat": 0, "score": 8.0, "reasoning": "clear"},
    {"judge": "b", "repeat": 0, "score": 6.0, "reasoning": ""},
]


def test_ratings_that_a_store_kept_are_read_and_kept_as_they_were() -> None:
    kept = {"ratings": RATINGS, "language": "en"}

    score = Score.of(7.0, reasoning="the mean", details=kept)

    assert score.ratings == (
        Rating(judge="a", repeat=0, score=8.0, reasoning="clear"),
        Rating(judge="b", repeat=0, score=6.0),
    )
    assert score.details == {"language": "en"}
    assert score.kept_details == kept


@pytest.mark.parametrize("details", [{}, {"ratings": 3}, {"ratings": [1, 2]}, {"ratings": [{"judge": "a"}]}])
def test_details_of_a_users_scorer_are_no_ratings(details: dict[str, object]) -> None:
    score = Score.of(1.0, details=details)

    assert (score.ratings, score.kept_details) == ((), details)


@pytest.mark.parametrize(
    ("good", "turns", "expected"), [(3, 4, TurnCounts(3, 4)), (0, 1, TurnCounts(0, 1)), (2, 1, None), ("most", 5, None)]
)
def test_turns_are_counted_where_the_details_say_how_many_are_good(
    good: object, turns: object, expected: TurnCounts | None
) -> None:
    score = Score.of(0.5, details={"good_turns": good, "turns": turns})

    assert score.turn_counts == expected
    assert score.details == {"good_turns": good, "turns": turns}
