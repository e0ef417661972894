"""Any provider's models, through LiteLLM.

LiteLLM is imported when it is first needed (about two seconds of CPU) and never retries here: simeval does, by cause.

It keeps its clients in a cache of the whole process, by endpoint and not by model, so the session they run on must be
one for all our models on an event loop. When it closes, with the last of them, the clients that hold it leave the cache
(else LiteLLM would open a new session behind our back), and LiteLLM's logging task ends if it began with us.
"""

import asyncio
import logging
import os
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from time import perf_counter
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import anyio

from simeval.core.conversation import FIRST_TEXT, ChatMessage
from simeval.core.logs import log
from simeval.core.redaction import logs_in
from simeval.core.validation import closest
from simeval.core.waits import seconds_of
from simeval.errors import DefinitionError, ModelError, ModelErrorKind, ModelUnusable
from simeval.models.protocol.model import LIMIT, Completion, Request
from simeval.models.providers.endpoints import ENDPOINTS, TRANSPORT, require_key, require_one_login
from simeval.models.providers.litellm_table import listed, parts_of
from simeval.models.providers.openai_format import (
    UNAUTHORIZED,
    Dialect,
    first_token_of,
    is_cut,
    is_filtered,
    kind_of,
    refusal_of,
)

if TYPE_CHECKING:
    import aiohttp

FLUSHING_SECONDS = 1.0

_KINDS: Mapping[str, ModelErrorKind] = {
    "AuthenticationError": "authentication",
    "PermissionDeniedError": "authentication",
    "NotFoundError": "unknown_model",
    "ContextWindowExceededError": "content",
    "ContentPolicyViolationError": "withheld",
    "RateLimitError": "rate_limit",
    "Timeout": "timeout",
    "InternalServerError": "server",
    "ServiceUnavailableError": "server",
    "BadGatewayError": "server",
    "BadRequestError": "bad_request",
    "UnprocessableEntityError": "bad_request",
    "UnsupportedParamsError": "bad_request",
    "APIConnectionError": "connection",
    "APIError": "server",
    "OpenAIError": "server",  # of the client beneath LiteLLM: above all, that it has no key
    "APIResponseValidationError": "malformed",
    "JSONSchemaValidationError": "malformed",
    "RecursionError": "malformed",  # JSON that is nested too deeply; LiteLLM lets it through for moderations
}
_OPENAI = "openai/"
_LIKE_OPENAI = (_OPENAI, "hosted_vllm/", "lm_studio/", "llamafile/")  # whose list of models is where OpenAI's is
_UNBOUNDED = "aiohttp_openai/"  # LiteLLM's experiment with a client of its own
SCHEMA = "json_schema"  # the option; LiteLLM has none of this name
_ANTHROPIC = ("anthropic", "claude")  # in the names of models that cache only up to marks
_OWN_MARKS = "cache_control_injection_points"  # LiteLLM's option
_NO_KEY = re.compile(r"missing credentials|api_key client option must be set", re.IGNORECASE)
_OBJECTS = re.compile(r" ssl:<[^>]*>| ssl:default| <[\w.]+ object at 0x\w+>")
_PREFIXES = re.compile(r"^(?:(?:litellm\.)?\w+(?:Error|Exception): |\w+Exception - )+")


@dataclass(slots=True)
class _Shared:
    session: "aiohttp.ClientSession"
    worker_is_ours: bool
    users: int = 0


_shared: "WeakKeyDictionary[asyncio.AbstractEventLoop, _Shared]" = WeakKeyDictionary()


def open_session(litellm: ModuleType) -> "aiohttp.ClientSession":
    """Return the running event loop's session, opened if it was not; each call needs one `close_session`."""
    import aiohttp

    loop = asyncio.get_running_loop()
    if loop not in _shared:
        connector = aiohttp.TCPConnector(limit=0, ttl_dns_cache=300)
        session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
        _shared[loop] = _Shared(session, worker_is_ours=not _is_at_work(_worker(litellm), loop))
    _shared[loop].users += 1
    return _shared[loop].session


async def close_session(litellm: ModuleType) -> None:
    """Close the session if this was its last user."""
    loop = asyncio.get_running_loop()
    shared = _shared.get(loop)
    if shared is None:
        return
    shared.users -= 1
    if shared.users:
        return
    del _shared[loop]
    _forget_clients(litellm, shared.session)
    await shared.session.close()
    if shared.worker_is_ours and _is_at_work(_worker(litellm), loop):
        with anyio.move_on_after(FLUSHING_SECONDS):
            await _worker(litellm).flush()
        await _worker(litellm).stop()


def _is_at_work(worker: Any, loop: asyncio.AbstractEventLoop) -> bool:
    """Return whether LiteLLM's logging task was begun on this loop before us.

    One of a loop that has ended is nobody's.
    """
    task = getattr(worker, "_worker_task", None)
    return task is not None and not task.done() and task.get_loop() is loop


def _worker(litellm: ModuleType) -> Any:
    return litellm.litellm_core_utils.logging_worker.GLOBAL_LOGGING_WORKER


def _forget_clients(litellm: ModuleType, session: "aiohttp.ClientSession") -> None:
    cache = litellm.in_memory_llm_clients_cache
    for key, client in list(cache.cache_dict.items()):
        inner = getattr(client, "_client", None) or getattr(client, "client", None)
        if getattr(getattr(inner, "_transport", None), "client", None) is session:
            cache.cache_dict.pop(key, None)
            cache.ttl_dict.pop(key, None)


@cache
def load_litellm() -> ModuleType:
    """Import LiteLLM, quiet and without its look-up of prices over the network."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    if "litellm" not in sys.modules and find_spec("litellm") is not None:
        log.info("loading LiteLLM, which takes a second or two")
    try:
        import litellm
        import litellm.litellm_core_utils.logging_worker
    except ModuleNotFoundError as error:
        if error.name != "litellm":
            raise
        do = (
            "install it (pip install 'litellm<1.98'), or name another model, such as openai/gpt-5-nano or offline/judge"
        )
        raise DefinitionError(
            "models", found="LiteLLM, which asks models of most providers, is not installed", do=do
        ) from None

    from simeval.models.providers.litellm_transport import watch_transports

    watch_transports()
    litellm.suppress_debug_info = True
    litellm.telemetry = False
    logging.getLogger("LiteLLM").setLevel(max(logging.getLogger("LiteLLM").level, logging.WARNING))
    return litellm


@dataclass(slots=True)
class LiteLLMModel:
    """A model by its LiteLLM name ("openai/gpt-5-nano"), with options that go into every call.

    `options` are LiteLLM's own keyword arguments, such as api_base, api_key, max_tokens or temperature, and
    `json_schema`: "auto" asks for replies by their schema until the server refuses one, or if LiteLLM's table shows
    that the model takes none; True always does, False never. A request's own options come on top.
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    timeout_seconds: float = 600.0
    _session: Any = field(default=None, init=False, repr=False)
    _is_open: bool = field(default=False, init=False, repr=False)
    _dialect: Dialect = field(default_factory=Dialect, init=False, repr=False)
    _marks_cache: bool = field(default=False, init=False)

    def check(self) -> None:
        """Raise DefinitionError if the name has no provider LiteLLM knows. Makes no call."""
        base = str(self.options.get("api_base") or self.options.get("base_url") or "")
        require_one_login(self.name, base, self.options)
        if logs_in(base):
            do = "give it as a header: extra_headers={'Authorization': 'Basic ...'}"
            raise DefinitionError(f"model {self.name!r}", found="LiteLLM takes no password in api_base", do=do)
        if self.name.startswith(_UNBOUNDED):
            found = "its client reads answers without a bound and follows redirections"
            raise DefinitionError(f"model {self.name!r}", found=found, do="write openai/ in place of aiohttp_openai/")
        try:
            litellm = load_litellm()
        except DefinitionError as error:
            meant = _meant(self.name)
            do = f"{meant} {error.do[:1].upper()}{error.do[1:]}" if meant else error.do
            raise DefinitionError(f"model {self.name!r}", found=error.found, do=do) from None
        try:
            litellm.get_llm_provider(self.name, api_base=self.options.get("api_base"))
        except litellm.exceptions.BadRequestError:
            raise DefinitionError(
                f"model {self.name!r}",
                found="LiteLLM knows no provider of this name",
                do=_meant(self.name)
                or "use LiteLLM's form provider/model, such as openai/gpt-5-nano, or offline/judge",
            ) from None

    def check_key(self) -> None:
        """Raise DefinitionError if the provider needs a key that is missing. Makes no call."""
        require_key(load_litellm(), self.name, self.options)

    async def complete(self, request: Request) -> Completion:
        """Make one call; repeat it if the server refuses the form of the request. Raises ModelError, ModelUnusable."""
        litellm = load_litellm() if self._is_open else await anyio.to_thread.run_sync(load_litellm)
        from simeval.models.providers.litellm_transport import call_of  # loaded with LiteLLM

        with call_of(self.name) as call:
            try:
                response = await self._respond(litellm, request)
            except Exception as error:
                raise call.refused or self._translated(error) from None  # LiteLLM's message may quote the key
        choice = _choice(response)
        text, refusal = self._answered(response), refusal_of(choice.get("message", {}))
        if text is None and not (is_cut(choice) or is_filtered(choice) or refusal):
            raise ModelError(self.name, kind="malformed", problem="the reply has no text")
        usage = getattr(response, "usage", None)
        cached_tokens, reasoning_tokens = parts_of(usage)
        return Completion(
            text=text or "",
            prompt_tokens=getattr(usage, "prompt_tokens", 0) or 0,
            completion_tokens=getattr(usage, "completion_tokens", 0) or 0,
            cost_usd=getattr(response, "_hidden_params", {}).get("response_cost"),
            is_cut=is_cut(choice),
            is_filtered=is_filtered(choice),
            refusal=refusal,
            first_token=first_token_of(choice),
            first_text_seconds=getattr(response, "_hidden_params", {}).get(FIRST_TEXT),
            cached_tokens=cached_tokens,
            reasoning_tokens=reasoning_tokens,
        )

    async def context_tokens(self) -> int | None:
        """Return the tokens that a prompt and its reply may have, if one's own server or LiteLLM's table gives them."""
        base = self.options.get("api_base")
        if base and not self.name.startswith(_LIKE_OPENAI):
            return None
        if not base:
            return listed(self.name).get("max_input_tokens")
        from simeval.models.providers.openai_compatible import COMPATIBLE_PREFIX, CompatibleModel

        server = CompatibleModel(
            f"{COMPATIBLE_PREFIX}{self.name.partition('/')[2]}",
            {"api_base": base, "api_key": self.options.get("api_key") or "none"},
        )
        try:
            return await server.context_tokens()
        finally:
            await server.close()

    async def close(self) -> None:
        """Close the connections this model opened."""
        session, self._session, self._is_open = self._session, None, False
        if session is not None:
            await close_session(load_litellm())

    async def _respond(self, litellm: ModuleType, request: Request) -> Any:
        """Make the call; `_answered` returns its text, None without one."""
        self._open(litellm)
        options = {**self.options, **request.options}
        options.pop(TRANSPORT, None)
        schema = options.pop(SCHEMA, "auto")
        if options.get("stream"):
            options.setdefault("stream_options", {"include_usage": True})
        while True:
            asked = self._dialect.asked(request, schema)
            if self._marks_cache and _OWN_MARKS not in options:
                asked["messages"] = marked(asked["messages"], request.shared())
            clock = perf_counter()
            try:
                response = await litellm.acompletion(**self._arguments({**asked, "max_retries": 0, **options}))
                return await self._whole(litellm, response, clock) if options.get("stream") else response
            except litellm.exceptions.BadRequestError as error:
                refusal = self._translated(error)
                if (shorter := self._dialect.shortened(request, refusal.problem)) is not None:
                    request = shorter
                    options |= {LIMIT: shorter.max_tokens} if LIMIT in options else {}
                    continue
                if refusal.kind != "bad_request" or not self._dialect.gives_up(
                    asked, refusal.problem, json_schema=schema
                ):
                    raise

    async def _whole(self, litellm: ModuleType, chunks: Any, clock: float) -> Any:
        """Return a streamed response as if it had come in one piece, with its cost and the seconds to its first text.

        Raises ModelError if it breaks off.
        """
        first, found = None, []
        async for chunk in chunks:
            found.append(chunk)
            if first is None and chunk.choices and chunk.choices[0].delta.content:
                first = perf_counter() - clock
        if getattr(chunks, "received_finish_reason", "") is None:  # the last chunk has one of LiteLLM's own then
            raise ModelError(self.name, kind="server", problem="the stream ended before the answer did")
        response = litellm.stream_chunk_builder(found)
        with suppress(Exception):  # LiteLLM raises any exception if it knows no price
            cost = litellm.completion_cost(completion_response=response, model=self.name)
            response._hidden_params["response_cost"] = cost or None
        response._hidden_params[FIRST_TEXT] = first
        return response

    def _answered(self, response: Any) -> str | None:
        choices = getattr(response, "choices", None)
        return cast("str | None", choices[0].message.content) if choices else None

    def _open(self, litellm: ModuleType) -> None:
        """Open the connections, unless they are open, and look the model up in LiteLLM's table."""
        if not self._is_open:
            self._is_open = True
            self._session = open_session(litellm)
            is_listed = not litellm.model_cost.keys().isdisjoint((self.name, self.name.partition("/")[2]))
            if is_listed and not litellm.supports_response_schema(self.name):
                self._dialect.refused.add("json_schema")
            is_anthropic = any(each in self.name.lower() for each in _ANTHROPIC)
            self._marks_cache = is_anthropic and litellm.utils.supports_prompt_caching(self.name)
            self._dialect.thinks = is_listed and litellm.supports_reasoning(self.name)

    def _arguments(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        ours = {
            "model": self.name,
            "timeout": self.timeout_seconds,
            "num_retries": 0,
            "drop_params": True,
            "shared_session": self._session,
        }
        options = {name: value for name, value in self.options.items() if name not in (SCHEMA, TRANSPORT)}
        if self._is_here and not os.environ.get("OPENAI_API_KEY"):
            options.setdefault("api_key", "none")  # a server of one's own takes any; without one its client refuses
        return {**options, **ours, **asked}

    @property
    def _is_here(self) -> bool:
        """Whether it is behind OpenAI's client and on this machine."""
        host = urlsplit(str(self.options.get("api_base") or "")).hostname
        return self.name.startswith(_OPENAI) and host in ("localhost", "127.0.0.1", "::1")

    def _translated(self, error: Exception) -> ModelError:
        status = getattr(error, "status_code", None) or 400
        kind = next((_KINDS[c.__name__] for c in type(error).__mro__ if c.__name__ in _KINDS), None)
        if kind is None:
            raise error
        problem = _first_line(str(error))
        if kind == "bad_request":  # LiteLLM files some other refusals there too; status and text identify them
            kind = kind_of(status, [str(getattr(error, "code", ""))], problem)
        if kind == "server" and _NO_KEY.search(problem):
            kind = "authentication"
        if kind == "server" and "connection error" in problem.lower():
            kind = "connection"
        if status == UNAUTHORIZED:
            return ModelUnusable(self.name, kind=kind, problem=problem)
        headers = getattr(error, "litellm_response_headers", None) or {}
        return ModelError(self.name, kind=kind, problem=problem, retry_after=seconds_of(headers.get("retry-after")))


def marked(messages: Sequence[ChatMessage], shared: Mapping[int, int]) -> list[Mapping[str, Any]]:
    """Return messages with Anthropic's mark after the `shared` part: a number of characters, by a message's place."""
    found: list[Mapping[str, Any]] = [*messages]
    for place, characters in shared.items():
        text = messages[place]["content"]
        first: dict[str, Any] = {"type": "text", "text": text[:characters], "cache_control": {"type": "ephemeral"}}
        parts = [first, {"type": "text", "text": text[characters:]}]
        found[place] = {**messages[place], "content": [each for each in parts if each["text"]]}
    return found


def _choice(response: Any) -> Mapping[str, Any]:
    """Return the first choice of a response in the form of the wire; empty without one."""
    choices = getattr(response, "choices", None)
    if not choices:
        return {}
    logprobs: Any = getattr(choices[0], "logprobs", None)
    shown = logprobs.model_dump() if hasattr(logprobs, "model_dump") else logprobs
    said = getattr(getattr(choices[0], "message", None), "provider_specific_fields", None) or {}
    return {"finish_reason": choices[0].finish_reason, "logprobs": shown, "message": {"refusal": said.get("refusal")}}


def _first_line(text: str) -> str:
    """Return the first line of a message of LiteLLM, without the names of its exceptions before it."""
    line = text.strip().splitlines()[0] if text.strip() else "no message"
    return _OBJECTS.sub("", _PREFIXES.sub("", line)).rstrip(". ")


def _meant(name: str) -> str:
    """Ask whether a model of a provider was meant whose name is like this one's; else nothing."""
    provider, _, model = name.partition("/")
    loaded = getattr(sys.modules.get("litellm"), "provider_list", ())
    known = [
        "offline",
        *(each.prefix.rstrip("/") for each in ENDPOINTS),
        *(str(getattr(each, "value", each)) for each in loaded),
    ]
    alike = closest(provider, [each for each in dict.fromkeys(known) if each != provider]) if model else ""
    return re.sub(r"'(.+?)'", lambda found: f"'{found[1]}/{model}'", alike)
