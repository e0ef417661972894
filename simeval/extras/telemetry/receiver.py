"""A receiver of the app's own spans: OTLP over HTTP, JSON or protobuf, on one address while a run goes on."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio

from simeval.core.capture import Caught, attempt
from simeval.core.network import SentTrace, host_and_port
from simeval.core.serialization import Json
from simeval.errors import DefinitionError

if TYPE_CHECKING:
    from aiohttp import web

PATH = "/v1/traces"
LARGEST_BODY = 2**26  # bytes, the most that exporters send
_JSON, _PROTOBUF = "application/json", "application/x-protobuf"
_IDS = ("traceId", "spanId", "parentSpanId")


@dataclass(slots=True)
class SpanInbox:
    """Keeps the spans that came in the traces of requests, until whoever sent those takes them; counts all others.

    `late` came when the spans of their trace had been taken, `foreign` are in traces of no request.
    """

    late: int = 0
    foreign: int = 0
    _kept: dict[str, list[Json]] = field(default_factory=dict)  # by trace
    _taken: set[str] = field(default_factory=set)  # traces
    _answered: dict[str, anyio.Event] = field(default_factory=dict)  # by the span that a request was sent in

    def expect(self, sent: SentTrace) -> None:
        """Keep spans in the trace of a request that is about to be sent."""
        self._kept.setdefault(sent.trace_id, [])
        self._answered[sent.span_id] = anyio.Event()

    def add(self, spans: Iterable[Json]) -> None:
        """Keep spans, or count them."""
        for span in spans:
            trace_id = str(span.get("traceId"))
            if trace_id in self._kept:
                self._kept[trace_id].append(span)
                if (event := self._answered.get(str(span.get("parentSpanId")))) is not None:
                    event.set()
            elif trace_id in self._taken:
                self.late += 1
            else:
                self.foreign += 1

    async def wait_for(self, sent: Iterable[SentTrace]) -> None:
        """Wait until the app's own span of each of these requests has come: it is sent when it has ended."""
        for each in sent:
            await self._answered[each.span_id].wait()

    def take(self, sent: Sequence[SentTrace]) -> list[Json]:
        """Return the spans in the traces of these requests; more of them would be late."""
        for each in sent:
            del self._answered[each.span_id]
        traces = dict.fromkeys(each.trace_id for each in sent)
        self._taken.update(traces)
        return [span for trace_id in traces for span in self._kept.pop(trace_id)]


@asynccontextmanager
async def receiving(address: str) -> AsyncIterator[SpanInbox]:
    """Receive spans at HOST:PORT until this is left. Raises DefinitionError if that address cannot be used."""
    from aiohttp import web  # it takes a while to load

    inbox = SpanInbox()

    async def take(request: web.Request) -> web.Response:
        return _taken(inbox, await request.read(), request.content_type)

    app = web.Application(client_max_size=LARGEST_BODY)
    app.router.add_post(PATH, take)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, *host_and_port(address)).start()
        except OSError as error:
            do = "give another, such as --trace-in 127.0.0.1:4319, and tell the app's exporter"
            raise DefinitionError("trace_in", found=f"{address} cannot be used ({error})", do=do) from error
        yield inbox
    finally:
        with anyio.CancelScope(shield=True):
            await runner.cleanup()


def _taken(inbox: SpanInbox, body: bytes, kind: str) -> web.Response:
    """Process the body of a request, and return the response."""
    from aiohttp import web

    if kind not in (_JSON, _PROTOBUF):
        return web.Response(status=415, text=f"send {_JSON} or {_PROTOBUF}")
    found = attempt(partial(_spans, body, kind))  # a body may be wrong in any way
    if isinstance(found, Caught) and isinstance(found.error, ImportError):
        return web.Response(status=415, text=f'send {_JSON}, or pip install "simeval[otel]" where simeval is')
    if isinstance(found, Caught):
        return web.Response(status=400, text=f"no export of spans: {type(found.error).__name__}: {found.error}")
    inbox.add(found)
    return web.Response(body=b"{}" if kind == _JSON else b"", content_type=kind)


def _spans(body: bytes, kind: str) -> list[Json]:
    from simeval.extras.importers.formats.opentelemetry import spans_in

    return list(spans_in(json.loads(body) if kind == _JSON else _unpacked(body)))


def _unpacked(body: bytes) -> Mapping[str, Any]:
    """Return an export as its JSON has it: of the ids, protobuf's own JSON would be in base 64."""
    from google.protobuf.json_format import MessageToDict
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    found: dict[str, Any] = MessageToDict(ExportTraceServiceRequest.FromString(body))
    for resource in found.get("resourceSpans", []):
        for scope in resource.get("scopeSpans", []):
            for span in scope.get("spans", []):
                span |= {name: base64.b64decode(span[name]).hex() for name in _IDS if name in span}
    return found
