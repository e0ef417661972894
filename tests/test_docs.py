"""The documentation's Python and its commands run as they are written, and its reference is whole."""

import ast
import importlib
import inspect
import re
import shlex
from dataclasses import fields
from itertools import groupby
from pathlib import Path

import pytest

from docs.hooks import agents, settings_reference, statistics_reference
from docs.hooks.command_reference import ASKED, all_commands, on_page_markdown, options_of
from docs.hooks.page_parts import Command, parts_of
from simeval import stats
from simeval.core.setting_field import about_of
from simeval.core.settings import Settings
from tests.support.command_line import python
from tests.support.console import Reader
from tests.test_faces import public

ROOT = Path(__file__).resolve().parent.parent
SNIPPET = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
SNIPPETS = [
    pytest.param(code, id=f"{path.relative_to(ROOT)}-{number}")
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for number, code in enumerate(SNIPPET.findall(path.read_text(encoding="utf-8")), 1)
]
TUTORIALS = sorted((ROOT / "docs/tutorials").glob("*.md"))
FOLLOWED = [ROOT / "docs/start.md", *TUTORIALS, ROOT / "docs/reference/commands.md"]
WITH_SDK = "agent.md"  # followed by `make agents`
TYPED = [
    pytest.param(line, id=f"{path.relative_to(ROOT)}-{number}")
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for number, line in enumerate(re.findall(r"^\$ (simeval (?:.*\\\n)*.*)", path.read_text(encoding="utf-8"), re.M), 1)
]
COMMANDS = dict(all_commands())


@pytest.mark.parametrize("code", SNIPPETS)
def test_a_snippet_runs(code: str, tmp_path: Path) -> None:
    done = python(tmp_path, code)

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", [page for page in FOLLOWED if page.name != WITH_SDK], ids=lambda page: page.stem)
def test_who_follows_a_page_sees_what_it_shows(page: Path, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")

    Reader(tmp_path).follow(text)

    assert any(isinstance(part, Command) for part in parts_of(text))


@pytest.mark.parametrize("line", TYPED)
def test_a_command_that_is_shown_can_be_typed(line: str) -> None:
    read = shlex.shlex(line.replace("\\\n", " "), posix=True, punctuation_chars="|;&>")
    read.whitespace_split = True
    typed = [list(words) for is_operator, words in groupby(read, key=lambda word: word[0] in "|;&>") if not is_operator]
    called = [words for words in typed if words[0] == "simeval" and words[-1] not in ("--help", "--version")]

    for words in called:
        path = " ".join(words[: 3 if words[1] in ("people", "persona") else 2])
        COMMANDS[path].command.make_context(path, words[len(path.split()) :])


def test_agents_find_every_page_and_every_command_in_their_files() -> None:
    nav = re.findall(r"^ +- (.+): ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    pages = [{title: path} for title, path in nav]

    listed = agents.listing("simeval", "", [{"Pages": pages}], ROOT / "docs")
    taught = agents.skill(ROOT / "docs")

    links = [f"- [{title}]({re.sub(r'(index)?[.]md$', '', path).rstrip('/') or '.'}/" for title, path in nav]
    assert [line.split("): ")[0] for line in listed.splitlines()[6:]] == links
    assert {"- [Start](start/", "- [Home](./"} <= {*links}
    assert [path for path in COMMANDS if not re.search(rf"{path.split()[1]}\b", taught)] == []


def test_every_page_is_listed() -> None:
    listed = set(re.findall(r": ([\w/-]+\.md)", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")))

    assert listed == {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}


def test_every_report_of_the_gallery_is_made_by_a_command_above_it() -> None:
    page = (ROOT / "docs/gallery.md").read_text(encoding="utf-8")

    opened = re.findall(r"\]\(gallery/([\w.]+)", page)

    written = [part.line.split()[-1] for part in parts_of(page) if isinstance(part, Command)]
    assert opened == [name for name in written if not name.endswith(".json")]


def test_the_reference_has_every_public_name_once() -> None:
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "docs/reference/api").glob("*.md"))
    pages = "".join(map(statistics_reference.on_page_markdown, sources))
    found = [_object(name) for name in re.findall(r"^::: ([\w.]+)$", pages, re.MULTILINE)]

    wanted = {id(value): f"{face}.{name}" for face, name, value in public()}

    assert not [wanted[each] for each in set(wanted) - {id(value) for value in found}]
    assert len(found) == len(wanted)


def _object(path: str) -> object:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def test_the_reference_has_every_command_with_every_option_and_an_example() -> None:
    source = (ROOT / "docs/reference/commands.md").read_text(encoding="utf-8")
    written = on_page_markdown(source)

    for path, context in COMMANDS.items():
        section = written.split(f"\n## {path}\n")[1].split("\n## ")[0]
        missing = [name for each in options_of(context) for name in each.opts if f"{name}" not in section]
        assert not missing, path
        assert f"\n$ {path}" in section
    assert ASKED.findall(source) == list(COMMANDS)


def test_the_reference_has_every_setting_with_its_option_and_its_help() -> None:
    source = (ROOT / "docs/reference/settings.md").read_text(encoding="utf-8")

    rows = [line.strip("| ").split(" | ") for line in settings_reference.on_page_markdown(source).splitlines()]

    found = {cells[0].strip("`"): cells for cells in rows if len(cells) == 4}
    for each in fields(Settings):
        about = about_of(each)
        assert about.flag in found[each.name][1]
        assert found[each.name][2].startswith(about.help)


@pytest.mark.parametrize("module", sorted(dir(stats)))
def test_every_public_name_of_stats_stands_on_its_page_as_its_docstring_says(module: str) -> None:
    source = (ROOT / "docs/reference/stats.md").read_text(encoding="utf-8")
    page = statistics_reference.on_page_markdown(source)
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
