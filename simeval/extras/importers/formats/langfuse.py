"""Langfuse: traces with their observations, `{"trace": {...}, "observations": [...]}`, one a line or in a list.

Also traces as its API gives them, which hold their observations, and without any, as its exports do. Observations of
type GENERATION are the model calls; `simeval.extras.importers.traces` describes how they make conversations, and traces
of one session one conversation.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from simeval.core.serialization import Json
from simeval.datasets.dataset import Example
from simeval.datasets.messages import filled, first, identity, loaded, mapping, moment, usage
from simeval.datasets.records import REFUSALS, Opening, Unreadable, reason_of
from simeval.extras.importers.payloads import answered, asked, system_of
from simeval.extras.importers.traces import Call, Trace, conversations_in, seconds_between

NAME = "langfuse"
_TOOLS = ("TOOL",)
_OWN = {"resourceAttributes", "scope", "attributes"}  # keys that tracers write into the metadata of a trace


def looks_like(opening: Opening) -> bool:
    """Return whether the first record is a trace of Langfuse's."""
    return opening.has("trace", "observations") or opening.has("projectId", "timestamp")


def read(path: Path) -> Iterator[Example | Unreadable]:
    """Return the conversations of all traces in a file; only traces of sessions are held."""
    return conversations_in(path, _trace)


def _trace(found: Mapping[str, Any]) -> Trace:
    told = mapping(found.get("trace")) or found
    if not told.get("id"):
        raise ValueError('it is no trace: it has no "id"')
    trace = Trace(trace_id=str(told["id"]), session=identity(told, "sessionId"), metadata=_metadata(told))
    listed = first(found, "observations") or told.get("observations") or []
    observations = [each for each in listed if isinstance(each, Mapping)]
    for each in observations:
        trace.parents[str(each.get("id"))] = str(each.get("parentObservationId") or "")
    for each in observations:
        try:
            _add(each, trace)
        except REFUSALS as error:
            trace.refused.append(Unreadable(f"trace {trace.trace_id}, observation {each.get('id')}", reason_of(error)))
    given = _unquoted(told.get("input"))
    outermost = [each.get("input") for each in observations if not each.get("parentObservationId")]
    system = [turn for each in outermost for turn in system_of(each)]
    trace.root = (*system, *asked(given), *answered(_unquoted(told.get("output"))))
    return trace


def _add(found: Mapping[str, Any], trace: Trace) -> None:
    """Add an observation to its trace. Raises ValueError if a model call has no answer."""
    kind, name = str(found.get("type")), str(found.get("name"))
    if kind == "GENERATION":
        trace.calls.append(_call(found))
    elif kind in _TOOLS or name.startswith("tool."):
        arguments, result = loaded(found.get("input")), _result(found.get("output"))
        trace.runs.append(filled(name=name, arguments=mapping(arguments).get("input", arguments), result=result))
        trace.within[str(found.get("id"))] = trace.runs[-1]
    elif kind == "AGENT":
        trace.agents[str(found.get("id"))] = name


def _call(found: Mapping[str, Any]) -> Call:
    question, answer = found.get("input"), loaded(found.get("output"))
    turns = answered(found.get("output"))
    if not turns:
        raise ValueError(f"the model call has no answer: {found.get('statusMessage') or 'it has no output'}")
    started = moment(found.get("startTime"))
    counted = usage(found.get("usageDetails")) or usage(found.get("usage"))
    cost = found.get("totalCost") if isinstance(found.get("totalCost"), int | float) else None
    if mapping(answer).get("object") == "response":  # OpenAI's responses name the system prompt in the answer
        turns_before = [*system_of(answer), *asked(question)]
    else:
        turns_before = asked(question)
    return Call(
        call_id=str(found.get("id")),
        asked=tuple(turns_before),
        answered=tuple(turns),
        started=started,
        seconds=seconds_between(started, moment(found.get("endTime"))),
        details={**filled(model=found.get("model"), cost_usd=cost or None), **counted},
    )


def _result(found: Any) -> Any:
    """Return the result of a tool, out of the content blocks that some wrap it in."""
    value = loaded(found)
    blocks = mapping(value).get("content")
    is_text = isinstance(blocks, list) and len(blocks) == 1 and isinstance(mapping(blocks[0]).get("text"), str)
    return blocks[0]["text"] if is_text and isinstance(blocks, list) else value


def _metadata(told: Mapping[str, Any]) -> Json:
    own = {name: value for name, value in mapping(told.get("metadata")).items() if name not in _OWN}
    listed = [mapping(each) for each in told.get("scores") or []]
    scores = [
        filled(
            name=each.get("name"),
            value=first(each, "value", "stringValue"),
            comment=each.get("comment"),
            source=each.get("source"),
        )
        for each in listed
    ]
    known = filled(
        name=told.get("name"),
        tags=told.get("tags"),
        user=told.get("userId"),
        release=told.get("release"),
        scores=scores,
    )
    return {**own, **known}


def _unquoted(value: Any) -> Any:
    """Return the value in a trace's input or output, which is JSON however simple it is."""
    if isinstance(value, str) and value.startswith('"'):
        with suppress(ValueError):
            return json.loads(value)
    return value
