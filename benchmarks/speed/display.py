"""What the live screen costs: pairs of runs in a terminal, with `--display none` and `--display live`.

Each run is a process of its own, whose CPU the system counts. The app answers after a while, as apps do; the embedded
models judge. Run it with `python -m benchmarks.speed.display [--pairs N]`.
"""

import argparse
import os
import pty
import statistics
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = 20
APP = """
import anyio

async def handle(message, state):
    await anyio.sleep({seconds})
    return "I track orders and start returns."
"""
SCENARIO = """
  - title: The bot says what it does, in words of its own, {number}
    given: A new user
    when: The user asks what the bot can do
    then:
      expected_behavior: Bot tracks orders, starts returns
      evaluator: {{type: success_rate, min_proportion: 0.9}}
"""


def cpu_seconds(folder: Path, display: str, concurrency: int) -> float:
    """Return the CPU seconds of a run in a terminal."""
    said = ["run", "suite.yaml", "--app", "app:handle", "--seed", "1", "--store", "none", "--no-early-stopping"]
    argv = [sys.executable, "-m", "simeval.cli", *said, "--concurrency", str(concurrency), "--display", display]
    environment = {**os.environ, "TERM": "xterm", "PYTHONPATH": str(ROOT), "COLUMNS": "120", "LINES": "40"}
    process, descriptor = pty.fork()
    if process == 0:
        os.chdir(folder)
        os.execve(argv[0], argv, environment)
    try:
        while os.read(descriptor, 65_536):
            pass
    except OSError:  # it has ended
        pass
    os.close(descriptor)
    _, status, used = os.wait4(process, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    return used.ru_utime + used.ru_stime


def measure(pairs: int, *, seconds: float, trials: int, concurrency: int) -> None:
    """Print what pairs of runs took, whose app answers after so many seconds."""
    with TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "app.py").write_text(APP.format(seconds=seconds))
        suite = "".join(SCENARIO.format(number=number) for number in range(SCENARIOS))
        (folder / "suite.yaml").write_text(f"sample_size: {trials}\nscenarios:{suite}")
        cpu_seconds(folder, "none", concurrency)  # what is compiled once
        found = [
            {display: cpu_seconds(folder, display, concurrency) for display in order}
            for number in range(pairs)
            for order in [("none", "live") if number % 2 else ("live", "none")]
        ]
    none = statistics.median(each["none"] for each in found)
    more = sorted(each["live"] - each["none"] for each in found)
    print(
        f"{SCENARIOS} scenarios of {trials} trials, {concurrency} in flight, answers after {seconds:g} s: "
        f"CPU {none:.2f} s without, {1000 * statistics.median(more):+.0f} ms with the screen "
        f"({statistics.median(more) / none:+.1%}; the pairs lie from {more[0] / none:+.1%} to {more[-1] / none:+.1%})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=10)
    pairs = parser.parse_args().pairs
    measure(pairs, seconds=0.05, trials=100, concurrency=50)
    measure(pairs, seconds=0.5, trials=30, concurrency=50)


if __name__ == "__main__":
    main()
