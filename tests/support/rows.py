"""Rows of datasets for tests, and files that hold them."""

import json
from pathlib import Path
from typing import Any

ROWS = [
    {"question": "Where is my order?", "context": "Orders take 3 days.", "answer": "It comes in 3 days."},
    {"question": "Kann ich es zurückgeben? 🎁", "context": "", "answer": 'Ja,\nbinnen "30" Tagen.'},
]


def said(role: str, content: Any, **more: Any) -> dict[str, Any]:
    """Return a message of a chat."""
    return {"role": role, "content": content, **more}


def written(folder: Path, name: str, content: str | bytes) -> Path:
    """Write a file, and return its path."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def json_lines(*rows: object) -> str:
    """Return rows as JSON lines."""
    return "".join(f"{json.dumps(row)}\n" for row in rows)
