"""The package's logger, and the one function that shows its records.

Nothing is shown until somebody asks: simeval logs to the standard logger "simeval" and leaves handlers to the
application. The command line calls `configure_logging`. Every record loses anything that looks like a key; code that
knows other secrets takes them out.
"""

import json
import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import Context, ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from shutil import get_terminal_size
from types import MappingProxyType
from typing import Any, Literal, cast, get_args

from simeval.core.redaction import Redactor
from simeval.core.terminal import Terminal, printable, written
from simeval.core.validation import require

LOGGER = "simeval"
DETAILS = "simeval.details"  # known before a run, and not wanted by everybody
_SHAPES = Redactor()


@dataclass(frozen=True, slots=True)
class _Event:
    """A log event: a text and its fields. As the message of a record any handler shows both."""

    text: str
    fields: Mapping[str, Any]

    def __str__(self) -> str:
        return "\n".join([self.line, *self.blocks])

    @property
    def line(self) -> str:
        """The text with those fields that fit on a line."""
        short = (f"{name}={value!r}" for name, value in self.fields.items() if not _is_long(value))
        return " ".join([self.text, *short])

    @property
    def blocks(self) -> list[str]:
        """The fields of several lines."""
        return [_block(name, str(value)) for name, value in self.fields.items() if _is_long(value)]


def event_of(record: logging.LogRecord) -> str:
    """Return the text of an event, without its fields."""
    return record.msg.text if isinstance(record.msg, _Event) else record.getMessage()


def _clean(value: Any) -> Any:
    return _SHAPES.clean(value) if isinstance(value, str) else value


class Log:
    """A standard logger whose events have fields beside their text: those given, after those of `named`."""

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(name)
        self.is_enabled_for = self._logger.isEnabledFor

    def debug(self, text: str, /, **fields: Any) -> None:
        self._write(logging.DEBUG, text, fields)

    def info(self, text: str, /, **fields: Any) -> None:
        self._write(logging.INFO, text, fields)

    def warning(self, text: str, /, **fields: Any) -> None:
        self._write(logging.WARNING, text, fields)

    def error(self, text: str, /, **fields: Any) -> None:
        self._write(logging.ERROR, text, fields)

    def _write(self, level: int, text: str, fields: Mapping[str, Any]) -> None:
        if self.is_enabled_for(level):
            found = {name: _clean(value) for name, value in {**NAMED.get(), **fields}.items()}
            self._logger.log(level, _Event(_clean(text), found), extra={"fields": found}, stacklevel=3)


log, details = Log(LOGGER), Log(DETAILS)
NAMED: ContextVar[Mapping[str, Any]] = ContextVar("named", default=MappingProxyType({}))


@contextmanager
def named(**fields: Any) -> Iterator[None]:
    """Add fields to all events logged within this."""
    token = NAMED.set({**NAMED.get(), **fields})
    try:
        yield
    finally:
        NAMED.reset(token)


def warn_all(message: str) -> None:
    """Warn of a problem of all trials, without the names of the current one."""
    Context().run(log.warning, message)


Level = Literal["DEBUG", "INFO", "WARNING", "ERROR"]


def configure_logging(
    level: Level = "INFO",
    *,
    form: Literal["text", "json"] = "text",
    detailed: bool = False,
) -> list[str]:
    """Show simeval's log on standard error, as readable text or as JSON lines; return the list of its warnings.

    INFO reports the run, `detailed` also the forecast and the acceptance of each requirement; DEBUG adds every retry,
    prompt, reply, transcript and judge's reasoning. Calling it again replaces the earlier display.
    """
    logger = logging.getLogger(LOGGER)
    handler = _ToStandardError()
    handler.setFormatter(_JsonFormatter() if form == "json" else _TextFormatter())
    logger.handlers[:] = [handler]
    logger.setLevel(level)
    logger.propagate = False
    logging.getLogger(DETAILS).setLevel(logging.NOTSET if detailed or level == "DEBUG" else logging.WARNING)
    return handler.warned


def set_log_level(level: Level) -> None:
    """Show as much of simeval's log as a level allows.

    A program that has handlers of its own, on the root logger or on "simeval", keeps them, and they get as much; else
    it is shown as configure_logging does. Raises DefinitionError.
    """
    known = get_args(Level)
    named = level.upper() if isinstance(level, str) else level
    require(named in known, "log_level", found=level, do=f"use {', '.join(known)}")
    logger = logging.getLogger(LOGGER)
    if not logger.hasHandlers():
        configure_logging(cast("Level", named))
        return
    logger.setLevel(named)
    logging.getLogger(DETAILS).setLevel(logging.NOTSET if named == "DEBUG" else logging.WARNING)


class _ToStandardError(logging.Handler):
    """Writes to standard error, whatever that is at the time; `warned` has the warnings."""

    def __init__(self) -> None:
        super().__init__()
        self.warned: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.warned += [event_of(record)] if record.levelno == logging.WARNING else []
        text = self.format(record)
        bars = getattr(sys.modules.get("tqdm"), "tqdm", None)  # none while another thread still imports it
        if bars is not None:  # a bar may be shown there, which is written again below the text
            written(sys.stderr, partial(bars.write, text, file=sys.stderr))
        else:
            written(sys.stderr, partial(sys.stderr.write, f"{text}\n"))


class _JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        head = {"time": _time(record).isoformat(), "level": record.levelname, "event": event_of(record)}
        return json.dumps({**head, **getattr(record, "fields", {})}, ensure_ascii=False, default=str)


class _TextFormatter(logging.Formatter):
    """An event as its message has it, after the time and its level."""

    def format(self, record: logging.LogRecord) -> str:
        event = record.msg if isinstance(record.msg, _Event) else _Event(record.getMessage(), {})
        shown = {name: printable(each) if isinstance(each, str) else each for name, each in event.fields.items()}
        said = _Event(printable(event.text), shown)
        when = f"{_time(record):%H:%M:%S} {record.levelname:7} "
        return "\n".join([*_fitting(when, said.line), *said.blocks])


def _fitting(when: str, said: str) -> list[str]:
    """Return a text in lines that fit the terminal; on one line if standard error is none, for searches."""
    if not sys.stderr.isatty():
        return [f"{when}{said}"]
    return Terminal(width=get_terminal_size().columns).wrap(said, first=when)


def _time(record: logging.LogRecord) -> datetime:
    return datetime.fromtimestamp(record.created, UTC)


def _is_long(value: object) -> bool:
    return isinstance(value, str) and "\n" in value


def _block(name: str, text: str) -> str:
    return f"  {name}:\n" + "\n".join(f"    {line}" for line in text.splitlines())
