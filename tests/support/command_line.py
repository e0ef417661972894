"""The command line for tests: run as a process of its own, from a folder."""

import os
import subprocess
import sys
from pathlib import Path

ASKED = "the app was asked"  # what an app writes to standard error for `started`
PATIENCE_SECONDS = 240  # for the end of a process on a busy machine; less than `AN_HOUR`
AN_HOUR = ("--app-timeout", "3600")
ROOT = Path(__file__).resolve().parents[2]
SHOP = """
async def good(message, state):
    return "I track orders and start returns."

async def bad(message, state):
    return "No idea."
"""
SUITE = """
sample_size: 30
scenarios:
  - title: The bot says what it does
    given: A new user
    when: The user asks what the bot can do
    then:
      expected_behavior: Bot tracks orders, starts returns
      evaluator: {type: success_rate, min_proportion: 0.9}
"""


def command(*arguments: str) -> list[str]:
    """Return the command line that runs simeval."""
    return [sys.executable, "-m", "simeval.cli", *arguments]


def started(folder: Path, *arguments: str, lines: int = 1) -> "subprocess.Popen[str]":
    """Start simeval in a folder, and wait until that many lines of its standard error say that the app was asked."""
    process = subprocess.Popen(
        command(*arguments),
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    while lines > 0:
        line = process.stderr.readline()
        assert line, process.communicate()
        lines -= ASKED in line
    return process


def wait_for(said: str, process: "subprocess.Popen[str]") -> None:
    """Wait for a line of the standard error of a process that holds a text."""
    assert process.stderr is not None
    while said not in process.stderr.readline():
        assert process.poll() is None


def simeval(folder: Path, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run simeval in a folder and wait for it."""
    return subprocess.run(
        command(*arguments),
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
