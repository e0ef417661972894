"""Templates of HTTP requests: a URL, a method, headers and a body, in the encoding that the headers name."""

import json
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self
from urllib.parse import quote, urlencode, urlsplit

from simeval.core.redaction import shown
from simeval.core.validation import require, require_one_of
from simeval.errors import DefinitionError
from simeval.suites.apps.http_wire import Request, Wire
from simeval.suites.apps.protocol_app import ProtocolApp
from simeval.suites.apps.templates import PLACES, filled, require_places, written

KEY = "APP_API_KEY"  # sent to apps behind a protocol, if set: never a provider's own key
KEY_TEMPLATE = f"${{{KEY}}}"

Encoding = Literal["json", "form", "text"]
ENCODINGS: Sequence[Encoding] = ("json", "form", "text")
CONTENT_TYPE = "Content-Type"
_FORM = "application/x-www-form-urlencoded"
_SENT_AS: Mapping[Encoding, str] = {"form": _FORM, "text": "text/plain; charset=utf-8"}
NO_HEADERS: Mapping[str, str] = {}


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


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTemplate:
    """A request with places that are filled in each time. With GET, `request` is the query.

    `where` is its name in errors. Raises DefinitionError for a request that cannot be sent, or not under its
    Content-Type.
    """

    where: str
    url: str
    method: str = "POST"
    request: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    encoding: Encoding | None = None
    methods: Sequence[str] = ("POST", "PUT", "GET")
    _encoding: Encoding = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_address(self.url, "one that begins with http:// or https://", where=f"{self.where}: url")
        require_one_of(self.method, self.methods, f"{self.where}: method")
        object.__setattr__(self, "_encoding", self._checked_encoding())

    @property
    def parts(self) -> Mapping[str, Any]:
        """The templates by their names."""
        return {"url": self.url, "request": self.request, "headers": self.headers}

    def require_places(self, known: Collection[str] = PLACES) -> None:
        """Raise DefinitionError for a place with an unknown name, or in another tool's notation."""
        for name, part in self.parts.items():
            require_places(part, f"{self.where}: {name}", known, any_case=name != "request")

    def made(self, values: Mapping[str, Any]) -> Request:
        """Return the request with these values in its places."""
        url = written(self.url, values, quote=lambda text: quote(text, safe=""))
        headers = {name: written(value, values) for name, value in self.headers.items()}
        if self.request is None:
            return Request(method=self.method, url=url, headers=headers)
        content = filled(self.request, values)
        if self.method == "GET":
            return Request(method=self.method, url=url, headers=headers, query=[*_pairs(content)])
        if self._encoding == "json":
            return Request(method=self.method, url=url, headers=headers, body=content)
        data = urlencode([*_pairs(content)]) if self._encoding == "form" else content
        if not _content_type(headers):
            headers = {CONTENT_TYPE: _SENT_AS[self._encoding], **headers}
        return Request(method=self.method, url=url, headers=headers, data=str(data).encode())

    def _checked_encoding(self) -> Encoding:
        """Return how the body is written: by the given encoding, else the Content-Type, else JSON."""
        require_no_json_text(self.request, f"{self.where}: request")
        if self.encoding is not None:
            require_one_of(self.encoding, ENCODINGS, f"{self.where}: encoding")
        if self.method == "GET" or self.request is None:
            fits = self.request is None or isinstance(self.request, Mapping)
            do = "with GET, give the names and values of the query"
            require(fits, f"{self.where}: request", found=self.request, do=do)
            do = "leave it out: with GET, `request` is the query" if self.method == "GET" else "give a request, too"
            require(self.encoding is None, f"{self.where}: encoding", found=self.encoding, do=do)
            return "json"
        kind = _content_type(self.headers)
        found = self.encoding or _encoding_of(kind) or "json"
        self._require_fit(found, kind)
        return found

    def _require_fit(self, encoding: Encoding, kind: str) -> None:
        """Raise DefinitionError if the request cannot be written so, or its Content-Type contradicts it."""
        where, of_kind = f"{self.where}: headers", _encoding_of(kind)
        if kind.startswith("multipart/"):
            do = f"use {_FORM} with a mapping as `request`, or leave the header out to send JSON"
            raise DefinitionError(where, found=f"{CONTENT_TYPE} is {kind}, which cannot be sent", do=do)
        if of_kind not in (encoding, None) and (of_kind, encoding) != ("text", "json"):
            found = f"{CONTENT_TYPE} is {kind}, and encoding is {encoding}"
            raise DefinitionError(where, found=found, do="leave one of the two out")
        if encoding == "form":
            do = "a form is sent: give the names and values of its fields"
            require(isinstance(self.request, Mapping), f"{self.where}: request", found=self.request, do=do)
        if encoding == "text" and not isinstance(self.request, str):
            found = f"{CONTENT_TYPE} is {kind}" if kind else "encoding is text"
            do = "give a text, or leave that out to send JSON"
            raise DefinitionError(f"{self.where}: request", found=f"{found}, and the request is no text", do=do)


def require_no_json_text(request: Any, where: str) -> None:
    """Raise DefinitionError for JSON that is written as a text: a message with a quote in it would break it."""
    if isinstance(request, str) and request.lstrip()[:1] in ("{", "["):
        try:
            json.loads(request)
        except ValueError:
            return
        do = "write it as a mapping, without the quotes around it: a message may have quotes in it"
        raise DefinitionError(where, found=f"found a text that is JSON: {request:.80}", do=do)


def _content_type(headers: Mapping[str, str]) -> str:
    found = next((value for name, value in headers.items() if name.lower() == CONTENT_TYPE.lower()), "")
    return found.partition(";")[0].strip().lower()


def _encoding_of(kind: str) -> Encoding | None:
    """Return the encoding that a Content-Type names; None if it names none."""
    if not kind or "${" in kind:
        return None
    return "json" if kind.endswith("json") else "form" if kind == _FORM else "text"


def _pairs(content: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the fields of a form or a query: a list of plain values is several fields, any other value JSON."""
    for name, value in content.items():
        is_list = isinstance(value, list) and not any(isinstance(each, (Mapping, list)) for each in value)
        for each in value if is_list else [value]:
            if each is not None:
                yield name, each if isinstance(each, str) else json.dumps(each, ensure_ascii=False)
