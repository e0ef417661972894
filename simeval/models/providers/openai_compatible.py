"""An OpenAI-compatible endpoint, called directly: a tenth of the CPU of the way through LiteLLM.

For one's own servers (vLLM, llama.cpp, Ollama, gateways) and load; names are "openai-compatible/MODEL".
LiteLLM remains the way to everything else, and to prices.
"""

import json
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import anyio

from simeval.core.redaction import Redactor
from simeval.errors import LONGEST_KEPT, DefinitionError, ModelError, ModelUnusable
from simeval.models.protocol.model import Completion, Request
from simeval.models.protocol.request import LIMIT
from simeval.models.providers.openai_format import (
    UNAUTHORIZED,
    Dialect,
    context_of,
    first_token_of,
    is_cut,
    kind_of,
    seconds_of,
)
from simeval.models.providers.openai_stream import STREAMED, StreamedAnswer

OK = 200
LOOKUP_SECONDS = 2.0
_OURS = frozenset({"api_base", "api_key", "json_schema", LIMIT})
COMPATIBLE_PREFIX = "openai-compatible/"
DEFAULT_BASE = "https://api.openai.com/v1"


@dataclass(slots=True)
class CompatibleModel:
    """A model behind an OpenAI-compatible endpoint.

    Options: `api_base` (else the environment's OPENAI_BASE_URL, else OpenAI's own), `api_key` (else OPENAI_API_KEY),
    `json_schema` ("auto": replies are asked for by their schema until the server refuses one; True: always; False:
    never); all others go into the body of every request. A request's own options come on top.
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    _dialect: Dialect = field(default_factory=Dialect, init=False, repr=False)
    _session: aiohttp.ClientSession | None = field(default=None, init=False, repr=False)
    path: ClassVar[str] = "/chat/completions"

    def check(self) -> None:
        """Raise DefinitionError where the name or the base URL cannot be used. Makes no call."""
        if not self.name.removeprefix(COMPATIBLE_PREFIX):
            raise DefinitionError(f"model {self.name!r}", found="found no model's name", do="write it behind the slash")
        if not self._base().startswith(("http://", "https://")):
            raise DefinitionError(
                f"model {self.name!r}",
                found=f"found api_base {Redactor().clean(self._base())!r}",
                do="give an http or https URL",
            )

    async def complete(self, request: Request) -> Completion:
        """Make one call; again where the server refuses how it is asked. Raises ModelError, ModelUnusable."""
        options = {**self.options, **request.options}
        request = request.addressed(options)
        schema = options.get("json_schema", "auto")
        rest = {name: value for name, value in options.items() if name not in _OURS}
        if rest.get("stream"):
            rest.setdefault("stream_options", {"include_usage": True})
        while True:
            asked = self._asked(request, schema)
            answer = StreamedAnswer()
            status, text, retry_after = await self._post({"model": self._model, **asked, **rest}, answer)
            if status == OK:
                return replace(self._read(text), first_text_seconds=answer.first_seconds)
            refusal = self._refusal(status, text, retry_after)
            if (shorter := self._dialect.shortened(request, refusal.problem)) is not None:
                request = shorter
                continue
            if refusal.kind != "bad_request" or not self._dialect.gives_up(asked, refusal.problem, json_schema=schema):
                raise refusal

    async def context_tokens(self) -> int | None:
        """Return the tokens that a prompt and its reply may have, where one's own server says so; else None."""
        if not self.options.get("api_base"):
            return None
        try:
            with anyio.fail_after(LOOKUP_SECONDS):
                async with self._open().get(f"{self._base()}/models", headers=self._headers()) as response:
                    return context_of(await response.json(), self._model)
        except (aiohttp.ClientError, OSError, ValueError):  # TimeoutError is an OSError
            return None

    async def _post(self, body: Mapping[str, Any], streamed: StreamedAnswer) -> tuple[int, str, str | None]:
        """Return the status, the body and the Retry-After of an answer; one that comes in pieces is `streamed`."""
        try:
            async with self._open().post(
                f"{self._base()}{self.path}", data=json.dumps(body), headers=self._headers()
            ) as response:
                if response.content_type == STREAMED and response.status == OK:
                    await streamed.read(response.content)
                    return streamed.status, streamed.body, None
                return response.status, await response.text(), response.headers.get("Retry-After")
        except (aiohttp.ClientError, OSError) as error:
            problem = str(error) or type(error).__name__
            raise ModelError(self.name, kind="connection", problem=problem) from None
        except ValueError as error:  # UnicodeDecodeError and JSONDecodeError among them
            raise ModelError(self.name, kind="malformed", problem="the body is not text, or no JSON") from error

    async def close(self) -> None:
        """Close the connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _base(self) -> str:
        base = self.options.get("api_base") or os.environ.get("OPENAI_BASE_URL") or DEFAULT_BASE
        return str(base).rstrip("/")

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                timeout=aiohttp.ClientTimeout(total=None),
                proxy=_proxy(self._base()),
            )
        return self._session

    def _headers(self) -> dict[str, str]:
        key = self.options.get("api_key") or os.environ.get("OPENAI_API_KEY")
        return {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}

    @property
    def _model(self) -> str:
        return self.name.removeprefix(COMPATIBLE_PREFIX)

    def _asked(self, request: Request, json_schema: object) -> dict[str, Any]:
        """Return what a request asks, in the form of the endpoint; `_answered` reads what it answers."""
        return self._dialect.asked(request, json_schema)

    def _answered(self, answer: Any) -> str:
        choice = answer["choices"][0]
        content = choice["message"]["content"]
        return "" if content is None and is_cut(choice) else _text(content)

    def _read(self, text: str) -> Completion:
        try:
            answer = json.loads(text)
            said = self._answered(answer)
            usage = answer.get("usage") or {}
            choice = answer["choices"][0] if "choices" in answer else {}
            return Completion(
                text=said,
                is_cut=is_cut(choice),
                first_token=first_token_of(choice),
                prompt_tokens=int(usage.get("prompt_tokens") or 0),
                completion_tokens=int(usage.get("completion_tokens") or 0),
            )
        except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            problem = f"not what {self.path} answers: {text[:LONGEST_KEPT]!r}"
            raise ModelError(self.name, kind="malformed", problem=problem) from error

    def _refusal(self, status: int, text: str, retry_after: str | None) -> ModelError:
        codes, message = _error_of(text)
        kind = kind_of(status, codes, message)
        problem = f"HTTP {status}: {message}"
        if status == UNAUTHORIZED:
            return ModelUnusable(self.name, kind=kind, problem=problem)
        return ModelError(self.name, kind=kind, problem=problem, retry_after=seconds_of(retry_after))


def _proxy(base: str) -> str | None:
    """Return the environment's proxy for a URL. Looked up once: aiohttp's own trust_env does it in a thread a call."""
    parts = urlsplit(base)
    return None if proxy_bypass(parts.hostname or "") else getproxies().get(parts.scheme)


def _text(content: object) -> str:
    if not isinstance(content, str):
        raise TypeError("the content is no text")
    return content


def _error_of(text: str) -> tuple[Collection[str], str]:
    """Return the code and type, and the message, of an error body, whatever it looks like."""
    try:
        error = json.loads(text)["error"]
        return (str(error.get("code") or ""), str(error.get("type") or "")), str(error.get("message") or error)
    except (ValueError, KeyError, TypeError, AttributeError):
        return (), (text.strip().splitlines() or ["no message"])[0]
