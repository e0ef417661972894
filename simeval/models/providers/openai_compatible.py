"""An endpoint that speaks OpenAI's protocol, called directly: a fifth of the CPU of the way through LiteLLM.

One's own servers are "openai-compatible/MODEL"; the providers that LiteLLM knows have LiteLLM's names.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import anyio
from multidict import CIMultiDict

from simeval.core.logs import warn_all
from simeval.core.network import AnswerTooLarge, cause_of, lines_of, read_whole
from simeval.core.redaction import Redactor
from simeval.core.waits import seconds_of
from simeval.errors import LONGEST_KEPT, DefinitionError, ModelError, ModelUnusable
from simeval.models.protocol.model import LIMIT, Completion, Request
from simeval.models.providers.endpoints import (
    COMPATIBLE,
    LITELLM,
    OF_THE_USER,
    TRANSPORT,
    Endpoint,
    key_missing,
    require_one_login,
)
from simeval.models.providers.litellm_table import cost_of, listed, tokens_of
from simeval.models.providers.openai_format import (
    ELSEWHERE,
    STREAMED,
    UNAUTHORIZED,
    Dialect,
    StreamedAnswer,
    body_of,
    context_of,
    first_token_of,
    is_cut,
    is_filtered,
    kind_of,
    redirected,
    refusal_of,
)

if TYPE_CHECKING:
    import aiohttp

OK = 200
TOLD = frozenset({"temperature", "seed"})  # reported when it is given up: without it runs differ
LOOKUP_SECONDS = 2.0
_ADDRESS = frozenset({"api_base", "base_url", "api_key", "organization", "headers", "extra_headers", TRANSPORT})
_OURS = frozenset({"json_schema", LIMIT, "extra_body"})
COMPATIBLE_PREFIX = COMPATIBLE.prefix


@dataclass(slots=True)
class CompatibleModel:
    """A model behind an endpoint that speaks OpenAI's protocol.

    Options: `api_base` and `api_key` (else those of the environment, else the provider's own URL), `organization`,
    `extra_headers`, `extra_body`, `json_schema` ("auto": replies are asked for by their schema until the server refuses
    one; True: always; False: never); all others go into the body of every request. A request's own options come on
    top.
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    endpoint: Endpoint = field(default=COMPATIBLE, repr=False)
    _dialect: Dialect = field(init=False, repr=False)
    _entry: Mapping[str, Any] = field(default_factory=dict, init=False, repr=False)  # of LiteLLM's table
    _asks: Mapping[str, Any] = field(init=False, repr=False)  # its options that are no address
    _session: "aiohttp.ClientSession | None" = field(default=None, init=False, repr=False)
    _url: str = field(default="", init=False, repr=False)
    path: ClassVar[str] = "/chat/completions"

    def __post_init__(self) -> None:
        self._asks = {name: value for name, value in self.options.items() if name not in _ADDRESS}
        self._dialect = Dialect({*self.endpoint.without})

    def check(self) -> None:
        """Raise DefinitionError if the name, the transport or the base URL cannot be used. Makes no call."""
        where, base = f"model {self.name!r}", self.endpoint.url(self.options)
        if not self._model:
            raise DefinitionError(where, found="found no model's name", do="write it after the slash")
        if transport := self.options.get(TRANSPORT):
            do = f"write {LITELLM!r}, or leave it out" if self.endpoint.is_listed else "leave it out"
            raise DefinitionError(where, found=f"found transport {transport!r}", do=do)
        if not base:
            do = f"give the option api_base, or set {self.endpoint.bases[0]}"
            raise DefinitionError(where, found="found no address of its server", do=do)
        if not base.startswith(("http://", "https://")):
            found = f"found api_base {Redactor().clean(base)!r}"
            raise DefinitionError(where, found=found, do="give an http or https URL")
        require_one_login(self.name, base, self.options)

    def check_key(self) -> None:
        """Raise DefinitionError if the provider needs a key that is missing, or no server is named at all."""
        wanted = self.endpoint
        if wanted is COMPATIBLE and not (wanted.given(self.options) or wanted.key_for(self.options)):
            do = f"give its address: --model-option api_base=http://..., or set {wanted.bases[0]}"
            raise DefinitionError(f"model {self.name!r}", found="no server is named", do=do)
        if self.endpoint.key_for(self.options) is None and not any(map(self.options.get, OF_THE_USER)):
            raise key_missing(self.name, self.endpoint.keys[:1])

    async def complete(self, request: Request) -> Completion:
        """Make one call; repeat it if the server refuses the form of the request. Raises ModelError, ModelUnusable."""
        session = self._session or self._open()
        options = {**self._asks, **request.options} if self._asks else request.options
        if self._asks:
            request = request.addressed(options)
        schema, rest = options.get("json_schema", "auto"), self._rest(options)
        while True:
            asked = named = self._asked(request, schema)
            if self.endpoint.renamed:
                named = {self.endpoint.renamed.get(name, name): value for name, value in asked.items()}
            answer = await self._post(session, {"model": self._model, **named, **rest})
            if answer.status == OK:
                return self._read(answer.text, answer.first_text_seconds)
            refusal = self._refusal(answer)
            if (shorter := self._dialect.shortened(request, refusal.problem)) is not None:
                request = shorter
                continue
            if refusal.kind != "bad_request" or not self._gives_up(asked, refusal.problem, schema):
                raise refusal

    def _rest(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the part of the body that is passed on unchanged: options that are not ours, and the endpoint's."""
        if not options:
            return self.endpoint.body
        rest = {name: value for name, value in options.items() if name not in _OURS}
        if rest.get("stream"):
            rest.setdefault("stream_options", {"include_usage": True})
        return {**rest, **self.endpoint.body, **(options.get("extra_body") or {})}

    async def context_tokens(self) -> int | None:
        """Return the tokens that a prompt and its reply may have, if the server or LiteLLM's table gives them.

        Only a server of one's own is asked.
        """
        import aiohttp

        if not self.endpoint.given(self.options):
            return listed(self.name).get("max_input_tokens") if self.endpoint.is_listed else None
        try:
            with anyio.fail_after(LOOKUP_SECONDS):
                session = self._session or self._open()
                models = self.endpoint.address(self.options, "/models")
                async with session.get(models, allow_redirects=False) as response:
                    return context_of(json.loads(await read_whole(response.content)), self._model)
        except (aiohttp.ClientError, OSError, ValueError, RecursionError, AnswerTooLarge):  # TimeoutError is an OSError
            return None

    async def _post(self, session: "aiohttp.ClientSession", body: Mapping[str, Any]) -> "_Answer":
        """Return the endpoint's answer; a streamed one as if it had come in one piece."""
        import aiohttp  # once loaded, half a microsecond

        try:
            data = body_of(body)
        except (TypeError, ValueError) as error:
            problem = f"an option cannot be written as JSON ({error})"
            raise ModelError(self.name, kind="bad_request", problem=problem) from None
        clock = perf_counter()
        try:
            async with session.post(self._url, data=data, allow_redirects=False) as response:
                if response.status in ELSEWHERE:
                    raise redirected(self.name, self._url, response.headers.get("Location"))
                if response.content_type == STREAMED and response.status == OK:
                    streamed = StreamedAnswer(clock)
                    await streamed.read(lines_of(response.content.iter_any()))
                    return _Answer(streamed.status, streamed.body, first_text_seconds=streamed.first_seconds)
                came = await read_whole(response.content)
                text = came.decode(response.charset or "utf-8")
                return _Answer(response.status, text, response.headers.get("Retry-After"))
        except (aiohttp.ClientError, OSError) as error:
            host = urlsplit(self._url).netloc.rpartition("@")[2]  # no password, and no query
            problem = f"{cause_of(error)} ({host})"
            raise ModelError(self.name, kind="connection", problem=problem) from None
        except AnswerTooLarge as error:
            raise ModelError(self.name, kind="malformed", problem=str(error)) from error
        except (ValueError, LookupError, RecursionError) as error:  # not in its charset, one unknown, no JSON
            raise ModelError(self.name, kind="malformed", problem="the body is not text, or no JSON") from error

    async def close(self) -> None:
        """Close the connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _open(self) -> "aiohttp.ClientSession":
        """Open the connections, and look the model up in LiteLLM's table."""
        import aiohttp  # a tenth of a second, which a run without such a model need not wait

        self._url = self.endpoint.address(self.options, self.path)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=self._headers(),
            timeout=aiohttp.ClientTimeout(total=None),
            proxy=_proxy(self._url),
        )
        self._entry = listed(self.name) if self.endpoint.is_listed else {}
        self._dialect.thinks = bool(self._entry.get("supports_reasoning"))
        return self._session

    def _headers(self) -> CIMultiDict[str]:
        headers = CIMultiDict({"Content-Type": "application/json", **self.endpoint.headers(self.options)})
        for given in (self.options.get("headers"), self.options.get("extra_headers")):
            headers.update({name: str(value) for name, value in (given or {}).items()})
        return headers

    @property
    def _model(self) -> str:
        return self.name.removeprefix(self.endpoint.prefix)

    def _gives_up(self, asked: Mapping[str, Any], problem: str, json_schema: object) -> bool:
        """Return whether the call may succeed without the part a refusal names; warn once if results depend on it."""
        known = {*self._dialect.refused}
        gives_up = self._dialect.gives_up(asked, problem, json_schema=json_schema)
        for name in sorted((self._dialect.refused - known) & TOLD):
            warn_all(f"{self.name} takes no {name}: it is asked without")
        return gives_up

    def _asked(self, request: Request, json_schema: object) -> dict[str, Any]:
        """Return a request in the form of the endpoint; `_answered` reads its answer."""
        return self._dialect.asked(request, json_schema)

    def _answered(self, answer: Any) -> str:
        choice = answer["choices"][0]
        content = choice["message"].get("content")
        if content is None and (is_cut(choice) or is_filtered(choice) or refusal_of(choice["message"])):
            return ""
        return _text(content)

    def _read(self, text: str, first_text_seconds: float | None = None) -> Completion:
        try:
            answer = json.loads(text)
            said = self._answered(answer)
            usage = answer.get("usage") or {}
            choice = answer["choices"][0] if "choices" in answer else {}
            tokens = tokens_of(usage)
            return Completion(
                text=said,
                is_cut=is_cut(choice),
                is_filtered=is_filtered(choice),
                refusal=refusal_of(choice["message"]) if choice else "",
                first_token=first_token_of(choice),
                prompt_tokens=tokens.prompt,
                completion_tokens=tokens.completion,
                cost_usd=cost_of(self._entry, usage),
                first_text_seconds=first_text_seconds,
                cached_tokens=tokens.cached,
                reasoning_tokens=tokens.reasoning,
            )
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
            problem = f"not what {self.path} answers: {text[:LONGEST_KEPT]!r}"
            raise ModelError(self.name, kind="malformed", problem=problem) from error

    def _refusal(self, answer: "_Answer") -> ModelError:
        codes, message = _error_of(answer.text)
        kind = kind_of(answer.status, codes, message)
        problem = f"HTTP {answer.status}: {message}"
        if answer.status == UNAUTHORIZED:
            return ModelUnusable(self.name, kind=kind, problem=problem)
        return ModelError(self.name, kind=kind, problem=problem, retry_after=seconds_of(answer.retry_after))


class _Answer(NamedTuple):
    status: int
    text: str
    retry_after: str | None = None
    first_text_seconds: float | None = None


def _proxy(base: str) -> str | None:
    """Return the environment's proxy for a URL. Looked up once: aiohttp's own trust_env does it in a thread a call."""
    parts = urlsplit(base)
    return None if proxy_bypass(parts.hostname or "") else getproxies().get(parts.scheme)


def _text(content: object) -> str:
    """Return the text of a content; of one in parts, the texts."""
    if isinstance(content, list):
        content = "".join(part["text"] for part in content if part.get("type") == "text")
    if not isinstance(content, str):
        raise TypeError("the content is no text")
    return content


def _error_of(text: str) -> tuple[Collection[str], str]:
    """Return the code and type, and the message, of an error body, whatever it looks like."""
    try:
        error = json.loads(text)["error"]
        return (str(error.get("code") or ""), str(error.get("type") or "")), str(error.get("message") or error)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return (), (text.strip().splitlines() or ["no message"])[0]
