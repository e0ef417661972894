"""A trial's world while it is open: it is made for one trial, gives its tools, is looked at, and is closed.

made ──► opened ──► tools of app and user ──► conversation ──► state ──► closed
"""

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from inspect import isawaitable, signature
from math import inf
from typing import Any

import anyio

from simeval.core.capture import Caught, capture, place_of, said_of
from simeval.core.conversation import WORLD, Conversation
from simeval.core.logs import log
from simeval.core.waits import in_words
from simeval.core.world import World, WorldMaker, made_world, state_of, world_record
from simeval.engine.actors.toolbox import Toolbox
from simeval.engine.users.hands import Hands
from simeval.errors import WorldError


@dataclass(frozen=True, slots=True)
class OpenWorld:
    """The world of one trial; reading its state may take so many seconds.

    `session` gives the app's present name of the conversation.
    """

    world: World
    toolbox: Toolbox
    users: Toolbox
    seconds: float
    session: Callable[[], str | None] = lambda: None

    def hands(self) -> Hands:
        """Return the hands of the trial's user, with its tools."""
        return Hands(self.users.tools, self.users.taken)

    async def seen(self, conversation: Conversation) -> Conversation:
        """Return a conversation with the present state of the world; a part that cannot be read has its reason."""
        if not conversation.messages:
            return conversation
        began = anyio.current_time()
        with anyio.move_on_after(self.seconds) as limit:
            found = await capture(self._state)
        is_late = limit.cancelled_caught or anyio.current_time() - began > self.seconds  # plain functions too
        record = world_record({} if is_late or isinstance(found, Caught) else found)
        if is_late:
            record["unmeasured"] = {"": f"no state within {in_words(self.seconds)}"}
        elif isinstance(found, Caught):
            record["unmeasured"] = {"": _said(found.error)}
        *earlier, last = conversation.messages
        return replace(conversation, messages=(*earlier, replace(last, metadata={**last.metadata, WORLD: record})))

    async def _state(self) -> Any:
        found = state_of(self.world, self.session())
        return await found if isawaitable(found) else found


@asynccontextmanager
async def open_world(
    maker: WorldMaker, *, seed: int, seconds: float, trial: int = 0, session: Callable[[], str | None] = lambda: None
) -> AsyncIterator[OpenWorld]:
    """Open the world of a trial, and close it; either may take so many seconds. `session` is as of OpenWorld.

    Raises WorldError if it cannot be opened. A failure to close it costs no trial.
    """
    opened = False
    with anyio.CancelScope(deadline=anyio.current_time() + seconds) as life:  # left in the task that entered it
        manager, world = await _entered(partial(made_world, maker, seed=seed, trial=trial, session=session()))
        try:
            opened, life.deadline = True, inf
            yield replace(world_of(world, seconds), session=session)
        finally:
            life.shield, life.deadline = True, anyio.current_time() + seconds
            left = await capture(partial(manager.__aexit__, *sys.exc_info()))
            if isinstance(left, Caught):
                log.warning("a world could not be closed", error=_said(left.error))
    if life.cancelled_caught and not opened:
        raise WorldError(f"was not open within {in_words(seconds)}")
    if life.cancelled_caught:
        log.warning("a world could not be closed", error=f"it took more than {in_words(seconds)}")


async def _entered(make: Callable[[], Any]) -> tuple[Any, Any]:
    async def entered() -> tuple[Any, Any]:
        manager = make()
        if not isinstance(manager, AbstractAsyncContextManager):
            raise WorldError(f"is no async context manager: its maker returned {manager!r:.80}")
        return manager, await manager.__aenter__()

    made = await capture(entered)
    if isinstance(made, Caught) and isinstance(made.error, WorldError):
        raise made.error
    if isinstance(made, Caught):
        raise WorldError(f"could not be opened: {_said(made.error)}") from made.error
    return made


def world_of(world: Any, seconds: float) -> OpenWorld:
    """Return the parts of a world. Raises WorldError for anything but a world."""
    if not isinstance(world, World):
        raise WorldError(f"has no method state(): entering it gave {world!r:.80}")
    app, users = (Toolbox.of(getattr(world, name, None), whose=name) for name in ("tools", "user_tools"))
    for name, tool in users.tools.items():
        try:
            signature(tool).bind()
        except TypeError as error:
            raise WorldError(f"has the tool {name} for its user, who calls it without arguments: {error}") from error
    return OpenWorld(world, app, users, seconds)


def _said(error: Exception) -> str:
    return said_of(error) + place_of(error)
