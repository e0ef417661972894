"""An app that swallows its own end: the run ends by itself, at a signal, and in the last resort by force."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.command_line import (
    AN_HOUR,
    ASKED,
    PATIENCE_SECONDS,
    ROOT,
    SUITE,
    command,
    simeval,
    started,
    wait_for,
)  # fmt: skip

APP = f"""
import asyncio, sys

def asked():
    print({ASKED!r}, file=sys.stderr, flush=True)

async def call():
    await asyncio.sleep(0.05)
    raise ConnectionError("it is down")

async def tries_for_ever(message, state):
    asked()
    while True:
        try:
            return await call()
        except:
            pass

async def waits_for_ever(message, state):
    asked()
    while True:
        try:
            await asyncio.sleep(3600)
        except:
            pass

async def streams_for_ever(message, state):
    asked()
    while True:
        try:
            yield "I "
            await call()
        except:
            pass

async def holds_the_loop(message, state):
    asked()
    while True:
        try:
            return await nothing_like_it()
        except:
            pass
"""
ASYNC = ["tries_for_ever", "waits_for_ever"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "suite.yaml").write_text(SUITE, encoding="utf-8")
    (tmp_path / "shop.py").write_text(APP, encoding="utf-8")
    return tmp_path


def arguments(app: str, *more: str) -> tuple[str, ...]:
    return ("run", "suite.yaml", "--app", f"shop:{app}", "--samples", "10", *more)


@pytest.mark.parametrize("app", [*ASYNC, "streams_for_ever"])
def test_a_run_ends_by_itself(folder: Path, app: str) -> None:
    done = simeval(folder, *arguments(app, "--app-timeout", "1", "--json", "found.json"))

    found = json.loads((folder / "found.json").read_text())
    errors = [error["error"] for scenario in found["scenarios"] for error in scenario["errors"]]
    assert done.returncode in (1, 3)
    assert errors
    assert all("no answer within 1 second" in each for each in errors)
    assert "Traceback" not in done.stderr
    if app != "streams_for_ever":  # its generator is closed from outside
        assert all("did not end when it was cancelled" in each for each in errors)
        assert f"the app's code did not end when it was cancelled, {len(errors)} times" in " ".join(found["notes"])


def test_a_program_of_its_own_ends_by_itself_too(folder: Path) -> None:
    (folder / "main.py").write_text(
        "import asyncio, shop\n"
        "from simeval import Engine, Expectation, ScenarioTest, SuccessRateEvaluator\n"
        "if __name__ == '__main__':\n"
        "    then = Expectation(expected_behavior='It answers', evaluator=SuccessRateEvaluator(min_proportion=0.9))\n"
        "    scenario = ScenarioTest(title='t', given='A user', when='The user asks', sample_size=10, then=then)\n"
        "    engine = Engine(store=None, app_timeout_seconds=1)\n"
        "    print(asyncio.run(engine.evaluate(scenario, shop.tries_for_ever)).outcome)\n"
    )

    done = subprocess.run(
        [sys.executable, "main.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=True,
    )

    assert done.stdout.strip() in ("fail", "error")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("app", ASYNC)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_it_ends_at_a_request_to_terminate(folder: Path, app: str, number: signal.Signals) -> None:
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("whoever began the tests ignores this signal, as nohup does, and so does the run")
    process = started(folder, *arguments(app, *AN_HOUR, "--json", "found.json"))

    process.send_signal(number)
    _, errors = process.communicate(timeout=PATIENCE_SECONDS)

    assert process.returncode == 130
    assert json.loads((folder / "found.json").read_text())["run_id"]
    assert "Traceback" not in errors


@pytest.mark.parametrize("app", [*ASYNC, "holds_the_loop"])
def test_a_third_interrupt_leaves_the_process_with_its_store_closed(folder: Path, app: str) -> None:
    process = started(folder, *arguments(app, *AN_HOUR))

    for _ in range(3):
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.3)  # of two signals at once the system gives one
    _, errors = process.communicate(timeout=PATIENCE_SECONDS)

    listed = simeval(folder, "runs")
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert "shop:" in listed.stdout
    assert not [*(folder / ".simeval").glob("*-wal")]


def test_a_terminal_that_closes_is_ignored_where_that_is_asked_for(folder: Path) -> None:
    process = subprocess.Popen(
        ["nohup", *command(*arguments("waits_for_ever", *AN_HOUR))],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(ASKED, process)

    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGINT)
    wait_for("interrupted (SIGINT): no more trials are started", process)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=PATIENCE_SECONDS)

    assert process.returncode == 130
