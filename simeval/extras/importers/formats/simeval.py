"""Files of simeval: datasets, one example a line, and runs, as `--json` writes them, with their conversations."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from simeval.core.conversation import decode_conversation
from simeval.datasets.dataset import Example, decode_example
from simeval.datasets.records import Opening, Unreadable, examples_from, records

NAME = "simeval"
_KEYS = {"id", "inputs", "outputs", "metadata", "conversation", "split", "tags"}
_UNHELD = ("app", "app_access", "app_model", "simulator", "world", "engine", "run")  # the conversation failed


def looks_like(opening: Opening) -> bool:
    """Return whether the first record is an example of ours, or a run."""
    found = opening.first
    if opening.has("simeval", "run_id"):
        return True
    if not isinstance(found, dict) or not set(found) <= _KEYS:
        return False
    conversation = found.get("conversation")
    return isinstance(found.get("inputs"), dict) or (isinstance(conversation, dict) and "turns" in conversation)


def read(path: Path) -> Iterator[Example | Unreadable]:
    """Return the examples as they were written; of a run the conversations that the app did not fail on."""
    return examples_from(records(path), _converted)


def _converted(found: Mapping[str, Any]) -> Iterator[Example]:
    if "run_id" in found:
        yield from _held(found)
        return
    if not found.get("inputs") and not found.get("conversation"):
        raise ValueError("it has neither inputs nor a conversation")
    yield decode_example(found)


def _held(run: Mapping[str, Any]) -> Iterator[Example]:
    """Return the conversations of a run. Raises ValueError if the file has none."""
    read = 0
    for scenario in run.get("scenarios", ()):
        failed = {each["index"] for each in scenario["errors"] if each["stage"] in _UNHELD}
        for each in scenario["conversations"]:
            read += 1
            if each["index"] not in failed:
                where = f"{scenario['title']} {each['index']}"
                yield _example(each, where, {"scenario": scenario["title"]})
    crashed = set(run.get("examples", {}).get("crashed", ()))
    for each in run.get("answered", ()):
        read += 1
        if each["index"] not in crashed:
            again = each["repetition"]
            yield _example(each, f"{each['example']} {again}" if again else each["example"], {})
    if not read:
        raise ValueError("it is a run without its conversations; `simeval show RUN --json` writes them")


def _example(held: Mapping[str, Any], name: str, metadata: Mapping[str, Any]) -> Example:
    return Example(conversation=decode_conversation(held), example_id=name, metadata=metadata)
