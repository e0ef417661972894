"""A browser for tests: Debian's Chromium, without a network, and pages that note what must not happen.

Its headless shell opens a page with a third of the CPU (0.3 s against 1.0), so it is preferred.
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, Response, sync_playwright

FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run"),
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]
READY = "html[data-ready]"
PATIENCE = 20_000  # milliseconds for what a page does


def installed() -> str | None:
    """Return where Chromium is; None where it is not."""
    return shutil.which("chromium-headless-shell") or shutil.which("chromium")


def require_chromium() -> str:
    """Return where Chromium is; skip where it is not, unless SIMEVAL_REQUIRE_BROWSER is 1."""
    found = installed()
    if found is None:
        missing = "no Chromium is installed (apt-get install chromium-headless-shell)"
        if os.environ.get("SIMEVAL_REQUIRE_BROWSER") == "1":
            pytest.fail(missing)
        pytest.skip(missing)
    return found


@contextmanager
def chromium() -> Iterator[Browser]:
    """Run a browser; in the end it is closed."""
    path = require_chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@dataclass(slots=True)
class Opened:
    """A page in a browser, with the errors it had, the addresses it asked for, and what they answered."""

    page: Page
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    responses: list[Response] = field(default_factory=list)

    def go(self, address: str) -> None:
        """Change what stands behind the # of the page's address."""
        self.page.evaluate("address => { location.hash = address; }", address)

    def requirements(self) -> Locator:
        """Return the requirements that are shown."""
        return self.page.locator("[data-verdict]")

    def verdicts(self) -> list[tuple[str, int, str, str]]:
        """Return outcome, n and interval of each requirement of a page, each scenario opened."""
        closed = self.page.locator("button.top[aria-expanded=false]")
        while closed.count():
            closed.first.click()
        data = [each.evaluate("node => ({...node.dataset})") for each in self.requirements().all()]
        return sorted(
            (each["verdict"], int(each["n"]), bound(each.get("low")), bound(each.get("high"))) for each in data
        )


def verdicts_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the verdicts of a JSON result."""
    return [one for each in document["scenarios"] for made in each["expectations"] for one in made["verdicts"]]


def as_shown(verdicts: Sequence[dict[str, Any]]) -> list[tuple[str, int, str, str]]:
    """Return verdicts as `Opened.verdicts` does."""
    return sorted(
        (each["outcome"], each["n"], *map(bound, each["confidence_interval"] or (None, None))) for each in verdicts
    )


def bound(value: str | float | None) -> str:
    """Return the end of an interval with twelve digits; none where there is none."""
    return "none" if value is None else f"{float(value):.12g}"


@contextmanager
def opened(browser: Browser, path: Path, address: str = "", **options: Any) -> Iterator[Opened]:
    """Open a report; whatever the page asks for besides itself is noted."""
    with visited(browser, f"{path.as_uri()}{address}", **options) as found:
        found.requests.remove(found.page.url.split("#")[0])
        yield found


@contextmanager
def visited(browser: Browser, address: str, **options: Any) -> Iterator[Opened]:
    """Open an address, and note all that is asked for."""
    context = browser.new_context(**options)
    try:
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        found = Opened(page)
        page.on("console", lambda said: found.errors.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: found.errors.append(str(error)))
        page.on("request", lambda request: found.requests.append(request.url))
        page.on("response", lambda response: found.responses.append(response))
        page.goto(address)
        if options.get("java_script_enabled", True):
            page.wait_for_selector(READY, state="attached")
        yield found
    finally:
        context.close()
