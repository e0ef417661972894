"""How long trials under way may take, by those that have ended."""

import pytest

from simeval.engine import flow
from simeval.engine.flow import UnderWay


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(flow, "monotonic", lambda: now[0])
    return now


def test_they_take_as_long_as_the_longest_did_from_when_the_youngest_began(clock: list[float]) -> None:
    trials = UnderWay()
    for trial, seconds in (("a", 3.0), ("b", 8.0)):
        trials.begin(trial)
        clock[0] += seconds
        trials.end(trial)
    trials.begin("old")
    clock[0] += 5
    trials.begin("young")
    clock[0] += 2

    assert trials.seconds_left() == 6.0
    clock[0] += 20
    assert trials.seconds_left() == 0.0


def test_nothing_is_known_before_one_has_ended(clock: list[float]) -> None:
    trials = UnderWay()
    assert trials.seconds_left() == 0.0

    trials.begin("a")
    trials.end("one that was known from the start")

    assert trials.seconds_left() is None
