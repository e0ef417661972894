"""Turns: reduced to one value for a conversation where it is concluded, described together beside it."""

import pytest

from simeval.core.conversation import Conversation
from simeval.core.trial import Failure, Score, TurnCounts
from simeval.errors import DefinitionError
from simeval.results.findings import TurnShare, turns_of
from simeval.scorers.metrics import find_metric, response_latency, turns_within
from simeval.scorers.returned import select
from tests.support.records import message

GOOD = [5, 3, 7, 4, 6, 2, 8, 5, 4, 6, 5, 1]
SIZES = [5, 4, 7, 4, 7, 4, 8, 5, 4, 6, 6, 3]


def held(*seconds: float) -> Conversation:
    return Conversation(messages=tuple(message("assistant", "x", each) for each in seconds))


def described(good: list[int], sizes: list[int]) -> TurnShare:
    found = turns_of([Score(value=g / n, turn_counts=TurnCounts(g, n)) for g, n in zip(good, sizes, strict=True)])
    assert found
    return found


def test_turns_within_a_bound_are_one_share_for_a_conversation() -> None:
    metric = turns_within(response_latency, 1.0)

    measured = metric.score(held(0.5, 1.0, 1.5, 0.2))

    assert (measured["share"], measured["all"]) == (0.75, 0.0)
    score = select(measured, metric.default_score, name=metric.name)
    assert (score.value, score.turn_counts) == (0.75, TurnCounts(3, 4))
    assert metric.name == "response_latency <= 1"
    assert metric.score(held(0.5))["all"] == 1.0
    with pytest.raises(ValueError, match="there is no answer to measure"):
        metric.score(Conversation())


@pytest.mark.parametrize("name", ["response_latency <= 1.5", "response_length<=800"])
def test_a_suite_names_a_bound_with_its_metric(name: str) -> None:
    metric = find_metric(name)

    assert metric
    assert metric.name == name.replace("<=", " <= ").replace("  ", " ")


@pytest.mark.parametrize("name", ["turn_count <= 3", "latency <= 1"])
def test_a_bound_on_what_is_no_metric_of_turns_is_refused(name: str) -> None:
    with pytest.raises(
        DefinitionError,
        match="write METRIC <= NUMBER with one of response_latency, time_to_first_token and response_length",
    ):
        find_metric(name)


def test_other_names_are_no_metric() -> None:
    assert find_metric("my.module:scorer") is None


def test_all_turns_together_are_described_with_how_alike_they_are() -> None:
    found = described(GOOD, SIZES)

    assert found.share == pytest.approx(sum(GOOD) / sum(SIZES))
    assert found.icc == pytest.approx(0.2102531342330113)
    assert found.design_effect == pytest.approx(1.4935064935064932)
    assert found.interval[0] < found.share < found.interval[1]
    assert (found.turns, found.conversations) == (63, 12)
    assert "rough: it wants 50 conversations" in str(found)
    assert "a description, not what the verdict is about" in str(found)


def test_the_interval_is_wider_than_if_turns_were_independent() -> None:
    alike = described([10, 0] * 30, [10, 10] * 30)
    apart = described([5, 5] * 30, [10, 10] * 30)

    assert alike.share == apart.share == 0.5
    assert alike.interval[1] - alike.interval[0] > 0.15
    assert alike.icc == pytest.approx(1.0)


def test_scores_without_turns_and_failures_are_not_described() -> None:
    assert turns_of([Score(value=1.0), Failure(stage="judge", error="e", cause="c")]) is None
