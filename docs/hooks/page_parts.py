"""The files that a page of the documentation shows and the commands that it types, in their order."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FENCE = re.compile(r"^```(?P<kind>\S+)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<body>.*?)^```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class File:
    """A file that a page shows under its name."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Command:
    """A line that a reader types, and what the page shows of its output; nothing where it shows none."""

    line: str
    expected: str


def parts_of(page: str) -> list[File | Command]:
    """Return the files and commands of a page: blocks that have a title, and those of kind console."""
    return [part for block in _FENCE.finditer(page) for part in _parts(block["kind"], block["title"], block["body"])]


def _parts(kind: str, title: str | None, body: str) -> Iterator[File | Command]:
    if title:
        yield File(title, body)
    elif kind == "console":
        for typed in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
            line, _, expected = typed.replace("\\\n", " ").partition("\n")
            yield Command(line, expected.strip("\n"))
