"""What mypy and pyright, both strict, say of files that use an installed simeval."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

Errors = dict[str, list[tuple[int, str]]]  # of each file, by its name: lines and what is said of them

_MYPY = re.compile(r"^(?P<file>[^:]+):(?P<line>\d+): error: (?P<said>.*)$")


def mypy_errors(files: Mapping[str, str], python: Path, folder: Path) -> Errors:
    """Return what `mypy --strict` finds in files of these texts."""
    _write(files, folder)
    options = ["--strict", "--config-file=", "--python-executable", str(python), "--cache-dir", str(folder / "cache")]
    done = _run([sys.executable, "-m", "mypy", *options, *files], folder)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found: Errors = {name: [] for name in files}
    for match in filter(None, map(_MYPY.match, done.stdout.splitlines())):
        found[match["file"]].append((int(match["line"]), match["said"]))
    return found


def pyright_errors(files: Mapping[str, str], python: Path, folder: Path) -> Errors:
    """Return what pyright finds in files of these texts, in its strict mode."""
    _write(files, folder)
    settings = folder / "pyrightconfig.json"
    settings.write_text(json.dumps({"typeCheckingMode": "strict", "include": list(files)}), encoding="utf-8")
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", str(python), "-p", str(settings)]
    done = _run(command, folder)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found: Errors = {name: [] for name in files}
    for each in json.loads(done.stdout)["generalDiagnostics"]:
        if each["severity"] == "error":
            found[Path(each["file"]).name].append((each["range"]["start"]["line"] + 1, each["message"]))
    return found


def clean() -> dict[str, str]:
    """Return the environment without what would lead to the source tree, or pyright to look for a newer one."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MYPYPATH")}
    return {**kept, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}


def _write(files: Mapping[str, str], folder: Path) -> None:
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


def _run(command: list[str], folder: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, cwd=folder, env=clean(), capture_output=True, text=True, check=False)
