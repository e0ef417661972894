"""Rules for tools: forty trajectories with their verdicts, worked out by hand from what the rules say."""

from collections.abc import Sequence
from typing import Any

import pytest

from simeval.core.conversation import Conversation, Message
from simeval.errors import DefinitionError
from simeval.scorers.text.tool_calls import ToolRules

REFUND = {"required": ["look_up", "refund"], "forbidden": ["delete"], "before": {"refund": "look_up"}}
CHAIN = {"before": {"ship": ["pay", "pack"], "pay": ["quote"]}}
BOUNDS = {"where": {"refund": {"order": "F1001", "amount": {"at_most": 50}}}}


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def held(*turns: Sequence[Any], said: str = "I refunded it and deleted nothing.") -> Conversation:
    """Return a conversation whose app made these calls, turn by turn; a text is a call without arguments."""
    answers = [
        Message(
            role="assistant",
            content=said,
            tool_calls=tuple(call(each) if isinstance(each, str) else each for each in turn),
        )
        for turn in turns
    ]
    return Conversation(messages=(Message(role="user", content="Please refund and delete it."), *answers))


@pytest.mark.parametrize(
    ("rules", "turns", "broken"),
    [
        # required, forbidden, before
        (REFUND, [["look_up", "refund"]], ""),
        (REFUND, [["look_up"], ["refund"]], ""),
        (REFUND, [["look_up"], [], ["look_up", "refund", "refund"]], ""),
        (REFUND, [[]], "look_up was not called; refund was not called"),
        (REFUND, [["look_up"]], "refund was not called"),
        (REFUND, [["refund"]], "look_up was not called; refund was called, and look_up not before it"),
        (REFUND, [["refund"], ["look_up"]], "refund was called, and look_up not before it"),
        (REFUND, [["refund", "look_up", "refund"]], "refund was called, and look_up not before it"),
        (REFUND, [["look_up", "refund", "delete"]], "delete was called, which is forbidden"),
        (REFUND, [["look_up", "refund", "mail"]], ""),
        ({"forbidden": ["delete", "drop"]}, [[]], ""),
        ({"forbidden": ["delete", "drop"]}, [["drop"], ["drop"]], "drop was called, which is forbidden"),
        # allowed
        ({"allowed": ["look_up"]}, [["look_up", "look_up"]], ""),
        ({"allowed": ["look_up"]}, [[]], ""),
        ({"allowed": ["look_up"]}, [["look_up", "mail"]], "mail was called, which is not allowed"),
        ({"allowed": []}, [[]], ""),
        ({"allowed": []}, [["mail"]], "mail was called, which is not allowed"),
        ({"allowed": ["look_up"], "required": ["refund"]}, [["refund"]], ""),
        (
            {"allowed": ["look_up"], "required": ["refund"]},
            [["mail"]],
            "refund was not called; mail was called, which is not allowed",
        ),
        # before, with several and in a chain
        (CHAIN, [["quote"], ["pay"], ["pack"], ["ship"]], ""),
        (CHAIN, [["pack", "quote", "pay", "ship"]], ""),
        (CHAIN, [["quote", "pay", "ship", "pack"]], "ship was called, and pack not before it"),
        (CHAIN, [["pay", "pack", "ship"]], "pay was called, and quote not before it"),
        (CHAIN, [["pack"]], ""),
        (CHAIN, [[]], ""),
        # max_calls
        ({"max_calls": 2}, [["a", "b"]], ""),
        ({"max_calls": 2}, [["a"], ["a", "a"]], "calls of tools: 3, more than 2"),
        ({"max_calls": 0}, [[]], ""),
        ({"max_calls": 0}, [["a"]], "calls of tools: 1, more than 0"),
        ({"max_calls": {"refund": 1}}, [["look_up", "look_up", "refund"]], ""),
        ({"max_calls": {"refund": 1}}, [["refund"], ["refund"]], "calls of refund: 2, more than 1"),
        ({"max_calls": {"mail": 0}}, [["mail"]], "calls of mail: 1, more than 0"),
        # where
        (BOUNDS, [[call("refund", order="F1001", amount=50)]], ""),
        (BOUNDS, [[call("refund", order="F1001", amount=50.5)]], "refund was called with amount 50.5, not at_most 50"),
        (BOUNDS, [[call("refund", order="F1002", amount=5)]], 'refund was called with order "F1002", not "F1001"'),
        (BOUNDS, [[call("refund", amount=5)]], 'refund was called with order nothing, not "F1001"'),
        (BOUNDS, [["look_up"]], ""),
        ({"where": {"f": {"to.city": {"one_of": ["Rome", "Oslo"]}}}}, [[call("f", to={"city": "Oslo"})]], ""),
        ({"where": {"f": {"id": {"matches": "^F[0-9]+$"}}}}, [[call("f", id="F1")]], ""),
        (
            {"where": {"f": {"id": {"matches": "^F[0-9]+$"}}}},
            [[call("f", id="F1"), call("f", id="x")]],
            'f was called with id "x", not matches "^F[0-9]+$"',
        ),
    ],
)
def test_forty_trajectories_agree_with_answers_by_hand(rules: Any, turns: list[list[Any]], broken: str) -> None:
    found = ToolRules(**rules).score(held(*turns))

    assert (found.value, found.reasoning) == (float(broken == ""), broken)


def test_what_is_said_is_no_call() -> None:
    claimed = held([], said="refund() called: look_up(order=7), refund(order=7). Done.")

    assert ToolRules(required=["refund"]).score(claimed).value == 0


def test_a_call_that_the_user_made_is_none_of_the_app() -> None:
    user = Message(role="user", content="I did it.", tool_calls=(call("refund"),))

    assert ToolRules(forbidden=["refund"]).score(Conversation(messages=(user,))).value == 1


@pytest.mark.parametrize(
    "form", [{"function": {"name": "f", "arguments": '{"n": 1}'}}, {"tool": "f", "args": {"n": 1}}]
)
def test_calls_are_read_in_the_forms_in_use(form: dict[str, Any]) -> None:
    assert ToolRules(where={"f": {"n": 1}}, required=["f"]).score(held([form])).value == 1


def test_what_is_no_call_is_no_score() -> None:
    with pytest.raises(DefinitionError, match="scorer tools: the conversation holds"):
        ToolRules(required=["f"]).score(held([{"id": 7}]))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({}, "tools: found 'no rule'"),
        ({"required": "refund"}, "tools.required: found 'refund'; give a list of names of tools"),
        ({"required": ["a"], "forbidden": ["a"]}, r"tools.forbidden: found \['a'\]; leave it out of either"),
        ({"before": {"a": "a"}}, "tools.before.a: found 'a'; name other tools"),
        ({"max_calls": -1}, "tools.max_calls: found -1"),
        ({"max_calls": {"a": True}}, "tools.max_calls.a: found True"),
        ({"where": {"a": {"n": {"at_least": "x"}}}}, "tools.where.a.n.at_least: found 'x'; give a number"),
        ({"where": {"a": {"n": {"matches": "("}}}}, "is no regular expression"),
        ({"where": {"a": {"n": {"at_least": 1, "below": 2}}}}, "tools.where.a.n.below: found 'below'"),
    ],
)
def test_rules_that_cannot_be_used_are_refused(wrong: Any, said: str) -> None:
    with pytest.raises(DefinitionError, match=said):
        ToolRules(**wrong)
