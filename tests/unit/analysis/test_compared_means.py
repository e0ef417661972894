"""Comparison of two runs of a suite: what it concludes on a mean score."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simeval.stats.paired import sign_flip
from tests.support.results import means


def test_paired_means_are_worse_where_that_is_proven() -> None:
    before, now = [8.0, 7.0, 9.0, 8.0, 7.0, 9.0], [6.0, 6.0, 7.0, 7.0, 5.0, 8.0]

    change = means(before, now)

    assert change.finding == "worse"
    assert change.p_worse == sign_flip([new - old for old, new in zip(before, now, strict=True)]).p_new_worse
    assert (len(change.improved), len(change.regressed)) == (0, 6)
    assert change.p_not_worse is None
    assert change.difference == pytest.approx(-1.5)


def test_a_mean_that_should_be_low_is_worse_where_it_rose() -> None:
    rose = means([1.0] * 8, [2.0] * 8, "mean at most 3")
    fell = means([2.0] * 8, [1.0] * 8, "mean at most 3")

    assert (rose.finding, fell.finding) == ("worse", "better")
    assert (len(rose.regressed), len(fell.improved)) == (8, 8)


def test_paired_means_that_did_not_change_are_unclear_because_they_have_no_margin() -> None:
    change = means([8.0] * 60, [8.0] * 60)

    assert (change.finding, change.reason) == ("unclear", "no_margin")


@pytest.mark.parametrize(("before", "now"), [(0.7, (0.7 + 0.7 + 0.7) / 3), (0.3, 0.1 + 0.2), (7e9, 7e9 + 1e-6)])
def test_what_only_rounding_tells_apart_is_neither_better_nor_worse(before: float, now: float) -> None:
    assert before != now
    for change in (means([before] * 20, [now] * 20), means([now] * 20, [before] * 20)):
        assert (change.finding, change.p_better, change.p_worse) == ("unclear", 1, 1)
        assert (len(change.improved), len(change.regressed)) == (0, 0)


def test_rounding_is_no_difference_beside_scores_that_are_missing() -> None:
    before, now = [0.1 + 0.2] * 20, [*[0.3] * 19, None]

    assert means(before, now).p_worse == 1


def test_unpaired_means_are_only_described() -> None:
    change = means([9.0] * 30, [2.0] * 30, seed=8)

    assert (change.finding, change.reason, change.p_worse) == ("unclear", "unpaired", None)
    assert "a mean of 9 in 30 before, a mean of 2 in 30 now" in change.explanation


def test_a_mean_without_a_known_direction_is_only_described() -> None:
    change = means([9.0] * 30, [2.0] * 30, "typical score of 5")

    assert (change.finding, change.reason, change.p_worse) == ("changed", "unknown_direction", None)


@settings(deadline=None, max_examples=40)
@given(
    before=st.lists(st.none() | st.integers(1, 10), min_size=8, max_size=8),
    now=st.lists(st.none() | st.integers(1, 10), min_size=8, max_size=8),
)
def test_a_missing_score_never_makes_a_mean_look_worse_or_better(
    before: list[int | None], now: list[int | None]
) -> None:
    complete = [(old, new) for old, new in zip(before, now, strict=True) if old is not None and new is not None]

    change = means(before, now)

    assert change.p_worse is not None
    assert change.p_better is not None
    tested = sign_flip([new - old for old, new in complete])
    assert change.p_worse >= tested.p_new_worse - 1e-9
    assert change.p_better >= tested.p_new_better - 1e-9
    assert change.candidate.missing == now.count(None)


def test_a_mean_has_students_interval_of_its_difference() -> None:
    change = means([8.0, 7.0, 9.0, 8.0, 7.0], [6.0, 6.0, 7.0, 7.0, 5.0])

    # scipy 1.17: ttest_rel([6, 6, 7, 7, 5], [8, 7, 9, 8, 7]).confidence_interval(0.9)
    assert change.interval == pytest.approx((-2.1221937, -1.0778063), abs=1e-7)


def test_a_mean_of_which_it_is_not_known_what_is_better_is_unchanged_where_no_score_is_another() -> None:
    assert means([9.0, None], [9.0, 2.0], "typical score of 5").finding == "unchanged"
    assert means([9.0, 2.0], [2.0, 9.0], "typical score of 5", seed=8).finding == "unchanged"
    assert means([9.0, 2.0], [2.0, 2.0], "typical score of 5", seed=8).finding == "changed"
