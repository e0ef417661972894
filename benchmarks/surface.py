"""Count the surface that a new user meets: names, lines of help, options, and words of pages.

    python -m benchmarks.surface

Prints a row for each count, and exits with 1 if one is over its bar, unless it is in `PENDING`.
"""

import re
import sys
from collections.abc import Iterable
from pathlib import Path

from click.testing import CliRunner

import simeval
from simeval.cli.main import main as program

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
PENDING: frozenset[str] = frozenset()  # not yet within the bar


def help_lines(*command: str) -> list[str]:
    """Return the lines of a command's help on a screen of 80 columns."""
    return CliRunner().invoke(program, [*command, "--help"], terminal_width=80).output.splitlines()


def words(pages: Iterable[Path]) -> int:
    """Return how many words pages have without their blocks of code."""
    return sum(len(BLOCK.sub("", page.read_text("utf-8")).split()) for page in pages)


def counts() -> dict[str, tuple[int, int]]:
    """Return each count with its bar."""
    options = [line for line in help_lines("run") if line.startswith("  -")]
    return {
        "names of simeval": (len(dir(simeval)), 30),
        "lines of simeval --help": (len(help_lines()), 24),
        "options of run --help": (len(options), 20),
        "words of README.md": (words([ROOT / "README.md"]), 700),
        "words of docs/start.md": (words([ROOT / "docs/start.md"]), 400),
        "words of the docs": (words((ROOT / "docs").rglob("*.md")), 50_000),
    }


def main() -> None:
    """Print the counts, and exit with 1 if one is over its bar."""
    over = []
    for name, (count, bar) in counts().items():
        is_over = count > bar
        print(f"{name:<26}{count:>8,}  at most {bar:>6,}{'  PENDING' if is_over and name in PENDING else ''}")
        over += [name] if is_over and name not in PENDING else []
    if over:
        sys.exit(f"over the bar: {', '.join(over)}")


if __name__ == "__main__":
    main()
