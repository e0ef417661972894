"""Count, per 1,000 words of docstrings and pages, the phrases that make English hard to read.

    python -m benchmarks.prose

Prints a row for each package and page, and exits with 1 if one is over a limit. The limits come from well-written
Python packages: their docstrings have 0.0 to 1.7 times "what" per 1,000 words.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef

# phrase -> (its pattern, the most per 1,000 words)
PHRASES = {
    "what": (re.compile(r"\bwhat\b", re.IGNORECASE), 4.0),
    "where + clause": (re.compile(r"\bwhere (?:it|that|there|none|they|this|one|a|the|nothing)\b"), 2.0),
    "told/said": (re.compile(r"\b(?:told|tells?|said|says?)\b"), 1.5),
    "stands/lies": (re.compile(r"\b(?:stands?|lies|lie)\b"), 0.3),
    "prep + which": (re.compile(r"\b(?:of|in|by|to|for|from|on|at|with) (?:which|whom)\b"), 1.0),
}
PAGES = (
    "README.md",
    "CHANGELOG.md",
    *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")),
)


def docstrings(source: str) -> Iterator[str]:
    """Yield the docstrings of a module, its classes and its functions."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, DOCUMENTED) and (text := ast.get_docstring(node)):
            yield text


def page_prose(markdown: str) -> str:
    """Return the text of a page without its code."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^ *```.*?^ *```", "", markdown, flags=re.DOTALL | re.MULTILINE))


def texts() -> dict[str, str]:
    """Return the prose of each package, by name, and of each page, by path."""
    package = ROOT / "simeval"
    found: dict[str, str] = {}
    for folder in sorted(path for path in package.iterdir() if (path / "__init__.py").exists()):
        files = sorted(folder.rglob("*.py"))
        found[folder.name] = "\n\n".join(text for file in files for text in docstrings(file.read_text("utf-8")))
    return found | {page: page_prose((ROOT / page).read_text("utf-8")) for page in PAGES}


def rates(text: str) -> dict[str, float]:
    """Return how often each phrase occurs in 1,000 words."""
    thousands = max(len(text.split()), 1) / 1_000
    return {name: len(pattern.findall(text)) / thousands for name, (pattern, _) in PHRASES.items()}


def main() -> None:
    """Print the table, and exit with 1 if a package or page is over a limit."""
    print(f"{'':<34}{'words':>8}", *(f"{name:>15}" for name in PHRASES))
    print(f"{'at most':<42}", *(f"{limit:>15.1f}" for _, limit in PHRASES.values()))
    over: list[str] = []
    for name, text in texts().items():
        found = rates(text)
        print(f"{name:<34}{len(text.split()):>8,}", *(f"{rate:>15.1f}" for rate in found.values()))
        over += [f"{name}: {phrase} {found[phrase]:.1f}" for phrase in found if found[phrase] > PHRASES[phrase][1]]
    if over:
        sys.exit("over the limit: " + "; ".join(over))


if __name__ == "__main__":
    main()
