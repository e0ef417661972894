"""OpenAI's chat format: one conversation a line, or one request with its response.

A line is `{"messages": [...], ...}`, as for fine-tuning, or a pair `{"request": {...}, "response": {...}}` of chat
completions or responses; a response may be a stream of server-sent events (`{"sse": "data: ..."}`). A pair is the
conversation of its request with the answer added, so a conversation that went on over several requests is an example
for each of them. Of several choices the first one counts. Other fields of a line are kept as metadata, save tools.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from simeval.core.row_files import parse_json
from simeval.core.serialization import Json
from simeval.datasets.conversations import example_of
from simeval.datasets.dataset import Example
from simeval.datasets.messages import Turn, filled, first, identity, mapping, moment, turns_of, usage
from simeval.datasets.records import Opening, Record, Unreadable, examples_from, records
from simeval.extras.importers.payloads import answered, asked

NAME = "openai"
_LISTS = ("messages", "conversation")
_IDS = ("id", "conversation_id", "custom_id")
_ANSWERS = ("choices", "output", "message", "content", "text")  # one of them is in every response that is an answer
_LEFT_OUT = {*_LISTS, *_IDS, "request", "response", "metadata", "tools", "functions", "parallel_tool_calls"}


def looks_like(opening: Opening) -> bool:
    """Return whether the first record has messages, or a request and its response."""
    found = opening.first
    if not isinstance(found, dict):
        return isinstance(found, list) and all(isinstance(each, dict) and "role" in each for each in found)
    messages = first(found, *_LISTS)
    is_list = isinstance(messages, list) and all(isinstance(each, dict) and "role" in each for each in messages)
    return (
        is_list or opening.has("request", "response") or opening.has("role", "content") or opening.has("role", "parts")
    )


def read(path: Path) -> Iterator[Example | Unreadable]:
    """Return a conversation for each line; a file that is one list of messages is one conversation."""
    found = records(path)
    head = next(found, None)
    if isinstance(head, Record) and isinstance(head.value, Mapping) and "role" in head.value:
        messages = [head.value, *(each.value for each in found if isinstance(each, Record))]
        yield from examples_from([Record("the file", {"messages": messages})], _converted)
    elif head is not None:
        yield from examples_from([head], _converted)
        yield from examples_from(found, _converted)


def _converted(line: Any) -> Iterator[Example]:
    found = {"messages": line} if isinstance(line, list) else line
    is_pair = "response" in found or "choices" in found
    answer = _answer(found.get("response", found)) if is_pair else {}
    turns = _pair(found, answer) if is_pair else _recorded(found)
    own = found.get("metadata")
    metadata = {
        **{name: value for name, value in found.items() if name not in _LEFT_OUT},
        **(own if isinstance(own, Mapping) else filled(metadata=own)),
    }
    yield example_of(turns, example_id=identity(found, *_IDS) or identity(answer, "id"), metadata=metadata)


def _recorded(found: Mapping[str, Any]) -> list[Turn]:
    messages = first(found, *_LISTS)
    if not isinstance(messages, list):
        raise ValueError('it has neither "messages" nor "request" and "response"')
    return [turn for message in messages for turn in turns_of(message)]


def _pair(found: Mapping[str, Any], answer: Json) -> list[Turn]:
    """Return the messages of a request and its answer. Raises ValueError if the request failed."""
    request = mapping(found.get("request")) or found
    question = asked(mapping(request.get("body")) or request)
    turns = answered(answer) if first(answer, *_ANSWERS) else []
    if not turns:
        raise ValueError(f"the request has no answer: {_failure(found, answer)}")
    details = {**filled(model=first(answer, "model") or request.get("model")), **usage(answer.get("usage"))}
    choice = first(answer, "choices") or [{}]
    details |= filled(finish_reason=choice[0].get("finish_reason"), choices=len(choice) if len(choice) > 1 else None)
    started = moment(first(answer, "created", "created_at"))
    return [*question, replace(turns[0], started=started, details={**details, **turns[0].details}), *turns[1:]]


def _answer(response: Any) -> Json:
    """Return a response in the form of one that was not streamed."""
    if isinstance(response, str):
        return _merged(response)
    if isinstance(response, list):
        return _joined([each for each in response if isinstance(each, Mapping)])
    found = mapping(response)
    stream = first(found, "sse", "stream")
    return _merged(stream) if isinstance(stream, str) else dict(mapping(found.get("body")) or found)


def _failure(found: Mapping[str, Any], answer: Json) -> str:
    error = answer.get("error")
    told = first(mapping(error), "message") or error
    status = first(found, "status", "status_code")
    return " ".join(str(each) for each in (status, told) if each) or "it holds none"


def _merged(stream: str) -> Json:
    """Return the answer in the pieces of a stream of server-sent events."""
    data = (line.removeprefix("data:").strip() for line in stream.splitlines() if line.startswith("data:"))
    events = [parse_json(each) for each in data if each and each != "[DONE]"]
    done = [each["response"] for each in events if each.get("type") == "response.completed"]
    return dict(done[-1]) if done else _joined(events)


def _joined(chunks: list[Mapping[str, Any]]) -> Json:
    """Return the answer made of these chunks."""
    answer: Json = {}
    text: list[str] = []
    calls: dict[int, Json] = {}
    finish = None
    for chunk in chunks:
        answer |= filled(**{name: chunk.get(name) for name in ("id", "model", "created", "usage", "error")})
        for choice in chunk.get("choices") or []:
            if choice.get("index", 0) == 0:
                delta = mapping(choice.get("delta"))
                text.append(delta.get("content") or "")
                finish = choice.get("finish_reason") or finish
                _add_calls(calls, delta.get("tool_calls") or [])
    if not any(text) and not calls and finish is None:
        return answer
    message = {"role": "assistant", "content": "".join(text), "tool_calls": [calls[each] for each in sorted(calls)]}
    return {**answer, "choices": [{"index": 0, "message": message, "finish_reason": finish}]}


def _add_calls(calls: dict[int, Json], pieces: list[Mapping[str, Any]]) -> None:
    for place, piece in enumerate(pieces):
        call = calls.setdefault(piece.get("index", place), {"id": "", "name": "", "arguments": ""})
        function = mapping(piece.get("function"))
        call["id"] = piece.get("id") or call["id"]
        call["name"] += function.get("name") or ""
        call["arguments"] += function.get("arguments") or ""
