"""DeepEval: traces with their spans by kind; a thread's traces are one conversation.

The outermost agent's output is the conversation if it is a list of messages, as of LangGraph; else the spans of
language models are, as described in `simeval.extras.importers.traces`.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from simeval.core.serialization import Json
from simeval.datasets.dataset import Example
from simeval.datasets.messages import Turn, filled, identity, mapping, moment, usage
from simeval.datasets.records import Opening, Unreadable
from simeval.extras.importers.payloads import answered, asked
from simeval.extras.importers.traces import Call, Trace, conversations_in, seconds_between

NAME = "deepeval"
_KINDS = ("baseSpans", "agentSpans", "llmSpans", "retrieverSpans", "toolSpans")


def looks_like(opening: Opening) -> bool:
    """Return whether the first record is a trace with its spans by kind."""
    return opening.has("llmSpans", "toolSpans")


def read(path: Path) -> Iterator[Example | Unreadable]:
    """Return the conversations of all traces in a file; only traces of threads are held."""
    return conversations_in(path, _trace)


def _trace(found: Mapping[str, Any]) -> Trace:
    trace = Trace(trace_id=str(found["uuid"]), session=identity(found, "threadId"), metadata=_metadata(found))
    spans = [span for kind in _KINDS for span in found.get(kind) or []]
    trace.parents = {str(span.get("uuid")): str(span.get("parentUuid") or "") for span in spans}
    trace.runs = [_run(span) for span in found.get("toolSpans") or []]
    trace.within = {
        str(span.get("uuid")): run for span, run in zip(found.get("toolSpans") or [], trace.runs, strict=True)
    }
    trace.agents = {str(span.get("uuid")): str(span.get("name") or "") for span in found.get("agentSpans") or []}
    state = found.get("output")
    if isinstance(mapping(state).get("messages"), list):
        trace.calls = [_whole(found, answered(state))]
    else:
        trace.calls = [_call(span) for span in found.get("llmSpans") or []]
        trace.root = (*asked(found.get("input")), *answered(state))
    return trace


def _whole(found: Mapping[str, Any], turns: list[Turn]) -> Call:
    """Return a trace as one call: all messages up to the user's last one, and the agent's work then."""
    last = max((place for place, turn in enumerate(turns) if turn.role == "user"), default=-1) + 1
    started, ended = moment(found.get("startTime")), moment(found.get("endTime"))
    return Call(
        asked=tuple(turns[:last]),
        answered=tuple(turns[last:]),
        started=started,
        seconds=seconds_between(started, ended),
    )


def _call(span: Mapping[str, Any]) -> Call:
    started, ended = moment(span.get("startTime")), moment(span.get("endTime"))
    counted = usage({"input": span.get("inputTokenCount"), "output": span.get("outputTokenCount")})
    return Call(
        call_id=str(span.get("uuid")),
        asked=tuple(asked(span.get("input"))),
        answered=tuple(answered(span.get("output"))),
        started=started,
        seconds=seconds_between(started, ended),
        details={**filled(model=span.get("model")), **counted},
    )


def _run(span: Mapping[str, Any]) -> Json:
    result = mapping(span.get("output")).get("content", span.get("output"))
    return filled(name=span.get("name"), arguments=span.get("input"), result=result)


def _metadata(found: Mapping[str, Any]) -> Json:
    known = filled(name=found.get("name"), tags=found.get("tags"), user=found.get("userId"), status=found.get("status"))
    return {**mapping(found.get("metadata")), **known}
