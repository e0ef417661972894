"""How far a run has come."""

import logging
from collections.abc import Iterator
from contextlib import redirect_stderr
from io import StringIO
from typing import Any

import anyio
import pytest

from simeval.core.logs import LOGGER
from simeval.core.run_records import Usage
from simeval.core.terminal import Display
from simeval.core.waits import Waits
from simeval.engine.display import LINE_SECONDS, WINDOW_SECONDS, Look, Progress, Throughput, form_of
from tests.support.early_stopping import engine, scenario, trial_seeds
from tests.support.fake_clock import anyio_backend  # noqa: F401


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """What is logged."""
    with caplog.at_level(logging.INFO, logger=LOGGER):
        yield caplog


class Tty(StringIO):
    """A terminal that keeps what is written."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _no_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("CI", raising=False)


def looking(used: Usage | None = None) -> Look:
    """Return a look at a run with seven trials in flight."""
    return Look(usage=lambda: used or Usage(), in_flight=lambda: 7, waits=Waits())


def test_no_time_is_told_before_five_trials() -> None:
    pace = Throughput()

    pace.note(0.0, trials=0, calls=0)
    pace.note(10.0, trials=4, calls=40)
    early = pace.seconds_for(100)
    pace.note(12.0, trials=6, calls=48)

    assert early is None
    assert pace.seconds_for(100) == pytest.approx(200)
    assert pace.calls_per_second == pytest.approx(4)


def test_only_the_recent_rate_counts() -> None:
    pace = Throughput()
    for second in range(0, 1_000, 10):
        pace.note(float(second), trials=100 * second, calls=0)

    for second in range(1_000, 1_000 + int(WINDOW_SECONDS) + 1, 10):
        pace.note(float(second), trials=100_000 + second, calls=0)

    assert pace.seconds_for(60) == pytest.approx(60)


def test_a_run_that_stands_still_has_no_time_to_go() -> None:
    pace = Throughput()
    pace.note(0.0, trials=0, calls=0)

    for second in range(0, 1_000, 10):
        pace.note(float(second), trials=50, calls=7)

    assert pace.seconds_for(60) is None
    assert pace.calls_per_second == 0


@pytest.mark.parametrize("notes", [0, 1, 2])
def test_one_moment_is_no_rate(notes: int) -> None:
    pace = Throughput()

    for _ in range(notes):
        pace.note(5.0, trials=10, calls=10)

    assert (pace.seconds_for(10), pace.calls_per_second) == (None, 0)


@pytest.mark.anyio
async def test_a_line_says_how_far_the_run_is(lines: pytest.LogCaptureFixture) -> None:
    used = Usage(calls=3_204, cost_usd=0.41)

    progress = Progress(2_010, None)
    async with progress.watched(looking(used)):
        progress.advance(412, 10)
        await anyio.sleep(1.5 * LINE_SECONDS)

    assert lines.messages == ["412 of at most 2,000 trials, 3,204 calls, $0.41, 0.0 calls a second, about 2 min to go"]


@pytest.mark.anyio
async def test_a_line_says_nothing_of_what_is_not_known(lines: pytest.LogCaptureFixture) -> None:
    progress = Progress(20, None)
    async with progress.watched(looking(Usage(calls=9))):
        progress.advance(4, 0)
        await anyio.sleep(1.5 * LINE_SECONDS)

    assert lines.messages == ["4 of at most 20 trials, 9 calls, 0.0 calls a second"]


@pytest.mark.anyio
async def test_trials_of_a_scenario_that_ended_early_are_not_to_come(lines: pytest.LogCaptureFixture) -> None:
    quick, slow = scenario(title="quick"), scenario(title="slow")
    made = engine(concurrency=16, min_trials=10, stop=None, display="log", app_timeout_seconds=1_000)
    of_slow = {str(seed) for seed in trial_seeds(made, slow)}

    async def app(message: str, state: dict[str, Any]) -> str:
        await anyio.sleep(15 * LINE_SECONDS if message in of_slow else 0.001)
        return "good"

    ended, whole = await made.evaluate([quick, slow], app)

    assert ended.trials < ended.sample_size
    assert any(f" of at most {ended.trials + whole.sample_size} trials, " in line for line in lines.messages)


@pytest.mark.anyio
async def test_lines_end_with_the_run(lines: pytest.LogCaptureFixture) -> None:
    progress = Progress(20, None)
    async with progress.watched(looking()):
        await anyio.sleep(3.5 * LINE_SECONDS)
    await anyio.sleep(10 * LINE_SECONDS)

    assert len(lines.messages) == 3


@pytest.mark.anyio
async def test_an_error_inside_comes_out_and_ends_the_lines() -> None:
    with pytest.raises(ExceptionGroup) as raised:
        async with Progress(20, None).watched(looking()):
            raise ValueError("inside")

    assert raised.group_contains(ValueError, match="inside")


@pytest.mark.anyio
async def test_nothing_is_told_where_nothing_is_wanted(lines: pytest.LogCaptureFixture) -> None:
    with redirect_stderr(Tty()) as terminal:
        progress = Progress(20, "none")
        async with progress.watched(looking()):
            progress.advance(5, 0)
            await anyio.sleep(10 * LINE_SECONDS)

    assert not lines.messages
    assert not terminal.getvalue()


@pytest.mark.usefixtures("lines")
@pytest.mark.parametrize(
    ("display", "environment", "form"),
    [
        (None, {}, "screen"),
        ("live", {}, "screen"),
        ("live", {"CI": "1"}, "screen"),
        (None, {"CI": "1"}, "bar"),
        (None, {"TERM": "dumb"}, "bar"),
        ("live", {"TERM": "dumb"}, "bar"),
        ("plain", {}, "bar"),
        ("log", {}, "lines"),
        ("none", {}, "nothing"),
    ],
)
def test_a_terminal_has_the_screen_unless_another_form_is_wanted(
    display: Display | None, environment: dict[str, str], form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    with redirect_stderr(Tty()):
        assert form_of(display) == form


@pytest.mark.usefixtures("lines")
@pytest.mark.parametrize(
    ("display", "form"), [(None, "lines"), ("live", "lines"), ("plain", "lines"), ("none", "nothing")]
)
def test_elsewhere_there_are_lines(display: Display | None, form: str) -> None:
    with redirect_stderr(StringIO()):
        assert form_of(display) == form


class OutStream(StringIO):
    """The stream of a notebook's kernel."""

    __module__ = "ipykernel.iostream"


@pytest.mark.parametrize(
    ("display", "form"), [(None, "bar"), ("live", "bar"), ("plain", "bar"), ("log", "lines"), ("none", "nothing")]
)
def test_a_notebook_has_a_bar(display: Display | None, form: str) -> None:
    with redirect_stderr(OutStream()):
        assert form_of(display) == form


@pytest.mark.anyio
@pytest.mark.parametrize(("stream", "display"), [(OutStream, None), (Tty, "plain")])
async def test_a_bar_shows_the_last_state_when_the_run_is_over(stream: type[StringIO], display: Display | None) -> None:
    with redirect_stderr(stream()) as written:
        progress = Progress(30, display)
        async with progress.watched(looking(Usage(calls=3_204, cost_usd=0.41))):
            await anyio.sleep(1)
            progress.advance(12, 3)

    last = written.getvalue().rsplit("\r", 1)[-1]
    assert "12/27" in last
    assert "3,204 calls, $0.41, 7 in flight" in last


def test_a_log_that_tells_everything_is_not_hidden_behind_a_screen(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger=LOGGER), redirect_stderr(Tty()):
        assert form_of(None) == "bar"
