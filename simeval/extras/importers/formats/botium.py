"""Botium scripts: a conversation (#me, #bot) or a list of utterances, each in a text file.

The text of #bot is the script's expectation, used as the app's answer here. Lines such as `PAUSE 1000` or `JSON_PATH
$.a | b` are instructions to Botium: they are kept as the message's metadata "instructions" (of #bot), and sections such
as #begin and #end as metadata of the example. Utterances are examples of their own, each an input with the name of the
list as metadata.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from simeval.core.conversation import Speaker
from simeval.datasets.conversations import example_of
from simeval.datasets.dataset import Example
from simeval.datasets.messages import Turn, filled
from simeval.datasets.records import Opening, Unreadable, read_text

NAME = "botium"
_SECTION = re.compile(r"^#([a-z]\w*)[ \t]*(.*)$")
_INSTRUCTION = re.compile(r"^!?[A-Z][A-Z0-9_]+([ \t]|$)")
_SPEAKERS: dict[str, Speaker] = {"me": "user", "bot": "assistant"}


def looks_like(opening: Opening) -> bool:
    """Return whether the file is named as Botium's are, or has lines with #me and #bot."""
    text = opening.head.decode("utf-8", "replace")
    named = opening.name.endswith((".convo.txt", ".utterances.txt"))
    return named or bool(re.search(r"^#me\b", text, re.MULTILINE) and re.search(r"^#bot\b", text, re.MULTILINE))


def read(path: Path) -> Iterator[Example | Unreadable]:
    """Return the conversation of a script, or an example for each utterance."""
    try:
        lines = read_text(path).splitlines()
    except ValueError as error:
        yield Unreadable("the file", str(error))
        return
    if any(line.startswith("#me") for line in lines):
        yield _conversation(lines)
    elif lines and path.name.lower().removesuffix(".gz").endswith(".utterances.txt"):
        name, *said = [line.strip() for line in lines if line.strip()] or [""]
        yield from (Example(inputs={"input": each}, metadata={"utterance": name}) for each in said)
    else:
        yield Unreadable("the file", "it has no section #me, and is no list of utterances (*.utterances.txt)")


def _conversation(lines: list[str]) -> Example:
    """Return the conversation of a script whose first section has only its name and description."""
    name = ""
    turns: list[Turn] = []
    others: dict[str, str] = {}
    for section, said in _sections(lines):
        if section in _SPEAKERS:
            turns.append(_turn(_SPEAKERS[section], said))
        elif section:
            others[section] = "\n".join(said).strip()
        else:
            name = "\n".join(said).strip()
    return example_of(turns, metadata=filled(name=name, **others))


def _sections(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    section, said = "", list[str]()
    for line in lines:
        if head := _SECTION.match(line):
            yield section, said
            section, said = head.group(1), [head.group(2)] if head.group(2) else []
        else:
            said.append(line.rstrip())
    yield section, said


def _turn(role: Speaker, lines: list[str]) -> Turn:
    said = [line for line in lines if line]
    instructions = [line for place, line in enumerate(said) if place and _INSTRUCTION.match(line)]
    text = "\n".join(line for line in said if line not in instructions)
    return Turn(role=role, text=text, details=filled(instructions=instructions))
