"""How much is read of the answers to LiteLLM's calls: up to a limit, and only from the requested address.

LiteLLM opens its clients itself, follows redirections with all headers, and reads and unpacks bodies whole. So the
transports that its clients send through look at the answers of simeval's own calls, once LiteLLM is loaded; calls of an
app in the same process are none of them. Some providers (amazon_nova, maritalk, nlp_cloud, oobabooga, petals) are asked
in a thread, as logins and tables of models are: through httpx's synchronous transport.
"""

import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, cast

import httpx

from simeval.core.network import AnswerTooLarge, Bound
from simeval.errors import ModelError
from simeval.models.providers.openai_format import ELSEWHERE, redirected

_PACKED = "gzip"  # the one way of packing that is asked for
_GZIP = 31  # zlib's number for it
_PIECE = 1 << 16  # bytes, unpacked

Send = Callable[[Any, httpx.Request], Awaitable[httpx.Response]]
SendInThread = Callable[[Any, httpx.Request], httpx.Response]


@dataclass(slots=True)
class Call:
    """A call to a model; `refused` is why its answer was not read, which LiteLLM's own error leaves out."""

    model: str
    refused: ModelError | None = None

    def refuse(self, error: ModelError) -> ModelError:
        """Return the error, to be raised."""
        self.refused = error
        return error


_call: ContextVar[Call | None] = ContextVar("call_through_litellm", default=None)


@contextmanager
def call_of(model: str) -> Iterator[Call]:
    """Mark requests within this block as a call of simeval's own."""
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
    httpx.HTTPTransport.handle_request = _watched_in_thread(httpx.HTTPTransport.handle_request)  # type: ignore[assignment, method-assign]


def _watched(send: Send) -> Send:
    async def handle_async_request(transport: Any, request: httpx.Request) -> httpx.Response:
        call = _call.get()
        if call is None:
            return await send(transport, request)
        request.headers["Accept-Encoding"] = _PACKED
        answer = await send(transport, request)
        if answer.status_code in ELSEWHERE:
            await answer.aclose()
            raise _refused(call, request, answer)
        return _bounded(answer, call)

    return handle_async_request


def _watched_in_thread(send: SendInThread) -> SendInThread:
    def handle_request(transport: Any, request: httpx.Request) -> httpx.Response:
        call = _call.get()
        if call is None:
            return send(transport, request)
        request.headers["Accept-Encoding"] = _PACKED
        answer = send(transport, request)
        if answer.status_code in ELSEWHERE:
            answer.close()
            raise _refused(call, request, answer)
        return _bounded(answer, call)

    return handle_request


def _refused(call: Call, request: httpx.Request, answer: httpx.Response) -> ModelError:
    return call.refuse(redirected(call.model, str(request.url), answer.headers.get("Location")))


def _bounded(answer: httpx.Response, call: Call) -> httpx.Response:
    """Return an answer whose body is unpacked, in pieces, and read up to the bound."""
    headers = answer.headers.copy()
    packing = headers.pop("Content-Encoding", "identity").strip().lower()
    headers.pop("Content-Length", None)
    return httpx.Response(
        answer.status_code, headers=headers, stream=_Body(answer, packing, call), extensions=answer.extensions
    )


class _Body(httpx.AsyncByteStream, httpx.SyncByteStream):
    def __init__(self, answer: httpx.Response, packing: str, call: Call) -> None:
        self._answer, self._packing, self._call, self._bound = answer, packing, call, Bound()
        self._unpack = zlib.decompressobj(_GZIP) if packing == _PACKED else None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for packed in cast("httpx.AsyncByteStream", self._answer.stream):
            for piece in self._unpacked(packed):
                yield piece

    def __iter__(self) -> Iterator[bytes]:
        for packed in cast("httpx.SyncByteStream", self._answer.stream):
            yield from self._unpacked(packed)

    async def aclose(self) -> None:
        await self._answer.aclose()

    def close(self) -> None:
        self._answer.close()

    def _unpacked(self, packed: bytes) -> Iterator[bytes]:
        """Yield the pieces of a body, unpacked. Raises ModelError."""
        if self._packing not in (_PACKED, "identity"):
            raise self._malformed(f"the answer is packed as {self._packing!r}, which nobody asked for")
        try:
            if self._unpack is None:
                yield self._bound.passed(packed)
                return
            piece = bytes(_PIECE)
            while packed or len(piece) == _PIECE:  # it may have more than it gave, with nothing left to unpack
                piece = self._unpack.decompress(packed, _PIECE)
                packed = self._unpack.unconsumed_tail
                yield self._bound.passed(piece)
        except (AnswerTooLarge, zlib.error) as error:
            raise self._malformed(str(error)) from error

    def _malformed(self, problem: str) -> ModelError:
        return self._call.refuse(ModelError(self._call.model, kind="malformed", problem=problem))
