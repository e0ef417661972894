"""Logging: nothing until somebody asks, then to standard error."""

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from simeval.core.logs import LOGGER, configure_logging, log, named
from simeval.core.settings import RetryConfig
from simeval.models.caller import Caller
from simeval.models.protocol.model import Grade
from simeval.testing import ScriptedModel
from tests.support.doubles import any_request, failure

GRADE = '{"reasoning": "it did", "score": 8}'


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """Leave the logger as it was found."""
    logger = logging.getLogger(LOGGER)
    handlers, level, propagate = list(logger.handlers), logger.level, logger.propagate
    yield
    logger.handlers[:] = handlers
    logger.setLevel(level)
    logger.propagate = propagate


def test_text_goes_to_standard_error_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging()

    log.info("started", scenarios=2, name="a b")

    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.rstrip().split(maxsplit=1)[1] == "INFO    started scenarios=2 name='a b'"


def test_on_a_terminal_a_long_line_is_wrapped_at_its_width(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    configure_logging()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)

    log.info("8 scenarios, up to 720 conversations; a requirement passes with a chance of 51%")

    lines = capsys.readouterr().err.splitlines()
    assert [line[17:] for line in lines] == [
        "8 scenarios, up to 720 conversations; a",
        "requirement passes with a chance of 51%",
    ]
    assert lines[1].startswith(" " * 17)


def test_an_event_is_shown_while_another_thread_imports_tqdm(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", ModuleType("tqdm"))
    configure_logging()

    log.info("started")

    assert capsys.readouterr().err.endswith("started\n")


def test_a_text_of_several_lines_stands_below_its_event(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging()

    log.info("said", text="one\ntwo", number=1)

    lines = capsys.readouterr().err.splitlines()
    assert lines[0].endswith("said number=1")
    assert lines[1:] == ["  text:", "    one", "    two"]


def test_json_goes_to_standard_error_one_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(form="json")

    log.info("started", scenarios=2)
    log.warning("said", text="eins\nzwei ü", thing={1})

    out, err = capsys.readouterr()
    first, second = (json.loads(line) for line in err.splitlines())
    assert out == ""
    assert (first["level"], first["event"], first["scenarios"]) == ("INFO", "started", 2)
    assert (second["level"], second["text"], second["thing"]) == ("WARNING", "eins\nzwei ü", "{1}")
    assert first["time"].endswith("+00:00")


@pytest.mark.parametrize(("level", "shown"), [("DEBUG", 3), ("INFO", 2), ("WARNING", 1), ("ERROR", 0)])
def test_only_events_of_the_level_are_shown(level: str, shown: int, capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(level)  # type: ignore[arg-type]

    log.debug("d")
    log.info("i")
    log.warning("w")

    assert len(capsys.readouterr().err.splitlines()) == shown


def test_configuring_again_replaces_what_was_shown_before(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("DEBUG")
    configure_logging("INFO", form="json")

    log.debug("hidden")
    log.info("once")

    assert [json.loads(line)["event"] for line in capsys.readouterr().err.splitlines()] == ["once"]


@pytest.mark.anyio
@pytest.mark.parametrize("level", ["DEBUG", "INFO"])
async def test_prompts_and_replies_are_shown_at_debug_only(level: str, capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(level)  # type: ignore[arg-type]

    await Caller(ScriptedModel([GRADE])).ask(any_request(), Grade)

    err = capsys.readouterr().err
    assert ("You write rubrics" in err) == (level == "DEBUG")
    assert ("it did" in err) == (level == "DEBUG")
    assert bool(err) == (level == "DEBUG")


@pytest.mark.anyio
async def test_a_retry_is_shown_at_debug_with_its_cause(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("DEBUG")

    await Caller(ScriptedModel([failure("rate_limit"), GRADE]), RetryConfig(backoff_multiplier=0)).ask(
        any_request(), Grade
    )

    (line,) = [line for line in capsys.readouterr().err.splitlines() if " retry " in line]
    assert "attempt=1" in line
    assert "rate_limit" in line


def test_nothing_is_shown_until_somebody_asks() -> None:
    code = "from simeval.core.logs import log; log.debug('d'); log.info('i', a=1)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)

    assert (done.stdout, done.stderr) == ("", "")


def test_an_application_that_configures_logging_itself_sees_the_events(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger=LOGGER):
        log.info("started", scenarios=2)

    (record,) = caplog.records
    assert (record.name, record.getMessage()) == ("simeval", "started scenarios=2")


@pytest.mark.anyio
async def test_the_standard_logging_at_debug_shows_prompts_and_replies(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        await Caller(ScriptedModel([GRADE])).ask(any_request(), Grade)

    assert "You write rubrics" in caplog.text
    assert "it did" in caplog.text


def test_logging_basic_config_shows_what_configure_logging_does() -> None:
    code = (
        "import logging; logging.basicConfig(level=logging.DEBUG, format='%(message)s');"
        "from simeval.core.logs import log; log.debug('said', text='one\\ntwo', number=1)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)

    assert done.stderr.splitlines()[-4:] == ["said number=1", "  text:", "    one", "    two"]


@pytest.mark.parametrize("fields", [{}, {"error": "\x1b[2J gone"}, {"error": "\x1b[2J gone\nand on"}])
def test_nothing_that_an_app_says_drives_the_terminal(
    capsys: pytest.CaptureFixture[str], fields: dict[str, str]
) -> None:
    configure_logging()

    log.warning("the app said \x1b[31m red", **fields)

    assert "\x1b" not in capsys.readouterr().err


def test_events_have_the_fields_of_all_that_they_are_logged_within(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger=LOGGER), named(scenario="books"):
        with named(trial=3):
            log.info("answered", seconds=2)
        log.info("left", scenario="another")
    log.info("after")

    assert [record.getMessage() for record in caplog.records] == [
        "answered scenario='books' trial=3 seconds=2",
        "left scenario='another'",
    ]


def test_a_record_names_the_line_that_logged_it(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger=LOGGER):
        log.info("here")

    assert caplog.records[0].pathname == __file__
