"""The live screen: what is written while it is shown is printed when it is left."""

import logging
import sys
from io import BytesIO, TextIOWrapper

import pytest

from simeval.engine.display import ENTER, LEAVE, Screen


class Terminal(TextIOWrapper):
    """A terminal that keeps what is written to it."""

    def __init__(self) -> None:
        self.bytes = BytesIO()
        super().__init__(self.bytes, encoding="utf-8")

    def isatty(self) -> bool:
        return True

    @property
    def shown(self) -> str:
        self.flush()
        return self.bytes.getvalue().decode()


@pytest.mark.parametrize("name", [None, "shop.orders"])
def test_what_an_app_logs_by_a_handler_that_was_made_before_is_printed_in_the_end(
    monkeypatch: pytest.MonkeyPatch, name: str | None
) -> None:
    terminal, logger = Terminal(), logging.getLogger(name)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(logger, "handlers", [logging.StreamHandler()])

    with Screen(terminal) as screen:
        logger.warning("out of stock")
        said = list(screen.messages)
    logger.warning("closed")

    assert said == ["out of stock"]
    assert terminal.shown == f"{ENTER}{LEAVE}out of stock\nclosed\n"


def test_what_a_terminal_cannot_write_is_written_as_its_code(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)

    with Screen(terminal):
        sys.stderr.write("half a pair \ud83d\n")
        sys.stderr.write("a whole one 🔥\n")

    assert terminal.shown == f"{ENTER}{LEAVE}half a pair \\ud83d\na whole one 🔥\n"
