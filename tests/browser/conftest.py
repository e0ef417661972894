"""One browser for the tests of a module, and reports that commands wrote, as their users write them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.support.browsers import chromium, require_chromium
from tests.support.command_line import ROOT, simeval

WORSE = """
from scenarios.support_bot import handle as good
from simeval import AppResponse


def handle(message, state):
    found = good(message, state)
    if "return" in message.lower() and len(message) % 3 == 0:
        return AppResponse("I cannot help with that.", state)
    return found
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store, and reports beside the JSON results: demo, worse, stopped, compared, measured."""
    require_chromium()
    folder = tmp_path_factory.mktemp("runs")
    (folder / "worse.py").write_text(WORSE, encoding="utf-8")
    suite = (ROOT / "scenarios" / "support.yaml").as_posix()
    whole = ("run", suite, "--seed", "7", "--samples", "40", "--no-early-stopping", "-q")
    commands = {
        "demo": ("run", suite, "--app", "scenarios.support_bot:handle", "--seed", "7", "-q"),
        "before": (*whole, "--app", "scenarios.support_bot:handle"),
        "now": (*whole, "--app", "worse:handle"),
        "stopped": (*whole, "--app", "scenarios.support_bot:handle", "--max-calls", "100"),
        "compared": ("compare", "before.json", "now.json"),
    }
    for name, command in commands.items():
        done = simeval(folder, *command, "--json", f"{name}.json", "--html", f"{name}.html")
        assert (folder / f"{name}.html").exists(), done.stderr
    return folder
