"""An app in a process of its own that sends its spans: `python -m tests.support.traced_app COLLECTOR`.

It writes its port, then answers {"message", "session"} at /chat with the session; that it looked up an order of that
session stands in its spans alone. These have come when it answers; of every ten sessions one never sends its spans, and
another only when it is asked to at /late. At /first it answers at once, and sends the spans of all sessions after that.
"""

import asyncio
import json
import sys
from collections.abc import Sequence

from aiohttp import web
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.propagate import extract
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

MISSING, LATE = 3, 7  # of ten
AN_HOUR = 3600  # seconds: what is sent comes, however busy the machine is


class Kept(SpanExporter):
    """Keeps spans by trace until they are to be sent."""

    def __init__(self) -> None:
        self.spans: dict[int, list[ReadableSpan]] = {}

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        for span in spans:
            assert span.context is not None
            self.spans.setdefault(span.context.trace_id, []).append(span)
        return SpanExportResult.SUCCESS


def application(collector: str) -> web.Application:
    kept, exporter = Kept(), OTLPSpanExporter(endpoint=f"{collector}/v1/traces", timeout=AN_HOUR)
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    tracer = provider.get_tracer("app")
    places: dict[str, int] = {}

    async def send(session: str) -> None:
        await asyncio.to_thread(exporter.export, kept.spans.pop(int(session, 16)))

    async def looked_up(request: web.Request) -> str:
        session: str = (await request.json())["session"]
        with (
            tracer.start_as_current_span("POST /chat", context=extract(request.headers)),
            tracer.start_as_current_span("execute_tool look_up") as span,
        ):
            span.set_attribute("gen_ai.operation.name", "execute_tool")
            span.set_attribute("gen_ai.tool.name", "look_up")
            span.set_attribute("gen_ai.tool.call.arguments", json.dumps({"session": session}))
            await asyncio.sleep(0)
        return session

    async def chat(request: web.Request) -> web.Response:
        session = await looked_up(request)
        place = places.setdefault(session, len(places)) % 10
        if place not in (MISSING, LATE):
            await send(session)
        return web.json_response({"reply": f"{session} {place}"})

    async def first(request: web.Request) -> web.Response:
        session = await looked_up(request)
        answer = web.json_response({"reply": session})
        await answer.prepare(request)
        await answer.write_eof()
        await send(session)
        return answer

    async def late(request: web.Request) -> web.Response:
        await send(request.query["session"])
        return web.Response()

    app = web.Application()
    app.router.add_post("/chat", chat)
    app.router.add_post("/first", first)
    app.router.add_post("/late", late)
    return app


async def main(collector: str) -> None:
    runner = web.AppRunner(application(collector))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    sys.stdout.write(f"{runner.addresses[0][1]}\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)  # until whoever began it ends


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
