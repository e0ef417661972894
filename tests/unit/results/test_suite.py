"""Results: records, and how they are printed."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simeval.core.trial import Failure, Outcome, Score
from simeval.evaluators.ratings import RatingAverageEvaluator, SuccessRateEvaluator
from simeval.evaluators.scores import MeanEvaluator, ProportionEvaluator, QuantileEvaluator
from simeval.results.suite import SuiteResult, combine
from tests.support.golden import cases_of
from tests.support.records import RUN, rated, result

OUTCOMES: tuple[Outcome, ...] = ("error", "fail", "inconclusive", "pass")
CRASH = Failure(stage="app", error="the app failed at turn 1: KeyError", cause="app")
LOST = Failure(stage="judge", error="judge failed (server): HTTP 500", cause="server")
RULE = SuccessRateEvaluator(min_proportion=0.9)


@given(st.lists(st.sampled_from(OUTCOMES), min_size=1))
def test_outcomes_together_are_the_worst_of_them(outcomes: list[Outcome]) -> None:
    assert combine(outcomes) == min(outcomes, key=OUTCOMES.index)


def test_no_outcomes_at_all_are_no_pass() -> None:
    assert combine([]) == "inconclusive"


@pytest.mark.parametrize("case", cases_of("suite_verdict"))
def test_suites_come_out_as_the_reference_says(case: dict[str, Any]) -> None:
    outcomes: list[list[Any]] = [[outcome.lower() for outcome in verdicts] for verdicts in case["inputs"]["cases"]]

    assert [combine(each).upper() for each in outcomes] == case["expected"]["verdicts"]


def test_a_scenario_passes_when_every_verdict_does() -> None:
    assert rated(*[8.0] * 30).passed
    assert not rated(*[8.0] * 29, 1.0).passed


def test_the_p_value_of_several_requirements_is_the_largest() -> None:
    rules = [RULE, RatingAverageEvaluator(min_median_rating=9)]

    found = result(("works", rules, [Score(value=8.0 + index % 2) for index in range(30)]))

    assert found.p_value == max(verdict.p_value or 0 for verdict in found.verdicts)
    assert [verdict.evaluator for verdict in found.verdicts] == [rule.describe() for rule in rules]


def test_without_the_p_value_of_one_requirement_there_is_none_of_all() -> None:
    found = rated(8.0)
    (expectation,) = found.expectations
    verdicts = (*expectation.verdicts, replace(expectation.verdicts[0], p_value=None))

    assert replace(found, expectations=(replace(expectation, verdicts=verdicts),)).p_value is None


def test_the_average_is_of_the_trials_that_have_a_score() -> None:
    found = result(("works", [RULE], [Score(value=8.0), LOST, Score(value=4.0)]))

    assert found.average_score == 6.0
    assert found.expectations[0].scores == (8.0, 4.0)
    assert result(("works", [RULE], [LOST])).average_score is None


def test_trials_conversations_and_failures_stand_in_the_order_dealt() -> None:
    found = result(("a", [RULE], [Score(value=8.0), CRASH, LOST]), ("b", [RULE], [Score(value=8.0), CRASH, LOST]))

    assert found.trials == 3
    assert [conversation.input for conversation in found.conversations] == ["question 0", "question 1", "question 2"]
    assert found.failures == ((1, CRASH), (2, LOST))


@pytest.mark.parametrize(
    ("results", "worst"),
    [
        ([Score(value=8), Score(value=2), Score(value=5)], 1),
        ([Score(value=8), LOST, Score(value=5)], 2),
        ([Score(value=2), CRASH, Score(value=1)], 1),
        ([Score(value=2), Score(value=2)], 0),
        ([LOST, LOST], 0),
    ],
)
def test_the_worst_trial_is_a_crash_or_else_the_lowest_rating(results: list[Score | Failure], worst: int) -> None:
    found = result(("works", [RULE], results))

    judgement = found.worst(found.expectations[0])

    assert judgement is not None
    assert judgement.trial.index == worst


def test_the_worst_trial_is_the_highest_number_where_low_is_good() -> None:
    rule = QuantileEvaluator(0.9, at_most=2.0)

    found = result(("latency", [rule], [Score(value=1.0), Score(value=9.0), Score(value=0.5)]))

    worst = found.worst(found.expectations[0])
    assert worst is not None
    assert worst.trial.index == 1


def test_a_suite_is_a_sequence_of_results() -> None:
    one, two = rated(8.0, title="One"), rated(1.0, title="Two")
    suite = SuiteResult((one, two), RUN)

    assert (len(suite), list(suite), suite[1], suite[-2], suite[:1]) == (2, [one, two], two, one, (one,))
    assert one in suite


def test_a_suite_passes_when_every_scenario_does() -> None:
    good, bad, open_ = rated(*[8.0] * 30), rated(*[1.0] * 30), rated(8.0)

    assert SuiteResult((good, good), RUN).passed
    assert SuiteResult((good, open_), RUN).outcome == "inconclusive"
    assert SuiteResult((open_, bad), RUN).outcome == "fail"


# ---- print


def test_a_pass_is_printed_with_its_numbers_and_without_reasons() -> None:
    text = str(rated(*[8.0] * 30))

    header, row = (next(line for line in text.splitlines() if word in line) for word in ("verdict", "A scenario"))
    assert header.split() == ["scenario", "expectation", "verdict", "estimate", "interval", "bar", "n", "p"]
    assert "PASS" in row
    assert row.split()[-7:] == ["100%", "[90.5%,", "100%]", "≥", "90%", "30", "0.042"]
    assert "worst conversation" not in text
    assert "PASS: 1 scenario (1 pass), 30 trials" in text


def test_a_fail_is_printed_with_its_reason_and_its_worst_conversation() -> None:
    text = str(rated(*[8.0] * 10, *[2.0] * 20))

    assert "A scenario: FAIL" in text
    assert "10 of 30 trials met the requirement" in text
    assert "worst conversation (trial 10), score 2: rated 2" in text
    assert "user: question 10" in text
    assert "assistant: answer 10" in text


def test_a_crash_is_printed_as_the_worst_conversation() -> None:
    text = str(result(("works", [RULE], [Score(value=8.0), CRASH])))

    assert "worst conversation (trial 1): the app failed at turn 1: KeyError" in text
    assert "2 trials (1 with a failure)" in text


def test_only_expectations_that_did_not_pass_are_explained() -> None:
    good, bad = [Score(value=8.0)] * 30, [Score(value=1.0)] * 30

    text = str(result(("fine", [RULE], good), ("broken", [RULE], bad)))

    assert "broken: success" in text
    assert "fine: success" not in text


def test_the_summary_names_models_app_seed_run_and_cost() -> None:
    text = str(rated(8.0))

    assert "note: a note" in text
    assert "7 model calls (1 failed), 15 tokens, $0.2500, 1.5 s" in text
    assert "run run-1, seed 7, app app:handle, judge offline/judge, user offline/user" in text


def test_one_table_holds_all_scenarios_of_a_suite() -> None:
    suite = SuiteResult((rated(*[8.0] * 30, title="One"), rated(*[1.0] * 30, title="Two")), RUN)

    text = str(suite)

    assert text.count("expectation") == 1
    assert text.index("One") < text.index("Two") < text.index("Two: FAIL")
    assert "FAIL: 2 scenarios (1 pass, 1 fail), 60 trials" in text


def test_the_confidence_of_the_intervals_is_said() -> None:
    other = result(("x", [SuccessRateEvaluator(min_proportion=0.9, significance_level=0.01)], [Score(value=8.0)]))

    assert "interval: 90% confidence" in str(rated(8.0))
    assert "interval: 98% confidence" in str(other)
    assert "interval: two-sided" in str(SuiteResult((rated(8.0), other), RUN))


@pytest.mark.parametrize(
    ("rule", "cell"),
    [
        (QuantileEvaluator(0.5, at_most=2.0), "[-inf, inf]"),
        (MeanEvaluator(at_least=0.5), "≥ 0.5"),
        (ProportionEvaluator(0.5, max_proportion=0.25), "≤ 25%"),
    ],
)
def test_intervals_and_bars_are_in_the_unit_of_the_evaluator(
    rule: QuantileEvaluator | MeanEvaluator | ProportionEvaluator, cell: str
) -> None:
    assert cell in str(result(("x", [rule], [Score(value=0.25)])))


def test_a_result_without_any_score_is_printed_with_dashes() -> None:
    found = result(("works", [RULE], [LOST, LOST]))

    row = next(line for line in str(found).splitlines() if line.startswith("A scenario "))
    assert " - " in row


@given(st.text(min_size=1), st.text(min_size=1), st.text())
def test_any_texts_can_be_printed(title: str, label: str, error: str) -> None:
    crash = Failure(stage="app", error=error, cause="app")

    text = str(result((label, [RULE], [Score(value=2.0, reasoning=error), crash]), title=title))

    assert "INCONCLUSIVE" in text
