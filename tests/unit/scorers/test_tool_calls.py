"""Tool calls against those of a reference."""

from typing import Any

import pytest

from simeval.core.conversation import Conversation, Message
from simeval.errors import DefinitionError
from simeval.scorers.text.tool_calls import ToolCallMatch

FIND: dict[str, Any] = {"name": "find", "arguments": {"order": 7}}
REFUND: dict[str, Any] = {"name": "refund", "arguments": {"order": 7, "all": True}}


def held(*turns: list[Any]) -> Conversation:
    return Conversation(
        messages=tuple(Message(role="assistant", content="one moment", tool_calls=tuple(calls)) for calls in turns)
    )


@pytest.mark.parametrize(
    ("mode", "made", "reason"),
    [
        ("strict", [[FIND], [], [REFUND]], ""),
        ("strict", [[REFUND, FIND]], 'call 1 is refund({"order": 7, "all": true}), not find({"order": 7})'),
        ("strict", [[FIND]], 'call 2 is missing: refund({"order": 7, "all": true})'),
        ("strict", [[FIND, REFUND, FIND]], 'call 3 is not wanted: find({"order": 7})'),
        ("unordered", [[REFUND], [FIND]], ""),
        ("unordered", [[REFUND], [FIND, FIND]], '1 not wanted, first find({"order": 7})'),
        ("unordered", [[FIND, FIND]], '1 missing, first refund({"order": 7, "all": true})'),
        ("subset", [], ""),
        ("subset", [[REFUND]], ""),
        ("subset", [[FIND, FIND]], '1 not wanted, first find({"order": 7})'),
        ("superset", [[FIND, REFUND, FIND]], ""),
        ("superset", [], '2 missing, first find({"order": 7})'),
    ],
)
def test_calls_match_in_each_mode_or_it_is_said_why_not(mode: Any, made: list[list[Any]], reason: str) -> None:
    found = ToolCallMatch(mode=mode).score(held(*made), [FIND, REFUND])

    assert found == {"match": reason == "", "reason": reason}


@pytest.mark.parametrize(
    ("argument_mode", "arguments", "matches"),
    [
        ("exact", {"order": 7.0, "all": True}, True),
        ("exact", {"order": 7, "all": 1}, False),
        ("ignore", {"anything": 1}, True),
        ("subset", {"order": 7}, True),
        ("subset", {"order": 7, "more": 1}, False),
        ("superset", {"order": 7, "all": True, "more": 1}, True),
        ("superset", {"order": 7}, False),
        ("superset", "not JSON", False),
    ],
)
def test_arguments_match_in_each_mode(argument_mode: Any, arguments: object, matches: bool) -> None:
    made = held([{"name": "refund", "arguments": arguments}])

    assert ToolCallMatch(argument_mode=argument_mode).score(made, [REFUND])["match"] is matches


def test_single_tools_have_rules_of_their_own() -> None:
    match = ToolCallMatch(overrides={"refund": ["order"], "find": "ignore"})

    assert match.score(held([{"name": "find"}, {"name": "refund", "args": {"order": 7}}]), [FIND, REFUND])["match"]
    assert not match.score(held([FIND, {"name": "refund", "args": {"all": True}}]), [FIND, REFUND])["match"]


@pytest.mark.parametrize(
    "call",
    [
        {"id": "1", "type": "function", "function": {"name": "find", "arguments": '{"order": 7}'}},
        {"name": "find", "args": {"order": 7}, "type": "tool_call"},
        {"type": "tool_use", "name": "find", "input": {"order": 7}},
        {"function": "find", "arguments": {"order": 7}},
    ],
)
def test_a_call_is_understood_in_the_forms_in_use(call: dict[str, Any]) -> None:
    assert ToolCallMatch().score(held([call]), [FIND]) == {"match": True, "reason": ""}


def test_a_call_leaves_its_partner_to_another_that_fits_nothing_else() -> None:
    wide, narrow = {"name": "f", "arguments": {"a": 1, "b": 2}}, {"name": "f", "arguments": {"a": 1}}
    match = ToolCallMatch(mode="unordered", argument_mode="superset")

    assert match.score(held([wide, narrow]), [narrow, wide])["match"] is True


def test_three_hundred_calls_are_paired() -> None:
    calls = [{"name": "f", "arguments": {"n": n % 7}} for n in range(300)]

    assert ToolCallMatch(mode="unordered").score(held(calls), calls[::-1])["match"] is True


@pytest.mark.parametrize("reference", [None, "find", {"name": "find"}, [{"arguments": {}}], [3]])
def test_a_reference_that_is_no_list_of_calls_is_an_error(reference: object) -> None:
    with pytest.raises(DefinitionError, match=r"scorer ToolCallMatch: (no|the) reference"):
        ToolCallMatch().score(held(), reference)


@pytest.mark.parametrize(
    ("wrong", "where"),
    [
        ({"mode": "any"}, "ToolCallMatch.mode: found 'any'"),
        ({"argument_mode": "any"}, "ToolCallMatch.argument_mode: found 'any'"),
        ({"overrides": {"f": "any"}}, r"ToolCallMatch.overrides\['f'\]: found 'any'"),
    ],
)
def test_unknown_rules_are_refused_when_the_scorer_is_made(wrong: dict[str, Any], where: str) -> None:
    with pytest.raises(DefinitionError, match=where):
        ToolCallMatch(**wrong)
