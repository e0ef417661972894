"""Keys of providers, in the environment: one that is missing is told before the first call."""

import os
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from simeval.errors import DefinitionError

_KEY = "_API_KEY"
OF_THE_USER = ("api_key", "api_base", "base_url", "extra_headers", "headers")  # who gives these says who asks
_SECRETS = ("KEY", "TOKEN")


def require_key(litellm: ModuleType, name: str, options: Mapping[str, Any]) -> None:
    """Raise DefinitionError where a provider takes one key from the environment, and it is not there.

    Of providers that know their users in several ways (Azure, Bedrock, Vertex) nothing is asked.
    """
    if any(options.get(option) for option in OF_THE_USER):
        return
    missing: list[str] = litellm.validate_environment(model=name)["missing_keys"]
    if not missing or not all(each.endswith(_KEY) for each in missing) or any(map(_is_given, missing)):
        return
    provider = missing[0].removesuffix(_KEY).lower()
    if getattr(litellm, "api_key", None) or getattr(litellm, f"{provider}_key", None):
        return
    raise key_missing(name, missing)


def key_missing(name: str, keys: Sequence[str]) -> DefinitionError:
    """Return the error that none of these variables of the environment is set."""
    return DefinitionError(
        f"model {name!r}",
        found=f"its key is missing: {' or '.join(keys)} is not set",
        do=f"set it (export {keys[0]}=...), or use offline/judge for a first look",
    )


def _is_given(key: str) -> bool:
    """Return whether the environment has anything that may stand for a key, such as a token of the same provider."""
    provider = key.removesuffix(_KEY)
    return any(name.startswith(f"{provider}_") and name.endswith(_SECRETS) and os.environ[name] for name in os.environ)
