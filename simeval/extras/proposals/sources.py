"""The sources of proposed scenarios: descriptions, documents and logs, in parts that a model can read at once."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from simeval.datasets.dataset import Example, is_chat, text_of
from simeval.datasets.files import read_dataset
from simeval.errors import DefinitionError

PART_CHARACTERS = 4_000  # about a thousand tokens: small models have room for two thousand
LONGEST_VALUE = 1_000  # characters of one message
DESCRIPTION = "the description"
TEXTS = (".md", ".txt", ".rst", ".html", ".adoc")
LOGS = (".jsonl", ".json", ".csv", ".ndjson", ".gz")


@dataclass(frozen=True, slots=True)
class Part:
    """The part of a source that is read at once; `name` is its origin."""

    name: str
    text: str


def read_parts(paths: Sequence[Path], description: str = "") -> list[Part]:
    """Return the parts of a description, of texts, datasets and logs, and of folders with any of them, in order.

    Raises DefinitionError for a source that cannot be read, and if there is nothing to read.
    """
    found = list(_parts(DESCRIPTION, description.split("\n\n")))
    for path in [each for given in paths for each in _files(given)]:
        found += _parts(path.name, _texts(path))
    if not found:
        do = "describe the app with --describe TEXT, or name documents or logs"
        raise DefinitionError("generate", found="there is nothing to propose scenarios from", do=do)
    return found


def chosen(parts: Sequence[Part], most: int) -> list[Part]:
    """Return at most so many parts, evenly spread over all."""
    return [parts[place * len(parts) // most] for place in range(most)] if len(parts) > most else list(parts)


def _files(path: Path) -> list[Path]:
    if not path.exists():
        do = "name a document, a log, or a folder with some"
        raise DefinitionError(str(path), found="there is no such file or folder", do=do)
    if not path.is_dir():
        return [path]
    found = sorted(each for each in path.rglob("*") if each.suffix.lower() in (*TEXTS, *LOGS))
    if not found:
        do = f"name a folder with files that end in {', '.join((*TEXTS, *LOGS))}"
        raise DefinitionError(str(path), found="this folder has no document and no log", do=do)
    return found


def _texts(path: Path) -> Iterable[str]:
    """Return the paragraphs of a document, or the examples of a dataset or a log."""
    if path.suffix.lower() in LOGS:
        return map(_told, _examples(path))
    try:
        return path.read_text(encoding="utf-8-sig").split("\n\n")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        do = f"name a text file, or a log that ends in {', '.join(LOGS)}"
        raise DefinitionError(str(path), found=f"it cannot be read ({why})", do=do) from error


def _examples(path: Path) -> Iterable[Example]:
    """Return the examples of a log; of a dataset, if it is none."""
    from simeval.extras.importers.registry import import_log

    try:
        return import_log(path).dataset
    except DefinitionError:
        return read_dataset(path)


def _told(example: Example) -> str:
    """Write the messages, or else the inputs and references, a line each."""
    if example.conversation is not None:
        return _said((each.role, each.content) for each in example.conversation.messages)
    told = [_column(name, value) for name, value in (*example.inputs.items(), *example.outputs.items())]
    return "\n".join(each for each in told if each)


def _column(name: str, value: object) -> str:
    """Write a column that is text or a chat; other values of a dataset are for programs."""
    if is_chat(value):
        return _said((each["role"], text_of(each)) for each in value)
    return f"{name}: {value[:LONGEST_VALUE]}" if isinstance(value, str) else ""


def _said(messages: Iterable[tuple[str, str]]) -> str:
    return "\n".join(
        f"{role}: {text[:LONGEST_VALUE]}" for role, text in messages if text and role in ("user", "assistant")
    )


def _parts(name: str, texts: Iterable[str]) -> Iterator[Part]:
    """Put texts together as long as they have room in one part; a longer one is cut at a line or a space."""
    held = ""
    for text in texts:
        for piece in _pieces(text.strip()):
            if held and len(held) + len(piece) + 2 > PART_CHARACTERS:
                yield Part(name, held)
                held = ""
            held = f"{held}\n\n{piece}" if held else piece
    if held:
        yield Part(name, held)


def _pieces(text: str) -> Iterator[str]:
    while len(text) > PART_CHARACTERS:
        cut = max(text.rfind("\n", 1, PART_CHARACTERS), text.rfind(" ", 1, PART_CHARACTERS))
        cut = cut if cut > 0 else PART_CHARACTERS
        yield text[:cut]
        text = text[cut:].strip()
    if text:
        yield text
