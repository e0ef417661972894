"""Records as JSON."""

import json
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simeval.core.conversation import Conversation, Message, encode_conversation, encode_message
from simeval.core.run_records import Cut, Heartbeat, ReplyRecord, Start, Usage
from simeval.core.serialization import plain
from simeval.core.trial import Failure, RubricRecord, Score, Trial, TrialConversation, TrialResult, encode_result
from simeval.evaluators.not_worse import NotWorseEvaluator
from simeval.evaluators.scores import ProportionEvaluator, QuantileEvaluator, SuccessRateEvaluator
from simeval.results.encoding import encode_verdict
from simeval.results.suite import SuiteResult, encode_suite
from simeval.store.journal import encode_entry
from tests.support.records import NOON, RUN, conversation, message, rated, result

RULE = SuccessRateEvaluator(min_proportion=0.9)
LOST = Failure(stage="judge", error="HTTP 500", cause="server")


def dumped(value: Any) -> Any:
    """Write as strict JSON and read back."""
    return json.loads(json.dumps(value, allow_nan=False))


def suite_of(*found: Any) -> Any:
    return dumped(encode_suite(found, RUN, version="1.2.3"))


def test_a_suite_has_the_keys_that_are_documented() -> None:
    suite = suite_of(result(("works", [RULE], [Score(value=8.0, reasoning="good"), LOST])))
    scenario = suite["scenarios"][0]
    expectation, held = scenario["expectations"][0], scenario["conversations"][0]

    assert set(suite) >= {
        "simeval",
        "run_id",
        "outcome",
        "passed",
        "models",
        "seed",
        "started",
        "seconds",
        "usage",
        "scenarios",
    }
    assert set(suite["models"]) == {"judge", "user"}
    assert set(suite["usage"]) >= {"calls", "prompt_tokens", "completion_tokens", "cost_usd", "by_role"}
    assert set(scenario) == {
        "title",
        "given",
        "when",
        "outcome",
        "passed",
        "sample_size",
        "trials",
        "extras",
        "users",
        "errors",
        "expectations",
        "conversations",
    }
    assert scenario["errors"] == [{"index": 1, "stage": "judge", "error": "HTTP 500"}]
    assert set(expectation) == {"label", "expected_behavior", "outcome", "verdicts", "scores", "worst"}
    assert set(expectation["verdicts"][0]) >= {
        "evaluator",
        "outcome",
        "passed",
        "p_value",
        "estimate",
        "confidence_interval",
        "n",
        "method",
        "reason",
    }
    assert set(held) >= {"index", "turns", "writing_style", "scores"}
    assert set(held["turns"][0]) == {"role", "content", "started", "seconds"}
    assert held["scores"] == {"works": {"score": 8.0, "reasoning": "good"}}


def test_a_suite_has_the_values_of_its_records() -> None:
    suite = suite_of(rated(*[8.0] * 30, title="One"), rated(*[1.0] * 30, title="Two"))

    assert (suite["simeval"], suite["run_id"], suite["seed"], suite["seconds"]) == ("1.2.3", "run-1", 7, 1.5)
    assert (suite["outcome"], suite["passed"]) == ("fail", False)
    assert suite["models"] == {"judge": "offline/judge", "user": "offline/user"}
    assert datetime.fromisoformat(suite["started"]) == NOON
    assert [scenario["title"] for scenario in suite["scenarios"]] == ["One", "Two"]
    assert [scenario["trials"] for scenario in suite["scenarios"]] == [30, 30]
    assert suite["scenarios"][0]["expectations"][0]["scores"] == [8.0] * 30


def test_usage_is_summed_and_given_by_role() -> None:
    usage = suite_of(rated(8.0))["usage"]

    assert (usage["calls"], usage["prompt_tokens"], usage["completion_tokens"], usage["cost_usd"]) == (7, 10, 5, 0.25)
    assert usage["by_role"]["user"]["cost_usd"] is None
    assert usage["by_role"]["judge"]["failed_calls"] == 1


def test_a_trial_without_a_score_has_none_in_its_conversation() -> None:
    conversations = suite_of(result(("works", [RULE], [LOST, Score(value=8.0)])))["scenarios"][0]["conversations"]

    assert [held["scores"].get("works", {}).get("score") for held in conversations] == [None, 8.0]


def test_an_unbounded_side_of_an_interval_is_null() -> None:
    both = encode_verdict(QuantileEvaluator(0.5, at_most=2.0).evaluate([1.0]))
    one = encode_verdict(QuantileEvaluator(0.9, at_most=2.0).evaluate([1.0] * 10))
    none = encode_verdict(replace(RULE.evaluate([8.0]), confidence_interval=None))

    assert dumped(both)["confidence_interval"] == [None, None]
    assert dumped(one)["confidence_interval"] == [1.0, None]
    assert dumped(none)["confidence_interval"] is None


def test_a_verdict_in_error_has_no_p_value() -> None:
    verdict = replace(RULE.evaluate([8.0]), outcome="error", p_value=None, p_value_fail=None, reason="errors")

    encoded = dumped(encode_verdict(verdict))

    assert (encoded["outcome"], encoded["passed"], encoded["p_value"], encoded["reason"]) == (
        "error",
        False,
        None,
        "errors",
    )


@pytest.mark.parametrize("value", [inf, -inf, nan, 1e308, -0.0, 5e-324])
def test_a_score_that_json_cannot_hold_does_not_break_it(value: float) -> None:
    rule = ProportionEvaluator(0.5, min_proportion=0.9)

    suite = suite_of(result(("x", [rule], [Score(value=value), Score(value=1.0)])))

    assert suite["scenarios"][0]["trials"] == 2


@pytest.mark.parametrize("details", [{"p": inf}, {"at": NOON}, {"set": {1}}, {"bytes": b"x"}, {"object": object()}])
def test_details_that_json_cannot_hold_do_not_break_it(details: dict[str, object]) -> None:
    assert dumped(encode_result(Score(value=1.0, details=details)))["score"] == 1.0


@pytest.mark.parametrize("argument", [nan, NOON, {1, 2}, b"x", object()])
def test_a_tool_call_that_json_cannot_hold_does_not_break_it(argument: object) -> None:
    spoken = replace(message("assistant", "done"), tool_calls=({"name": "refund", "argument": argument},))

    encoded = dumped(encode_message(spoken))

    assert encoded["tool_calls"][0]["name"] == "refund"


def test_a_message_shows_tool_calls_only_where_there_are_any() -> None:
    plain = message("assistant", "done", 0.1234567)
    calling = replace(plain, tool_calls=({"name": "refund"},))

    assert encode_message(plain) == {
        "role": "assistant",
        "content": "done",
        "started": "2025-01-02T12:00:00+00:00",
        "seconds": 0.123457,
    }
    assert encode_message(calling)["tool_calls"] == [{"name": "refund"}]


def test_a_conversation_has_turns_style_and_ending() -> None:
    held = Conversation(writing_style={"tone": "Polite."}, ended="max_turns")

    assert encode_conversation(held) == {"turns": [], "writing_style": {"tone": "Polite."}, "ended": "max_turns"}
    assert encode_conversation(Conversation())["writing_style"] == {}


def test_details_are_shown_only_where_there_are_any() -> None:
    assert encode_result(Score(value=8.0, reasoning="r")) == {"score": 8.0, "reasoning": "r"}
    assert encode_result(Score(value=8.0, details={"a": 1}))["details"] == {"a": 1}
    assert encode_result(LOST) == {"stage": "judge", "error": "HTTP 500", "cause": "server"}


@pytest.mark.parametrize(
    ("entry", "kind", "keys"),
    [
        (RUN, "run", {"run_id", "models", "app", "seed", "started"}),
        (
            TrialConversation(Trial(0, 3, 5), conversation("hi")),
            "conversation",
            {"scenario", "index", "seed", "turns", "failure"},
        ),
        (TrialConversation(Trial(0, 3, 5), conversation("hi"), LOST), "conversation", {"failure"}),
        (
            TrialResult(trial=Trial(1, 2, 3), conversation=conversation(), results=(Score(value=8.0), LOST)),
            "judgement",
            {"scenario", "index", "seed", "results"},
        ),
        (RubricRecord(key="k", model="m", expected_behavior="b", levels={"1": "bad"}), "rubric", {"key", "levels"}),
        (ReplyRecord(key="k", model="m", role="judge", text="{}"), "reply", {"key", "text"}),
        (Heartbeat(seconds=1.5, usage={"judge": Usage(calls=2)}), "usage", {"seconds", "by_role"}),
        (SuiteResult((rated(8.0),), RUN), "verdicts", {"title", "outcome", "expectations"}),
    ],
)
def test_an_entry_of_a_journal_says_what_it_is(entry: Any, kind: str, keys: set[str]) -> None:
    encoded = dumped(encode_entry(entry))[0]

    assert encoded["type"] == kind
    assert set(encoded) >= keys


def test_the_end_of_a_run_is_the_verdicts_of_each_scenario_and_the_run() -> None:
    encoded = encode_entry(SuiteResult((rated(8.0), rated(3.0)), RUN))

    assert [each["type"] for each in encoded] == ["verdicts", "verdicts", "run"]


@given(st.text(), st.text(), st.text())
def test_any_texts_can_be_written(title: str, label: str, text: str) -> None:
    found = result((label or "x", [RULE], [Score(value=8.0, reasoning=text)]), title=title or "x")

    assert suite_of(found)["scenarios"][0]["conversations"][0]["scores"][label or "x"]["reasoning"] == text


def test_numbers_of_numpy_stay_numbers() -> None:
    found = plain({"a": np.int64(3), "b": np.float32(0.5), "c": np.bool_(True), "d": np.float64("nan")})

    assert found == {"a": 3, "b": 0.5, "c": True, "d": None}
    assert type(found["c"]) is bool


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Decimal("0.5"), 0.5),
        (Fraction(1, 4), 0.25),
        (Decimal("Infinity"), None),
        (Decimal("sNaN"), None),
        (Fraction(10**400), None),
        (float, "<class 'float'>"),
        (np.array([1.0, 2.0]), "[1. 2.]"),
    ],
)
def test_decimals_and_fractions_are_numbers(value: Any, expected: Any) -> None:
    assert plain({"inner": [value]}) == {"inner": [expected]}


def test_starts_turns_and_cuts_are_lines_of_their_own() -> None:
    trial = Trial(1, 4, 99)
    said = (Message(role="assistant", content="hello"),)

    lines = [encode_entry(entry)[0] for entry in (Start(trial), Start(trial, said, "{}"), Cut(trial))]

    assert [line["type"] for line in lines] == ["start", "turn", "cut"]
    assert all((line["scenario"], line["index"], line["seed"]) == (1, 4, 99) for line in lines)
    assert [turn["content"] for turn in lines[1]["turns"]] == ["hello"]


def test_the_ends_of_a_scale_are_written_in_the_unit_of_the_bar() -> None:
    paired = NotWorseEvaluator(before="+" * 10, requirement=RULE, run_id="one", seed=7, margin=0.05)
    rules = (RULE, QuantileEvaluator(at_least=0, bounds=(-1, 1)), paired)
    found = suite_of(result(("it works", rules, [Score(value=9)] * 10)))

    verdicts = found["scenarios"][0]["expectations"][0]["verdicts"]
    assert [each["bar"]["ends"] for each in verdicts] == [["0%", "100%"], ["-1", "1"], ["-100 points", "+100 points"]]
