"""Providers with OpenAI's protocol: the address of each, and its special requirements.

Names, addresses and keys are those of LiteLLM, so that a name means the same on both roads; a test compares them. A
provider that has a protocol of its own is asked through LiteLLM.
"""

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from simeval.core.redaction import logs_in
from simeval.errors import DefinitionError

NO_KEY = "fake-api-key"  # LiteLLM's key for servers of one's own that need none
V1 = "/v1"
TRANSPORT = "transport"  # the option that chooses the client of the calls
LITELLM = "litellm"  # its only value
_LITELLMS_OWN = frozenset(  # options that LiteLLM reads itself, and no provider
    {"additional_drop_params", "allowed_openai_params", "api_version", "base_model", "cache", "caching", "drop_params"}
    | {"custom_llm_provider", "deployment_id", "fallbacks", "metadata", "mock_response", "ssl_verify"}
    | {"input_cost_per_token", "output_cost_per_token", "input_cost_per_second", "cache_read_input_token_cost"}
    | {"context_window_fallback_dict", "guardrails", "litellm_metadata", "model_info", "request_timeout", "rpm", "tpm"}
    | {"ensure_alternating_roles", "stream_timeout", "supports_system_message", "tags"}
)

_KEY = "_API_KEY"
_CREDENTIAL = re.compile(r"ad_token|_key$|_id$|secret|credential")  # options with credentials, too
OF_THE_USER = ("api_key", "api_base", "base_url", "extra_headers", "headers")  # these contain or imply credentials
_SECRETS = ("KEY", "TOKEN")


# the key of providers that LiteLLM does not check, or that know their users in several ways, and the common beginning
# of the names of their variables
_OTHER_KEYS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "azure": ("AZURE_API_KEY", ("AZURE_",)),
    "azure_ai": ("AZURE_AI_API_KEY", ("AZURE_",)),
    "cloudflare": ("CLOUDFLARE_API_KEY", ("CLOUDFLARE_",)),
    "cohere": ("COHERE_API_KEY", ("COHERE_", "CO_")),
    "cohere_chat": ("COHERE_API_KEY", ("COHERE_", "CO_")),
    "friendliai": ("FRIENDLI_TOKEN", ("FRIENDLI",)),
    "github": ("GITHUB_API_KEY", ("GITHUB_",)),
    "predibase": ("PREDIBASE_API_KEY", ("PREDIBASE_",)),
    "watsonx": ("WATSONX_API_KEY", ("WATSONX_", "WX_")),
}
_LIBRARIES: Mapping[str, tuple[str, str]] = {  # that LiteLLM needs for a provider: module and package
    "bedrock": ("boto3", "boto3"),
    "sagemaker": ("boto3", "boto3"),
    "sagemaker_chat": ("boto3", "boto3"),
    "vertex_ai": ("google.auth", "google-auth requests"),
    "vertex_ai_beta": ("google.auth", "google-auth requests"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A provider's endpoint, for all its models.

    `prefix` begins the names of its models. `base` is its URL, "" if it must be given; `bases` and `keys` are the
    environment's variables that hold another URL and a key; the first that is set counts. `key` is the default key;
    without one a missing key is an error. `renamed` are parameters with another name there, `without` those that it
    does not take, `body` is added to every request. `own_options` it takes in a protocol of its own alone. `senders`
    are headers that identify the caller, with the environment's variables that hold them. `embeds` means that it has
    embedding models behind the same protocol, `is_listed` that LiteLLM's table has its prices; `suffix` is the end of
    its URL, added if that is left out.
    """

    prefix: str
    base: str = ""
    bases: Sequence[str] = ()
    keys: Sequence[str] = ()
    key: str | None = None
    renamed: Mapping[str, str] = field(default_factory=dict)
    without: Sequence[str] = ()
    body: Mapping[str, Any] = field(default_factory=dict)
    own_options: Collection[str] = ()
    embeds: bool = False
    senders: Mapping[str, Sequence[str]] = field(default_factory=dict)
    is_listed: bool = True
    suffix: str = ""

    def url(self, options: Mapping[str, Any]) -> str:
        """Return the base URL from options, the environment or the provider; "" without one."""
        bare = str(self.given(options) or self.base).rstrip("/")
        return f"{bare}{self.suffix}" if bare and not bare.endswith(self.suffix) else bare

    def address(self, options: Mapping[str, Any], path: str) -> str:
        """Return the URL of a path below the base URL, before that one's query."""
        base, sign, query = self.url(options).partition("?")
        return f"{base.rstrip('/')}{path}{sign}{query}"

    def key_for(self, options: Mapping[str, Any]) -> str | None:
        """Return the key to send, "" for none; None if one is missing: servers of one's own often need none."""
        if key := str(options.get("api_key") or _first_set(self.keys) or "").strip():
            return key
        return NO_KEY if self.key is None and self.given(options) else self.key

    def headers(self, options: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the headers that identify the caller."""
        is_known = logs_in(self.url(options))  # by its address, in which case the key is meant for another
        key, organization = None if is_known else self.key_for(options), options.get("organization")
        found = {header: set_there for header, names in self.senders.items() if (set_there := _first_set(names))}
        found |= {"OpenAI-Organization": str(organization)} if organization else {}
        return {**found, **({"Authorization": f"Bearer {key}"} if key else {})}

    def given(self, options: Mapping[str, Any]) -> object:
        """Return the base URL from options or the environment, if any."""
        return options.get("api_base") or options.get("base_url") or _first_set(self.bases)

    def needs_litellm(self, options: Mapping[str, Any]) -> bool:
        """Return whether LiteLLM makes the calls with these options: by choice, or because only it knows them."""
        return options.get(TRANSPORT) == LITELLM or not options.keys().isdisjoint({*_LITELLMS_OWN, *self.own_options})


def require_one_login(name: str, base: object, options: Mapping[str, Any]) -> None:
    """Raise DefinitionError if an address contains a login, and a key or a header does, too."""
    headers = [each for part in ("headers", "extra_headers") for each in options.get(part) or ()]
    is_twice = options.get("api_key") or any(str(each).lower() == "authorization" for each in headers)
    if logs_in(str(base or "")) and is_twice:
        found = "found a password in api_base, and a key beside it: both are sent as Authorization"
        raise DefinitionError(f"model {name!r}", found=found, do="leave one of them out")


def _first_set(names: Sequence[str]) -> str | None:
    return next((found for name in names if (found := os.environ.get(name))), None)


_LOGPROBS = "logprobs"
_SEED = "seed"
COMPATIBLE = Endpoint(
    prefix="openai-compatible/",
    base="https://api.openai.com/v1",
    bases=("OPENAI_BASE_URL",),
    keys=("OPENAI_API_KEY",),
    key="",
    is_listed=False,
)
ENDPOINTS = (
    Endpoint(
        prefix="openai/",
        base="https://api.openai.com/v1",
        bases=("OPENAI_BASE_URL", "OPENAI_API_BASE"),
        keys=("OPENAI_API_KEY",),
        senders={
            "OpenAI-Organization": ("OPENAI_ORG_ID", "OPENAI_ORGANIZATION"),
            "OpenAI-Project": ("OPENAI_PROJECT_ID",),
        },
        embeds=True,
    ),
    Endpoint(
        prefix="cerebras/",
        base="https://api.cerebras.ai/v1",
        bases=("CEREBRAS_API_BASE",),
        keys=("CEREBRAS_API_KEY",),
        without=(_LOGPROBS,),
    ),
    Endpoint(
        prefix="deepinfra/",
        base="https://api.deepinfra.com/v1/openai",
        keys=("DEEPINFRA_API_KEY",),
        without=(_SEED, _LOGPROBS),
    ),
    Endpoint(
        prefix="deepseek/",
        base="https://api.deepseek.com/beta",
        bases=("DEEPSEEK_API_BASE",),
        keys=("DEEPSEEK_API_KEY",),
        own_options=("reasoning_effort", "thinking"),  # LiteLLM turns the one into the other
    ),
    Endpoint(prefix="groq/", base="https://api.groq.com/openai/v1", bases=("GROQ_API_BASE",), keys=("GROQ_API_KEY",)),
    Endpoint(
        prefix="hosted_vllm/",
        bases=("HOSTED_VLLM_API_BASE",),
        keys=("HOSTED_VLLM_API_KEY",),
        key=NO_KEY,
        embeds=True,
    ),
    Endpoint(prefix="litellm_proxy/", bases=("LITELLM_PROXY_API_BASE",), keys=("LITELLM_PROXY_API_KEY",), key=NO_KEY),
    Endpoint(
        prefix="llamafile/",
        base="http://127.0.0.1:8080/v1",
        bases=("LLAMAFILE_API_BASE",),
        keys=("LLAMAFILE_API_KEY",),
        key=NO_KEY,
    ),
    Endpoint(prefix="lm_studio/", bases=("LM_STUDIO_API_BASE",), keys=("LM_STUDIO_API_KEY",), key=NO_KEY, embeds=True),
    Endpoint(
        prefix="mistral/",
        base="https://api.mistral.ai/v1",
        keys=("MISTRAL_API_KEY",),
        suffix=V1,
        renamed={_SEED: "random_seed"},
        without=(_LOGPROBS,),
    ),
    Endpoint(
        prefix="nvidia_nim/",
        base="https://integrate.api.nvidia.com/v1",
        bases=("NVIDIA_NIM_API_BASE",),
        keys=("NVIDIA_NIM_API_KEY",),
        without=(_LOGPROBS,),
    ),
    Endpoint(
        prefix="ollama_chat/",
        base="http://localhost:11434",
        bases=("OLLAMA_API_BASE",),
        keys=("OLLAMA_API_KEY",),
        key=NO_KEY,
        own_options=(
            *("format", "keep_alive", "min_p", "mirostat", "mirostat_eta", "mirostat_tau", "num_batch", "num_ctx"),
            *("num_gpu", "num_predict", "num_thread", "repeat_last_n", "repeat_penalty", "tfs_z", "think", "top_k"),
        ),
        suffix=V1,
    ),
    Endpoint(
        prefix="openrouter/",
        base="https://openrouter.ai/api/v1",
        bases=("OPENROUTER_API_BASE",),
        keys=("OPENROUTER_API_KEY", "OR_API_KEY"),
        body={"usage": {"include": True}},
    ),
    Endpoint(
        prefix="sambanova/",
        base="https://api.sambanova.ai/v1",
        bases=("SAMBANOVA_API_BASE",),
        keys=("SAMBANOVA_API_KEY",),
        without=(_SEED, _LOGPROBS),
    ),
    Endpoint(
        prefix="together_ai/",
        base="https://api.together.xyz/v1",
        bases=("TOGETHER_AI_API_BASE",),
        keys=("TOGETHER_API_KEY", "TOGETHER_AI_API_KEY", "TOGETHERAI_API_KEY", "TOGETHER_AI_TOKEN"),
    ),
    Endpoint(prefix="xai/", base="https://api.x.ai/v1", bases=("XAI_API_BASE",), keys=("XAI_API_KEY",)),
)


def require_key(litellm: ModuleType, name: str, options: Mapping[str, Any]) -> None:
    """Raise DefinitionError if a provider's library is missing, or every key that it may take.

    Of providers that know their users in several ways (Azure, Cohere, Watsonx) any of their variables in the
    environment is enough. Providers that find a user without any variable (Bedrock, Vertex) are not checked.
    """
    provider = name.partition("/")[0]
    _require_library(name, provider)
    if any(value and (option in OF_THE_USER or _CREDENTIAL.search(option)) for option, value in options.items()):
        return
    missing: list[str] = litellm.validate_environment(model=name)["missing_keys"]
    if provider in _OTHER_KEYS:
        key, beginnings = _OTHER_KEYS[provider]
        if any(each.startswith(beginnings) and os.environ[each] for each in os.environ):
            return
        missing = [key]
    elif not missing or not all(each.endswith(_KEY) for each in missing) or any(map(_is_given, missing)):
        return
    known = missing[0].removesuffix(_KEY).lower()
    if getattr(litellm, "api_key", None) or getattr(litellm, f"{known}_key", None):
        return
    raise key_missing(name, missing)


def _require_library(name: str, provider: str) -> None:
    module, installed_by = _LIBRARIES.get(provider, ("", ""))
    try:
        is_there = not module or find_spec(module) is not None
    except ModuleNotFoundError:  # the package that it is in
        is_there = False
    if not is_there:
        do = f"install it: pip install {installed_by}"
        raise DefinitionError(f"model {name!r}", found=f"LiteLLM needs {module} for it, which is not installed", do=do)


OFFLINE = "offline/judge, offline/user or offline/app"


def key_missing(name: str, keys: Sequence[str]) -> DefinitionError:
    """Return the error that none of these variables of the environment is set."""
    return DefinitionError(
        f"model {name!r}",
        found=f"its key is missing: {' or '.join(keys)} is not set",
        do=f"set it (export {keys[0]}=...), or for a first look use {OFFLINE}",
    )


def _is_given(key: str) -> bool:
    """Return whether the environment has anything that may be a key, such as a token of the same provider."""
    provider = key.removesuffix(_KEY)
    return any(name.startswith(f"{provider}_") and name.endswith(_SECRETS) and os.environ[name] for name in os.environ)
