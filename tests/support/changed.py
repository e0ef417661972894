"""The unit tests of what changed: `python -m tests.support.changed main` prints their files and folders.

A module has the tests of its package, which lie in the folder of the same name, and a helper of the tests has those
that import it.
"""

import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
UNIT = Path("tests", "unit")


def unit_tests_of(changed: Iterable[str]) -> list[str]:
    """Return the tests of files by their paths in the repository; a folder stands for all in it."""
    found = {test for path in changed for test in _tests_of(Path(path))}
    return sorted(test.as_posix() for test in found if not found & {*test.parents})


def _tests_of(path: Path) -> Iterator[Path]:
    if path.is_relative_to("simeval"):
        place = UNIT / path.relative_to("simeval")
        places = [each for each in place.parents if UNIT in each.parents] or [place.with_name(f"test_{path.name}")]
        yield from [each for each in places if (ROOT / each).exists()][:1]
    elif path.is_relative_to(UNIT):
        yield from [path] if (ROOT / path).exists() else []
    elif path.is_relative_to("tests/support"):
        for test in (ROOT / UNIT).rglob("test_*.py"):
            if f"tests.support.{path.stem} " in test.read_text("utf-8"):
                yield test.relative_to(ROOT)


def _changed(since: str) -> list[str]:
    """Return the files that differ from the commit at which this branch began, and the new ones."""
    begun = _git("merge-base", "HEAD", since)
    return [*_git("diff", "--name-only", *begun), *_git("ls-files", "--others", "--exclude-standard")]


def _git(*arguments: str) -> list[str]:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()


if __name__ == "__main__":
    sys.stdout.write(" ".join(unit_tests_of(_changed(sys.argv[1]))))
