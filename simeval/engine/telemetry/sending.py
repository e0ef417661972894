"""Where the spans of a run go: to an OTLP collector that the environment names, or to the program's own provider."""

import importlib
import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from simeval.core.logs import log
from simeval.core.setting_choices import TraceOut
from simeval.core.version import __version__
from simeval.errors import DefinitionError

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

SENDING_SECONDS = 10.0  # how long the spans that are left may take at the end of a run
_EXPORTER = "opentelemetry.exporter.otlp.proto.http.trace_exporter"


@asynccontextmanager
async def open_tracer(out: TraceOut) -> AsyncIterator["Tracer"]:
    """Return what makes spans; what is left of them is sent when this is left.

    A collector that takes none is told of once, and costs nothing else. Raises DefinitionError where the extra is not
    installed.
    """
    if out == "global":
        yield _needed("opentelemetry.trace").get_tracer("simeval", __version__)
        return
    exporter = _needed(_EXPORTER).OTLPSpanExporter()
    provider = _provider(exporter)
    with _Complaints(exporter.shutdown) as complaints:
        try:
            yield provider.get_tracer("simeval", __version__)
        finally:
            complaints.is_over = True
            with anyio.CancelScope(shield=True), anyio.move_on_after(SENDING_SECONDS) as limit:
                await anyio.to_thread.run_sync(provider.shutdown, abandon_on_cancel=True)
    if complaints.first or limit.cancelled_caught:
        log.warning("the trace of this run was not sent, or only a part of it", why=complaints.first or "no answer")


def _provider(exporter: Any) -> Any:
    sdk, resources = _needed("opentelemetry.sdk.trace"), _needed("opentelemetry.sdk.resources")
    is_named = "OTEL_SERVICE_NAME" in os.environ or "service.name" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    resource = resources.Resource.create({} if is_named else {"service.name": "simeval"})
    provider = sdk.TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(_needed("opentelemetry.sdk.trace.export").BatchSpanProcessor(exporter))
    return provider


def _needed(module: str) -> Any:
    """Import a module of the extra. Raises DefinitionError where it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        do = 'pip install "simeval[otel]"'
        raise DefinitionError("trace_out", found=f"{error.name} is not installed", do=do) from error


@dataclass(slots=True)
class _Complaints:
    """Takes what the exporter complains of in place of the log; once `is_over`, the first makes it give up."""

    give_up: Callable[[], None]
    is_over: bool = False
    first: str = ""
    _handler: logging.Handler = field(init=False)
    _was_passed_on: bool = field(init=False, default=True)

    def __enter__(self) -> "_Complaints":
        logger, self._handler = logging.getLogger(_EXPORTER), _Handler(self._hear)
        self._was_passed_on, logger.propagate = logger.propagate, False
        logger.addHandler(self._handler)
        return self

    def __exit__(self, *_: object) -> None:
        logger = logging.getLogger(_EXPORTER)
        logger.removeHandler(self._handler)
        logger.propagate = self._was_passed_on

    def _hear(self, said: str) -> None:
        is_first, self.first = not self.first, self.first or said
        if self.is_over and is_first:
            self.give_up()


class _Handler(logging.Handler):
    def __init__(self, hear: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._hear = hear

    def emit(self, record: logging.LogRecord) -> None:
        self._hear(record.getMessage())
