"""Remove features of simeval/extras in a copy of the repository, import all others, and test the engine and suites.

    python -m tests.support.without_extra [NAME ...]

Without names, three features have their turn: others on each day. Tests that use one of them are left out.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXTRAS = ROOT / "simeval" / "extras"
AT_ONCE = 3
COPIED = ("simeval", "tests", "pyproject.toml", "docs", "README.md", "scenarios")
TESTED = ("engine", "suites")  # folders of unit tests that load features by name; `lint-imports` keeps features apart
OF_ALL = "test_schema.py"  # the published schema has the fields of every feature
IMPORT = """
import sys
from importlib import import_module

for name in sys.argv[1:]:
    try:
        import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "simeval":
            raise  # others are libraries of features that are not installed
"""


def names() -> Sequence[str]:
    """Return the names of all features."""
    return sorted(path.name for path in EXTRAS.iterdir() if (path / "__init__.py").exists())


def on_turn(day: date) -> Sequence[str]:
    """Return the features that are removed on a day."""
    every = names()
    first = day.toordinal() * AT_ONCE
    return [every[(first + place) % len(every)] for place in range(AT_ONCE)]


def public_names(extra: str) -> Iterator[str]:
    """Yield the names that faces list and a feature defines."""
    for stub in (ROOT / "simeval").rglob("__init__.pyi"):
        yield from re.findall(rf"from \.+extras\.{extra}\.[\w.]+ import (\w+)", stub.read_text("utf-8"))


def tests_without(extras: Sequence[str], root: Path) -> list[str]:
    """Return the files of unit tests that use nothing of the features."""
    public = [name for extra in extras for name in public_names(extra)]
    used = re.compile(rf"\b(?:{'|'.join([*public, *extras])})\b")
    files = (path for folder in TESTED for path in (root / "tests/unit" / folder).rglob("test_*.py"))
    others = (path for path in files if path.name != OF_ALL and not used.search(path.read_text("utf-8")))
    return sorted(str(path.relative_to(root)) for path in others)


def modules(root: Path) -> list[str]:
    """Return the names of all modules but those that run when they are imported."""
    paths = (path.relative_to(root).with_suffix("") for path in (root / "simeval").rglob("*.py"))
    return sorted(".".join(path.parts).removesuffix(".__init__") for path in paths if path.name != "__main__")


def check(extras: Sequence[str]) -> None:
    """Remove features in a copy, and check the rest. Raises CalledProcessError if that fails."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for each in COPIED:
            source = ROOT / each
            copy = shutil.copytree if source.is_dir() else shutil.copy2
            copy(source, root / each)
        for extra in extras:
            shutil.rmtree(root / "simeval" / "extras" / extra)
        kept, tests = modules(root), tests_without(extras, root)
        sys.stdout.write(f"without {', '.join(extras)}: {len(kept)} modules, {len(tests)} files of tests\n")
        sys.stdout.flush()
        subprocess.run([sys.executable, "-c", IMPORT, *kept], cwd=root, check=True)
        subprocess.run([sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", *tests], cwd=root, check=True)


if __name__ == "__main__":
    check(sys.argv[1:] or on_turn(date.today()))
