"""Scorers: named functions of a conversation or an example, with their arguments given by name.

A plain function becomes a scorer with `@scorer`; a class inherits `Scorer` and has a `score` method, sync or async.
`simeval.scorers.returned` reads the result of either: a number, a boolean, a text, or a (nested) dict of them.
"""

import inspect
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from types import MethodType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeVar, overload

import anyio
import anyio.to_thread

from simeval.core.capture import Caught, attempt
from simeval.core.conversation import (
    CONTEXT,
    RECORDED_ANSWER,
    Conversation,
    Exchange,
    Message,
    exchange_at,
    last_exchange,
)
from simeval.core.direction import (
    COUNT,
    UNBOUNDED,
    UNIT,
    Bounds,
    BoundsByPath,
    Direction,
    Directions,
    bounds_at,
    direction_at,
    require_bounds,
    require_directions,
)
from simeval.core.originals import ARGUMENTS
from simeval.core.trial import Estimate, Preparation, Scored
from simeval.core.validation import require, require_object, require_own_arguments
from simeval.core.waits import in_words
from simeval.errors import DefinitionError

if TYPE_CHECKING:
    from anyio import CapacityLimiter

    from simeval.models.caller import Caller

T = TypeVar("T")

LAST, EVERY = "response", "responses"  # the columns; a path leads into them, such as "response.metadata.sources"
REPLAYED = ("reference", "reference_tool_calls")  # columns of the earlier answer, in a replay
RESPONSE_PARTS = ("content", CONTEXT, "tool_calls", "metadata", "seconds")
_LEAVES = ("content", "seconds")  # of these, which nothing is below

COLUMNS = (
    *("output", "input", "first_input", "conversation", "context", "response", "responses"),
    *("title", "given", "when", "facts", "expected_behavior", "seed"),
)
UNMAPPED: Mapping[str, str] = {}
_WHOLE = ("conversation", "seed")  # columns that no path leads into; of a scenario these texts neither
_TEXTS = ("output", "input", "first_input", "title", "given", "when", "expected_behavior")
_OF_THE_TRIAL = ("output", "conversation", "response", "responses", "seed")

RunSync = Callable[[Callable[[], Any]], Awaitable[Any]]
Callers = Callable[[Any], "Caller"]  # the caller of a model by name, or object; None means the engine's judge


def conversation_columns(conversation: Conversation) -> dict[str, Any]:
    """Return the columns of a conversation: those of an answer only if there is one, `context` if it has one."""
    return _columns(conversation, last_exchange(conversation))


def turns_of(conversation: Conversation, *, closings: bool = False) -> Iterator[dict[str, Any]]:
    """Return for each of the app's answers its columns as if the conversation ended there.

    Without `closings` the answer to a mere goodbye is left out, unless there is no other.
    """
    places = [place for place, message in enumerate(conversation.messages) if message.is_response]
    found = [exchange_at(conversation, place) for place in places]
    asked = [each for each in found if not each.is_closing]
    for each in asked if any(each.asked for each in asked) and not closings else found:
        yield _columns(replace(conversation, messages=conversation.messages[: each.place + 1]), each)


def _columns(conversation: Conversation, exchange: Exchange | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "conversation": conversation,
        "output": "",
        "input": conversation.input if exchange is None else exchange.asked,
        "first_input": conversation.first_input,
        EVERY: [_parts(message) for message in conversation.responses],
    }
    if exchange is not None:
        found[LAST] = answer = _parts(conversation.messages[exchange.place])
        found["output"] = answer["content"]
        if CONTEXT in answer:
            found[CONTEXT] = answer[CONTEXT]
        found |= _recorded(conversation.messages[: exchange.place])
    return found


def _recorded(before: Sequence[Message]) -> Mapping[str, Any]:
    """Return the columns with the earlier answer to the user's last message, if this is a replay."""
    asked = next((message for message in reversed(before) if message.role == "user"), None)
    found: Mapping[str, Any] = {} if asked is None else asked.metadata.get(RECORDED_ANSWER, {})
    return found


def strange_part(path: str) -> bool:
    """Return whether a path leads into an answer, to a part that no answer has."""
    first, *rest = path.split(".")
    if first not in (LAST, EVERY) or not rest:
        return False
    return rest[0] not in RESPONSE_PARTS or (rest[0] in _LEAVES and len(rest) > 1)


def _parts(message: Message) -> Mapping[str, Any]:
    found = {
        "content": message.content,
        "tool_calls": list(message.tool_calls),
        "metadata": message.metadata,
        "seconds": message.seconds,
    }
    return {**found, CONTEXT: message.metadata[CONTEXT]} if CONTEXT in message.metadata else found


async def in_thread(call: Callable[[], T], limiter: "CapacityLimiter | None" = None) -> T:
    """Return the result of `call` in a worker thread; if cancelled, the thread is left behind.

    An error is raised here: where anyio raises it, its own frame would keep those of `call` until garbage is collected.
    """
    made = await anyio.to_thread.run_sync(partial(attempt, call), abandon_on_cancel=True, limiter=limiter)
    if isinstance(made, Caught):
        try:
            raise made.error
        finally:
            del made
    return made


class Scorer:
    """Something that measures. Subclasses define `score`; its parameters name the columns it wants.

    Fields that a subclass annotates, such as `model_id: str`, are given when it is made, by their names.

    Of any conversation, simulated, recorded or live, the columns are `output` (the app's last answer), `input` (the
    message that it answers), `first_input` (the user's first message), `conversation` (the whole record), `response`
    (that answer with its context, metadata and tool calls), `responses` (every answer so), `context` (of that answer,
    if the app gave one) and `seed`. An answer to a mere goodbye is not the last one. A simulated conversation has the
    scenario's `title`, `given`, `when`, `facts`, too, an example of a dataset its own. `column_map` names the column
    for a parameter with another name, {parameter: column}, also by a path with dots into one that holds a mapping, such
    as "output.answer", or a list of mappings, such as "responses.metadata.sources".
    """

    score: Callable[..., Any]  # must be safe in several threads at once, if it is a plain function
    default_score: ClassVar[str | None] = None  # the default path of an expectation
    paths: ClassVar[tuple[str, ...]] = ()  # all paths it ever gives, if known
    timeout_seconds: ClassVar[float | None] = 60.0  # None for a scorer that bounds its own calls
    gives_ratings: ClassVar[bool] = True  # whether its numbers may be ratings from 1 to 10, as a judge's are
    quick: ClassVar[bool] = False  # whether a plain `score` is so quick that it may run in the event loop
    summarized: ClassVar[tuple[str, ...] | None] = None  # the parameters that `summarize` reads; all without it
    column_map: Mapping[str, str] = UNMAPPED
    direction: Directions | None = None  # which way its values are better; None if unknown
    bounds: ClassVar[BoundsByPath | None] = None  # of its values; None if unknown

    def __new__(cls, *args: Any, **given: Any) -> Self:  # noqa: ARG004
        if given:
            own = _signature(cls.__init__)
            takes_fields = any(each.kind is each.VAR_KEYWORD for each in own)
            names = [*(each.name for each in own), *(_fields_of(cls) if takes_fields else ())]
            require_own_arguments(cls.__name__, given, names, ARGUMENTS)
        return super().__new__(cls)

    def __init__(self, *, column_map: Mapping[str, str] = UNMAPPED, **fields: Any) -> None:
        if column_map:
            self.column_map = column_map
        known, made = _fields_of(type(self)), type(self).__name__
        strange = [name for name in fields if name not in known]
        if strange:
            raise TypeError(f"{made}() got an unexpected keyword argument {strange[0]!r}")
        missing = [name for name in known if name not in fields and not hasattr(type(self), name)]
        if missing and type(self).__init__ is Scorer.__init__:  # a constructor of its own sets them itself
            raise TypeError(f"{made}() is missing {', '.join(map(repr, missing))}")
        for name, value in fields.items():
            setattr(self, name, value)

    @property
    def name(self) -> str:
        """The scorer's name in reports."""
        return type(self).__name__

    @property
    def function(self) -> Callable[..., Any]:
        """The function called to measure."""
        return self.score

    @property
    def calls(self) -> int:
        """How many calls to models one score takes, for the forecast of a run."""
        return 0

    def check(self, columns: Collection[str] = COLUMNS) -> None:
        """Raise DefinitionError without a score method, or if it requires an unknown column."""
        where = f"scorer {self.name}"
        if self.direction is not None:
            require_directions(self.direction, where)
        if self.bounds is not None:
            require_bounds(self.bounds, where)
        has_method = callable(getattr(self, "score", None))
        require(has_method, where, found="no score method", do="define score(self, output, ...)")
        there = f"the columns are {', '.join(dict.fromkeys(columns))}"
        mapped = self.column_map
        is_map = isinstance(mapped, Mapping) and all(isinstance(each, str) for pair in mapped.items() for each in pair)
        do = "give the column of each parameter that is called otherwise, such as {'output': 'answer'}"
        require(is_map, f"{where}: column_map", found=mapped, do=do)
        takes = _parameters(self.function)
        strange = [] if takes.takes_any else [name for name in mapped if name not in takes.named]
        require(not strange, where, found=f"column_map for {strange}", do="map parameters of its score method only")
        absent = [column for column in mapped.values() if column not in columns and column.split(".")[0] not in columns]
        require(not absent, where, found=f"column_map to {absent}", do=f"map to columns there are: {there}")
        strange = [column for column in mapped.values() if strange_part(column)]
        do = f"an answer has {', '.join(RESPONSE_PARTS)}"
        require(not strange, where, found=f"column_map to {strange}", do=do)
        whole = (*_WHOLE, *(_TEXTS if tuple(columns) == COLUMNS else ()))
        strange = [each for each in mapped.values() if each not in columns and each.split(".")[0] in whole]
        do = f"nothing is below {', '.join(whole)}; paths lead into response, responses, context and facts"
        require(not strange, where, found=f"column_map to {strange}", do=do)
        missing = [name for name in _parameters(self.function).required if name not in mapped and name not in columns]
        do = f"name its parameters after the columns there are, or give a column_map; {there}"
        if missing == ["reference"]:
            do = (
                "name the column of a table with the right answers (--output COLUMN, in Python outputs=[COLUMN]), "
                f"or use a scorer that needs none; {there}"
            )
        if missing == ["reference"] and tuple(columns) == COLUMNS:
            do = "a simulated conversation has none: use one that needs no reference, such as contains with texts"
        if missing:
            raise DefinitionError(where, found=f"no column for {missing}", do=do)

    def direction_of(self, path: str) -> Direction | None:
        """Return which way the value at a path is better: by this scorer's own setting, else by its class."""
        return direction_at(self.direction, path) or direction_at(type(self).direction, path)

    @property
    def summarizes(self) -> bool:
        """Return whether it summarises a whole dataset."""
        return type(self).summarize is not Scorer.summarize

    def bounds_of(self, path: str) -> Bounds | None:
        """Return the smallest and the largest possible value at a path; None if they are unknown."""
        return bounds_at(self.bounds, path)

    def bind(self, callers: Callers) -> "Scorer":  # noqa: ARG002
        """Return this scorer for use in a run: one that asks models gets the run's callers."""
        return self

    def summarize(self, scored: Sequence[Scored]) -> Mapping[str, Estimate]:  # noqa: ARG002
        """Return figures on all examples of a dataset together, besides the summary of each metric.

        A scorer of a whole dataset overrides this; `scored` has the dataset's order and includes failures. One with a
        parameter `alpha` gets the error on each side of the run's intervals.
        """
        return {}

    def summary(self, scored: Sequence[Scored], *, alpha: float) -> Mapping[str, Estimate]:
        """Return the result of `summarize`, with intervals of `alpha` on each side if it takes that."""
        summarize: Callable[..., Mapping[str, Estimate]] = self.summarize
        return summarize(scored, alpha=alpha) if "alpha" in _parameters(summarize).named else summarize(scored)

    async def prepare(self, columns: Mapping[str, Any]) -> Preparation | None:  # noqa: ARG002
        """Prepare once for a scenario, before its first trial begins.

        `columns` are the ones that every trial shares. A Preparation with a failure means that nothing can be measured:
        then no trial is paid for.
        """
        return None

    @property
    def is_at_once(self) -> bool:
        """Whether a score is made in the event loop without waiting for anything."""
        return self.quick and not inspect.iscoroutinefunction(self.function)

    async def measure(self, columns: Mapping[str, Any], *, run_sync: RunSync = in_thread) -> Any:
        """Call `score` with the columns it names and return its result.

        A plain function runs in a worker thread, by `run_sync`, unless the scorer is `quick`. Raises TimeoutError after
        `timeout_seconds`, if set.
        """
        call = partial(self.function, **self.arguments(columns))
        if self.is_at_once:
            return call()
        with nullcontext() if self.timeout_seconds is None else anyio.move_on_after(self.timeout_seconds):
            result = call() if inspect.iscoroutinefunction(self.function) else await run_sync(call)
            return await result if inspect.isawaitable(result) else result
        raise TimeoutError(f"no score within {in_words(self.timeout_seconds or 0)}")

    def arguments(self, columns: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments for `score`. Raises DefinitionError if a required column is missing."""
        takes, mapped = _parameters(self.function), self.column_map
        found = dict(columns) if takes.takes_any else {n: columns[n] for n in takes.named if n in columns}
        for name, column in mapped.items():
            found.pop(name, None)
            found.update((name, value) for value in _column(columns, column))
        missing = [name for name in takes.required if name not in found]
        if missing:
            raise self._no_column(missing, columns)
        return found

    @property
    def required_columns(self) -> list[str]:
        """The columns without which nothing can be measured."""
        return [self.column_map.get(name, name) for name in _parameters(self.function).required]

    def _no_column(self, missing: Sequence[str], columns: Mapping[str, Any]) -> DefinitionError:
        """Return the error for parameters that an answer or an example has no column for."""
        where, paths = f"scorer {self.name}", [self.column_map.get(name, name) for name in missing]
        if "context" in paths and "responses" in columns:
            do = "return AppResponse(text, context=[...]), give a column context, or map the parameter to where it is"
            return DefinitionError(where, found="the app gave no context with its answer", do=do)
        if any("." in path for path in paths):
            do = f"the app's last answer is {columns.get('response', {})!r:.200}"
            return DefinitionError(where, found=f"there is nothing at {paths}", do=do)
        return DefinitionError(where, found=f"no column for {missing}", do=f"the columns are {', '.join(columns)}")

    def chosen(self, columns: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments for `score` from a dataset's columns, by parameter name, as a `Scored` holds them."""
        wanted = self.summarized if self.summarized is not None else _parameters(self.function).named
        found = [(name, _column(columns, self.column_map.get(name, name))) for name in wanted]
        return {name: values[0] for name, values in found if values and name not in _OF_THE_TRIAL}


Scorer.__new__.__signature__ = inspect.signature(Scorer.__init__)  # type: ignore[attr-defined]  # what it is made with


@dataclass(kw_only=True, eq=False)
class ColumnScorer(Scorer):
    """The base of scorers with a name, a column map and a direction of their own, given when they are made.

    A `direction` replaces that of the class, for the paths that it names.
    """

    name: str = ""
    column_map: Mapping[str, str] = field(default_factory=dict)
    direction: Directions | None = None

    def __post_init__(self) -> None:
        self.name = self.name or type(self).__name__
        if self.direction is not None:
            require_directions(self.direction, f"scorer {self.name}")


class FunctionScorer(Scorer):
    """A scorer made of a plain function; it can still be called as the function."""

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        column_map: Mapping[str, str] = UNMAPPED,
        direction: Directions | None = None,
        bounds: BoundsByPath | None = None,
    ) -> None:
        if direction is not None:
            require_directions(direction, f"scorer {name}")
        if bounds is not None:
            require_bounds(bounds, f"scorer {name}")
        self._function, self._name, self.column_map, self.direction = function, name, column_map, direction
        self._bounds = bounds

    @property
    def name(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return f"<scorer {self._name}>"

    @property
    def function(self) -> Callable[..., Any]:
        return self._function

    def bounds_of(self, path: str) -> Bounds | None:
        return bounds_at(self._bounds, path)

    def score(self, **columns: Any) -> Any:
        """Call the function with those of the columns that it names."""
        takes = _parameters(self._function)
        return self._function(**{name: columns[name] for name in columns if takes.takes_any or name in takes.named})

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)


@overload
def scorer(
    function: Callable[..., Any],
    *,
    name: str | None = None,
    column_map: Mapping[str, str] = UNMAPPED,
    direction: Directions | None = None,
    bounds: BoundsByPath | None = None,
) -> FunctionScorer: ...
@overload
def scorer(
    function: None = None,
    *,
    name: str | None = None,
    column_map: Mapping[str, str] = UNMAPPED,
    direction: Directions | None = None,
    bounds: BoundsByPath | None = None,
) -> Callable[[Callable[..., Any]], FunctionScorer]: ...
def scorer(
    function: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    column_map: Mapping[str, str] = UNMAPPED,
    direction: Directions | None = None,
    bounds: BoundsByPath | None = None,
) -> FunctionScorer | Callable[[Callable[..., Any]], FunctionScorer]:
    """Make a scorer of a function; `name` replaces the function's own, `column_map` renames columns.

    `direction` is which way its values are better: "higher", "lower" or "none", or these by {path: direction}.
    Comparisons decide nothing by a value of unknown direction. `bounds` are the smallest and the largest that its
    values can be, or these by {path: bounds}; no interval reaches beyond them.
    """
    if function is None:
        return lambda inner: scorer(inner, name=name, column_map=column_map, direction=direction, bounds=bounds)
    do = "give a function that returns a number, a text, yes or no, or several by their names"
    require(callable(function), "scorer", found=function, do=do)
    called = name or str(getattr(function, "__name__", type(function).__name__))
    return FunctionScorer(function, called, column_map, direction, bounds)


def as_scorer(candidate: object, where: str = "Expectation.scorer") -> Scorer:
    """Take a Scorer as it is, and make one of a plain function; `where` names it in a DefinitionError."""
    if isinstance(candidate, Scorer):
        return candidate
    require_object(candidate, where)
    if callable(candidate):
        return scorer(candidate)
    do = "give a Scorer instance or a function"
    if isinstance(candidate, str):
        do = f"{do}, such as ValidJSON()"
        if not where.startswith("experiment"):  # an expectation may name one of the listed paths
            do += "; only suite files and expectations of experiments take names"
    raise DefinitionError(where, found=f"found {candidate!r}", do=do)


def _fields_of(made: type[Scorer]) -> tuple[str, ...]:
    """Return the annotated fields of a subclass of Scorer: the arguments of one without a constructor of its own."""
    classes = made.__mro__[: made.__mro__.index(Scorer)]
    annotated = ((name, kind) for each in classes[::-1] for name, kind in inspect.get_annotations(each).items())
    names = [name for name, kind in annotated if not name.startswith("_") and "ClassVar" not in str(kind)]
    return tuple(dict.fromkeys(name for name in names if not isinstance(getattr(Scorer, name, None), property)))


def _column(columns: Mapping[str, Any], name: str) -> list[Any]:
    """Return a list with the value of a column, or of a path with dots into one; empty if it has none."""
    if name in columns:
        return [columns[name]]
    found: Any = columns
    for part in name.split("."):
        if isinstance(found, list):  # of each that has it
            found = [each[part] for each in found if isinstance(each, Mapping) and part in each]
            if not found:
                return []
            continue
        if not isinstance(found, Mapping) or part not in found:
            return []
        found = found[part]
    return [found]


class _Parameters(NamedTuple):
    """The names of a function's parameters, those without a default, and whether it takes any other by its name."""

    named: Sequence[str]
    required: Sequence[str]
    takes_any: bool


def _parameters(function: Callable[..., Any]) -> _Parameters:
    """Return the parameters of a function; a method's are found once for all of its class's instances."""
    if isinstance(function, MethodType):
        return _parameters_after(1, function.__func__)
    return _parameters_after(0, function)


@lru_cache(maxsize=1024)
def _parameters_after(first: int, function: Callable[..., Any]) -> _Parameters:
    known = _signature(function)[first:]
    named = [each for each in known if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)]
    return _Parameters(
        named=[each.name for each in named],
        required=[each.name for each in named if each.default is each.empty],
        takes_any=any(each.kind is each.VAR_KEYWORD for each in known),
    )


@lru_cache(maxsize=1024)
def _signature(function: Callable[..., Any]) -> tuple[inspect.Parameter, ...]:
    return tuple(inspect.signature(function).parameters.values())


@dataclass(kw_only=True, eq=False)
class Gauge(ColumnScorer):
    """A scorer that gives one number of an `output`, under the name `default_score`, and its source, `model`."""

    gives_ratings = False
    bounds: ClassVar[tuple[float, float]]
    timeout_seconds: ClassVar[float | None] = 600.0  # the first text waits until a model is loaded

    @property
    def metric(self) -> str:
        """The name of the number."""
        return str(self.default_score)

    def bounds_of(self, path: str) -> Bounds | None:
        known = {"windows": COUNT, "spread": UNIT, "distribution": UNIT, "label_map": UNBOUNDED}
        return bounds_at({self.metric: self.bounds, **known}, path)
