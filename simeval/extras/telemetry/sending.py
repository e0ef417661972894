"""Where the spans and events of a run go: to an OTLP collector that the environment names, or to the program's own."""

import importlib
import logging
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from simeval.core.logs import log
from simeval.core.redaction import Redactor
from simeval.core.setting_field import TraceOut
from simeval.core.version import __version__
from simeval.errors import DefinitionError
from simeval.extras.telemetry.names import LOGS_EXPORTER

if TYPE_CHECKING:
    from opentelemetry._logs import Logger
    from opentelemetry.trace import Tracer

SENDING_SECONDS = 10.0  # how long the rest of spans and events may take at the end of a run
_SPANS = "opentelemetry.exporter.otlp.proto.http.trace_exporter"
_EVENTS = "opentelemetry.exporter.otlp.proto.http._log_exporter"


@dataclass(frozen=True, slots=True)
class Outlet:
    """Makes the spans of a run, and gets its events; if it is None, those are in the spans."""

    tracer: "Tracer"
    logger: "Logger | None"


@asynccontextmanager
async def open_outlet(out: TraceOut) -> AsyncIterator[Outlet]:
    """Return an outlet for spans and events; the rest is sent when this is left.

    A collector that takes none is reported once, and costs nothing else. Raises DefinitionError if the extra is not
    installed.
    """
    if out == "global":
        yield Outlet(_needed("opentelemetry.trace").get_tracer("simeval", __version__), _global_logger())
        return
    with ExitStack() as stack:
        spans = stack.enter_context(_spans_line())
        events = None if _wants_no_logs() else stack.enter_context(_events_line())
        logger = events.provider.get_logger("simeval", __version__) if events else None
        try:
            yield Outlet(spans.provider.get_tracer("simeval", __version__), logger)
        finally:
            has_answered = await _sent([spans, events] if events else [spans])
    if spans.first or not has_answered:
        log.warning("the trace of this run was not sent, or only a part of it", why=spans.first or "no answer")
    elif events and events.first:
        hint = f"{LOGS_EXPORTER}=none puts them into the spans"
        log.warning(f"the collector took no events of this run (scores, verdicts); {hint}", why=events.first)


def _wants_no_logs() -> bool:
    return os.environ.get(LOGS_EXPORTER, "").strip().lower() == "none"


def _global_logger() -> "Logger | None":
    """Return the logger of events in this program; None if it has no provider of logs that keeps them."""
    provider = _needed("opentelemetry._logs").get_logger_provider()
    if _wants_no_logs() or type(provider).__module__.startswith("opentelemetry._logs"):  # the API's own keep nothing
        return None
    logger: Logger = provider.get_logger("simeval", __version__)
    return logger


@dataclass(slots=True)
class _Line:
    """A provider whose exporter is heard in place of the log; once `is_over`, a first complaint makes it give up."""

    provider: Any
    give_up: Callable[[], None]
    is_over: bool = False
    first: str = ""

    def hear(self, said: str) -> None:
        is_first, self.first = not self.first, self.first or Redactor.of(()).clean(said)
        if self.is_over and is_first:
            self.give_up()


async def _sent(lines: list[_Line]) -> bool:
    """Send the rest, and return whether that ended in time."""
    with anyio.CancelScope(shield=True), anyio.move_on_after(SENDING_SECONDS) as limit:
        async with anyio.create_task_group() as tasks:
            for line in lines:
                line.is_over = True
                shut = partial(anyio.to_thread.run_sync, line.provider.shutdown, abandon_on_cancel=True)
                tasks.start_soon(shut)
    return not limit.cancelled_caught


@contextmanager
def _spans_line() -> Iterator[_Line]:
    exporter = _needed(_SPANS).OTLPSpanExporter()
    provider = _needed("opentelemetry.sdk.trace").TracerProvider(resource=_resource(), shutdown_on_exit=False)
    provider.add_span_processor(_needed("opentelemetry.sdk.trace.export").BatchSpanProcessor(exporter))
    with _hearing(_SPANS, _Line(provider, exporter.shutdown)) as line:
        yield line


@contextmanager
def _events_line() -> Iterator[_Line]:
    exporter = _needed(_EVENTS).OTLPLogExporter()
    provider = _needed("opentelemetry.sdk._logs").LoggerProvider(resource=_resource(), shutdown_on_exit=False)
    provider.add_log_record_processor(_needed("opentelemetry.sdk._logs.export").BatchLogRecordProcessor(exporter))
    with _hearing(_EVENTS, _Line(provider, exporter.shutdown)) as line:
        yield line


def _resource() -> Any:
    is_named = "OTEL_SERVICE_NAME" in os.environ or "service.name" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    named = {} if is_named else {"service.name": "simeval"}
    return _needed("opentelemetry.sdk.resources").Resource.create(named)


def _needed(module: str) -> Any:
    """Import a module of the extra. Raises DefinitionError if it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        do = 'install it: pip install "simeval[otel]"'
        raise DefinitionError("trace_out", found=f"{error.name} is not installed", do=do) from error


@contextmanager
def _hearing(exporter: str, line: _Line) -> Iterator[_Line]:
    """Let a line collect its exporter's complaints, in place of the log."""
    logger, handler = logging.getLogger(exporter), _Handler(line.hear)
    was_passed_on, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        yield line
    finally:
        logger.removeHandler(handler)
        logger.propagate = was_passed_on


class _Handler(logging.Handler):
    def __init__(self, hear: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._hear = hear

    def emit(self, record: logging.LogRecord) -> None:
        self._hear(record.getMessage())
