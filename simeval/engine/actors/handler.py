"""The user's handler: a function, an object or a class that is the app, and how to call it by its signature.

    (message, state)    (messages, session_id)    (message, history, *, tools)    class Bot: __call__(self, message)

The first parameter gets the user's message, any other a value by its name. Of a class each conversation has an object
of its own.
"""

import inspect
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from time import perf_counter
from types import ModuleType
from typing import Any, Literal
from uuid import uuid4

import anyio
import anyio.to_thread

from simeval.core.capture import Caught, attempt, capture, defined_at
from simeval.core.conversation import FIRST_TEXT, AppResponse, ChatMessage
from simeval.core.network import Bound
from simeval.core.serialization import opened
from simeval.errors import DefinitionError, WorldError, said_of
from simeval.suites.apps.protocol_app import ProtocolApp
from simeval.suites.apps.remote_app import AppFailure
from simeval.suites.apps.streams import whole_of

WHO = "the handler"

_PLACED = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)

Tool = Callable[..., Any]
Tools = Mapping[str, Tool] | Sequence[Tool]

Role = Literal["message", "messages", "history", "session", "state", "tools"]

TOOLS = "tools"  # the parameter, given by name, of a handler that uses the tools of a trial's world
NO_TOOLS: Mapping[str, Tool] = {}

_ALL = ("messages", "msgs", "chatmessages", "allmessages")
_BEFORE = "history chathistory messagehistory conversationhistory dialoguehistory turns pastmessages previousmessages"
_IDS = "sessionid threadid conversationid chatid dialogid dialogueid conversationkey sessionkey session thread"
_STATES = "state sessionstate conversationstate chatstate appstate agentstate userstate memory"
_KNOWN: Mapping[str, Role] = {  # the role of a parameter beside the first, by its name without case and underscores
    **dict.fromkeys((*_ALL, *_BEFORE.split(), "transcript", "dialogue"), "history"),
    **dict.fromkeys((*_IDS.split(), "conversation"), "session"),
    **dict.fromkeys(_STATES.split(), "state"),
    TOOLS: "tools",
}
_EITHER = ("session", "thread", "conversation", "memory")  # the annotation is clearer than these names
_MESSAGE = (
    "message msg text input query question prompt utterance usermessage userinput usertext userquery userprompt content"
)
_OWN = "each conversation gets an object of its own"
_DO = "give a function of (message, state) or (messages, state), sync or async"


def named(handler: object) -> str:
    """Return the name of a handler, or of its generator, in errors, with its place."""
    place = defined_at(handler)
    return f"{WHO} ({place})" if place else WHO


@dataclass(slots=True)
class _Joined:
    """The chunks so far; an AppResponse adds the other data of the answer.

    Its text follows the others, unless it repeats them all, whatever the spaces: then it is the answer.
    """

    clock: float
    who: str
    texts: list[str] = field(default_factory=list)
    rest: AppResponse = field(default_factory=lambda: AppResponse(""))
    first: float | None = None
    bound: Bound = field(default_factory=Bound)

    def add(self, chunk: object) -> None:
        """Add a chunk. Raises AppFailure if it is neither a text nor an AppResponse, and AnswerTooLarge."""
        if isinstance(chunk, AppResponse):
            self.rest, chunk = chunk, chunk.response
            if isinstance(chunk, str) and "".join(chunk.split()) == "".join("".join(self.texts).split()):
                self.texts.clear()
        if not isinstance(chunk, str):
            raise AppFailure(f"{self.who} yielded {type(chunk).__name__}; it must yield texts, or an AppResponse")
        if chunk and self.first is None:
            self.first = perf_counter() - self.clock
        self.texts.append(self.bound.passed_text(chunk))

    def response(self) -> AppResponse:
        """Return the whole answer."""
        timed = {} if self.first is None else {FIRST_TEXT: self.first}
        return replace(self.rest, response=whole_of(self.texts), metadata={**self.rest.metadata, **timed})


async def joined(chunks: AsyncGenerator[Any, Any]) -> AppResponse:
    """Return the answer that an async generator yields, and close it whatever happens."""
    found = _Joined(perf_counter(), named(chunks))
    async with aclosing(chunks) as closing:
        async for chunk in closing:
            found.add(chunk)
    return found.response()


def joined_in_thread(chunks: Iterator[Any]) -> AppResponse:
    """Return the answer that a generator yields."""
    found = _Joined(perf_counter(), named(chunks))
    for chunk in chunks:
        found.add(chunk)
    return found.response()


@dataclass(slots=True)
class Toolbox:
    """Tools by their names, and the calls that were made of them since they were last asked for.

    A call is noted when it begins, with its result or its error when there is one.
    """

    tools: Mapping[str, Tool] = field(default_factory=dict)
    _made: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, given: Tools | None, *, whose: str) -> "Toolbox":
        """Return the toolbox of functions, by name or in a list. Raises WorldError for anything else."""
        named = given if isinstance(given, Mapping) else {getattr(each, "__name__", ""): each for each in given or ()}
        if not all(isinstance(name, str) and name and callable(each) for name, each in named.items()):
            raise WorldError(f"has {whose} that are no functions by their names, nor a list of them: {given!r:.120}")
        made: list[dict[str, Any]] = []
        return cls({name: _noting(name, each, made) for name, each in named.items()}, made)

    def taken(self, reported: Sequence[Mapping[str, Any]] = ()) -> tuple[Mapping[str, Any], ...]:
        """Return the calls since the last time, and the `reported` calls of tools that are not here.

        The app's own report on a tool in here is left out: its calls are known.
        """
        made, self._made[:] = [*self._made], []
        others = [call for call in reported if _name(call) not in self.tools]
        return (*made, *others)


def _name(call: Mapping[str, Any]) -> Any:
    inner = call.get("function")
    named = inner if isinstance(inner, Mapping) else call
    return named.get("name") or named.get("tool") or named.get("function")


def _noting(name: str, tool: Tool, made: list[dict[str, Any]]) -> Tool:
    """Return a tool that records its calls; it is async if it was."""

    def begun(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        entry = {"name": name, "arguments": opened(_arguments(tool, args, kwargs)), "error": "it did not end"}
        made.append(entry)
        return entry

    @wraps(tool)
    async def call(*args: Any, **kwargs: Any) -> Any:
        entry = begun(args, kwargs)
        return _ended(entry, await capture(partial(tool, *args, **kwargs)))

    @wraps(tool)
    def call_at_once(*args: Any, **kwargs: Any) -> Any:
        entry = begun(args, kwargs)
        came = attempt(partial(tool, *args, **kwargs))
        return _awaited(entry, came) if inspect.isawaitable(came) else _ended(entry, came)

    return call if inspect.iscoroutinefunction(tool) else call_at_once


async def _awaited(entry: dict[str, Any], answer: Awaitable[Any]) -> Any:
    return _ended(entry, await capture(lambda: answer))


def _ended(entry: dict[str, Any], came: Any) -> Any:
    """Record the result of a call, and return it. Raises the tool's own error."""
    if isinstance(came, Caught):
        entry["error"] = said_of(came.error)
        raise came.error
    del entry["error"]
    entry["result"] = opened(came)
    return came


def _arguments(tool: Tool, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return arguments by the names of parameters; those that do not fit, by their places."""
    names = [each.name for each in inspect.signature(tool).parameters.values() if each.kind in _PLACED]
    return {**{(names[at] if at < len(names) else str(at)): each for at, each in enumerate(args)}, **kwargs}


@dataclass(frozen=True, slots=True)
class ObjectMaker:
    """A class, or a partial of one, with an object for each conversation; the object is called, or its `method`."""

    make: Callable[[], Any]
    method: str = ""

    @property
    def of_class(self) -> type:
        """The class of the objects."""
        found: Any = self.make.func if isinstance(self.make, partial) else self.make
        return found  # type: ignore[no-any-return]

    @property
    def called(self) -> Callable[..., Any]:
        """Return the callable, as its class has it: its first parameter is the object."""
        return getattr(self.of_class, self.method or "__call__")  # type: ignore[no-any-return]

    @property
    def signature(self) -> inspect.Signature:
        """How it is called."""
        return inspect.Signature(list(inspect.signature(self.called).parameters.values())[1:])

    def called_of(self, made: Any) -> Callable[..., Any]:
        """Return the callable of an object."""
        return getattr(made, self.method) if self.method else made  # type: ignore[no-any-return]

    @classmethod
    def of(cls, function: object) -> "ObjectMaker | None":
        """Return one for a class, a partial of one, or a method that was taken from its class; None for all else.

        Raises DefinitionError for a class whose objects cannot answer, or cannot be made without arguments.
        """
        maker: ObjectMaker | None = None
        if isinstance(function, type) or (isinstance(function, partial) and isinstance(function.func, type)):
            maker = cls(function)
        elif inspect.isfunction(function) and next(iter(inspect.signature(function).parameters), "") == "self":
            name, _, method = function.__qualname__.rpartition(".")
            found: Any = inspect.getmodule(function)
            for part in name.split("."):
                found = getattr(found, part, None)
            if not isinstance(found, type):
                do = f"give the class itself, whose objects are then called; {_OWN}"
                raise DefinitionError("app handler", found=f"found the method {method} of a class", do=do)
            maker = cls(found, method)
        if maker is not None:
            maker.require_makeable()
        return maker

    def require_makeable(self) -> None:
        """Raise DefinitionError for a class whose objects cannot answer, or cannot be made without arguments."""
        name = self.of_class.__name__
        found = f"found the class {name}"
        if self.of_class.__module__.startswith("simeval."):
            do = f"make an object of it, such as app = {name}(), and give that"
            raise DefinitionError("app handler", found=found, do=do)
        if not self.method and not any("__call__" in vars(base) for base in self.of_class.__mro__):
            do = f"give the method of it that answers, such as {name}.reply; {_OWN}"
            raise DefinitionError("app handler", found=f"{found}, whose objects cannot be called", do=do)
        needed = [
            each.name
            for each in inspect.signature(self.make).parameters.values()
            if each.default is each.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
        ]
        if needed:
            named = f"name {self.method} __call__ and give" if self.method else "give"
            do = f"{named} functools.partial({name}, {needed[0]}=...); {_OWN}"
            raise DefinitionError("app handler", found=f"{found}, which needs {', '.join(needed)}", do=do)


@dataclass(frozen=True, slots=True)
class Handler:
    """The user's callable and how it is called: async or in a thread, with one message or all of them.

    `places` are its arguments by place, `names` the ones by name. One that is a generator, async or not, streams: it
    yields texts, which are joined. The tools are those of the trial's world; none without a world. A `maker` makes the
    callable of an object for each conversation. Code that `is_foreign` gets a task of its own, and code that
    `may_block` is watched. `leave`, if given, gets the last state when a conversation is over.
    """

    function: Callable[..., Any]
    is_async: bool
    places: tuple[Role, ...]
    names: Mapping[str, Role] = field(default_factory=dict)
    maker: ObjectMaker | None = None
    is_foreign: bool = True
    may_block: bool = True
    leave: Callable[[Any], Awaitable[None]] | None = None

    @property
    def named(self) -> str:
        """Its name in errors, with its place."""
        return named(self.function)

    @property
    def takes_history(self) -> bool:
        """Whether it gets all messages."""
        return "messages" in self.places or "history" in (*self.places, *self.names.values())

    @property
    def takes_parts(self) -> bool:
        """Whether it gets all parts of a message, also those that are no text, such as images."""
        function = self.function
        if isinstance(function, ProtocolApp):
            return bool(getattr(function, "takes_parts", False))
        return "messages" in self.places

    @property
    def hides(self) -> bool:
        """Whether its memory of a conversation, if any, cannot be seen."""
        given = (*self.places, *self.names.values())
        return self.maker is not None or "session" in given or not (self.takes_history or "state" in given)

    @classmethod
    def of(cls, function: object) -> "Handler":
        """Read the signature. Raises DefinitionError if it cannot be an app handler."""
        if isinstance(function, ModuleType):
            do = f"give a function of it, such as {function.__name__}.handle"
            raise DefinitionError("app handler", found=f"found the module {function.__name__}", do=do)
        if not callable(function):
            raise DefinitionError("app handler", found=f"found {function!r}", do=_DO)
        if (maker := ObjectMaker.of(function)) is not None:
            return cls(maker.called, _is_async(maker.called), *_read(maker.signature, ()), maker)
        bound = function.keywords if isinstance(function, partial) else ()
        read = cls(function, _is_async(function), *_read(inspect.signature(function), bound))
        if not isinstance(function, ProtocolApp):
            return read
        return replace(
            read,
            leave=function.leave,
            is_foreign=function.is_foreign,
            may_block=False,
        )


@dataclass(slots=True)
class HeldHandler:
    """A handler in one conversation, which has an id and, if the handler makes one, an object of its own."""

    handler: Handler
    made: Any = None
    _session: str = ""

    @property
    def session(self) -> str:
        """The id of the conversation, which no other has, nor any of another run."""
        self._session = self._session or uuid4().hex
        return self._session

    def call(self, history: Sequence[ChatMessage], state: Any, tools: Mapping[str, Tool]) -> Any:
        """Call the handler at a turn; `history` ends with the user's message."""
        handler = self.handler

        def given(role: Role) -> Any:
            if role == "message":
                return history[-1]["content"]
            if role == "state":
                return state
            if role in ("messages", "history"):
                return [{**each} for each in (history if role == "messages" else history[:-1])]
            return self.session if role == "session" else tools

        function = handler.function
        if handler.maker is not None:
            self.made = self.made or handler.maker.make()
            function = handler.maker.called_of(self.made)
        by_name = {name: given(role) for name, role in handler.names.items()} if handler.names else {}
        return function(*map(given, handler.places), **by_name)

    def closing(self, state: Any) -> Callable[[], Awaitable[None]] | None:
        """Return a function that closes this conversation's resources, after its end; None if it has none.

        That is the conversation's object, if it has `aclose` or `close`, and each AsyncExitStack in the state.
        """
        kept = state.values() if isinstance(state, dict) else (state,)
        stacks = [each for each in kept if isinstance(each, AsyncExitStack)]
        close = None if self.made is None else getattr(self.made, "aclose", None) or getattr(self.made, "close", None)
        return partial(self._close, close, stacks) if close or stacks else None

    async def _close(self, close: Callable[[], Any] | None, stacks: Sequence[AsyncExitStack]) -> None:
        if close is not None:
            returned = close() if self.handler.is_async else await anyio.to_thread.run_sync(close)
            if inspect.isawaitable(returned):
                await returned
        for stack in reversed(stacks):
            await stack.aclose()


def is_async(function: Callable[..., Any]) -> bool:
    """Return whether a function, a partial of one, or an object that can be called gives a coroutine."""
    unwrapped = function.func if isinstance(function, partial) else function
    called = unwrapped if inspect.isroutine(unwrapped) else type(unwrapped).__call__
    return inspect.iscoroutinefunction(called)


def _is_async(function: Callable[..., Any]) -> bool:
    return is_async(function) or inspect.isasyncgenfunction(function)


def _read(signature: inspect.Signature, bound: Iterable[str]) -> tuple[tuple[Role, ...], Mapping[str, Role]]:
    """Return the arguments of a signature by place and name, without the `bound` ones. Raises DefinitionError."""
    parameters = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
    by_place = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    any_number = any(each.kind is each.VAR_POSITIONAL for each in parameters)
    if not by_place and not any_number:
        raise DefinitionError("app handler", found=f"found the signature {signature}", do=_DO)
    _refuse_misplaced([each.name for each in by_place], signature)
    places: list[Role] = [_first_role(by_place[0].name, signature) if by_place else "message"]
    names: dict[str, Role] = {}
    skipped = False
    for each in (*by_place[1:], *(one for one in parameters if one.kind is one.KEYWORD_ONLY)):
        role = None if each.name in bound else _role(each)
        if role is None:
            if each.default is each.empty:
                raise _unknown(each.name, signature)
            skipped = True
        elif skipped or each.kind is each.KEYWORD_ONLY:
            if each.kind is not each.POSITIONAL_ONLY:
                names[each.name] = role
        else:
            places.append(role)
    if any_number and len(places) == 1 and not names:
        places.append("state")
    return tuple(places), names


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def _role(parameter: inspect.Parameter) -> Role | None:
    """Return the role of a parameter beside the first; None if its name is unknown."""
    name = _plain(parameter.name)
    if name in _EITHER:
        written = getattr(parameter.annotation, "__name__", None) or str(parameter.annotation)
        if re.match(r"(typing\.)?(list|sequence|iterable)\b", written, re.IGNORECASE):
            return "history"
        if re.match(r"(typing\.)?(dict|\w*mapping)\b", written, re.IGNORECASE):
            return "state"
        if name == "conversation" and written != "str":
            return None  # an id to some, all messages to others
    return _KNOWN.get(name) or ("state" if parameter.name.startswith("_") else None)


def _first_role(name: str, signature: inspect.Signature) -> Role:
    """Return the role of the first parameter. Raises DefinitionError for a name that means something else."""
    if _plain(name) in _ALL:
        return "messages"
    if _plain(name) in _KNOWN:
        do = "name the first message (what the user says now) or messages (all that was said, with that at the end)"
        raise DefinitionError("app handler", found=f"found the signature {signature}", do=do)
    return "message"


def _refuse_misplaced(names: Sequence[str], signature: inspect.Signature) -> None:
    """Raise DefinitionError if the message is not first, or tools are taken by their place."""
    if TOOLS in names:
        do = f"take tools by their name, behind a star: ({names[0]}, *, {TOOLS})"
        raise DefinitionError("app handler", found=f"found the signature {signature}", do=do)
    later = next((name for name in names[1:] if _plain(name) in _MESSAGE.split()), None)
    is_first = names[:1] and (_plain(names[0]) in _MESSAGE.split() or _plain(names[0]) in _ALL)
    if not is_first and len(names) > 1 and (later or _plain(names[0]) in _KNOWN):
        first = later or next((name for name in names[1:] if _plain(name) in _ALL), "message")
        known = (_plain(names[0]) in _KNOWN and names[0]) or "state"
        do = f"put the message first: ({first}, {known})"
        raise DefinitionError("app handler", found=f"found the signature {signature}", do=do)


def _unknown(name: str, signature: inspect.Signature) -> DefinitionError:
    found = f"found the signature {signature}, in which {name} is no known name"
    do = (
        "name it state (your own, from turn to turn), history (what was said before), session_id (an id of the "
        "conversation) or, behind a star, tools; or give it a default"
    )
    return DefinitionError("app handler", found=found, do=do)
