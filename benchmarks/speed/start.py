"""CPU of commands, from the start of the process to its end.

    python -m benchmarks.speed.start [--times 5]

Each command is a process of its own, in a folder with the suite of `simeval init` and a store of one run; of several
times the median counts. Modules are compiled before, as those of an installed package are.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

RUN = ("run", "suite.yaml", "--app", "app:handle", "--samples", "20")
COMMANDS: Sequence[Sequence[str]] = (
    ("--version",),
    ("runs",),
    ("show", "last"),
    ("doctor",),
    ("plan", "--bar", ".9", "--rate", ".97"),
    ("plan", "suite.yaml"),
    RUN,
)
ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    """Print a line for each command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=5)
    times = parser.parse_args().times
    with tempfile.TemporaryDirectory() as folder:
        cpu_of(("init", "."), folder)
        cpu_of(RUN, folder)
        for command in COMMANDS:
            cpu_of(command, folder)  # compiles its modules
            found = median(cpu_of(command, folder) for _ in range(times))
            print(f"{found:5.2f} s of CPU  simeval {' '.join(command)}", flush=True)


def cpu_of(command: Sequence[str], folder: str) -> float:
    """Return the seconds of CPU that a command takes in a folder."""
    before = _spent()
    process = [sys.executable, "-m", "simeval", *command]
    compiled = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(Path(folder) / "compiled")}
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **compiled}
    done = subprocess.run(
        process, cwd=folder, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert done.returncode in (0, 1), done.stderr
    return _spent() - before


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
