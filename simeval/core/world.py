"""The world of a trial: the things its app and user act on, and its state at the end of their conversation."""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from collections.abc import Set as AnySet
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, fields, is_dataclass
from functools import partial
from typing import Any, Protocol, runtime_checkable

from simeval.core.serialization import is_listed, not_json, opened, plain


@runtime_checkable
class World(Protocol):
    """The interface of a trial's world.

    It may have `tools`, for the app, and `user_tools`, for the simulated user: functions by their names, or a list of
    them.
    """

    def state(self) -> Mapping[str, Any] | Awaitable[Mapping[str, Any]]:
        """Return its present state, in the form JSON has; Unmeasured for a part that could not be read.

        One with a parameter `session` gets the app's name of the conversation, or None.
        """


WorldMaker = Callable[..., AbstractAsyncContextManager[Any]]
"""Makes the world of one trial, and of no other; it may take the trial's `seed`, its number `trial`, and `session`."""
OF_THE_TRIAL = ("seed", "trial", "session")


@dataclass(frozen=True, slots=True)
class Unmeasured:
    """A part of a world's state that could not be looked at, and why: it asserts nothing."""

    reason: str


@dataclass(frozen=True, slots=True)
class NamedWorld:
    """A world as a suite file names it: the class, and its arguments."""

    name: str
    kind: WorldMaker
    arguments: Mapping[str, Any]

    def __call__(self, **of_the_trial: Any) -> AbstractAsyncContextManager[Any]:
        return self.kind(**self.arguments, **of_the_trial)

    @property
    def secrets(self) -> Sequence[object]:
        """The values in its arguments that nobody is to see, if its class can find them."""
        found = getattr(self.kind, "secrets_among", None)
        return found(self.arguments) if found else ()


def made_world(
    maker: WorldMaker, *, seed: int, trial: int = 0, session: str | None = None
) -> AbstractAsyncContextManager[Any]:
    """Make the world of a trial, with its seed, its number and the session of the app, if its maker takes them.

    The session is None if the app names it later, or has none.
    """
    takes = inspect.signature(maker.kind if isinstance(maker, NamedWorld) else maker).parameters
    given = maker.arguments if isinstance(maker, NamedWorld) else {}
    of_the_trial = {"seed": seed, "trial": trial, "session": session}
    return maker(**{name: value for name, value in of_the_trial.items() if name in takes and name not in given})


def state_of(world: World, session: str | None) -> Any:
    """Return the result of a world's state(), to be awaited or not, with the session of the app if it takes it."""
    state: Callable[..., Any] = world.state
    return state(session=session) if "session" in inspect.signature(state).parameters else state()


def name_of_world(maker: WorldMaker) -> str:
    """Return the name of a world, with its arguments, so that another one has another name."""
    if not isinstance(maker, NamedWorld):
        return str(getattr(maker, "__qualname__", type(maker).__qualname__))
    arguments = ", ".join(f"{name}={value!r}" for name, value in sorted(maker.arguments.items()))
    return f"{maker.name}({arguments})" if arguments else maker.name


def tools_by_name(world: object) -> Mapping[str, Any]:
    """Return the tools that a world has for the app, by their names."""
    given = getattr(world, "tools", None) or {}
    return given if isinstance(given, Mapping) else {getattr(each, "__name__", ""): each for each in given}


@dataclass(frozen=True, slots=True)
class OtherTools:
    """A world with other tools for the app, and with `more` in its state."""

    world: Any
    tools: Mapping[str, Any]
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def user_tools(self) -> Any:
        """The user's tools, as they are."""
        return getattr(self.world, "user_tools", None)

    async def state(self, session: str | None = None) -> Any:
        """Return the state of the world, and what is in it beside."""
        found = state_of(self.world, session)
        found = await found if inspect.isawaitable(found) else found
        return {**self.more, **found} if isinstance(found, Mapping) else found


def world_record(state: object) -> dict[str, Any]:
    """Return a state as a conversation keeps it: the state itself, and by path why parts of it are not known."""
    unmeasured: dict[str, str] = {}
    if isinstance(state, Unmeasured):
        unmeasured[""] = state.reason
    elif not isinstance(state, Mapping):
        unmeasured[""] = f"state() returned {type(state).__name__}; it must return a mapping"
    kept = _known(state, "", unmeasured) if isinstance(state, Mapping) else {}
    return {"state": plain(opened(kept)), "unmeasured": unmeasured}


def _known(found: Any, path: str, unmeasured: dict[str, str]) -> Any:
    if isinstance(found, Unmeasured):
        unmeasured[path] = found.reason
        return None
    below = partial(_known, unmeasured=unmeasured)
    if is_listed(found) or isinstance(found, AnySet):
        listed = found if is_listed(found) else sorted(found, key=repr)
        return [below(each, _under(path, place)) for place, each in enumerate(listed)]
    named = _named(found)
    if named is not None:
        return {name: below(each, _under(path, name)) for name, each in named.items()}
    if strange := not_json(opened(found)):
        unmeasured[path] = f"state() gives an object that is no JSON ({strange}); give its values"
        return None
    return found


def _under(path: str, name: object) -> str:
    return f"{path}.{name}" if path else str(name)


def _named(found: Any) -> Mapping[Any, Any] | None:
    """Return the named contents of a value; None if it has none."""
    if isinstance(found, Mapping):
        return found
    if is_dataclass(found) and not isinstance(found, type):
        return {each.name: getattr(found, each.name) for each in fields(found)}
    named = getattr(type(found), "model_fields", None)  # of a pydantic model
    return {name: getattr(found, name) for name in named} if isinstance(named, Mapping) else None
