"""The line before an app: how often it is asked, and the handling of attempts that did not reach it.

turn ──► limits and pace ──► ask ──┬──► it answered, or failed                         data about the app
▲                  ├──► later, or not reached ──► wait ──┐
│                  │                                     │
└──────────────────┼─────────────────────────────────────┘
└──► still so, or a key is refused                  the trial is missing
"""

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from time import monotonic, perf_counter
from types import coroutine
from typing import Any, TypeVar

import anyio
from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential

from simeval.core.event_loops import ADVICE, BLOCKED_SECONDS
from simeval.core.logs import warn_all
from simeval.core.terminal import counted_of
from simeval.core.trial import TrialResult
from simeval.core.waits import Attempts, WaitAsAsked, Waits, in_words
from simeval.errors import AppError, AppNotAsked, AppUnusable
from simeval.models.limits.traffic import Budget, Gate, Outcome, Ticket, Traffic
from simeval.results.text import kind_of, without_turn

T = TypeVar("T")

AT_ONCE_AT_A_URL = 10  # turns: servers are made for users who read and write, not for a test that does not
MOST_TRIES = 24  # of one turn that is refused while others are answered
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 0.5, 15.0  # before another try, if the app gives no time
AT_THE_END_SECONDS = 0.1  # after an outage: one more try
TOLD_SECONDS = 5.0  # without one answer, while the app refuses

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


def gate_of(most: int, requests_per_minute: int | None = None) -> Gate:
    """Return the gate of an app that takes at most so many turns at once, and so many a minute."""
    requests = Budget(requests_per_minute / 60) if requests_per_minute else None
    return Gate(Traffic(most, requests, at_first=most))


@dataclass(slots=True)
class AppLine:
    """Asks one app turn by turn, no more at once and no faster than it takes; `name` is the app's.

    A turn that is refused with "later", or that does not reach an app which was reached before, is tried again: after
    the time the app names, else at random up to a bound that doubles. The pace is learnt as for models (Traffic). The
    turn is given up after MOST_TRIES; an app that has refused every turn for `outage_seconds` ends the run.
    """

    name: str
    gate: Gate
    outage_seconds: float
    waits: Waits = field(default_factory=Waits, repr=False)
    refusals: int = field(default=0, init=False)
    _last_refusal: str = field(default="", init=False)
    _was_reached: bool = field(default=False, init=False)
    _refusing_since: float | None = field(default=None, init=False)
    _is_told: bool = field(default=False, init=False)
    _policy: Retrying = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._policy = Retrying(
            stop=stop_after_attempt(MOST_TRIES),
            wait=WaitAsAsked(wait_random_exponential(multiplier=FIRST_WAIT_SECONDS, max=LONGEST_WAIT_SECONDS)),
            retry=retry_if_exception(self._can_pass),
        )

    async def ask(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do the work of a turn when it is its time, and again if the app could not be asked.

        Raises the errors of the work, AppNotAsked only if trying again is no use, and AppUnusable.
        """
        attempts: Attempts | None = None
        while True:
            ticket = self.gate.at_once(self._wait) or await self.gate.enter(self._wait)
            outcome: Outcome = "abandoned"
            try:
                made = await work()
                outcome = "answered"
                return made
            except AppNotAsked as error:
                outcome = "refused" if error.outcome == "later" else "failed"
                refused = error
            except AppError:
                outcome = "answered"
                raise
            finally:
                self._end(ticket, outcome)
            attempts = attempts or Attempts(self._policy)
            wait = attempts.wait_after(refused, is_unlucky=refused.retry_after is not None)
            if wait is None:
                refused.tries = attempts.made
                raise refused
            seconds = self._until_next(refused, wait)
            self.refusals += 1
            self._last_refusal = refused.problem
            with self.waits.during("refused", self.name, seconds=seconds):
                await anyio.sleep(seconds)

    def _wait(self, now: float) -> float:
        """Return the seconds until the next turn may be put to the app: not after the end of its outage."""
        seconds = self.gate.traffic.wait(now)
        if self._refusing_since is None or seconds == inf:
            return seconds
        return min(seconds, max(0.0, self._refusing_since + self.outage_seconds - now))

    def _end(self, ticket: Ticket, outcome: Outcome) -> None:
        """Take in how a turn ended, and let the next one in."""
        self.gate.traffic.end(ticket, monotonic(), outcome)
        self.gate.changed()
        if outcome == "answered":
            self._was_reached, self._refusing_since = True, None

    def _can_pass(self, error: BaseException) -> bool:
        """Return whether a turn that could not be asked may be worth another try."""
        assert isinstance(error, AppNotAsked)
        return error.outcome == "later" or (error.outcome == "network" and self._was_reached)

    def _until_next(self, error: AppNotAsked, seconds: float) -> float:
        """Return the seconds until a turn is tried again, within the outage. Raises AppUnusable."""
        now = monotonic()
        self._refusing_since = now if self._refusing_since is None else self._refusing_since
        if not self._is_told and now - self._refusing_since > TOLD_SECONDS:
            self._is_told = True
            most = in_words(self.outage_seconds)
            warn_all(f"{self.name} refuses every message ({error.problem}); waiting for it, {most} at most (--outage)")
        refused_for = now - self._refusing_since
        if refused_for > self.outage_seconds or seconds > self.outage_seconds:
            raise AppUnusable(self.name, error.problem, refused_for)
        return min(seconds, self.outage_seconds - refused_for + AT_THE_END_SECONDS)

    @property
    def said(self) -> str:
        """Report how often the app was asked again, and how fast in the end; empty if it never was."""
        if not self.refusals:
            return ""
        rate = self.gate.traffic.pace.rate
        pace = "" if rate == inf else f", in the end {rate:.3g} times a second"
        times = counted_of(self.refusals, "time")
        return f"{self.name} could not be asked {times} and was asked again{pace}; last: {self._last_refusal}"


@dataclass(slots=True)
class Silence:
    """Warns once where an app has been asked and nothing has come of it for a while; `name` is the app's.

    `limit_seconds` is how long a turn may take. Once it `has_answered`, it is known to answer. With the end of
    the first turn the watch `is_over`.
    """

    name: str
    limit_seconds: float
    has_answered: bool = field(default=False, init=False)
    _asked: int = field(default=0, init=False)
    is_over: bool = field(default=False, init=False)
    _timer: asyncio.TimerHandle | None = field(default=None, init=False)

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Wait for the end of a turn: an answer or an error."""
        self._asked += 1
        if self._timer is None and self.limit_seconds > SILENT_SECONDS:
            self._timer = asyncio.get_running_loop().call_later(SILENT_SECONDS, self._tell)
        try:
            yield
        finally:
            self.is_over = True
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


@coroutine
def stepped(awaited: Awaitable[Any], blocking: Blocking) -> Generator[Any, Any, Any]:
    """Await something, and count the time of each of its steps."""
    inner = awaited.__await__()
    thrown: BaseException | None = None
    while True:
        clock = perf_counter()
        try:
            waits_for = next(inner) if thrown is None else inner.throw(thrown)
        except StopIteration as end:
            return end.value
        finally:
            blocking.took(perf_counter() - clock)
            thrown = None  # its traceback has this frame
        try:
            yield waits_for
        except GeneratorExit:
            inner.close()
            raise
        except BaseException as error:
            thrown = error


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

    def take(self, judgement: TrialResult, *, is_recalled: bool = False) -> None:
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

    def take(self, judgement: TrialResult) -> None:
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
