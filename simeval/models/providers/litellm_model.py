"""Any provider's models, through LiteLLM.

LiteLLM is imported when it is first needed (about two seconds of CPU) and never retries here: simeval does, by
cause.
"""

import logging
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import Any, cast

import anyio

from simeval.errors import DefinitionError, ModelError, ModelErrorKind, ModelUnusable
from simeval.models.protocol.model import Completion, Request
from simeval.models.providers.litellm_session import close_session, open_session
from simeval.models.providers.openai_format import UNAUTHORIZED, kind_of, response_format, seconds_of

_KINDS: Mapping[str, ModelErrorKind] = {
    "AuthenticationError": "authentication",
    "PermissionDeniedError": "authentication",
    "NotFoundError": "unknown_model",
    "ContextWindowExceededError": "content",
    "ContentPolicyViolationError": "content",
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
}
_NO_KEY = re.compile(r"missing credentials|api_key client option must be set", re.IGNORECASE)
_PREFIXES = re.compile(r"^(?:(?:litellm\.)?\w+(?:Error|Exception): |\w+Exception - )+")


@cache
def load_litellm() -> ModuleType:
    """Import LiteLLM, quiet and without its look-up of prices over the network."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm
    import litellm.litellm_core_utils.logging_worker

    litellm.suppress_debug_info = True
    litellm.telemetry = False
    logging.getLogger("LiteLLM").setLevel(max(logging.getLogger("LiteLLM").level, logging.WARNING))
    return litellm


@dataclass(slots=True)
class LiteLLMModel:
    """A model by its LiteLLM name ("openai/gpt-5-nano"), with options that go into every call.

    `options` are LiteLLM's own keyword arguments, such as api_base, api_key, max_tokens or temperature.
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    timeout_seconds: float = 600.0
    _session: Any = field(default=None, init=False, repr=False)
    _known: Mapping[str, Any] | None = field(default=None, init=False, repr=False)

    def check(self) -> None:
        """Raise DefinitionError where the name has no provider LiteLLM knows. Makes no call."""
        litellm = load_litellm()
        try:
            litellm.get_llm_provider(self.name, api_base=self.options.get("api_base"))
        except litellm.exceptions.BadRequestError:
            raise DefinitionError(
                f"model {self.name!r}",
                found="LiteLLM knows no provider of this name",
                do="use LiteLLM's form provider/model, such as openai/gpt-5-nano, or offline/judge",
            ) from None

    async def complete(self, request: Request) -> Completion:
        """Make one call. Raises ModelError; ModelUnusable where no call can succeed."""
        litellm = await anyio.to_thread.run_sync(load_litellm) if self._known is None else load_litellm()
        try:
            response = await self._respond(litellm, request)
        except Exception as error:
            raise self._translated(error) from None  # what LiteLLM says may quote the key
        text = self._answered(response)
        if text is None:
            raise ModelError(self.name, kind="malformed", problem="the reply has no text")
        usage = getattr(response, "usage", None)
        return Completion(
            text=text,
            prompt_tokens=getattr(usage, "prompt_tokens", 0) or 0,
            completion_tokens=getattr(usage, "completion_tokens", 0) or 0,
            cost_usd=getattr(response, "_hidden_params", {}).get("response_cost"),
        )

    async def close(self) -> None:
        """Close the connections this model opened."""
        session, self._session, self._known = self._session, None, None
        if session is not None:
            await close_session(load_litellm())

    async def _respond(self, litellm: ModuleType, request: Request) -> Any:
        """Make the call; `_answered` gives the text of what it returned, None where there is none."""
        known = self._connect(litellm)
        asked: dict[str, Any] = {
            "messages": request.messages(),
            "temperature": request.temperature,
            "seed": request.seed % 2**31,
            "max_retries": 0,
        }
        if request.reply is not None:
            asked["response_format"] = response_format(request.reply, schema=known["schema"])
        return await litellm.acompletion(**self._arguments(asked))

    def _answered(self, response: Any) -> str | None:
        choices = getattr(response, "choices", None)
        return cast("str | None", choices[0].message.content) if choices else None

    def _connect(self, litellm: ModuleType) -> Mapping[str, Any]:
        """Open the connections, where they are not, and give what is known of the model."""
        if self._known is None:
            self._known = {"schema": litellm.supports_response_schema(self.name)}
            self._session = open_session(litellm)
        return self._known

    def _arguments(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        ours = {
            "model": self.name,
            "timeout": self.timeout_seconds,
            "num_retries": 0,
            "drop_params": True,
            "shared_session": self._session,
        }
        return {**ours, **asked, **self.options}

    def _translated(self, error: Exception) -> ModelError:
        status = getattr(error, "status_code", None) or 400
        kind = next((_KINDS[c.__name__] for c in type(error).__mro__ if c.__name__ in _KINDS), None)
        if kind is None:
            raise error
        if kind == "bad_request":  # LiteLLM files some other refusals there too; the status says what they are
            kind = kind_of(status)
        problem = _first_line(str(error))
        if kind == "server" and _NO_KEY.search(problem):
            kind = "authentication"
        if kind == "server" and "connection error" in problem.lower():
            kind = "connection"
        if status == UNAUTHORIZED:
            return ModelUnusable(self.name, kind=kind, problem=problem)
        headers = getattr(error, "litellm_response_headers", None) or {}
        return ModelError(self.name, kind=kind, problem=problem, retry_after=seconds_of(headers.get("retry-after")))


def _first_line(text: str) -> str:
    """Return the first line of what LiteLLM says, without the names of its exceptions before it."""
    line = text.strip().splitlines()[0] if text.strip() else "no message"
    return _PREFIXES.sub("", line).rstrip(". ")
