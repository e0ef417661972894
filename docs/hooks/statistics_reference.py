"""Writes the functions of `simeval.stats` into the two pages that ask for them, from their docstrings."""

import ast
import inspect
from typing import Any, TypeGuard

from simeval import stats

IN_SHORT = "<!-- simeval.stats in a sentence each -->"
IN_FULL = "<!-- simeval.stats in full -->"
Documented = ast.FunctionDef | ast.ClassDef


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return a page with the tables, or the whole docstrings, in the place that it names."""
    if IN_SHORT in markdown:
        return markdown.replace(IN_SHORT, "\n".join(map(_table, sorted(dir(stats)))))
    if IN_FULL in markdown:
        return markdown.replace(IN_FULL, "\n".join(map(_docstrings, sorted(dir(stats)))))
    return markdown


def _table(module: str) -> str:
    tree = _tree(module)
    rows = [f"| `{_called(node)}` | {_first_sentence(node)} |" for node in tree.body if _is_public(node)]
    return "\n".join([f"## {module}", "", _first_sentence(tree), "", "| name | meaning |", "| --- | --- |", *rows, ""])


def _docstrings(module: str) -> str:
    path = f"simeval.stats.{module}"
    own = [name for name, value in vars(getattr(stats, module)).items() if getattr(value, "__module__", "") == path]
    names = [f"::: {path}.{name}\n    options: {{heading_level: 3}}\n" for name in own if not name.startswith("_")]
    return "\n".join([f"## {module}\n", *names])


def _tree(module: str) -> ast.Module:
    return ast.parse(inspect.getsource(getattr(stats, module)))


def _is_public(node: ast.stmt) -> TypeGuard[Documented]:
    return isinstance(node, Documented) and not node.name.startswith("_")


def _called(node: Documented) -> str:
    if isinstance(node, ast.ClassDef):
        return node.name
    return f"{node.name}({', '.join(each.arg for each in (*node.args.args, *node.args.kwonlyargs))})"


def _first_sentence(node: Documented | ast.Module) -> str:
    return inspect.cleandoc(ast.get_docstring(node) or "").split("\n\n")[0].replace("\n", " ").replace("|", "\\|")
