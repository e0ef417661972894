"""JUnit XML."""

from dataclasses import replace
from datetime import timedelta
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simeval.core.conversation import Conversation
from simeval.core.run_records import Usage
from simeval.core.trial import Score
from simeval.evaluators.scores import RatingAverageEvaluator, SuccessRateEvaluator
from simeval.results.junit import junit_xml
from simeval.results.suite import ScenarioResult
from tests.support.records import NOON, RUN, message, rated, result

GOOD, BAD, OPEN = rated(*[8.0] * 30, title="Good"), rated(*[1.0] * 30, title="Bad"), rated(8.0, title="Open")


def in_error(title: str) -> ScenarioResult:
    (expectation,) = OPEN.expectations
    verdict = replace(expectation.verdicts[0], outcome="error", explanation="the judge was unreachable")
    return replace(OPEN, title=title, outcome="error", expectations=(replace(expectation, verdicts=(verdict,)),))


def parsed(*results: ScenarioResult) -> ET.Element:
    return ET.fromstring(junit_xml(results, RUN).encode("utf-8"))


def test_each_scenario_is_a_suite_and_each_verdict_a_case() -> None:
    scores = [Score(value=8.0)] * 30
    rules = [SuccessRateEvaluator(min_proportion=0.9), RatingAverageEvaluator(min_median_rating=8)]

    root = parsed(GOOD, result(("one", rules, scores), ("two", rules[:1], scores), title="Three"))

    assert [suite.get("name") for suite in root] == ["Good", "Three"]
    assert [len(suite.findall("testcase")) for suite in root] == [1, 3]
    assert [case.get("name") for case in root[1].findall("testcase")] == [
        "one: success (rating ≥ 6) in at least 90% of conversations",
        "one: median rating at least 8",
        "two: success (rating ≥ 6) in at least 90% of conversations",
    ]
    assert {case.get("classname") for case in root[1].findall("testcase")} == {"Three"}


def test_fail_and_inconclusive_are_failures_and_error_is_an_error() -> None:
    root = parsed(GOOD, BAD, OPEN, in_error("Error"))

    found = [
        [(child.tag, child.get("type")) for child in case[1:]] for suite in root for case in suite.findall("testcase")
    ]
    assert found == [[], [("failure", "fail")], [("failure", "inconclusive")], [("error", "error")]]
    (error,) = root[3].iter("error")
    assert error.get("message") == error.text == "the judge was unreachable"


def test_counts_agree_with_the_cases() -> None:
    root = parsed(GOOD, BAD, OPEN, in_error("Error"))

    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("4", "2", "1")
    for suite in root:
        assert suite.get("tests") == str(len(suite.findall("testcase")))
        assert suite.get("failures") == str(len(suite.findall("testcase/failure")))
        assert suite.get("errors") == str(len(suite.findall("testcase/error")))


def test_the_time_of_the_run_is_given() -> None:
    root = parsed(GOOD)

    assert root.get("time") == "1.500"
    assert root[0].get("timestamp") == "2025-01-02T12:00:00+00:00"


def test_no_results_are_an_empty_document() -> None:
    root = parsed()

    assert (len(root), root.get("tests")) == (0, "0")


@pytest.mark.parametrize(
    "title", ["a\x00b", "\x1b[31mred\x1b[0m", "]]>", "<&\"'>", "\ud800", "\ufffe", "好 🎉", "tab\there"]
)
def test_a_title_with_strange_characters_does_not_break_it(title: str) -> None:
    scores = [Score(value=1.0, reasoning=title)] * 30

    root = parsed(result((title, [SuccessRateEvaluator(min_proportion=0.9)], scores), title=title))

    assert len(root.findall("testsuite/testcase/failure")) == 1


@given(st.text(min_size=1), st.text(min_size=1))
def test_any_titles_and_labels_can_be_written(title: str, label: str) -> None:
    root = parsed(rated(1.0, title=title, label=label))

    assert root.get("tests") == "1"


def test_a_failure_holds_the_worst_conversation_and_a_suite_the_facts_of_its_run() -> None:
    root = parsed(BAD)

    (failed,) = root.iter("failure")
    assert "worst conversation" in str(failed.text)
    assert {p.get("name"): p.get("value") for p in root.iter("property")}["run"] == RUN.run_id


def test_cases_have_the_time_of_their_scenario_in_parts() -> None:
    later = replace(message("assistant", "Yes.", seconds=2.0), started=NOON + timedelta(seconds=4))
    found = rated(*[8.0] * 30)
    judgements = tuple(
        replace(each, conversation=Conversation(messages=(message("user", "Hi?"), later))) for each in found.judgements
    )

    root = ET.fromstring(junit_xml([replace(found, judgements=judgements)], RUN))

    assert [suite.get("time") for suite in root] == ["6.000"]
    assert [case.get("time") for case in root.iter("testcase")] == ["6.000"]


def figures(case: ET.Element) -> dict[str | None, str | None]:
    return {each.get("name"): each.get("value") for each in case.iterfind("properties/property")}


def test_a_case_has_the_figures_of_its_verdict_and_a_suite_the_cost_of_the_run() -> None:
    run = replace(RUN, usage={"judge": Usage(calls=1, cost_usd=0.25)})
    root = ET.fromstring(junit_xml([BAD], run))

    (verdict,) = BAD.verdicts
    assert verdict.confidence_interval is not None
    assert figures(next(root.iter("testcase"))) == {
        "estimate": "0.0",
        "interval_low": str(verdict.confidence_interval[0]),
        "interval_high": str(verdict.confidence_interval[1]),
        "n": str(verdict.n),
        "p": str(verdict.p_value_fail),
    }
    assert figures(root[0])["run_cost_usd"] == "0.25"


def test_what_speaks_against_a_pass_is_in_its_output() -> None:
    root = parsed(rated(*[8.0] * 99, 1.0))

    (said,) = root.iter("system-out")
    assert str(said.text).strip().startswith("worst conversation (trial 99)")


def test_200_scenarios_with_long_conversations_stay_under_a_megabyte_and_say_what_was_cut() -> None:
    long = Conversation(messages=(message("user", "Hi?"), message("assistant", "blah " * 2_000)))
    judgements = tuple(replace(each, conversation=long) for each in BAD.judgements)

    written = junit_xml([replace(BAD, title=f"Bad {n}", judgements=judgements) for n in range(200)], RUN)

    assert len(written.encode()) < 1_000_000
    assert written.count(f"`simeval show {RUN.run_id} --failed` shows all") == 200
