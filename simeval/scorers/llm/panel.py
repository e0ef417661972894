"""A panel: each judge is asked about a conversation so many times, all at once."""

import json
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import anyio

from simeval.core import seeds
from simeval.core.capture import first_leaf
from simeval.core.logs import warn_all
from simeval.core.serialization import plain
from simeval.errors import ModelError, NotMeasured
from simeval.models.caller import Caller
from simeval.models.protocol.transcripts import Excerpt

T = TypeVar("T")

TOO_LONG = "a conversation is too long for the judge"
LEAST_TOKENS = 20  # of each of the texts that a judge is shown


async def of_each_judge(
    judges: Sequence[Caller], repeats: int, seed: int, ask: Callable[[Caller, int, int], Awaitable[T]]
) -> list[T]:
    """Return the result of `ask` with (judge, repeat, seed) for each judge and repeat, in this order.

    The first that fails ends the others, and is raised: fewer ratings would be another criterion.
    """

    async def asked(judge: Caller, repeat: int, seed: int) -> T:
        try:
            return await ask(judge, repeat, seed)
        except ModelError as error:
            if error.kind == "content":
                error.problem += "; the conversation is too long for the judge: --judge-context N shows less of it"
            raise

    asks = [partial(asked, judge, repeat, repeat_seed(seed, repeat)) for judge in judges for repeat in range(repeats)]
    return [await asks[0]()] if len(asks) == 1 else await at_once(asks)


async def at_once(asks: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
    """Return the result of each of these calls, in their order; the models bound how many are made at once.

    The first that fails ends the others, and is raised.
    """
    found: dict[int, T] = {}

    async def one(place: int) -> None:
        found[place] = await asks[place]()

    try:
        async with anyio.create_task_group() as asking:
            for place in range(len(asks)):
                asking.start_soon(one, place)
    except ExceptionGroup as group:
        raise first_leaf(group) from group
    return [found[place] for place in range(len(asks))]


def require_readable(shown: Excerpt) -> None:
    """Raise NotMeasured where so little of a conversation is shown that it cannot be judged."""
    if shown.most < LEAST_TOKENS:
        raise NotMeasured("the conversation is too long for the judge; show it more with --judge-context N")


def told_left_out(shown: Excerpt, told: set[str]) -> str:
    """Describe the part of a conversation that was left out for a judge; the first time it is a warning, too."""
    if not told:
        told.add(TOO_LONG)
        warn_all(f"{TOO_LONG}: it was shown one without {shown}; --judge-context N shows more")
    return str(shown)


def facts_of(found: Any) -> str:
    """Return the facts as judges read them: a text as it is, other values of a column as JSON."""
    return found if isinstance(found, str) else json.dumps(plain(found), ensure_ascii=False) if found else ""


def repeat_seed(seed: int, repeat: int) -> int:
    """Return the seed of a trial's repeat: the first has the trial's own, so that repeats can be added to a run."""
    return seeds.derive(seed, "rating", repeat) if repeat else seed
