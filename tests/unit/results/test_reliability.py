"""What several ratings of one conversation make, and what they tell about the judge."""

from math import nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simeval.core.trial import Failure, Rating, Score
from simeval.results.findings import Reliability, reliability_of, show_coefficient
from simeval.scorers.llm.judge import mean_rating
from simeval.stats.agreement import krippendorff_alpha
from simeval.stats.reliability import judge_variance, repeats_worth_paying

LEVELS = st.floats(1, 10)


def ratings(*scores: float, judge: str = "a") -> list[Rating]:
    return [
        Rating(judge=judge, repeat=repeat, score=score, reasoning=f"r{score:g}") for repeat, score in enumerate(scores)
    ]


def one_judge(*rows: tuple[float, ...]) -> list[Score]:
    return [mean_rating(ratings(*row)) for row in rows]


def panel(*rows: tuple[tuple[float, ...], ...]) -> list[Score]:
    return [
        mean_rating([rating for name, own in zip("abc", row, strict=False) for rating in ratings(*own, judge=name)])
        for row in rows
    ]


def found_in(results: list[Score]) -> Reliability:
    found = reliability_of(results)
    assert found is not None
    return found


def test_a_single_rating_is_the_score_with_nothing_added() -> None:
    score = mean_rating(ratings(7.0))

    assert (score.value, score.reasoning, dict(score.details)) == (7.0, "r7", {})
    assert score.ratings == ()


def test_several_make_their_mean_and_say_each_reason_once() -> None:
    score = mean_rating(ratings(8, 7, 7))

    assert score.value == pytest.approx(22 / 3)
    assert score.reasoning == "the mean of 8, 7, 7\n8: r8\n7: r7"
    assert list(score.ratings) == ratings(8, 7, 7)


@given(LEVELS, st.integers(1, 12))
def test_equal_ratings_make_themselves(level: float, repeats: int) -> None:
    assert mean_rating(ratings(*[level] * repeats)).value == level


@given(st.lists(LEVELS, min_size=1, max_size=12))
def test_the_mean_lies_among_the_ratings(levels: list[float]) -> None:
    assert min(levels) <= mean_rating(ratings(*levels)).value <= max(levels)


@pytest.mark.parametrize("results", [[], [Score(value=3.0)], [Failure(stage="judge", error="x", cause="server")]])
def test_without_several_ratings_nothing_is_known(results: list[Score | Failure]) -> None:
    assert reliability_of(results) is None


def test_the_coefficients_are_those_of_the_ratings_one_row_a_conversation() -> None:
    rows = [(7.0, 8.0, 6.0), (3.0, 3.0, 4.0), (9.0, 8.0, 9.0), (5.0, 7.0, 6.0)] * 5

    found = found_in(one_judge(*rows))
    expected = judge_variance(rows)

    assert (found.icc, found.variance_judge) == (expected.icc1, expected.judge)
    assert (found.conversations, found.repeats) == (20, 3)
    assert found.alpha is None
    for advice in found.advice:
        best = repeats_worth_paying(expected.judge, expected.conversation, cost_ratio=advice.cost_ratio)
        assert (advice.repeats, advice.saving) == (best.count, best.saving)


def test_trials_without_a_score_are_left_out() -> None:
    results = one_judge((7.0, 8.0), (3.0, 3.0))

    with_failure = reliability_of([results[0], Failure(stage="judge", error="x", cause="server"), results[1]])

    assert with_failure == reliability_of(results)


def test_advice_needs_twenty_conversations() -> None:
    nineteen, twenty = (found_in(one_judge(*[(2.0, 3.0), (9.0, 9.0)] * 9, *[(5.0, 5.0)] * more)) for more in (1, 2))

    assert nineteen.advice == ()
    assert "fewer than 20 give no advice" in str(nineteen)
    assert [advice.cost_ratio for advice in twenty.advice] == [1, 5, 10]


def test_a_consistent_judge_is_asked_once() -> None:
    found = found_in(one_judge(*[(2.0, 2.0), (9.0, 9.0)] * 15))

    assert str(found) == "ICC 1.00 over 2 repeats (30 conversations); one rating a conversation is enough"


def test_a_judge_that_contradicts_itself_is_worth_asking_again() -> None:
    found = found_in(one_judge(*[(2.0, 7.0, 4.0), (9.0, 5.0, 8.0)] * 15))

    repeats = [advice.repeats for advice in found.advice]
    assert repeats == sorted(repeats)
    assert repeats[-1] > 1
    assert f"worth paying: {repeats[0]}, {repeats[1]} or {repeats[2]} ratings" in str(found)


def test_ratings_without_any_difference_tell_nothing() -> None:
    found = found_in(one_judge(*[(8.0, 8.0)] * 30))

    assert found.icc is None
    assert found.advice == ()
    assert str(found) == "no ICC, because all ratings of 30 conversations are equal"


def test_one_conversation_tells_nothing() -> None:
    assert str(found_in(one_judge((8.0, 9.0)))) == "no ICC, from one conversation"


def test_a_panels_agreement_is_that_of_each_judges_own_mean() -> None:
    results = panel(((8.0, 6.0), (7.0, 7.0)), ((3.0, 3.0), (4.0, 2.0)), ((9.0, 9.0), (5.0, 6.0)))

    found = found_in(results)

    assert found.judges == ("a", "b")
    assert found.alpha is not None
    assert found.alpha == krippendorff_alpha([[7, 3, 9], [7, 3, 5.5]], level="interval").value
    assert found.icc == judge_variance([[8, 6, 7, 7], [3, 3, 4, 2], [9, 9, 5, 6]]).icc1
    assert found.advice == ()
    assert str(found).startswith(f"alpha {show_coefficient(found.alpha)} between 2 judges, ICC ")
    assert "over 2 repeats (3 conversations)" in str(found)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.934, ".93"), (1.0, "1.00"), (0.0, ".00"), (-0.05, "-.05"), (0.999, "1.00"), (nan, "undefined")],
)
def test_a_coefficient_is_written_with_two_digits(value: float, shown: str) -> None:
    assert show_coefficient(value) == shown
