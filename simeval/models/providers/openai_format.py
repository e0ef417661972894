"""The wire format of OpenAI's chat protocol, as far as simeval uses it."""

import json
import re
from collections.abc import AsyncIterable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from json import dumps
from math import exp
from time import perf_counter
from typing import Any

from simeval.core.redaction import read_address, shown
from simeval.errors import ModelErrorKind, ModelUnusable
from simeval.models.protocol.model import LIMIT, Reply, Request

LONGEST_CACHED = 10_000  # characters of a text that is encoded once
UNAUTHORIZED = 401  # no call with this key can succeed
ELSEWHERE = frozenset({301, 302, 303, 307, 308})  # it redirects
REFUSED = frozenset({400, 413, 422})  # the request is refused, not the caller
_TOO_LONG_CODES = frozenset({"context_length_exceeded", "exceed_context_size_error"})
_FILTER_CODES = frozenset({"content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"})
_FILTERS = frozenset({"content_filter", "refusal", "safety", "prohibited_content", "recitation", "blocklist", "spii"})
_CONTEXTS = ("n_ctx", "max_model_len", "loaded_context_length", "context_length")  # llama.cpp, vLLM, LM Studio, others
_NOT_JSON = re.compile(r"json_validate_failed|failed to (?:generate|validate) json", re.IGNORECASE)
_TOO_LONG = re.compile(
    r"context (?:length|size|window)|maximum context|context_length|prompt is too long", re.IGNORECASE
)
_KINDS: Mapping[int, ModelErrorKind] = {
    401: "authentication",
    403: "authentication",
    404: "unknown_model",
    408: "timeout",
    409: "server",
    425: "server",
    429: "rate_limit",
}

STREAMED = "text/event-stream"
_DATA = b"data:"
_END = b"[DONE]"


@dataclass(slots=True)
class Dialect:
    """The options that an endpoint accepts: one that it refuses once is left out from then on.

    A reply is asked for by its schema, without its least lengths, as any JSON object, then by the prompt alone; its
    length by `max_tokens`, then by `max_completion_tokens`; temperature, seed, stops and probabilities may be refused,
    too. A model that `thinks` has no limit but one of the user's: its thoughts would count.
    """

    refused: set[str] = field(default_factory=set)
    thinks: bool = False

    def asked(self, request: Request, json_schema: object) -> dict[str, Any]:
        """Return a request, as the endpoint takes it; `json_schema` is True, False or "auto"."""
        asked: dict[str, Any] = {"temperature": request.temperature, "seed": request.seed % 2**31}
        for name in self.refused:
            asked.pop(name, None)
        is_limited = request.max_tokens is not None and (not self.thinks or LIMIT in request.options)
        if is_limited and (limit := self._first(LIMITS)) is not None:
            asked[limit] = request.max_tokens
        form = _FORMS[0] if json_schema is True else self._first(_FORMS if json_schema else _FORMS[1:])
        if request.reply is not None and form is not None:
            asked["response_format"] = _response_format(request.reply, form, bounded=MIN_LENGTH not in self.refused)
        if request.stop and "stop" not in self.refused:
            asked["stop"] = list(request.stop)
        if request.probabilities and "logprobs" not in self.refused:
            asked |= {"logprobs": True, "top_logprobs": MOST_LIKELY}
        return {"messages": request.messages(), **asked}

    def gives_up(self, asked: Mapping[str, Any], problem: str, *, json_schema: object) -> bool:
        """Record a refusal, and return whether the call may succeed without the part it names."""
        if MIN_LENGTH.lower() in problem.lower() and MIN_LENGTH in str(asked.get("response_format")):
            self.refused.add(MIN_LENGTH)
            return True
        for name, named in _REFUSALS.items():
            if name in asked and named.search(problem):
                refused = asked[name]["type"] if name == "response_format" else name
                if refused == "json_schema" and json_schema is True:
                    return False
                self.refused.add(refused)
                return True
        return False

    @staticmethod
    def shortened(request: Request, problem: str) -> Request | None:
        """Return a refused request with half the room for its reply, if that was the reason; else None."""
        if (request.max_tokens or 0) <= LEAST_ROOM or not (_OF_THE_REPLY.search(problem) and _TOO_MUCH.search(problem)):
            return None
        return request.with_room(0.5)

    def _first(self, names: Sequence[str]) -> str | None:
        for name in names:  # at every call, and a generator takes twice as long
            if name not in self.refused:
                return name
        return None


_FORMS = ("json_schema", "json_object")
MOST_LIKELY = 20  # first tokens whose probabilities are asked for: the most that OpenAI and vLLM send
MIN_LENGTH = "minLength"
LIMITS = ("max_tokens", "max_completion_tokens")
LEAST_ROOM = 64  # tokens; if not even so many are left to a reply, the prompt is too long
_OF_THE_REPLY = re.compile(r"max_(?:completion_|new_)?tokens|in the completion|(?:output|completion) tokens")
_TOO_MUCH = re.compile(r"too (?:large|high|many|long)|maximum|at most|exceed|less than|requested", re.IGNORECASE)
_REFUSALS = {
    "response_format": re.compile(r"response.?format|json.?schema|structured.?output|grammar|guided", re.IGNORECASE),
    "max_tokens": re.compile(r"max_tokens", re.IGNORECASE),
    "max_completion_tokens": re.compile(r"max_completion_tokens", re.IGNORECASE),
    "temperature": re.compile(r"temperature", re.IGNORECASE),
    "logprobs": re.compile(r"log_?probs", re.IGNORECASE),
    "seed": re.compile(r"\bseed\b", re.IGNORECASE),
    "stop": re.compile(r"\bstop(?:_sequences)?\b", re.IGNORECASE),
}


class Fixed(dict[str, Any]):
    """A part of many requests that stays as it is."""

    @cached_property
    def json(self) -> str:
        """Its JSON."""
        return dumps(self)


@lru_cache(maxsize=100)
def _response_format(reply: type[Reply], form: str, *, bounded: bool) -> Fixed:
    if form == "json_object":
        return Fixed(type=form)
    schema = reply.json_schema if bounded else _unbounded(reply.json_schema)
    return Fixed({"type": form, form: {"name": reply.__name__, "schema": schema, "strict": True}})


def body_of(asked: Mapping[str, Any]) -> bytes:
    """Return what is asked as JSON; texts of messages, which later turns repeat, are encoded once.

    Raises TypeError or ValueError for what JSON has no form for.
    """
    parts, others = list[str](), dict[str, Any]()
    for name, value in asked.items():
        if name == "messages":
            parts.append(f'"messages": [{", ".join(map(_message, value))}]')
        elif isinstance(value, Fixed):
            parts.append(f'"{name}": {value.json}')
        elif type(name) is str and type(value) in _SCALARS:  # six times as quick as an encoder of its own
            parts.append(f"{_text(name)}: {_scalar(value)}")
        else:
            others[name] = value
    if others:
        parts.append(dumps(others)[1:-1])
    return f"{{{', '.join(parts)}}}".encode()


def _scalar(value: str | float) -> str:
    if isinstance(value, str) and len(value) > LONGEST_CACHED:  # such as a text to moderate
        return dumps(value)
    return str(value) if type(value) is int else _text(value)


def _message(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if len(message) > 2 or not isinstance(content, str) or len(content) > LONGEST_CACHED:
        return dumps(message)
    return f'{{"role": "{message["role"]}", "content": {_text(content)}}}'


_text = lru_cache(maxsize=2_000)(dumps)
_SCALARS = (str, int, float)


def _unbounded(schema: Any) -> Any:
    """Return a schema without the least lengths of texts, which some servers' strict mode does not take."""
    if not isinstance(schema, Mapping):
        return schema
    return {name: _unbounded(each) for name, each in schema.items() if name != MIN_LENGTH}


def is_cut(choice: Any) -> bool:
    """Return whether a reply ended at its limit of tokens."""
    return isinstance(choice, dict) and choice.get("finish_reason") == "length"


def is_filtered(choice: Any) -> bool:
    """Return whether a content filter withheld a reply, or the end of it."""
    return isinstance(choice, dict) and str(choice.get("finish_reason")).lower() in _FILTERS


def refusal_of(message: Any) -> str:
    """Return how a model refused to answer: the message's `refusal`, or a part of its content that is one."""
    content, said = message.get("content"), [message.get("refusal")]
    if isinstance(content, list):
        said += [part.get("refusal") for part in content]
    return "".join([each for each in said if isinstance(each, str)])


def context_of(listing: Any, model: str) -> int | None:
    """Return the context of a model, in tokens, from a server's list of models; None if that does not have it."""
    try:
        entries = listing["data"]
        entry = next((each for each in entries if each["id"] == model), entries[0] if len(entries) == 1 else {})
        sizes = [each.get(name) for each in (entry, entry.get("meta") or {}) for name in _CONTEXTS]
    except (KeyError, TypeError, AttributeError):
        return None
    return next((size for size in sizes if isinstance(size, int) and size > 0), None)


def first_token_of(choice: Any) -> Mapping[str, float]:
    """Return the probabilities of a reply's first token, as far as they were sent; empty if they were not."""
    try:
        told = choice.get("logprobs")
        return {each["token"]: exp(each["logprob"]) for each in told["content"][0]["top_logprobs"]} if told else {}
    except (KeyError, IndexError, TypeError, AttributeError):
        return {}


def redirected(model: str, asked: str, address: str | None) -> ModelUnusable:
    """Return the error of an endpoint that redirects prompts and keys to another address, where they do not go."""
    to = read_address(address)[0] if address else "another address"
    problem = f"{shown(asked)} redirects to {to}: give that address, if it is right, as api_base"
    return ModelUnusable(model, kind="bad_request", problem=problem)


def kind_of(status: int, codes: Collection[str] = (), problem: str = "") -> ModelErrorKind:
    """Return the kind of failure of an HTTP status other than 200, with the error's code and type and its text."""
    if _NOT_JSON.search(problem) and status in REFUSED:
        return "malformed"  # the model's own reply, refused by its server
    if not _FILTER_CODES.isdisjoint(codes):
        return "withheld"
    if not _TOO_LONG_CODES.isdisjoint(codes) or (status in REFUSED and _TOO_LONG.search(problem)):
        return "content"
    return _KINDS.get(status, "server" if status >= 500 else "bad_request")


@dataclass(slots=True)
class StreamedAnswer:
    """The pieces of an answer, and the seconds until the first that has a text; `body` is the whole, in JSON."""

    clock: float = field(default_factory=perf_counter)  # when it was asked for
    texts: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    finish_reason: str | None = None
    usage: dict[str, Any] = field(default_factory=dict)
    error: Any = None
    first_seconds: float | None = None

    @property
    def status(self) -> int:
        """The status of an answer of this kind that comes in one piece; one that breaks off is a server's failure."""
        if self.error is None:
            return 200 if self.finish_reason else 502
        code = self.error.get("code") if isinstance(self.error, dict) else None
        return int(str(code)) if str(code).isdecimal() else 500

    @property
    def body(self) -> str:
        """The answer as an endpoint gives it that does not stream."""
        if self.error is not None:
            return json.dumps({"error": self.error})
        if not self.finish_reason:
            return json.dumps({"error": {"message": "the stream ended before the answer did"}})
        message = {"content": "".join(self.texts), "refusal": "".join(self.refusals)}
        choice = {"message": message, "finish_reason": self.finish_reason}
        return json.dumps({"choices": [choice], "usage": self.usage})

    async def read(self, lines: AsyncIterable[bytes]) -> None:
        """Read events up to their end. Raises ValueError for one that is no JSON."""
        async for line in lines:
            data = line.strip().removeprefix(_DATA).strip() if line.startswith(_DATA) else b""
            if data and data != _END:
                self._take(json.loads(data))

    def _take(self, event: dict[str, Any]) -> None:
        self.usage = event.get("usage") or self.usage
        self.error = event.get("error", self.error)
        for choice in event.get("choices", ())[:1]:
            self.finish_reason = choice.get("finish_reason") or self.finish_reason
            delta = choice.get("delta") or {}
            text = delta.get("content") or ""
            if text and self.first_seconds is None:
                self.first_seconds = perf_counter() - self.clock
            self.texts.append(text)
            self.refusals.append(delta.get("refusal") or "")
