"""List the benchmarks: `python -m benchmarks`."""

import ast
from pathlib import Path

ROOT = Path(__file__).parent


def main() -> None:
    """Print each module that can be run, with its first sentence."""
    for path in sorted(ROOT.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        starts = path.name == "__main__.py" or any(_is_guard(node) for node in tree.body)
        if not starts or path == Path(__file__):
            continue
        place = path.parent if path.name == "__main__.py" else path.with_suffix("")
        said = (ast.get_docstring(tree) or "").split("\n")[0]
        print(f"python -m {'.'.join(place.relative_to(ROOT.parent).parts):<36} {said}")


def _is_guard(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)


main()
