"""The work of `simeval prompts`: list the prompts that models are sent, and print one."""

import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass

from simeval.cli.output import STDOUT, exit_status, write_text
from simeval.core.terminal import indent, line_of, room_of
from simeval.core.validation import nearest
from simeval.errors import DefinitionError
from simeval.models.protocol.prompt_texts import DATA_NOTICE, built_in, prompt_names, source_of
from simeval.scorers.metrics import SCORERS
from simeval.suites.scenario import shorten

WIDTH = 80  # of other streams
LEAST = 30  # cells for a prompt's purpose, beside the others
_ARGUMENT = "_prompt"


@exit_status
def show_prompts(name: str | None) -> None:
    """List all prompts, or print one by its name, and give the exit status."""
    write_text(STDOUT, _listed() if name is None else _printed(name))


def _listed() -> str:
    width = line_of(room_of(sys.stdout) or WIDTH)
    ours = [(name, built_in(name)) for name in prompt_names()]
    rows = [(name, each.version, str(len(source_of(name))), each.purpose) for name, each in ours]
    scorers = [(name, "", str(sum(map(len, texts.values()))), _purpose(name)) for name, texts in _of_scorers().items()]
    return "\n".join(
        [
            *_table([("prompt", "version", "size", "used for"), *rows, *scorers], width),
            "",
            indent(f"{{data_notice}} in them stands for: {DATA_NOTICE}", 0, width=width),
            "",
            indent("simeval prompts NAME prints one. To replace it by one of yours:", 0, width=width),
            indent("with a version: --prompt NAME=FILE, or settings: {prompts: {NAME: FILE}}", 2, width=width),
            indent("of scorers: by the arguments that are named where it is printed", 2, width=width),
            "",
        ]
    )


def _table(rows: list[tuple[str, str, str, str]], width: int) -> list[str]:
    """Write rows in columns; if there is little room for the last, it is below the others."""
    name, version, size = (max(len(row[place]) for row in rows) for place in range(3))
    room = width - name - version - size - 6
    lines = []
    for row in rows:
        head = f"{row[0]:<{name}}  {row[1]:<{version}}  {row[2]:>{size}}"
        lines += [f"{head}  {shorten(row[3], room)}"] if room >= LEAST else [head, f"  {shorten(row[3], width - 2)}"]
    return [line.rstrip() for line in lines]


def _printed(name: str) -> str:
    if name in prompt_names():
        return source_of(name)
    scorers = _of_scorers()
    if name not in scorers:
        do = nearest(name, [*prompt_names(), *scorers], see="`simeval prompts` lists them")
        raise DefinitionError("prompts", found=f"there is no prompt {name!r}", do=do)
    texts = scorers[name]
    arguments = ", ".join(f"{argument}: ..." for argument in texts)
    head = f"In a suite: scorer: {{type: {name}, {arguments}}}; in Python: the same arguments."
    return "\n\n".join([head, *(f"# {argument}\n\n{text}" for argument, text in texts.items())]) + "\n"


def _of_scorers() -> Mapping[str, Mapping[str, str]]:
    """Return the prompts that scorers have as defaults of their arguments, by the scorers' names."""
    found: dict[str, dict[str, str]] = {}
    for name in SCORERS.names:
        kind = SCORERS.find(name)
        texts = (
            {each.name: str(each.default) for each in fields(kind) if each.init and _is_prompt(each.name, each.default)}
            if kind is not None and is_dataclass(kind)
            else {}
        )
        if texts:
            found[name] = texts
    return found


def _is_prompt(argument: str, default: object) -> bool:
    return argument.endswith(_ARGUMENT) and isinstance(default, str) and bool(default)


def _purpose(name: str) -> str:
    return (SCORERS.find(name).__doc__ or "").strip().split("\n")[0]
