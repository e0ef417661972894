"""Exit statuses of commands that cannot finish, which must not be those of a verdict."""

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from simeval.cli import commands
from simeval.cli.main import main
from simeval.cli.output import INTERRUPTED, NOT_COMPLETED, exit_status, show


def test_an_interrupt_before_a_command_works_is_no_failure_of_the_app(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(commands.commands, "get_command", interrupted)

    done = CliRunner().invoke(main, ["run", "suite.yaml"])

    assert done.exit_code == INTERRUPTED
    assert done.output == "simeval: interrupted\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_a_report_on_a_full_disk_is_no_failure_of_the_app(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)

        status = exit_status(lambda: show("PASS", None))()

    assert status == NOT_COMPLETED
    assert "standard output" in capsys.readouterr().err
