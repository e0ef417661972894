"""Writes two files for coding agents into the site: llms.txt lists the pages, SKILL.md is made from two of them."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig

SKILL = """---
name: simeval
description: Test a conversational AI app with simulated users, judges and exact statistics. Use it to evaluate,
  compare or gate an app, a prompt or a model behind a chat.
---

`simeval help` lists more pages, `simeval help TOPIC` prints one, and `simeval COMMAND --help` has the options.

"""
_TABLE = re.compile(r"^\| you want \| command \|\n(?:\|.*\n)+", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\([^)\s]*\)")


def on_post_build(config: MkDocsConfig) -> None:
    """Write both files into the built site."""
    docs, site = Path(config.docs_dir), Path(config.site_dir)
    (site / "llms.txt").write_text(listing(config.site_name, str(config.site_description), config.nav or [], docs))
    (site / "SKILL.md").write_text(skill(docs))


def skill(docs: Path) -> str:
    """Return how to use simeval: the first page, and the commands by task."""
    start = (docs / "start.md").read_text(encoding="utf-8")
    [commands] = _TABLE.findall((docs / "reference/commands.md").read_text(encoding="utf-8"))
    return SKILL + _LINK.sub(r"\1", f"{start}\n## Commands\n\n{commands}")


def listing(name: str, description: str, nav: Sequence[Any], docs: Path) -> str:
    """Return the pages by their sections, each with its first sentence."""
    return "\n".join([f"# {name}", "", f"> {description}", *_sections(nav, docs)]) + "\n"


def _sections(nav: Sequence[Any], docs: Path) -> Iterator[str]:
    for entry in nav:
        [(title, inner)] = entry.items()
        if isinstance(inner, str):
            yield f"- [{title}]({_url(inner)}): {_first_sentence((docs / inner).read_text(encoding='utf-8'))}"
        else:
            yield from ("", f"## {title}", "", *_sections(inner, docs))


def _url(page: str) -> str:
    """Return the address of a page within the site."""
    return f"{page.removesuffix('index.md').removesuffix('.md').rstrip('/') or '.'}/"


def _first_sentence(markdown: str) -> str:
    paragraphs = (each for each in markdown.split("\n\n")[1:] if each[0] not in "#!<`|-")
    return _LINK.sub(r"\1", re.split(r"(?<=[.:?]) ", next(paragraphs, "").replace("\n", " "))[0])
