"""Traces of several agents: hand-overs, agents that are called as tools, and whose call each one is."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from simeval.errors import DefinitionError
from simeval.extras.importers.formats.opentelemetry import spans_in
from simeval.extras.telemetry.joining import _calls_of
from simeval.scorers import ToolRules
from tests.support.experiments import engine, values
from tests.support.samples import imported, messages, said

pytestmark = pytest.mark.anyio

USER = {"role": "user", "content": "Refund F1001, please."}
DONE = {"role": "assistant", "content": "Refunded."}
TALK = [("user", "Refund F1001, please."), ("assistant", "Refunded.")]


def system(text: str) -> dict[str, Any]:
    return {"role": "system", "content": text}


def called(name: str, key: str = "", **arguments: Any) -> dict[str, Any]:
    part = {"type": "tool_call", "id": key or name, "name": name, "arguments": arguments}
    return {"role": "assistant", "parts": [part]}


def gave(key: str, result: str) -> dict[str, Any]:
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": key, "result": result}]}


def span(key: str, second: int, parent: str = "", **attributes: Any) -> dict[str, Any]:
    named = [{"key": name.replace("__", "."), "value": {"stringValue": each}} for name, each in attributes.items()]
    times = {"startTimeUnixNano": f"{second}000000000", "endTimeUnixNano": f"{second + 1}000000000"}
    return {"spanId": key, "parentSpanId": parent, "name": key, "attributes": named, **times}


def chat(key: str, second: int, asked: Sequence[Any], answer: Any, parent: str = "", **more: Any) -> dict[str, Any]:
    said_here = {"gen_ai__input__messages": json.dumps(asked), "gen_ai__output__messages": json.dumps([answer])}
    return span(key, second, parent, gen_ai__operation__name="chat", **said_here, **more)


def agent(key: str, second: int, name: str, parent: str = "") -> dict[str, Any]:
    return span(key, second, parent, gen_ai__operation__name="invoke_agent", gen_ai__agent__name=name)


def tool(key: str, second: int, name: str, parent: str, call: str = "") -> dict[str, Any]:
    known = {"gen_ai__tool__name": name, "gen_ai__tool__call__id": call or name}
    return span(key, second, parent, gen_ai__operation__name="execute_tool", **known)


def export(*spans: Mapping[str, Any], trace: str = "t") -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": [{**each, "traceId": trace} for each in spans]}]}]}


def handed(trace: str, heard: str, *, names: bool = True) -> dict[str, Any]:
    """Return the trace of a triage agent that hands over to billing, which heard all, the filtered, or a summary."""
    triage, billing = system("Find the right desk."), system("You do refunds.")
    over, refund = called("transfer_to_billing"), called("refund", order="F1001")
    told = {
        "all": [USER, over, gave("transfer_to_billing", '{"assistant": "Billing Agent"}')],
        "filtered": [USER],
        "summary": [{"role": "user", "content": f"The conversation so far: 1. user: {USER['content']}"}],
    }[heard]
    around = [agent("a1", 1, "Triage Agent"), agent("a2", 4, "Billing Agent")] if names else []
    first = chat("g1", 2, [triage, USER], over, "a1")
    second = chat("g2", 5, [billing, *told], refund, "a2")
    ran = tool("r1", 6, "refund", "a2")
    last = chat("g3", 7, [billing, *told, refund, gave("refund", "ok")], DONE, "a2")
    return export(*around, first, second, ran, last, trace=trace)


@pytest.mark.parametrize("heard", ["all", "filtered", "summary"])
def test_an_agent_that_a_hand_over_leads_to_goes_on_with_the_conversation(heard: str, tmp_path: Path) -> None:
    log = imported(tmp_path, handed("t", heard))

    (example,) = log.dataset
    calls = messages(log.dataset)[-1].tool_calls
    assert (log.problems, said(log.dataset)) == ((), [TALK])
    assert [(each["name"], each["agent"]) for each in calls] == [
        ("transfer_to_billing", "Triage Agent"),
        ("refund", "Billing Agent"),
    ]
    assert calls[1]["result"] == "ok"
    assert "other_calls" not in example.metadata


def test_without_names_of_agents_the_one_that_hears_the_user_is_the_one(tmp_path: Path) -> None:
    log = imported(tmp_path, handed("t", "filtered", names=False))

    assert said(log.dataset) == [TALK]
    assert [each["name"] for each in messages(log.dataset)[-1].tool_calls] == ["transfer_to_billing", "refund"]


@pytest.mark.parametrize("heard", ["all", "filtered", "summary"])
async def test_rules_for_tools_see_the_hand_over_and_what_followed(heard: str, tmp_path: Path) -> None:
    log = imported(tmp_path, *(handed(f"t{number}", heard) for number in range(12)))
    rules = ToolRules(required=["transfer_to_billing", "refund"], before={"refund": "transfer_to_billing"})

    result = await engine().experiment(log.dataset, scorers=[rules])

    assert values(result, "tools") == [1] * 12


def test_a_conversation_may_be_handed_back_and_go_on(tmp_path: Path) -> None:
    more, change = {"role": "user", "content": "And my address?"}, called("change_address")
    changed = {"role": "assistant", "content": "Changed."}
    triage, refunds = [system("Triage."), USER], [system("Refunds."), USER]

    def by(name: str, second: int, asked: Sequence[Any], answer: Any) -> dict[str, Any]:
        return chat(f"g{second}", second, asked, answer, gen_ai__agent__name=name)

    spans = [
        by("triage", 1, triage, called("handoff_to_billing")),
        by("billing", 2, refunds, DONE),
        by("billing", 3, [*refunds, DONE, more], called("transfer_back_to_triage")),
        by("triage", 4, [*triage, DONE, more], change),
        by("triage", 5, [*triage, DONE, more, change], changed),
    ]

    log = imported(tmp_path, export(*spans))

    assert said(log.dataset) == [[*TALK, ("user", "And my address?"), ("assistant", "Changed.")]]
    assert [[call["name"] for call in each.tool_calls] for each in messages(log.dataset)] == [
        [],
        ["handoff_to_billing"],
        [],
        ["transfer_back_to_triage", "change_address"],
    ]


def test_what_an_agent_that_was_called_as_a_tool_did_is_in_the_calls_and_not_in_what_was_said(tmp_path: Path) -> None:
    ask, refund = called("billing", question="refund F1001"), called("refund")
    inner_question = {"role": "user", "content": "refund F1001"}
    spans = [
        agent("a1", 1, "Desk"),
        chat("g1", 2, [system("Desk."), USER], ask, "a1"),
        tool("r1", 3, "billing", "a1"),
        agent("a2", 4, "Billing", "r1"),
        chat("g2", 5, [system("Refunds."), inner_question], refund, "a2"),
        tool("r2", 6, "refund", "a2"),
        chat("g3", 7, [system("Refunds."), inner_question, refund, gave("refund", "ok")], DONE, "a2"),
        chat("g4", 8, [system("Desk."), USER, ask, gave("billing", "Refunded.")], DONE, "a1"),
    ]

    log = imported(tmp_path, export(*spans))

    (example,) = log.dataset
    assert said(log.dataset) == [TALK]
    assert [(each["name"], each["agent"], each.get("result")) for each in messages(log.dataset)[-1].tool_calls] == [
        ("billing", "Desk", "Refunded."),
        ("refund", "Billing", "ok"),
    ]
    assert "other_calls" not in example.metadata


def test_a_router_without_a_hand_over_and_a_tool_that_transfers_money_are_none(tmp_path: Path) -> None:
    router = chat("g1", 1, [system("Name the desk."), USER], {"role": "assistant", "content": "billing"})
    paid = chat("g2", 2, [system("Bank."), USER], called("transfer_money"))
    end = chat("g3", 3, [system("Bank."), USER, called("transfer_money"), gave("transfer_money", "ok")], DONE)

    log = imported(tmp_path, export(router, paid, end))

    (example,) = log.dataset
    assert said(log.dataset) == [TALK]
    assert example.metadata["other_calls"] == 1


def test_traces_of_langfuse_are_read_alike(tmp_path: Path) -> None:
    def generation(key: str, second: int, asked: list[Any], answer: Any, parent: str) -> dict[str, Any]:
        at = {"startTime": f"2026-01-01T00:00:0{second}Z", "parentObservationId": parent}
        return {"id": key, "type": "GENERATION", "input": asked, "output": answer, **at}

    over = {
        "role": "assistant",
        "tool_calls": [{"id": "1", "function": {"name": "transfer_to_billing", "arguments": "{}"}}],
    }
    observations = [
        {"id": "a1", "type": "AGENT", "name": "triage"},
        {"id": "a2", "type": "AGENT", "name": "billing"},
        generation("g1", 1, [system("Triage."), USER], over, "a1"),
        generation("g2", 2, [system("Refunds."), USER], "Refunded.", "a2"),
    ]

    log = imported(tmp_path, {"trace": {"id": "t"}, "observations": observations})

    assert said(log.dataset) == [TALK]
    assert [(each["name"], each["agent"]) for each in messages(log.dataset)[-1].tool_calls] == [
        ("transfer_to_billing", "triage")
    ]


def test_spans_of_a_run_tell_the_hand_over_that_nothing_ran_and_whose_call_each_is() -> None:
    spans = list(spans_in(handed("t", "filtered")))

    calls = [call for _, call in _calls_of(spans[::-1])]

    assert [(each["name"], each["agent"]) for each in calls] == [
        ("transfer_to_billing", "Triage Agent"),
        ("refund", "Billing Agent"),
    ]


def agents_own(number: int, *, with_calls: bool) -> dict[str, Any]:
    """Return a turn of an agent whose own span alone holds messages, between calls that were recorded without."""
    asked, answer = {"role": "user", "content": f"Refund F{number}."}, {"role": "assistant", "content": "Refunded."}
    told = [called("refund", "c1", order=number), gave("c1", "ok")] if with_calls else []
    held = {"gen_ai__input__messages": json.dumps([asked, *told]), "gen_ai__output__messages": json.dumps([answer])}
    around = span("a1", 1, gen_ai__operation__name="invoke_agent", gen_ai__agent__name="Desk", **held)
    calls = [
        span(f"g{each}", each, "a1", gen_ai__operation__name="chat", gen_ai__request__model="m") for each in (2, 4)
    ]
    ran = tool("r1", 3, "refund", "a1", "c1")
    return export(around, calls[0], ran, calls[1], trace=f"t{number}")


@pytest.mark.parametrize("with_calls", [False, True])
def test_tools_that_ran_within_an_agent_whose_span_alone_holds_messages_are_its_calls(
    with_calls: bool, tmp_path: Path
) -> None:
    log = imported(tmp_path, agents_own(1, with_calls=with_calls), agents_own(2, with_calls=with_calls))

    assert log.problems == ()
    assert said(log.dataset) == [[("user", f"Refund F{number}."), ("assistant", "Refunded.")] for number in (1, 2)]
    answers = [each for each in messages(log.dataset) if each.role == "assistant"]
    assert [[call["name"] for call in each.tool_calls] for each in answers] == [["refund"], ["refund"]]


def test_a_call_without_its_messages_that_is_within_none_that_has_them_is_reported(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match="the model call was recorded without its messages"):
        imported(tmp_path, export(span("g1", 1, gen_ai__operation__name="chat", gen_ai__request__model="m")))
