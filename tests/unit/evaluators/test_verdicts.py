"""From counts to a verdict, and its words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simeval.core.terminal import show_number, show_p, show_share
from simeval.core.trial import Verdict
from simeval.evaluators.scores import ProportionEvaluator
from simeval.evaluators.verdicts import Counts, mean_verdict, share_verdict
from simeval.stats.binomial import p_at_least, p_at_most


def conclude(counts: Counts, *, bar: float = 0.9, alpha: float = 0.05) -> Verdict:
    return share_verdict(
        counts, bar=bar, alpha=alpha, evaluator="it works", method="exact", estimate=None, interval=(0.0, 1.0)
    )


def test_trials_that_are_missing_belong_to_the_sample() -> None:
    assert Counts(good=2, bad=5, missing=2, crashes=4).n == 9


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 20), st.floats(0.05, 0.95))
def test_missing_trials_are_bad_for_a_pass_and_good_for_a_fail(good: int, bad: int, missing: int, bar: float) -> None:
    verdict = conclude(Counts(good, bad, missing), bar=bar)

    n = good + bad + missing
    assert verdict.p_value == p_at_least(good, n, bar)
    assert verdict.p_value_fail == p_at_most(good + missing, n, bar)
    assert (verdict.n, verdict.missing) == (n, missing)


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 10))
def test_whatever_the_missing_trials_would_have_been_the_verdict_stands(good: int, bad: int, missing: int) -> None:
    verdict = conclude(Counts(good, bad, missing))

    completions = {conclude(Counts(good + met, bad + missing - met)).outcome for met in range(missing + 1)}
    assert verdict.outcome == "inconclusive" or completions == {verdict.outcome}


def test_a_fail_says_how_unlikely_so_few_are() -> None:
    verdict = conclude(Counts(10, 20))

    assert verdict.reason == "proven_below"
    assert verdict.explanation == (
        "10 of 30 trials met the requirement: an app that meets the bar of 90% gives so few with p < 0.0001"
    )


def test_a_p_value_that_is_not_tiny_is_given_as_it_is() -> None:
    assert conclude(Counts(23, 7)).explanation.endswith("gives so few with p = 0.026")


def test_an_explanation_names_missing_trials() -> None:
    assert "and 3 more are missing" in conclude(Counts(27, 0, 3)).explanation


def test_where_all_trials_are_missing_nothing_is_said_of_a_rate_that_was_seen() -> None:
    explanation = conclude(Counts(0, 0, 30)).explanation

    assert "the missing trials count against both sides" in explanation
    assert "observed" not in explanation


@pytest.mark.parametrize(("counts", "bar", "least"), [(Counts(5, 0), 0.9, 29), (Counts(0, 0), 0.75, 11)])
def test_what_was_never_possible_names_the_trials_needed(counts: Counts, bar: float, least: int) -> None:
    verdict = conclude(counts, bar=bar)

    assert verdict.reason == "never_possible"
    assert f"{counts.n} trials cannot prove it even if every one is met" in verdict.explanation
    assert f"at least {least} are needed" in verdict.explanation


def test_a_mean_without_values_says_so() -> None:
    verdict = mean_verdict([], 3, evidence=(1.0, 1.0), interval=(0, 1), alpha=0.05, method="Gaffke")

    assert (verdict.outcome, verdict.reason, verdict.n) == ("inconclusive", "budget_exhausted", 3)
    assert "no value was measured" in verdict.explanation


def test_a_mean_that_is_disproven_says_its_value() -> None:
    verdict = mean_verdict([0.1] * 30, 0, evidence=(1.0, 0.001), interval=(0, 0.3), alpha=0.05, method="Gaffke")

    assert (verdict.outcome, verdict.reason) == ("fail", "proven_below")
    assert "the mean of 30 values is 0.1" in verdict.explanation


def test_a_mean_that_can_pass_no_more_says_so() -> None:
    verdict = mean_verdict(
        [0.1] * 3, 0, evidence=(1.0, 0.5), interval=(0, 1), alpha=0.05, method="betting", ended="boundary"
    )

    assert (verdict.outcome, verdict.reason) == ("inconclusive", "pass_unreachable")


@pytest.mark.parametrize(
    ("p", "text"), [(0.0, "< 0.0001"), (0.00012, "0.0001"), (0.0004, "0.0004"), (0.0424, "0.042"), (1.0, "1.000")]
)
def test_a_p_value_is_never_shown_as_a_bare_zero(p: float, text: str) -> None:
    assert show_p(p) == text


@pytest.mark.parametrize(("share", "text"), [(0.9, "90%"), (0.125, "12.5%"), (1 - 0.1, "90%"), (0.999, "99.9%")])
def test_a_share_is_a_percentage_with_decimals_only_where_needed(share: float, text: str) -> None:
    assert show_share(share) == text


def test_a_share_that_would_look_like_the_bar_is_written_out() -> None:
    assert ProportionEvaluator(min_proportion=0.9).show(0.89984) == "89.98%"
    assert ProportionEvaluator(min_proportion=0.9).show(0.9) == "90%"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (10.0, "10"),
        (15234.0, "15234"),
        (0.99996, "0.99996"),
        (2.3975e-05, "0.000024"),
        (0.0, "0"),
        (-1e-9, "-0.000000001"),
    ],
)
def test_a_number_is_shown_without_an_exponent(value: float, text: str) -> None:
    assert show_number(value) == text
