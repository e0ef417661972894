"""Makes the reports of the gallery by the commands that its page shows; kept in build/ until simeval changes."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File as SiteFile
from mkdocs.structure.files import Files

from docs.hooks.page_parts import Command, File, parts_of

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/gallery.md"
KEPT = ROOT / "build/gallery"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the reports to the files of the site."""
    folder = reports()
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        name = f"gallery/{path.relative_to(folder).as_posix()}"
        files.append(SiteFile.generated(config, name, abs_src_path=str(path)))
    return files


def reports() -> Path:
    """Return the folder with the reports, made anew where the page or simeval is not what they were made of."""
    found = KEPT / _made_of()
    if not found.exists():
        shutil.rmtree(KEPT, ignore_errors=True)
        work = KEPT / "work"
        work.mkdir(parents=True)
        _make(work)
        shown = KEPT / "shown"
        shown.mkdir()
        for path in _results(work):
            path.rename(shown / path.name)
        shutil.rmtree(work)
        shown.rename(found)
    return found


def _make(folder: Path) -> None:
    (folder / "scenarios").symlink_to(ROOT / "scenarios")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for part in parts_of(PAGE.read_text(encoding="utf-8")):
        if isinstance(part, File):
            (folder / part.name).write_text(part.text, encoding="utf-8")
        else:
            _run(part, folder, path)


def _run(command: Command, folder: Path, path: str) -> None:
    """Run a command; a verdict that is no pass (status 1) is one to show."""
    environment = {**os.environ, "PATH": path, "PYTHONUTF8": "1"}
    done = subprocess.run(
        ["bash", "-c", command.line], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 1):
        raise RuntimeError(f"the gallery could not be made: {command.line}\n{done.stdout}{done.stderr}")


def _results(folder: Path) -> Iterator[Path]:
    yield from folder.glob("*.html")
    yield from (path.parent for path in folder.glob("*/index.html"))


def _made_of() -> str:
    sources = [PAGE, Path(__file__), *(ROOT / "simeval").rglob("*"), *(ROOT / "scenarios").rglob("*")]
    read = (path for path in sorted(sources) if path.is_file() and path.suffix != ".pyc")
    return sha256(b"".join(path.read_bytes() for path in read)).hexdigest()[:16]
