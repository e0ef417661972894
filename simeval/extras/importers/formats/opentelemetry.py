"""OpenTelemetry: OTLP/JSON spans of generative AI, in the dialects in use, one export a line or a file of one.

Messages are read from the attributes gen_ai.input.messages and gen_ai.output.messages, from the older gen_ai.prompt.N
and gen_ai.completion.N, from OpenInference's llm.input_messages.N, from the AI SDK's ai.prompt and ai.response, and
from log records and span events (gen_ai.user.message, gen_ai.choice). A file may hold spans and logs side by side, as
`{"otlp_traces", "otlp_logs"}` or as exports of either kind. Spans make conversations, and sessions (session.id,
gen_ai.conversation.id) one, as described in `simeval.extras.importers.traces`. A call that was recorded without its
content is reported.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from simeval.core.serialization import Json
from simeval.datasets.dataset import Example
from simeval.datasets.messages import (
    Turn,
    filled,
    first,
    identity,
    is_message,
    loaded,
    mapping,
    moment,
    turns_of,
    usage,
)
from simeval.datasets.records import REFUSALS, Opening, Unreadable, examples_from, reason_of, records
from simeval.extras.importers.traces import Call, Trace, conversations_of, seconds_between

NAME = "otel"
NO_CONTENT = (
    "the model call was recorded without its messages; switch the capture of content on where it is instrumented "
    "(such as OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true)"
)
_SESSIONS = (
    "gen_ai.conversation.id",
    "session.id",
    "thread.id",
    "langfuse.session.id",
    "traceloop.association.properties.session_id",
    "traceloop.association.properties.thread_id",
    *(f"ai.telemetry.metadata.{name}" for name in ("sessionId", "threadId", "conversationId", "chatId")),
)
# from the dialect that is in force to those it replaced; each a list of messages
_ASKED = ("gen_ai.input.messages", "gen_ai.prompt", "llm.input_messages", "ai.prompt.messages")
_ANSWERED = ("gen_ai.output.messages", "gen_ai.completion", "llm.output_messages")
_AI_SDK_ANSWERS = ("ai.response", "ai.result")  # the older one has less
_OTHER_OPERATIONS = ("embeddings", "create_agent", "retrieval")
_VALUES = ("stringValue", "boolValue", "doubleValue", "bytesValue")


@dataclass(slots=True)
class _Said:
    """The messages in log records and span events of a span."""

    asked: list[Json] = field(default_factory=list)
    answered: list[Json] = field(default_factory=list)
    attributes: Json = field(default_factory=dict)


def looks_like(opening: Opening) -> bool:
    """Return whether the first record is an export of spans or logs."""
    return any(opening.has(name) for name in ("otlp_traces", "otlp_logs", "resourceSpans", "resourceLogs"))


def read(path: Path) -> Iterator[Example | Unreadable]:
    """Return the conversations of all spans in a file; the spans are held until it is read."""
    spans: list[Json] = []
    said: dict[str, _Said] = {}
    yield from examples_from(records(path), partial(_take, spans=spans, said=said))
    yield from conversations_of(_traces(spans, said))


def _take(found: Mapping[str, Any], spans: list[Json], said: dict[str, _Said]) -> Sequence[Example]:
    """Add the spans and log records of an export; no example is whole yet."""
    traces, logs = found.get("otlp_traces", found), found.get("otlp_logs", found)
    if not any(name in part for part in (traces, logs) for name in ("resourceSpans", "resourceLogs")):
        raise ValueError('it has neither "resourceSpans" nor "resourceLogs"')
    for span in spans_in(traces):
        spans.append(span)
        for event in span.get("events") or []:
            _hear(str(event.get("name")), None, _attributes(event.get("attributes")), _place(said, span))
    for resource in logs.get("resourceLogs") or []:
        for scope in resource.get("scopeLogs") or []:
            for log in scope.get("logRecords") or []:
                attributes = _attributes(log.get("attributes"))
                name = str(first(log, "eventName") or attributes.get("event.name"))
                _hear(name, _value(log.get("body") or {}), attributes, _place(said, log))
    return ()


def spans_in(export: Mapping[str, Any]) -> Iterator[Json]:
    """Yield the spans of an export in OTLP's JSON, each with its attributes as an object."""
    for resource in export.get("resourceSpans") or []:
        for scope in resource.get("scopeSpans") or []:
            for span in scope.get("spans") or []:
                yield {**span, "attributes": _attributes(span.get("attributes"))}


def _place(said: dict[str, _Said], found: Mapping[str, Any]) -> _Said:
    return said.setdefault(str(found.get("spanId")), _Said())


def _hear(name: str, body: Any, attributes: Json, said: _Said) -> None:
    """Add an event of a span, if it holds messages."""
    if not name.startswith("gen_ai."):
        return
    told = mapping(body) or mapping(attributes.get("gen_ai.event.content")) or attributes
    role = name.removeprefix("gen_ai.").removesuffix(".message")
    if name == "gen_ai.choice":
        message = mapping(told.get("message")) or told
        said.answered.append({"role": "assistant", **message, **filled(finish_reason=told.get("finish_reason"))})
    elif name.endswith(".message"):
        said.asked.append({**told, "role": role})
    else:
        said.attributes |= attributes


def _traces(spans: Iterable[Json], said: Mapping[str, _Said]) -> Iterator[Trace]:
    traces: dict[str, Trace] = {}
    talking: set[str] = set()
    silent: list[tuple[Trace, str, Unreadable]] = []
    for span in spans:
        name = str(span.get("traceId"))
        trace = traces.setdefault(name, Trace(trace_id=name))
        trace.parents[str(span.get("spanId"))] = str(span.get("parentSpanId") or "")
        try:
            if _add(span, said.get(str(span.get("spanId")), _Said()), trace):
                talking.add(name)
        except REFUSALS as error:
            place = f"trace {name}, span {span.get('spanId')} ({span.get('name')})"
            unread = Unreadable(place, reason_of(error))
            if unread.reason == NO_CONTENT:
                silent.append((trace, str(span.get("spanId")), unread))
            else:
                trace.refused.append(unread)
    for trace, key, unread in silent:
        if trace.call_around(key) is None:  # otherwise the call around it has the messages
            trace.refused.append(unread)
    return (trace for name, trace in traces.items() if name in talking or trace.refused)


def _add(span: Json, said: _Said, trace: Trace) -> bool:
    """Add a span to its trace, and return whether it is a model's call. Raises ValueError where refused."""
    attributes = {**said.attributes, **span["attributes"]}
    trace.session = trace.session or identity(attributes, *_SESSIONS)
    if not span.get("parentSpanId"):
        known = {name: value for name, value in attributes.items() if not name.startswith(("gen_ai.", "llm.", "ai."))}
        trace.metadata |= {**known, **filled(name=span.get("name"))}
    if agent := agent_of(span, attributes):
        trace.agents[str(span.get("spanId"))] = agent
    if run := tool_run_of(attributes):
        trace.runs.append(run)
        trace.within[str(span.get("spanId"))] = run
        return False
    if not _is_call(attributes, said):
        return False
    question = _messages(attributes, _ASKED) or _ai_sdk_prompt(attributes) or said.asked
    answer = _messages(attributes, _ANSWERED) or _ai_sdk_answer(attributes) or said.answered
    if not (question or answer) and attributes.get("gen_ai.operation.name") == "invoke_agent" and not _failure(span):
        return True  # the calls made within it have the messages
    call = _call(span, attributes, question, answer)
    if not any(turn.text or any("result" in each for each in turn.results) for turn in (*call.asked, *call.answered)):
        raise ValueError(_failure(span) or NO_CONTENT)
    if not call.answered:
        raise ValueError(f"the model call has no answer: {_failure(span) or 'it is not recorded'}")
    trace.calls.append(call)
    return True


def _is_call(attributes: Json, said: _Said) -> bool:
    """Return whether a span is a call of a model that chats, or of an agent around it."""
    kind, operation = str(attributes.get("openinference.span.kind", "LLM")), attributes.get("gen_ai.operation.name")
    if operation in _OTHER_OPERATIONS or kind not in ("LLM", "AGENT"):
        return False
    known = (operation, *map(attributes.get, ("gen_ai.request.model", "llm.model_name", "ai.prompt")))
    return bool(any(known) or said.asked or said.answered or _messages(attributes, _ASKED))


def _call(span: Json, attributes: Json, question: list[Any], answer: list[Any]) -> Call:
    system = loaded(attributes.get("gen_ai.system_instructions"))
    messages = [*([{"role": "system", "content": system}] if system else []), *question]
    started, ended = moment(span.get("startTimeUnixNano")), moment(span.get("endTimeUnixNano"))
    short = {
        name.removeprefix("gen_ai.usage.").removeprefix("llm.token_count."): attributes[name] for name in attributes
    }
    counted = usage(short) or usage({"input": short.get("prompt"), "output": short.get("completion")})
    model = first(attributes, "gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "ai.model.id")
    choices = len(answer) if len(answer) > 1 else None  # of several the first counts
    return Call(
        call_id=str(span.get("spanId")),
        asked=tuple(_turns(messages)),
        answered=tuple(_turns(each if is_message(each) else {"role": "assistant", **each} for each in answer[:1])),
        started=started,
        seconds=seconds_between(started, ended),
        details={**filled(model=model, choices=choices), **counted},
    )


def _turns(messages: Iterable[Any]) -> Iterator[Turn]:
    for message in messages:
        for turn in turns_of(message):
            results = tuple(each for each in turn.results if each.get("result") is not None)
            if turn.role != "tool" or results:
                yield turn


def calls_in(span: Json) -> list[Json]:
    """Return the tools that a model called in the answer that a span was recorded with."""
    attributes = span["attributes"]
    answer = _messages(attributes, _ANSWERED) or _ai_sdk_answer(attributes)
    said = (each if is_message(each) else {"role": "assistant", **each} for each in answer if isinstance(each, Mapping))
    return [call for turn in _turns(said) for call in turn.calls]


def agent_of(span: Json, attributes: Json) -> str:
    """Return the name of the agent that a span is a run of, or a call by; empty without one."""
    named = first(attributes, "gen_ai.agent.name", "agent.name", "agent_name")
    if named is None and attributes.get("openinference.span.kind") == "AGENT":
        named = span.get("name")
    return str(named or "")


def tool_run_of(attributes: Json) -> Json:
    """Return the tool that a span is the run of; empty if it is none."""
    if "ai.toolCall.name" in attributes:  # the AI SDK
        return filled(
            id=attributes.get("ai.toolCall.id"),
            name=attributes["ai.toolCall.name"],
            arguments=loaded(first(attributes, "ai.toolCall.args", "ai.toolCall.input")),
            result=loaded(first(attributes, "ai.toolCall.result", "ai.toolCall.output")),
        )
    if attributes.get("openinference.span.kind") == "TOOL" and "tool.name" in attributes:
        return filled(
            id=first(attributes, "tool_call.id", "tool.id"),
            name=attributes["tool.name"],
            arguments=loaded(first(attributes, "tool_call.function.arguments", "input.value")),
            result=loaded(attributes.get("output.value")),
        )
    if attributes.get("gen_ai.operation.name") != "execute_tool":
        return {}
    return filled(
        id=attributes.get("gen_ai.tool.call.id"),
        name=attributes.get("gen_ai.tool.name"),
        arguments=loaded(attributes.get("gen_ai.tool.call.arguments")),
        result=loaded(attributes.get("gen_ai.tool.call.result")),
    )


def _failure(span: Json) -> str:
    status = mapping(span.get("status"))
    failed = status.get("code") in ("STATUS_CODE_ERROR", 2)
    return f"{span['attributes'].get('error.type', 'error')}: {status.get('message', '')}" if failed else ""


def _messages(attributes: Json, names: Iterable[str]) -> list[Any]:
    """Return the messages under the first of the names that has any, as one attribute or as many numbered ones."""
    for name in names:
        whole = loaded(attributes.get(name))
        found = whole if isinstance(whole, list) else _numbered(attributes, f"{name}.")
        if found:
            return found
    return []


def _ai_sdk_prompt(attributes: Json) -> list[Any]:
    """Return the messages of a call of the AI SDK that names a system prompt and a text, or messages."""
    prompt = mapping(attributes.get("ai.prompt"))
    system, asked = prompt.get("system"), first(prompt, "messages", "prompt")
    listed = asked if isinstance(asked, list) else [{"role": "user", "content": asked}] if asked else []
    return [*([{"role": "system", "content": system}] if system and listed else []), *listed]


def _ai_sdk_answer(attributes: Json) -> list[Any]:
    """Return the answer of a call of the AI SDK, as a message with its tool calls."""
    for name in _AI_SDK_ANSWERS:
        text = first(attributes, f"{name}.text", f"{name}.object")
        calls = loaded(attributes.get(f"{name}.toolCalls"))
        if text or calls:
            reason = attributes.get(f"{name}.finishReason")
            return [{"role": "assistant", "content": text, **filled(tool_calls=calls, finish_reason=reason)}]
    return []


def _numbered(attributes: Json, prefix: str) -> list[Any]:
    """Return the list in attributes such as prefix.0.role."""
    tree: Json = {}
    for name, value in attributes.items():
        if name.startswith(prefix):
            *path, last = name.removeprefix(prefix).split(".")
            node = tree
            for step in path:
                node = node.setdefault(step, {})
            node[last] = value
    listed = _listed(tree)
    return listed if isinstance(listed, list) else []


def _listed(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    if node and all(key.isdigit() for key in node):
        return [_listed(node[key]) for key in sorted(node, key=int)]
    return {key: _listed(value) for key, value in node.items()}


def _attributes(found: Any) -> Json:
    return {str(each["key"]): _value(each.get("value") or {}) for each in found or []}


def _value(found: Mapping[str, Any]) -> Any:
    """Return the value of OTLP's AnyValue."""
    if "intValue" in found:
        return int(found["intValue"])
    if "arrayValue" in found:
        return [_value(each) for each in found["arrayValue"].get("values") or []]
    if "kvlistValue" in found:
        return _attributes(found["kvlistValue"].get("values"))
    return first(found, *_VALUES)
