"""The state of a world against what is to be true of it."""

from typing import Any

import pytest

from simeval.core.conversation import WORLD, Conversation, Message
from simeval.errors import DefinitionError, NotMeasured
from simeval.scorers.conditions import StateMatch

STATE = {
    "orders": {"F1001": {"status": "refunded", "amount": 49.5, "lines": [{"sku": "A"}]}},
    "version 1.2": {"on": True},
    "note": None,
}


def ended(unmeasured: dict[str, str] | None = None) -> Conversation:
    record = {"state": STATE, "unmeasured": unmeasured or {}}
    return Conversation(messages=(Message(role="assistant", content="Done.", metadata={WORLD: record}),))


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        ({"orders.F1001.status": "refunded"}, ""),
        ({"orders.F1001.status": "open"}, 'orders.F1001.status is "refunded", not "open"'),
        ({"orders.F1001.amount": {"at_least": 40, "at_most": 50}}, ""),
        ({"orders.F1001.amount": {"at_most": 40}}, "orders.F1001.amount is 49.5, not at_most 40"),
        ({"orders.F1001.lines.0.sku": "A"}, ""),
        ({"orders.F1001.lines.1.sku": "A"}, 'orders.F1001.lines.1.sku is nothing, not "A"'),
        ({"orders.F1002": None}, ""),
        ({"note": None}, ""),
        (
            {"orders.F1001": None},
            'orders.F1001 is {"status": "refunded", "amount": 49.5, "lines": [{"sku": "A"}]}, not null',
        ),
        ({"version 1.2.on": True}, ""),
        ({"version 1.2.on": 1}, "version 1.2.on is true, not 1"),
        ({"orders": {"contains": "F1001"}}, ""),
        ({"orders.F1001.status": {"is_not": "open", "one_of": ["refunded", "sent"]}}, ""),
        ({"note": {"at_least": 0}}, "note is null, not at_least 0"),
        ({"orders": {"count": 1}, "orders.*.amount": {"sum": {"at_most": 49.5}}}, ""),
        ({"orders.*.amount": {"count": {"at_most": 0}}}, "orders.*.amount is [49.5], not count at_most 0"),
        ({"orders.*.lines.*.sku": {"count": 2}}, 'orders.*.lines.*.sku is ["A"], not count 2'),
        ({"orders.*.paid": {"sum": 0, "count": 0}}, ""),
        ({"orders.*.status": {"sum": 0}}, 'orders.*.status is ["refunded"], not sum 0'),
        ({"note": {"count": 0}}, "note is null, not count 0"),
    ],
)
def test_a_state_is_held_against_paths(wanted: dict[str, Any], reason: str) -> None:
    found = StateMatch(state=wanted).score(ended())

    assert (found.value, found.reasoning) == (float(reason == ""), reason)


@pytest.mark.parametrize("part", ["", "orders", "orders.F1001.status", "orders.F1001.status.code"])
def test_what_is_not_known_is_no_score(part: str) -> None:
    with pytest.raises(NotMeasured, match="the disk is full"):
        StateMatch(state={"orders.F1001.status": "open"}).score(ended({part: "the disk is full"}))


@pytest.mark.parametrize("part", ["orders", "orders.F1001", "orders.F1001.amount", "orders.F1001.amount.cents"])
def test_a_sum_of_parts_that_are_not_all_known_is_no_score(part: str) -> None:
    with pytest.raises(NotMeasured, match="the disk is full"):
        StateMatch(state={"orders.*.amount": {"sum": {"at_least": 0}}}).score(ended({part: "the disk is full"}))


def test_an_unknown_part_beside_those_that_are_summed_does_not_matter() -> None:
    found = StateMatch(state={"orders.*.amount": {"sum": 49.5}}).score(ended({"orders.F1001.status": "away"}))

    assert found.value == 1


def test_what_is_known_to_be_wrong_is_wrong_whatever_else_is_not_known() -> None:
    found = StateMatch(state={"note": "x", "orders.F1001.status": "open"}).score(ended({"orders": "away"}))

    assert found.details == {"state": {"note": "null"}}


def test_another_part_that_is_not_known_does_not_matter() -> None:
    assert StateMatch(state={"note": None}).score(ended({"orders": "away"})).value == 1


def test_without_a_world_there_is_no_score() -> None:
    with pytest.raises(NotMeasured, match="no world was looked at"):
        StateMatch(state={"note": None}).score(Conversation())


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({}, "give paths and values"),
        ({"": 1}, "give paths"),
        ({"a": {"at_most": "x"}}, r"state\.a\.at_most: found 'x'"),
        ({"a": {"sum": {"most": 1}}}, r"state\.a\.sum: found"),
        ({"a": {"count": {"at_most": "x"}}}, r"state\.a\.count\.at_most: found 'x'"),
    ],
)
def test_a_state_that_cannot_be_held_is_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(DefinitionError, match=said):
        StateMatch(state=wrong)
