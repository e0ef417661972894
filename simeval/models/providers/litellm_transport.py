"""What is read of the answers to LiteLLM's calls: as much as may be, of the address that was asked alone.

LiteLLM opens its clients itself, follows redirections with all headers, and reads and unpacks bodies whole. So both
transports that its clients send through are told, once LiteLLM is loaded, to look at the answers of simeval's own
calls; those of an app that is run in the same process are none of them. (Providers of its that have no asynchronous
client go another way.)
"""

import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, cast

import httpx

from simeval.core.bodies import AnswerTooLarge, bounded
from simeval.errors import ModelError
from simeval.models.providers.openai_format import ELSEWHERE, redirected

_PACKED = "gzip"  # the one way of packing that is asked for
_GZIP = 31  # zlib's number for it
_PIECE = 1 << 16  # bytes, unpacked

Send = Callable[[Any, httpx.Request], Awaitable[httpx.Response]]


@dataclass(slots=True)
class Call:
    """A call to a model; `refused` is why its answer was not read, which LiteLLM's own error does not say."""

    model: str
    refused: ModelError | None = None

    def refuse(self, error: ModelError) -> ModelError:
        """Return the error, to be raised."""
        self.refused = error
        return error


_call: ContextVar[Call | None] = ContextVar("call_through_litellm", default=None)


@contextmanager
def call_of(model: str) -> Iterator[Call]:
    """Let what is sent within this be a call of simeval's own."""
    call = Call(model)
    token = _call.set(call)
    try:
        yield call
    finally:
        _call.reset(token)


def watch_transports() -> None:
    """Let the transports of LiteLLM's clients look at the answers to simeval's calls."""
    from litellm.llms.custom_httpx.aiohttp_transport import LiteLLMAiohttpTransport

    for transport in (LiteLLMAiohttpTransport, httpx.AsyncHTTPTransport):
        transport.handle_async_request = _watched(transport.handle_async_request)  # type: ignore[assignment, method-assign]


def _watched(send: Send) -> Send:
    async def handle_async_request(transport: Any, request: httpx.Request) -> httpx.Response:
        call = _call.get()
        if call is None:
            return await send(transport, request)
        request.headers["Accept-Encoding"] = _PACKED
        answer = await send(transport, request)
        if answer.status_code in ELSEWHERE:
            await answer.aclose()
            raise call.refuse(redirected(call.model, str(request.url), answer.headers.get("Location")))
        return _bounded(answer, call)

    return handle_async_request


def _bounded(answer: httpx.Response, call: Call) -> httpx.Response:
    """Return an answer whose body is unpacked, in pieces, and read up to the bound."""
    headers = answer.headers.copy()
    packing = headers.pop("Content-Encoding", "identity").strip().lower()
    headers.pop("Content-Length", None)
    return httpx.Response(
        answer.status_code, headers=headers, stream=_Body(answer, packing, call), extensions=answer.extensions
    )


class _Body(httpx.AsyncByteStream):
    def __init__(self, answer: httpx.Response, packing: str, call: Call) -> None:
        self._answer, self._packing, self._call = answer, packing, call

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in bounded(self._unpacked()):
                yield piece
        except (AnswerTooLarge, zlib.error) as error:
            raise self._call.refuse(self._malformed(str(error))) from error

    async def aclose(self) -> None:
        await self._answer.aclose()

    async def _unpacked(self) -> AsyncIterator[bytes]:
        pieces = cast("httpx.AsyncByteStream", self._answer.stream)
        if self._packing == "identity":
            async for piece in pieces:
                yield piece
            return
        if self._packing != _PACKED:
            raise self._call.refuse(
                self._malformed(f"the answer is packed as {self._packing!r}, which nobody asked for")
            )
        unpack = zlib.decompressobj(_GZIP)
        async for piece in pieces:
            packed = piece
            while packed:
                yield unpack.decompress(packed, _PIECE)
                packed = unpack.unconsumed_tail
        yield unpack.flush()

    def _malformed(self, problem: str) -> ModelError:
        return ModelError(self._call.model, kind="malformed", problem=problem)
