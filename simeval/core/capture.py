"""The one place where an arbitrary exception becomes a value, so that one failing item costs no other."""

import os
from asyncio import CancelledError, current_task
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from inspect import isasyncgen, isgenerator
from pathlib import Path
from traceback import extract_tb
from types import CodeType
from typing import Any, TypeVar

from simeval.errors import AppUnusable, DatasetChanged, ModelUnusable, NoWorkers, RunStopped, StoreError, said_of

OWN, INSTALLED, OURS, STANDARD = range(4)  # whose code a frame runs; the first there is is named
_SIMEVAL = Path(__file__).parents[1]
_LIBRARY = Path(os.__file__).parent

T = TypeVar("T")

STOPS_THE_RUN = (AppUnusable, ModelUnusable, RunStopped, StoreError, DatasetChanged, NoWorkers)


def defined_at(function: object) -> str:
    """Return where a function of the user's own is, as "file, line 3"; empty if unknown.

    For a generator, it is the place of its function.
    """
    found: Any = function.func if isinstance(function, partial) else function
    code: Any
    if isasyncgen(found):
        code = found.ag_code
    elif isgenerator(found):
        code = found.gi_code
    else:
        called = found if hasattr(found, "__code__") else getattr(found, "__func__", type(found).__call__)
        code = getattr(called, "__code__", None)
    if not isinstance(code, CodeType) or rank_of(code.co_filename) != OWN:
        return ""
    return f"{Path(code.co_filename).name}, line {code.co_firstlineno}"


@lru_cache(maxsize=10_000)
def rank_of(file: str) -> int:
    """Return whose code is in a file: the user's own, an installed package's, simeval's, Python's."""
    path = Path(file)
    if path.is_relative_to(_SIMEVAL):
        return OURS
    if {"site-packages", "dist-packages"}.intersection(path.parts):
        return INSTALLED
    return STANDARD if path.is_relative_to(_LIBRARY) or path.name.startswith("<frozen") else OWN


@dataclass(frozen=True, slots=True)
class Caught:
    """An exception that was raised by one item's work."""

    error: Exception


async def capture(work: Callable[[], Awaitable[T]]) -> T | Caught:
    """Do `work` and return its result, or the exception it raised.

    Cancellation passes through, and so do the errors that end a whole run. Of an exception group the first leaf is
    given, with the group as its cause.
    """
    try:
        return await work()
    except STOPS_THE_RUN:
        raise
    except Exception as error:
        return _caught(error)


def _caught(error: Exception) -> Caught:
    """Return an error as `capture` does; from a frame without it in its traceback, so that nothing holds the two."""
    leaf = first_leaf(error)
    if isinstance(leaf, STOPS_THE_RUN):
        raise leaf from error
    return Caught(leaf)


def attempt(work: Callable[[], T]) -> T | Caught:
    """Do `work` in a thread that serves many, and return its result, or its exception for the caller."""
    try:
        return work()
    except Exception as error:
        return Caught(error)


def attempt_all(work: Callable[[], T]) -> T | Caught:
    """Do `work` as `attempt` does, in a thread that must outlive it: a BaseException becomes a RuntimeError.

    For threads of our own only: elsewhere it would swallow the end of the program.
    """
    try:
        return attempt(work)
    except BaseException as error:  # such as a panic of Rust; SystemExit would end no process from a thread
        failed = RuntimeError(said_of(error))
        failed.__cause__ = error
        return Caught(failed)


def is_interrupt(error: BaseException) -> bool:
    """Return whether an error is a KeyboardInterrupt, or holds one."""
    if isinstance(error, BaseExceptionGroup):
        return error.subgroup(KeyboardInterrupt) is not None
    return isinstance(error, KeyboardInterrupt)


def interrupt_of(error: BaseException) -> KeyboardInterrupt:
    """Return the interrupt that an error is or holds: event loops and the command line know it by itself alone."""
    return error if isinstance(error, KeyboardInterrupt) else KeyboardInterrupt()


class LeftError(RuntimeError):
    """Code of the user's raised an exception that ends a task or a process, and is no error."""

    def __init__(self, who: str, cause: BaseException) -> None:
        super().__init__(f"{who} raised {type(cause).__name__}({cause})")


async def guarded(answer: Awaitable[T], who: str) -> T:
    """Await the answer of the user's code.

    Raises LeftError for an exception that would end our own task, unless the task is cancelled.
    """
    try:
        return await answer
    except Exception:
        raise
    except (CancelledError, BaseExceptionGroup) as error:
        task = current_task()
        if is_interrupt(error):
            raise interrupt_of(error) from error
        if task is None or task.cancelling():
            raise
        raise LeftError(who, error) from error
    except BaseException as error:  # such as the exception of pytest.fail
        is_closed = isinstance(error, GeneratorExit) and (
            error.__traceback__ is None or not error.__traceback__.tb_next
        )
        if is_closed or is_interrupt(error):  # it was closed here, and did not raise it itself
            raise
        raise LeftError(who, error) from error


def guarded_call(call: Callable[[], T], who: str) -> T:
    """Call code of the user's in a thread. Raises LeftError for an exception that would end a task or a process."""
    try:
        return call()
    except Exception:
        raise
    except BaseException as error:
        if is_interrupt(error):
            raise interrupt_of(error) from error
        raise LeftError(who, error) from error


def place_of(error: BaseException) -> str:
    """Return where an error was raised, as " (file:line in function)"; empty if unknown.

    It is the innermost place in the user's own code, if there is one: of the error, or of its cause. An error that
    simeval raises itself explains the problem, and its place in simeval is left out.
    """
    raised: list[BaseException] = [error]
    while (cause := raised[-1].__cause__) is not None and cause not in raised:
        raised.append(cause)
    all_frames = [extract_tb(each.__traceback__)[::-1] for each in raised]
    own = (frame for frames in all_frames for frame in frames if rank_of(frame.filename) == OWN)
    found = next(own, next(iter(all_frames[0]), None))
    if found is None or rank_of(found.filename) == OURS:
        return ""
    return f" ({Path(found.filename).name}:{found.lineno} in {found.name})"


def first_leaf(error: Exception) -> Exception:
    """Return the first exception inside nested groups: one that stops the run, if there is one."""
    leaves = _leaves(error)
    leaf = next((leaf for leaf in leaves if isinstance(leaf, STOPS_THE_RUN)), leaves[0])
    if leaf is not error and leaf.__cause__ is None:
        leaf.__cause__ = error
    return leaf


def _leaves(error: Exception) -> list[Exception]:
    if isinstance(error, ExceptionGroup):
        return [leaf for inner in error.exceptions for leaf in _leaves(inner)]
    return [error]
