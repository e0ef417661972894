"""Keys of providers, in the environment: a missing one is reported before the first call."""

import os
import re
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from simeval.errors import DefinitionError

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
