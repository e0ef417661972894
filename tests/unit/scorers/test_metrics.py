"""Metrics: what is read from timestamps and texts."""

from math import nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simeval.core.conversation import Conversation
from simeval.scorers.base import Scorer
from simeval.scorers.metrics import (
    METRICS,
    TurnsWithin,
    response_latency,
    response_length,
    time_to_first_token,
    total_response_length,
    total_response_time,
    turn_count,
)
from simeval.scorers.returned import select
from tests.support.records import message

HELD = Conversation(
    messages=(
        message("user", "hello", 9.0),
        message("assistant", "hi", 0.25),
        message("user", "how are you?", 9.0),
        message("assistant", "fine", 1.25),
        message("assistant", "and you?", 0.0),
    )
)
SECONDS = st.lists(st.floats(0, 1e6), min_size=1, max_size=30)


def test_latency_is_of_the_apps_turns_only() -> None:
    assert response_latency.score(HELD) == {
        "max": 1.25,
        "median": 0.25,
        "mean": 0.5,
        "p90": pytest.approx(0.25 + 0.8 * 1.0),
    }


def test_length_is_counted_in_characters_of_the_apps_turns() -> None:
    assert response_length.score(HELD)["max"] == 8
    assert response_length.score(HELD)["median"] == 4


def test_totals_are_sums_over_the_apps_turns() -> None:
    assert turn_count.score(HELD) == 3
    assert total_response_time.score(HELD) == 1.5
    assert total_response_length.score(HELD) == 14


def test_an_app_that_said_nothing_has_no_latency_and_no_turns() -> None:
    silent = Conversation(messages=(message("user", "hello"),))

    with pytest.raises(ValueError, match="there is no answer to measure"):
        response_latency.score(silent)
    with pytest.raises(ValueError, match="there is no answer to measure"):
        TurnsWithin(response_latency, 1).score(silent)
    assert turn_count.score(silent) == total_response_time.score(silent) == total_response_length.score(silent) == 0


@pytest.mark.parametrize(
    "metric", [response_latency, time_to_first_token, total_response_time, TurnsWithin(response_latency, 1)]
)
def test_an_answer_without_its_time_is_not_measured_and_says_so(metric: Scorer) -> None:
    recorded = Conversation(messages=(message("user", "hi"), message("assistant", "hello", nan)))

    with pytest.raises(ValueError, match="an answer was recorded without the time it took"):
        metric.function(conversation=recorded)


def test_metrics_are_known_by_their_names() -> None:
    assert list(METRICS) == [
        "response_latency",
        "time_to_first_token",
        "response_length",
        "turn_count",
        "total_response_time",
        "total_response_length",
    ]
    assert all(METRICS[name].name == name for name in METRICS)


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_can_be_concluded_on_without_naming_a_score(name: str) -> None:
    metric = METRICS[name]
    metric.check()

    assert select(metric.score(HELD), metric.default_score, name=name).value >= 0


def test_the_slowest_turn_is_concluded_on_where_no_other_is_named() -> None:
    assert response_latency.default_score == response_length.default_score == "max"


@given(SECONDS)
def test_a_summary_is_in_order_and_agrees_with_numpy(seconds: list[float]) -> None:
    held = Conversation(messages=tuple(message("assistant", "x", each) for each in seconds))

    summary = response_latency.score(held)

    assert summary["median"] <= summary["p90"] <= summary["max"]
    assert summary["mean"] == pytest.approx(float(np.mean(seconds)))
    assert summary["p90"] == pytest.approx(float(np.percentile(seconds, 90)))
