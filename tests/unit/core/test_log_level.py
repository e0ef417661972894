"""An engine's log_level shows simeval's log: by the program's own handlers where it has some."""

import pytest

import simeval
from simeval.errors import DefinitionError
from tests.support.command_line import ROOT, python

RUN = """
import logging
{before}
from simeval import Engine
from simeval.core.logs import log
Engine(store=None, log_level={level!r})
log.debug("a detail")
log.info("a fact")
"""


def shown(level: str, before: str = "") -> str:
    """Return what a program writes to standard error whose engine has a log level."""
    done = python(ROOT, RUN.format(level=level, before=before))
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_without_handlers_it_is_shown_as_configure_logging_shows_it() -> None:
    debug, info = shown("DEBUG"), shown("info")

    assert "DEBUG   a detail" in debug
    assert "INFO    a fact" in debug
    assert "a detail" not in info
    assert "INFO    a fact" in info
    assert "a fact" not in shown("WARNING")


def test_a_program_that_logs_keeps_its_handlers_and_its_form() -> None:
    own = "logging.basicConfig(format='own %(levelname)s %(message)s')"

    assert shown("DEBUG", own).splitlines() == ["own DEBUG a detail", "own INFO a fact"]
    assert shown("INFO", own).splitlines() == ["own INFO a fact"]


@pytest.mark.parametrize("level", ["LOUD", 10, ""])
def test_a_level_that_there_is_not_is_refused(level: object) -> None:
    with pytest.raises(DefinitionError, match=r"log_level.*use DEBUG, INFO, WARNING, ERROR"):
        simeval.Engine(store=None, log_level=level)  # type: ignore[arg-type]
