"""Results: records, and how they are printed."""

import json
import re
import sys
from dataclasses import replace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simeval.core.conversation import Conversation
from simeval.core.settings import Settings
from simeval.core.trial import Failure, Outcome, Score
from simeval.errors import DefinitionError
from simeval.evaluators.scores import (
    MeanEvaluator,
    ProportionEvaluator,
    QuantileEvaluator,
    RatingAverageEvaluator,
    SuccessRateEvaluator,
)
from simeval.results.document import RunDocument
from simeval.results.reading import read_document
from simeval.results.screen.report import run_text
from simeval.results.suite import SuiteResult, encode_suite
from simeval.results.text import combine
from tests.support.golden import cases_of
from tests.support.records import RUN, message, rated, result

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


def test_a_pass_is_printed_in_a_sentence_without_reasons() -> None:
    text = str(rated(*[8.0] * 30))

    assert text.startswith(
        "PASS  the scenario passes\n\nPASS  A scenario\n  \u2713 it works in 30 of 30 conversations; required: 90%"
    )
    assert "worst conversation" not in text


def test_a_fail_is_printed_with_its_interval_and_its_worst_conversation() -> None:
    text = str(rated(*[8.0] * 10, *[2.0] * 20))

    assert "FAIL  A scenario\n  \u2717 it works in 10 of 30 conversations; required: 90%\n" in text
    assert re.search("[\u00b7\u2501\u25cf]+\u2503[\u00b7]+  \\d+.*% to .*%\n", text)
    assert "worst conversation (trial 10), score 2: rated 2" in text
    assert re.search("user +question 10", text)
    assert re.search("assistant +answer 10", text)


def test_a_crash_is_printed_as_the_worst_conversation() -> None:
    text = str(result(("works", [RULE], [Score(value=8.0), CRASH])))

    assert "worst conversation (trial 1): the app failed at turn 1: KeyError" in text
    assert "1 conversation went wrong:\n  1 x the app failed at turn 1: KeyError" in text


def test_the_worst_comes_first() -> None:
    good, bad = [Score(value=8.0)] * 30, [Score(value=1.0)] * 30
    suite = SuiteResult((result(("fine", [RULE], good), ("broken", [RULE], bad)), rated(8.0, title="Two")), RUN)

    text = str(suite)

    assert text.startswith("FAIL  1 of 2 scenarios fails, 1 is inconclusive\n")
    assert text.index("broken in 0 of 30") < text.index("fine in 30 of 30") < text.index("INCONCLUSIVE  Two")


@pytest.mark.parametrize(
    ("outcomes", "said"),
    [
        ([(30, 0)], "PASS  the scenario passes"),
        ([(30, 0)] * 2, "PASS  both scenarios pass"),
        ([(30, 0)] * 3, "PASS  all 3 scenarios pass"),
        ([(0, 30), (30, 0), (30, 0)], "FAIL  1 of 3 scenarios fails, 2 pass"),
        ([(0, 30), (0, 30), (1, 0)], "FAIL  2 of 3 scenarios fail, 1 is inconclusive"),
    ],
)
def test_the_first_line_says_how_it_went(outcomes: list[tuple[int, int]], said: str) -> None:
    suite = SuiteResult(tuple(rated(*[8.0] * good, *[1.0] * bad) for good, bad in outcomes), RUN)

    assert str(suite).splitlines()[0] == said


def test_many_passes_are_folded() -> None:
    suite = SuiteResult(tuple(rated(*[8.0] * 30, title=f"Number {number}") for number in range(30)), RUN)

    text = str(suite)

    assert "PASS  30 scenarios\n    Number 0\n" in text
    assert "\u2026 and 20 more; -v shows them all" in text
    assert "Number 29" not in text


def test_the_end_names_models_app_seed_run_and_cost() -> None:
    text = str(rated(8.0))

    assert "note: a note" in text
    assert "1 conversation, 7 model calls (1 failed), 15 tokens, $0.2500, 1.5 s" in text
    assert "run run-1, seed 7, app app:handle, judge offline/judge, user offline/user" in text


def test_the_confidence_of_the_intervals_is_said() -> None:
    other = result(("x", [SuccessRateEvaluator(min_proportion=0.9, significance_level=0.01)], [Score(value=8.0)]))

    assert "lies with 90% confidence" in str(rated(8.0))
    assert "lies with 98% confidence" in str(other)
    assert "lies by its interval" in str(SuiteResult((rated(8.0), other), RUN))


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (QuantileEvaluator(0.5, at_most=2.0), "x: median 0.25; required: at most 2"),
        (QuantileEvaluator(0.9, at_least=2.0), "x: 90th percentile 0.25; required: at least 2"),
        (MeanEvaluator(at_least=0.5), "x: mean 0.25; required: at least 0.5"),
        (ProportionEvaluator(0.5, max_proportion=0.25), "x (\u2265 0.5) in 0 of 1 conversations; allowed: 25%"),
        (
            ProportionEvaluator(0.5, min_proportion=0.8, at_least=False),
            "x (\u2264 0.5) in 1 of 1 conversations; required: 80%",
        ),
    ],
)
def test_what_was_observed_and_what_is_required_is_said_in_the_unit_of_the_evaluator(
    rule: QuantileEvaluator | MeanEvaluator | ProportionEvaluator, said: str
) -> None:
    assert said in str(result(("x", [rule], [Score(value=0.25)])))


def test_a_median_of_ratings_is_called_so() -> None:
    rule = RatingAverageEvaluator(min_median_rating=8)

    assert "x: median rating 10; required: at least 8" in str(result(("x", [rule], [Score(value=10.0)])))


def test_a_result_without_any_score_says_that_nothing_was_measured() -> None:
    assert "works: not measured; required: 90%" in str(result(("works", [RULE], [LOST, LOST])))


@given(st.text(min_size=1), st.text(min_size=1), st.text())
def test_any_texts_can_be_printed(title: str, label: str, error: str) -> None:
    crash = Failure(stage="app", error=error, cause="app")

    text = str(result((label, [RULE], [Score(value=2.0, reasoning=error), crash]), title=title))

    assert "INCONCLUSIVE" in text


def test_what_a_screen_shows_is_the_same_from_records_and_from_the_document_that_is_kept() -> None:
    suite = SuiteResult((rated(*[8.0] * 10, *[2.0] * 20), result(("works", [RULE], [Score(value=8.0), CRASH]))), RUN)

    document = json.loads(json.dumps(encode_suite(suite.results, RUN, version="1")))

    page = read_document(document)
    assert isinstance(page, RunDocument)
    assert run_text(page) == str(suite)


def test_a_conversation_is_printed_with_tools_and_times() -> None:
    call = {"function": {"name": "find_order", "arguments": '{"order": 1}'}}
    said = Conversation(
        messages=(message("user", "Where is it?"), replace(message("assistant", "Here."), tool_calls=(call,)))
    )

    assert str(said).splitlines() == [
        "user       Where is it?",
        "assistant  Here.",
        '           \u2192 find_order {"order": 1}',
        "           0.5 s",
    ]


def test_a_result_asserts_that_it_passed_with_its_report() -> None:
    rated(*[8.0] * 30).assert_passed()

    with pytest.raises(AssertionError, match="it works in 0 of 30 conversations; required: 90%"):
        SuiteResult((rated(*[1.0] * 30),), RUN).assert_passed()


def test_a_result_is_neither_true_nor_false() -> None:
    one = rated(*[1.0] * 30)

    for each in (one, SuiteResult((one,), RUN)):
        with pytest.raises(TypeError, match=r"use result\.passed, or result\.assert_passed\(\)"):
            assert each


def test_the_worst_of_what_is_no_expectation_is_refused() -> None:
    with pytest.raises(DefinitionError, match=r"worst: found 'it works'; give one of result\.expectations"):
        rated(*[1.0] * 30).worst(cast("Any", "it works"))


def test_a_repr_is_a_line_however_much_there_is() -> None:
    one = rated(*[8.0] * 30)

    assert repr(one) == "<ScenarioResult 'A scenario': pass, 30 trials>"
    assert repr(SuiteResult((one,) * 200, RUN)) == "<SuiteResult of run run-1: pass, 200 scenarios>"
    assert repr(rated(*[1] * 30)) == (
        "<ScenarioResult 'A scenario': fail, 30 trials: it works in 0 of 30 conversations; required: 90%>"
    )
    assert repr(one.expectations[0]) == "<ExpectationResult 'it works': pass, 30 trials>"
    assert repr(one.conversations[0]) == "<Conversation of 2 messages, ended: recorded>"
    assert repr(Settings(sample_size=50)) == "Settings(sample_size=50)"
    assert max(map(len, map(repr, (RUN, *one.verdicts)))) < 500


def test_a_result_is_found_by_its_title() -> None:
    suite = SuiteResult((rated(8.0, title="One"), rated(8.0, title="Two")), RUN)

    assert suite["Two"] is suite[1]
    with pytest.raises(DefinitionError, match="there is no scenario 'Tow'; did you mean 'Two'"):
        suite["Tow"]


def test_failures_of_one_cause_are_told_once_whatever_each_quotes() -> None:
    said = "the app failed at turn {}: KeyError: '{}' (bot.py:5 in handle)"
    crashes = [Failure(stage="app", error=said.format(n % 3 + 1, "x" * n), cause="app") for n in range(12)]

    text = str(result(("works", [RULE], [Score(value=8.0), *crashes])))

    assert "12 conversations went wrong:\n  12 x the app failed at turn 1: KeyError: '' (bot.py:5 in handle)" in text
    assert "(and with 11 other texts)" in " ".join(text.split())


def test_failures_that_differ_in_a_number_alone_are_one_cause() -> None:
    said = "odd: ValueError: no price at {}: {} euros (bot.py:5 in odd)"
    odd = [Failure(stage="scorer", error=said.format(n, 17 * n), cause="app") for n in range(1, 4)]
    refused = [Failure(stage="judge", error=f"HTTP {status}: no", cause="model") for status in (401, 500)]

    text = str(result(("works", [RULE], [Score(value=8.0), *odd, *refused])))

    assert "3 x scorer: odd: ValueError: no price at 1: 17 euros (bot.py:5 in odd) (and with 2 other numbers)" in (
        " ".join(text.split())
    )
    assert "1 x judge: HTTP 401: no" in text
    assert "1 x judge: HTTP 500: no" in text


def test_failures_of_several_causes_are_told_apart() -> None:
    failed = "judge failed (server): HTTP {}"
    lost = [Failure(stage="judge", error=failed.format(code), cause="server") for code in (500, 500, 503)]

    text = str(result(("works", [RULE], [Score(value=8.0), *lost])))

    assert "2 x judge: judge failed (server): HTTP 500\n  1 x judge: judge failed (server): HTTP 503\n" in text


@pytest.mark.parametrize(
    ("scores", "shown"), [((1.0, 0.0), "seen in 1 of 2"), ((1.0, 0.5), "seen (\u2265 1) in 1 of 2")]
)
def test_a_share_says_what_a_trial_is_held_to_unless_it_is_yes_or_no(scores: tuple[float, ...], shown: str) -> None:
    rule = ProportionEvaluator(min_proportion=0.5)

    assert f"{shown} conversations" in str(result(("seen", [rule], [Score(value=score) for score in scores])))


@pytest.mark.parametrize("outcome", ["error", "inconclusive"])
def test_a_reason_that_holds_for_several_scenarios_is_told_once(outcome: Outcome) -> None:
    error = rated(8.0).expectations[0].verdicts[0]
    why = "judge: it cannot be asked; so no trial was paid for"
    broken = replace(error, outcome=outcome, why=why)
    one = rated(8.0)
    both = [
        replace(one, title=title, outcome=outcome, expectations=(replace(one.expectations[0], verdicts=(broken,)),))
        for title in ("One", "Two")
    ]
    fine = rated(*[8.0] * 30, title="Three")

    text = str(SuiteResult((*both, fine), RUN))

    assert (text.count(why), text.count("for the reason above")) == (1, 1)


def test_a_notebook_shows_the_report_as_it_is() -> None:
    assert one_html("a < b").startswith("<pre>PASS  the scenario passes\n\nPASS  a &lt; b\n")


def one_html(title: str) -> str:
    return rated(*[8.0] * 30, title=title)._repr_html_()


def test_what_is_printed_fits_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    long = "The assistant says what the customer wants to know about the order and where it is now"
    found = result((long, [RULE], [Score(value=1.0, reasoning=long)] * 30))

    for shown in (found, SuiteResult((found,), RUN), found.conversations[0]):
        assert max(map(len, str(shown).splitlines())) <= 40


@pytest.mark.parametrize("stream", [None, object()])
def test_a_result_is_written_also_where_nothing_can_be_printed(monkeypatch: pytest.MonkeyPatch, stream: object) -> None:
    found = SuiteResult((rated(*[8.0] * 30),), RUN)
    usual = found.text()
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setattr(sys, "stdout", stream)

    assert (str(found), found.text()) == (usual, usual)
