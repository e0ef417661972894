"""What the pytest plugin costs who does not use it: CPU of an empty session with it and without, in pairs.

    python -m benchmarks.speed.plugin [--pairs 20]

Whatever else is installed is loaded in both.
"""

import argparse
import resource
import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")


def seconds(folder: Path, *arguments: str) -> float:
    """Return the CPU of one session."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*PYTEST, *arguments], cwd=folder, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=20)
    pairs = parser.parse_args().pairs
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_empty.py").write_text("def test_nothing(): ...\n")
        seconds(folder)
        found = [(seconds(folder), seconds(folder, "-p", "no:simeval")) for _ in range(pairs)]
    differences = [1000 * (with_it - without) for with_it, without in found]
    print(f"with the plugin {1000 * median(each[0] for each in found):.0f} ms of CPU, ", end="")
    print(f"without {1000 * median(each[1] for each in found):.0f} ms; ", end="")
    print(f"difference in pairs: median {median(differences):.1f} ms, most {max(differences):.1f} ms")


if __name__ == "__main__":
    main()
