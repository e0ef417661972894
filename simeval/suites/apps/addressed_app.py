"""The base of apps at an address: connections while they are open, and the key sent to them."""

import os
import re
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import urlsplit

from simeval.core.credentials import shown
from simeval.core.validation import require
from simeval.errors import DefinitionError
from simeval.suites.apps.http_wire import Wire
from simeval.suites.apps.protocol_app import ProtocolApp

KEY = "APP_API_KEY"  # sent to apps behind a protocol, if set: never a provider's own key
KEY_TEMPLATE = f"${{{KEY}}}"


@dataclass(frozen=True, slots=True)
class AddressedApp(ProtocolApp):
    """An app at an address."""

    _wire: Wire = field(default_factory=Wire, init=False, repr=False, compare=False)

    @property
    def _templates(self) -> Any:
        return KEY_TEMPLATE

    async def __aenter__(self) -> Self:
        await self._wire.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._wire.__aexit__()


def require_address(url: object, form: str, *, schemes: str = "https?", where: str = "app: url") -> None:
    """Raise DefinitionError for an invalid address; `form` shows a valid one."""
    is_address = isinstance(url, str) and re.match(rf"({schemes})://[^/\s]", url)
    require(bool(is_address), where, found=shown(url) if isinstance(url, str) else url, do=f"write {form}")
    if "{" in str(url):  # which is filled in later
        return
    try:
        urlsplit(str(url)).port  # noqa: B018
    except ValueError as error:
        raise DefinitionError(where, found=f"found {shown(str(url))!r} ({error})", do="correct it") from error


def key_headers(url: str, *, for_app: str = "") -> dict[str, str]:
    """Return the headers with the key of the environment, if it is set and this is the origin of the app's URL."""
    is_theirs = not for_app or urlsplit(url)[:2] == urlsplit(for_app)[:2]
    return {"Authorization": f"Bearer {os.environ[KEY]}"} if KEY in os.environ and is_theirs else {}
