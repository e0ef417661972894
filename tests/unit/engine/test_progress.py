"""How far a run has come."""

import logging
from collections.abc import Iterator

import anyio
import pytest

from simeval.core.logs import LOGGER
from simeval.core.usage import Usage
from simeval.engine.progress import LINE_SECONDS, WINDOW_SECONDS, Progress, Throughput, progress_bar
from tests.support.fake_clock import anyio_backend  # noqa: F401


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """What is logged."""
    with caplog.at_level(logging.INFO, logger=LOGGER):
        yield caplog


def nothing() -> int:
    return 0


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
async def test_without_a_bar_a_line_says_how_far_the_run_is(lines: pytest.LogCaptureFixture) -> None:
    used = Usage(calls=3_204, cost_usd=0.41)

    with progress_bar(2_010, show=None) as progress:
        async with progress.watched(lambda: used, nothing):
            progress.advance(412, 10)
            await anyio.sleep(1.5 * LINE_SECONDS)

    assert lines.messages == ["412 of at most 2,000 trials, 3,204 calls, $0.41, 0.0 calls a second, about 2 min to go"]


@pytest.mark.anyio
async def test_a_line_says_nothing_of_what_is_not_known(lines: pytest.LogCaptureFixture) -> None:
    with progress_bar(20, show=None) as progress:
        async with progress.watched(lambda: Usage(calls=9), nothing):
            progress.advance(4, 0)
            await anyio.sleep(1.5 * LINE_SECONDS)

    assert lines.messages == ["4 of at most 20 trials, 9 calls, 0.0 calls a second"]


@pytest.mark.anyio
async def test_lines_end_with_the_run(lines: pytest.LogCaptureFixture) -> None:
    with progress_bar(20, show=None) as progress:
        async with progress.watched(Usage, nothing):
            await anyio.sleep(3.5 * LINE_SECONDS)
        await anyio.sleep(10 * LINE_SECONDS)

    assert len(lines.messages) == 3


@pytest.mark.anyio
async def test_an_error_inside_comes_out_and_ends_the_lines() -> None:
    with progress_bar(20, show=None) as progress, pytest.raises(ExceptionGroup) as raised:
        async with progress.watched(Usage, nothing):
            raise ValueError("inside")

    assert raised.group_contains(ValueError, match="inside")


@pytest.mark.anyio
async def test_the_bar_shows_what_is_spent_and_in_flight(
    capsys: pytest.CaptureFixture[str], lines: pytest.LogCaptureFixture
) -> None:
    with progress_bar(20, show=True) as progress:
        async with progress.watched(lambda: Usage(calls=3_204, cost_usd=0.41), lambda: 7):
            progress.advance(5, 10)
            await anyio.sleep(5 * LINE_SECONDS)

    shown = capsys.readouterr().err
    assert "3,204 calls, $0.41, 7 in flight" in shown
    assert "5/10" in shown
    assert not lines.messages


@pytest.mark.anyio
async def test_nothing_is_told_where_progress_is_not_wanted(
    capsys: pytest.CaptureFixture[str], lines: pytest.LogCaptureFixture
) -> None:
    with progress_bar(20, show=False) as progress:
        async with progress.watched(Usage, nothing):
            progress.advance(5, 0)
            await anyio.sleep(10 * LINE_SECONDS)

    assert not lines.messages
    assert not capsys.readouterr().err


def test_a_bar_is_counted_and_shortened(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar(20, show=True) as progress:
        progress.advance(3, 5)
        progress.advance(2, 0)

    assert isinstance(progress, Progress)
    assert "5/15" in capsys.readouterr().err
