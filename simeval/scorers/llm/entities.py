"""Named entities: a model lists those of a text; names that differ only in case, width or spacing are one."""

import unicodedata
from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from simeval.core.capture import first_leaf
from simeval.scorers.llm.base import ModelScorer
from simeval.scorers.llm.replies import Entities

ENTITY_SYSTEM = """You list the entities that a text names: persons, organisations, places, products, works, events,
dates and amounts. List each as it stands in the text, and nothing that the text does not name.
Answer with a JSON object: {"entities": [text, ...]}, an empty list if it names none."""
ENTITY_USER = "The text:\n{text}"


async def entities_of(scorer: ModelScorer, text: str, *, system: str, user: str, seed: int) -> list[str]:
    """Return the entities of a text, normalised, each once, in order. Raises ModelError."""
    reply = await scorer.ask(Entities, system=system, user=user, seed=seed, quoted_texts=[text], text=text)
    return [name for name in dict.fromkeys(normalised(entity) for entity in reply.entities) if name]


def normalised(entity: str) -> str:
    """Return an entity in lower case, in one width, and with single spaces."""
    return " ".join(unicodedata.normalize("NFKC", entity).casefold().split())


async def both(first: Callable[[], Awaitable[Any]], second: Callable[[], Awaitable[Any]]) -> tuple[Any, Any]:
    """Do two things at once and return both results. Raises the error of the first to fail, and ends the other."""
    found: dict[int, Any] = {}

    async def do(place: int, work: Callable[[], Awaitable[Any]]) -> None:
        found[place] = await work()

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(do, 0, first)
            tasks.start_soon(do, 1, second)
    except ExceptionGroup as group:
        raise first_leaf(group) from group
    return found[0], found[1]
