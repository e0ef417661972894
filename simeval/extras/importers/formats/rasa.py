"""Rasa: test stories (YAML) and trackers (JSON).

The user's messages in a story are its steps "user", without the marks of entities (an intent alone is "/intent", as
Rasa writes it); the actions that follow are the assistant's tool calls, with the text of steps "bot" if there is one.
Of a tracker, the events "user", "bot" and "action" count, with their times.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from simeval.datasets.conversations import example_of
from simeval.datasets.dataset import Example
from simeval.datasets.messages import Turn, filled, first, identity, loaded, mapping, moment
from simeval.datasets.records import (
    REFUSALS,
    Opening,
    Unreadable,
    examples_from,
    read_text,
    reason_of,
    records,
)

NAME = "rasa"
_ENTITY = re.compile(r"\[([^\]]*)\](?:\{[^}]*\}|\([^)]*\))")
_SILENT = ("action_listen", "action_session_start", "action_restart")  # Rasa's own actions between turns
_YAML = (".yml", ".yaml")


def looks_like(opening: Opening) -> bool:
    """Return whether the file is YAML with stories, or its first record a tracker."""
    is_stories = opening.name.endswith(_YAML) and re.search(rb"^stories:", opening.head, re.MULTILINE) is not None
    return is_stories or opening.has("sender_id", "events")


def read(path: Path) -> Iterator[Example | Unreadable]:
    """Return a conversation for each story or tracker."""
    if path.name.lower().removesuffix(".gz").endswith(_YAML):
        return _stories(path)
    return examples_from(records(path), _tracked)


def _stories(path: Path) -> Iterator[Example | Unreadable]:
    import yaml  # only stories need it

    try:
        found = yaml.safe_load(read_text(path))
        listed = found["stories"] if isinstance(found, Mapping) else None
    except (yaml.YAMLError, ValueError, KeyError) as error:
        yield Unreadable("the file", f"it is not YAML with stories: {' '.join(str(error).split())}")
        return
    for number, story in enumerate(listed or [], 1):
        try:
            yield _told(story)
        except REFUSALS as error:
            yield Unreadable(f"story {number}", reason_of(error))


def _told(story: Mapping[str, Any]) -> Example:
    turns: list[Turn] = []
    for step in story["steps"]:
        if "or" in step:
            step = step["or"][0]
        if "user" in step or "intent" in step:
            said = step.get("user")
            text = _ENTITY.sub(r"\1", str(said)).strip() if said else f"/{step['intent']}"
            turns.append(Turn(role="user", text=text))
        elif "bot" in step:
            turns.append(Turn(role="assistant", text=str(step["bot"])))
        elif "action" in step:
            turns.append(Turn(role="assistant", calls=({"name": str(step["action"])},)))
    return example_of(turns, example_id=str(story.get("story", "")), metadata=mapping(story.get("metadata")))


def _tracked(found: Mapping[str, Any]) -> Iterator[Example]:
    events = loaded(found["events"])
    turns = [turn for event in events if (turn := _turn_of(event)) is not None]
    known = filled(channel=found.get("latest_input_channel"))
    yield example_of(turns, example_id=identity(found, "sender_id"), metadata=known)


def _turn_of(event: Mapping[str, Any]) -> Turn | None:
    kind, started = event.get("event"), moment(event.get("timestamp"))
    if kind == "user":
        return Turn(role="user", text=str(event.get("text") or ""), started=started)
    if kind == "bot":
        return Turn(role="assistant", text=str(first(event, "text") or ""), started=started)
    name = str(event.get("name"))
    if kind == "action" and name not in _SILENT and not name.startswith("utter_"):
        return Turn(role="assistant", calls=({"name": name},), started=started)
    return None
