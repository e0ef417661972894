"""The health of a run's app: answers that are late, empty or missing, and code that blocks the event loop."""

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from simeval.core.logs import warn_all
from simeval.core.terminal import counted_of
from simeval.core.trial import Judgement
from simeval.engine.watchdog import ADVICE, BLOCKED_SECONDS
from simeval.results.failures import kind_of, without_turn

SILENT_SECONDS = 10.0  # from the first message on

LONG_SECONDS = 0.01  # of one step without awaiting; shorter ones hold up nobody
MOST_SECONDS = 5.0  # of all such steps
MOST_SHARE = 0.1  # of the time since the first of them

_CHANGING = re.compile(r"\d+")  # the parts in which equal errors may differ
FIRST_FEW = 5  # conversations before the warning
GIVEN_UP = 10  # conversations after which no further one is held
SHOWN_KINDS = 3  # of errors

EMPTY = (
    "your app's answers are empty; look at what its handler returns, or, of an app at a URL, at what `simeval try "
    "--probe` understands"
)


@dataclass(slots=True)
class Silence:
    """Warns once where an app has been asked and nothing has come of it for a while; `name` is the app's.

    `limit_seconds` is how long a turn may take. Once it `has_answered`, it is known to answer.
    """

    name: str
    limit_seconds: float
    has_answered: bool = field(default=False, init=False)
    _asked: int = field(default=0, init=False)
    _is_over: bool = field(default=False, init=False)
    _timer: asyncio.TimerHandle | None = field(default=None, init=False)

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Wait for the end of a turn: an answer or an error."""
        if self._is_over:
            yield
            return
        self._asked += 1
        if self._timer is None and self.limit_seconds > SILENT_SECONDS:
            self._timer = asyncio.get_running_loop().call_later(SILENT_SECONDS, self._tell)
        try:
            yield
        finally:
            self._is_over = True
            if self._timer is not None:
                self._timer.cancel()

    def _tell(self) -> None:
        asked = "message" if self._asked == 1 else f"{self._asked} messages"
        warn_all(
            f"{self.name} has not answered the first {asked} for {SILENT_SECONDS:g} s; it may take "
            f"{self.limit_seconds:g} s for a turn (--app-timeout)"
        )


@dataclass(slots=True)
class Blocking:
    """Adds up the time in which an app's turns let nothing else run, and warns once; `name` is the app's."""

    name: str
    _steps: int = field(default=0, init=False)
    _seconds: float = field(default=0.0, init=False)
    _began: float = field(default=0.0, init=False)
    _is_told: bool = field(default=False, init=False)

    def took(self, seconds: float) -> None:
        """Count one step of a turn, from its resumption to its next await."""
        if self._is_told or not LONG_SECONDS <= seconds < BLOCKED_SECONDS:  # the watchdog reports longer ones
            return
        if not self._steps:
            self._began = perf_counter() - seconds
        self._steps += 1
        self._seconds += seconds
        if self._seconds >= max(MOST_SECONDS, MOST_SHARE * (perf_counter() - self._began)):
            self._is_told = True
            warn_all(
                f"{self.name} has blocked the event loop {self._steps} times, {self._seconds:.1f} s in all, and "
                f"nothing else runs meanwhile; {ADVICE}"
            )


@dataclass(frozen=True, slots=True)
class Stepped(Awaitable[Any]):
    """An awaitable with the time of each of its steps counted."""

    awaited: Awaitable[Any]
    blocking: Blocking

    def __await__(self) -> Generator[Any, Any, Any]:
        inner = self.awaited.__await__()
        thrown: BaseException | None = None
        while True:
            clock = perf_counter()
            try:
                waits_for = next(inner) if thrown is None else inner.throw(thrown)
            except StopIteration as end:
                return end.value
            finally:
                self.blocking.took(perf_counter() - clock)
            try:
                yield waits_for
            except GeneratorExit:
                inner.close()
                raise
            except BaseException as error:
                thrown = error
            else:
                thrown = None


@dataclass(slots=True)
class Unanswered:
    """Checks whether an app has answered anything by now, and warns once if the first few conversations got none.

    Its `silence` shows whether it answers in conversations in progress.
    """

    who: str = "your app"
    asked: str = "conversation"  # the noun of its count
    silence: Silence | None = None
    taken: int = 0
    has_answered: bool = False
    _new: int = 0
    _kinds: Counter[str] = field(default_factory=Counter)
    _errors: dict[str, str] = field(default_factory=dict)  # the first error of each kind

    def take(self, judgement: Judgement, *, is_recalled: bool = False) -> None:
        """Check one more trial that counts; a recalled one was held by an earlier attempt."""
        failure = judgement.failure
        self.taken += 1
        self._new += not is_recalled
        if failure is None or failure.stage not in ("app", "app_access") or judgement.conversation.responses:
            self.has_answered = True
            return
        kind = _CHANGING.sub("#", kind_of(failure.error))
        self._kinds[kind] += 1
        self._errors.setdefault(kind, without_turn(failure.error))
        if self.taken == FIRST_FEW and self.said and not self._is_answering:
            warn_all(f"{self.who} has not answered once in {counted_of(self.taken, self.asked)}: {self._causes}")

    @property
    def said(self) -> str:
        """Return why nothing can be concluded, if the app never answered; else ""."""
        if self.has_answered or not self._kinds:
            return ""
        return f"{self.who} never answered in {counted_of(self.taken, self.asked)}: {self._causes}"

    @property
    def is_given_up(self) -> bool:
        """Whether it has been asked often enough to hold no further conversation."""
        return self._new >= GIVEN_UP and bool(self.said) and self.silence is not None and not self._is_answering

    @property
    def _is_answering(self) -> bool:
        return self.silence is not None and self.silence.has_answered

    @property
    def _causes(self) -> str:
        """Name the errors, each kind with its count, if there are several."""
        if len(self._kinds) == 1:
            return next(iter(self._errors.values()))
        shown = [f"{times} x {self._errors[kind]}" for kind, times in self._kinds.most_common(SHOWN_KINDS)]
        more = len(self._kinds) - len(shown)
        return "; ".join([*shown, *([f"and {counted_of(more, 'other kind')}"] if more else [])])


@dataclass(slots=True)
class EmptyAnswers:
    """Checks whether an app has sent any text, and warns once if it has not in the first few conversations."""

    has_spoken: bool = field(default=False, init=False)
    _answered: int = field(default=0, init=False)

    def take(self, judgement: Judgement) -> None:
        """Look at one more trial that counts."""
        answers = judgement.conversation.responses
        self.has_spoken |= any(answer.content.strip() or answer.tool_calls for answer in answers)
        self._answered += bool(answers)
        if self._answered == FIRST_FEW and answers and self.said:
            warn_all(EMPTY)

    @property
    def said(self) -> str:
        """Return a note if the app has answered without any text; else ""."""
        return EMPTY if self._answered and not self.has_spoken else ""
