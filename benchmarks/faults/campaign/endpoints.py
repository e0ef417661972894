"""Rows: the models' endpoint fails in every way an endpoint has."""

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from benchmarks.faults.campaign.campaign import LATENCY_SECONDS, Campaign, Row, ending, healthy
from benchmarks.faults.campaign.cases import Case, Report, paused
from simeval.testing import fake_endpoint

ROOT = Path(__file__).resolve().parents[3]
AWAY_SECONDS = 5.0
CALLS_BEFORE = 300  # of a key that is revoked then


def answers(campaign: Campaign, **shares: Any) -> Report:
    """Let an endpoint answer shares of its calls wrongly; what could not be scored is tried again on a healthy one."""
    with fake_endpoint(replace(healthy(), **shares)) as handle:
        case = campaign.case(url=handle.base_url)
        attempt = case.start()
        status = attempt.wait()
    return _on_healthy_endpoint(campaign, case, attempt, status)


def unreadable(campaign: Campaign, **shares: Any) -> Report:
    """Let an endpoint answer shares of its calls with what cannot be read, which is asked for with another seed."""
    return replace(answers(campaign, **shares), same=None)


def key_revoked(campaign: Campaign) -> Report:
    with fake_endpoint(healthy()) as handle:
        case = campaign.case(url=handle.base_url)
        attempt = case.start()
        deadline = monotonic() + 60
        while handle.stats.requests < CALLS_BEFORE and monotonic() < deadline:
            sleep(0.005)
        handle.behaviour.auth = 1.0
        status = attempt.wait()
    return _on_healthy_endpoint(campaign, case, attempt, status)


def _on_healthy_endpoint(campaign: Campaign, case: Case, attempt: Any, status: int | None) -> Report:
    case.url = campaign.endpoint.base_url
    return campaign.resumed(case, attempt, ended=ending(status), seconds=attempt.seconds)


@dataclass(slots=True)
class Endpoint:
    """A healthy endpoint in a process of its own, which may be killed and started again on its port."""

    process: "subprocess.Popen[str] | None" = None
    url: str = ""

    def start(self) -> None:
        """Start it and wait until it listens."""
        port = self.url.removesuffix("/v1").rpartition(":")[2] or "0"
        options = ("--reads", "--latency-seconds", str(LATENCY_SECONDS), "--port", port)
        command = [sys.executable, "-m", "simeval.testing", *options]
        self.process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()

    def kill(self) -> None:
        """End it at once."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None

    def restart(self) -> None:
        """Let it be gone for a while."""
        self.kill()
        sleep(AWAY_SECONDS)
        self.start()

    def freeze(self) -> None:
        """Let it stand still for a while: it takes connections, and does not answer."""
        assert self.process is not None
        with paused(self.process.pid):
            sleep(AWAY_SECONDS)


@contextmanager
def _endpoint() -> Iterator[Endpoint]:
    endpoint = Endpoint()
    try:
        endpoint.start()
        yield endpoint
    finally:
        endpoint.kill()


def down(campaign: Campaign, how: Callable[[Endpoint], None]) -> Report:
    """Let the endpoint be away in the middle of a run."""
    with _endpoint() as endpoint:
        case = campaign.case(url=endpoint.url)
        attempt = case.start()
        case.begun(attempt, scores=100)
        how(endpoint)
        status = attempt.wait()
    return _on_healthy_endpoint(campaign, case, attempt, status)


ROWS: Mapping[str, tuple[str, Row]] = {
    "endpoint-hangs": ("endpoint: 5% of calls are never answered", partial(answers, hang=0.05)),
    "endpoint-resets": ("endpoint: 10% of connections are reset", partial(answers, reset=0.1)),
    "endpoint-half": ("endpoint: 10% of answers end in the middle", partial(answers, truncated=0.1)),
    "endpoint-html": ("endpoint: 10% of answers are HTML", partial(unreadable, html=0.1)),
    "endpoint-huge": ("endpoint: 2% of answers are 10 MB", partial(unreadable, huge=0.02)),
    "endpoint-500": ("endpoint: 10% are status 500", partial(answers, error_500=0.1)),
    "endpoint-429": (
        "endpoint: 10% are 429 with Retry-After 0.2",
        partial(answers, rate_limited=0.1, retry_after="0.2"),
    ),
    "endpoint-down": (f"endpoint: killed, back after {AWAY_SECONDS:g} s", partial(down, how=Endpoint.restart)),
    "endpoint-frozen": (f"endpoint: stands still for {AWAY_SECONDS:g} s", partial(down, how=Endpoint.freeze)),
    "key-revoked": ("endpoint: the key is revoked in the middle", key_revoked),
}
