"""What a scorer is: a named function of a conversation or an example, with its arguments given by name.

A plain function becomes a scorer with `@scorer`; a class inherits `Scorer` and has a `score` method, sync
or async. Either returns a number, a boolean, or a (nested) dict of them; texts and other values are kept as
details.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar, SupportsFloat, cast

import anyio
import anyio.to_thread

from simeval.errors import DefinitionError
from simeval.outcome import Score
from simeval.settings import require

COLUMNS = ("output", "input", "conversation", "title", "given", "when", "expected_behavior", "seed")


class Scorer:
    """Something that measures. Subclasses define `score`; its parameters name the columns it wants.

    On a simulated conversation the columns are `output` (the app's last message), `input` (the user's
    first), `conversation` (the whole record), and the scenario's `title`, `given`, `when`, `seed`.
    """

    score: Callable[..., Any]  # must be safe in several threads at once, where it is a plain function
    default_score: ClassVar[str | None] = None  # the path concluded on where the expectation names none
    paths: ClassVar[tuple[str, ...]] = ()  # all paths it ever gives, where that is known
    timeout_seconds: ClassVar[float | None] = 60.0  # None for a scorer that bounds its own calls
    quick: ClassVar[bool] = False  # whether a plain `score` is so quick that it may run in the event loop

    @property
    def name(self) -> str:
        """The scorer's name in reports."""
        return type(self).__name__

    @property
    def function(self) -> Callable[..., Any]:
        """What is called to measure."""
        return self.score

    def check(self) -> None:
        """Raise DefinitionError where there is no score method, or it requires what is no column."""
        require(
            callable(getattr(self, "score", None)),
            f"scorer {self.name}",
            found="no score method",
            do="define score(self, output, ...)",
        )
        missing = [name for name in _required(self.function) if name not in COLUMNS]
        require(
            not missing,
            f"scorer {self.name}",
            found=f"parameters {missing}",
            do=f"name its parameters after the columns there are: {', '.join(COLUMNS)}",
        )

    async def prepare(self, columns: Mapping[str, Any]) -> None:
        """Do once for a scenario what its scores will need; `columns` are those that every trial shares."""

    async def measure(self, columns: Mapping[str, Any]) -> Any:
        """Call `score` with the columns it names and give what it returned.

        A plain function runs in a worker thread, unless the scorer says it is `quick`. Raises TimeoutError
        after `timeout_seconds`, where it has them.
        """
        call = partial(self.function, **_selected(self.function, columns))
        with anyio.move_on_after(self.timeout_seconds):
            if self.quick or inspect.iscoroutinefunction(self.function):
                result = call()
            else:
                result = await anyio.to_thread.run_sync(call, abandon_on_cancel=True)
            return await result if inspect.isawaitable(result) else result
        raise TimeoutError(f"no score within {self.timeout_seconds} seconds")


class FunctionScorer(Scorer):
    """A scorer made of a plain function; it can still be called as the function."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self._function, self._name = function, name

    @property
    def name(self) -> str:
        return self._name

    @property
    def function(self) -> Callable[..., Any]:
        return self._function

    def score(self, **columns: Any) -> Any:
        """Call the function with those of the columns that it names."""
        return self._function(**_selected(self._function, columns))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)


def scorer(function: Callable[..., Any] | None = None, *, name: str | None = None) -> Any:
    """Make a scorer of a function; `name` replaces the function's own."""
    if function is None:
        return lambda inner: scorer(inner, name=name)
    return FunctionScorer(function, name or str(getattr(function, "__name__", type(function).__name__)))


def as_scorer(candidate: object) -> Scorer:
    """Take a Scorer as it is, and make one of a plain function."""
    if isinstance(candidate, Scorer):
        return candidate
    if callable(candidate) and not isinstance(candidate, type):
        return cast("FunctionScorer", scorer(candidate))
    raise DefinitionError("Expectation.scorer", found=f"found {candidate!r}", do="give a Scorer instance or a function")


def select(measured: object, path: str | None, *, name: str) -> Score:
    """Take one number out of what a scorer returned.

    `path` leads through nested dicts, with dots; without it the only number there is is taken. Raises
    DefinitionError where there is no number at that place.
    """
    if isinstance(measured, Score) and isinstance(measured.value, (bool, int, float)):
        return measured
    numbers = dict(_numbers(measured))
    details = measured if isinstance(measured, Mapping) else {}
    key = path if path is not None else (next(iter(numbers)) if len(numbers) == 1 else None)
    if key is None or key not in numbers:
        there = ", ".join(repr(k) for k in numbers if k) or "none"
        raise DefinitionError(
            f"scorer {name}",
            found=f"no number at {path!r} in what it returned ({there})" if numbers else f"it returned {measured!r}",
            do="set Expectation.score to the path of a number or boolean",
        )
    return Score(value=numbers[key], details=cast("Mapping[str, object]", details))


def _numbers(measured: object, path: str = "") -> list[tuple[str, float]]:
    if isinstance(measured, Mapping):
        return [
            pair for key, value in measured.items() for pair in _numbers(value, f"{path}.{key}" if path else str(key))
        ]
    if isinstance(measured, SupportsFloat) and not isinstance(measured, type) and getattr(measured, "shape", ()) == ():
        return [(path, float(cast("float", measured)))]
    return []


def _required(function: Callable[..., Any]) -> list[str]:
    return [
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
    ]


def _selected(function: Callable[..., Any], columns: Mapping[str, Any]) -> dict[str, Any]:
    parameters = inspect.signature(function).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return dict(columns)
    return {name: columns[name] for name in parameters if name in columns}
