"""The documentation's Python runs as it is written."""

import ast
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from simeval import stats

ROOT = Path(__file__).resolve().parent.parent
SNIPPET = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
SNIPPETS = [
    pytest.param(code, id=f"{path.relative_to(ROOT)}-{number}")
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for number, code in enumerate(SNIPPET.findall(path.read_text(encoding="utf-8")), 1)
]


@pytest.mark.parametrize("code", SNIPPETS)
def test_a_snippet_runs(code: str, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr


def test_every_page_is_listed() -> None:
    listed = set(re.findall(r": ([\w/-]+\.md)", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")))

    assert listed == {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}


@pytest.mark.parametrize("module", sorted(dir(stats)))
def test_every_public_name_of_stats_stands_on_its_page_as_its_docstring_says(module: str) -> None:
    page = (ROOT / "docs/reference/stats.md").read_text(encoding="utf-8")
    section = page.split(f"\n## {module}\n")[1].split("\n## ")[0]
    tree = ast.parse(inspect.getsource(getattr(stats, module)))
    public = [node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name[0] != "_"]

    rows = dict(re.findall(r"^\| `(\w+)[^`]*` \| (.*) \|$", section, re.MULTILINE))

    signatures = re.findall(r"^\| `(\w+\([^`]*\))` \|", section, re.MULTILINE)
    assert public
    assert rows == {node.name: _first_sentence(node) for node in public}
    assert signatures == [_signature(node) for node in public if isinstance(node, ast.FunctionDef)]


def _signature(node: ast.FunctionDef) -> str:
    return f"{node.name}({', '.join(each.arg for each in (*node.args.args, *node.args.kwonlyargs))})"


def _first_sentence(node: ast.FunctionDef | ast.ClassDef) -> str:
    said = inspect.cleandoc(ast.get_docstring(node) or "")
    return said.split("\n\n")[0].replace("\n", " ").replace("|", "\\|")
