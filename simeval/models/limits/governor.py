"""A model whose calls are governed: no more at once, and no faster, than it takes; and none while it is down.

A circuit breaker: a model that fails every call is left alone for a while; pure state, with the time as argument.

closed ──every call fails──► open ──a call succeeds──► closed
                             a probe after 0.1, 0.2, 0.4 ... 30 seconds
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from time import monotonic

from simeval.core.logs import log, warn_all
from simeval.core.waits import LONGEST_RETRY_AFTER, Waits
from simeval.errors import ModelError, ModelErrorKind, ModelUnusable
from simeval.models.limits.traffic import Gate, Outcome, Ticket, Traffic
from simeval.models.protocol.model import Completion, Request, Wrapped

FAILURES = 4  # since the last answer, at the least, of two different requests: one alone may fail by itself
TOLD_SECONDS = 2.0  # without an answer: from then on an outage is announced
TOLD_REFUSED_SECONDS = 5.0  # the same, where every call is refused
REFUSED_SECONDS = 30.0  # at most, without an answer where calls are refused: that is the pace's business first
FIRST_PROBE_SECONDS, LONGEST_PROBE_SECONDS = 0.1, 30.0
OUTAGE_KINDS: frozenset[ModelErrorKind] = frozenset({"connection", "timeout", "server", "rate_limit"})

MOST_PROBES = 8  # of one call: 25 seconds, if it is the only one
FOR_GOOD: frozenset[ModelErrorKind] = frozenset({"authentication", "unknown_model", "bad_request"})
LONG_PROMPT = 1_000  # tokens; no server has a smaller context, so that none cuts off a shorter prompt
MOST_CHARACTERS = 8  # a token; English has 4 to 5, code and other scripts fewer


@dataclass(slots=True)
class Breaker:
    """Opens when a model that has answered before fails every call, and lets single calls probe it from then on.

    It records failures only once the model has answered; failures of other kinds than OUTAGE_KINDS are answers. If
    calls are refused it opens after `refused_seconds` without an answer.
    """

    refused_seconds: float = REFUSED_SECONDS
    _last_answer: float = field(default=-inf, init=False)
    _failures: int = field(default=0, init=False)
    _refusals: int = field(default=0, init=False)
    _requests: set[int] = field(default_factory=set, init=False)
    _opened: float | None = field(default=None, init=False)
    _told: bool = field(default=False, init=False)
    _delay: float = field(default=FIRST_PROBE_SECONDS, init=False)
    _next_probe: float = field(default=inf, init=False)

    @property
    def is_open(self) -> bool:
        """Whether only probes may be made."""
        return self._opened is not None

    def seconds(self, now: float) -> float:
        """Return how long no call has been answered."""
        return now - self._last_answer

    def outage(self, now: float) -> float:
        """Return how long it has been open."""
        return now - self._opened if self._opened is not None else 0.0

    def patience(self, now: float) -> float:
        """Return the seconds until it opens because every call is refused; inf if they are not."""
        if self._refusals < FAILURES:
            return inf
        return max(0.0, self.refused_seconds - self.seconds(now))

    def open(self, now: float) -> None:
        """Leave the model alone from now on, but for probes."""
        self._opened, self._delay = now, FIRST_PROBE_SECONDS
        self._next_probe = now + self._delay

    def wait(self, now: float) -> float:
        """Return the seconds until a call may start: 0 for now, inf for not before the probe has ended."""
        return max(0.0, self._next_probe - now) if self.is_open else 0.0

    def probe(self) -> None:
        """Note that a probe starts."""
        self._next_probe = inf

    def answered(self, now: float) -> bool:
        """Record an answer to any call; return whether it ends an outage that was announced."""
        ends = self._told
        self._last_answer = now
        self.reset()
        return ends

    def failed(self, kind: ModelErrorKind, now: float, request: int) -> None:
        """Record a failure that is no probe's, with the identity of its request; open if it is one too many."""
        if kind == "rate_limit":
            self._refusals += 1
        else:
            self._failures += 1
            self._requests.add(request)
        if self.is_open:
            return
        if not self.patience(now) or (self._failures >= FAILURES and len(self._requests) > 1):
            self.open(now)

    def probed(self, now: float, *, failed: bool) -> None:
        """Note the end of a probe that was not answered: it failed, or was abandoned."""
        if failed:
            self._delay = min(LONGEST_PROBE_SECONDS, 2 * self._delay)
        self._next_probe = now + self._delay

    def is_to_tell(self, now: float) -> bool:
        """Return whether to announce an outage now: once, when it has lasted."""
        is_refusing = self._refusals >= FAILURES and self.seconds(now) >= TOLD_REFUSED_SECONDS
        if self._told or not (is_refusing or (self.is_open and self.seconds(now) >= TOLD_SECONDS)):
            return False
        self._told = True
        return True

    def reset(self) -> None:
        """Begin again, after an answer or for a caller that tries again after giving up."""
        self._opened, self._told = None, False
        self._failures = self._refusals = 0
        self._requests.clear()


@dataclass(slots=True)
class Governed(Wrapped):
    """A model around which all its callers wait in one line, first come, first served.

    It is the one object that knows whether the model has ever answered. Before that, a forbidden, unknown or bad
    request means that no call can succeed: ModelUnusable; afterwards it is about that request alone.

    Waiting costs no time-out and no attempt. While the breaker is open single calls probe the model, and one that fails
    waits again in the line, at its end, until it has failed so MOST_PROBES times: then that request may be the problem.
    Raises ModelUnusable when the breaker has been open for `outage_seconds`.
    """

    traffic: Traffic
    outage_seconds: float
    clean: Callable[[str], str] = field(repr=False)
    waits: Waits = field(default_factory=Waits, repr=False)
    answers: int = field(default=0, init=False)
    breaker: Breaker = field(default_factory=Breaker, init=False)
    _gate: Gate = field(init=False)
    _last: ModelError | None = field(default=None, init=False)
    _may_cut: bool = field(default=False, init=False)  # whether it was reported that prompts may be cut off
    _refused_first: float = field(default=-inf, init=False)  # if every call was; one that has answered has a breaker
    _refused_last: float = field(default=-inf, init=False)
    _told_refused: bool = field(default=False, init=False)
    _most_counted: int = field(default=0, init=False)  # tokens of a prompt

    def __post_init__(self) -> None:
        Wrapped.__post_init__(self)
        self.breaker.refused_seconds = min(REFUSED_SECONDS, self.outage_seconds / 2)
        self._gate = Gate(self.traffic)

    async def complete(self, request: Request) -> Completion:
        """Wait in line, then answer."""
        probes = 0
        while True:
            ticket, is_probe = await self._admitted(request.role)
            completion: Completion | None = None
            failure: ModelError | None = None
            try:
                with self.waits.during("answer", self.name, request.role):
                    completion = await self.model.complete(request)
                self._look_for_cut(request, completion)
                return completion
            except ModelError as error:
                failure = error
                if error.kind in FOR_GOOD and not self.answers:
                    raise ModelUnusable(self.name, kind=error.kind, problem=error.problem) from None
                if error.kind == "rate_limit" and not self.answers:
                    error.waited_out = self._has_refused_long(error, monotonic())
                if not (is_probe and failure.kind in OUTAGE_KINDS):
                    raise
                probes += 1
                if probes == MOST_PROBES:
                    error.waited_out = True
                    raise
            finally:
                self._end(ticket, completion, failure, is_probe=is_probe, request=request)

    def _has_refused_long(self, error: ModelError, now: float) -> bool:
        """Announce a model that has refused every call so far; return whether another try would come too late."""
        if now - self._refused_last > self.outage_seconds + LONGEST_RETRY_AFTER:  # in another run
            self._refused_first, self._told_refused = now, False
        self._refused_last = now
        wait = error.retry_after or 0.0
        seconds = now - self._refused_first + wait
        if seconds >= TOLD_REFUSED_SECONDS and not self._told_refused:
            self._told_refused = True
            said = " ".join(self.clean(error.problem).split())[:200]
            again = f"; it asks to be tried again after {wait:.0f} s" if wait else ""
            warn_all(f"{self.name} has refused every call so far ({said}){again}")
        return seconds > self.outage_seconds

    def _look_for_cut(self, request: Request, completion: Completion) -> None:
        """Say once that so few tokens of a long prompt are counted that it may have been cut off, as Ollama does."""
        counted = completion.prompt_tokens
        if self._may_cut or counted < max(LONG_PROMPT, self._most_counted):
            return  # any prompt that is cut off is as long
        self._most_counted = counted
        characters = sum(len(message["content"]) for message in request.messages())
        if characters > MOST_CHARACTERS * counted:
            self._may_cut = True
            warn_all(
                f"{self.name} counted {counted:,} tokens in a prompt of {characters:,} characters: its server may have "
                "cut the prompt off; give it a larger context (Ollama: num_ctx)"
            )

    async def _admitted(self, role: str) -> tuple[Ticket, bool]:
        """Wait until a call may start, and start it; return whether it probes a model that is down."""
        ticket = self._gate.at_once(self._wait)
        if ticket is None:
            with self.waits.during("line", self.name, role):
                ticket = await self._gate.enter(self._wait)
        if self.breaker.is_open:
            self.breaker.probe()
        return ticket, self.breaker.is_open

    def _wait(self, now: float) -> float:
        """Return the seconds until the next call may start. Raises ModelUnusable at the end of an outage's patience."""
        if not self.breaker.is_open and (patience := self.breaker.patience(now)) > 0:
            return min(patience, self.traffic.wait(now))
        if not self.breaker.is_open:
            self.breaker.open(now)
        left = self.outage_seconds - self.breaker.outage(now)
        if left <= 0:
            raise self._given_up(now)
        return min(left, max(self.breaker.wait(now), self.traffic.wait(now)))

    def _given_up(self, now: float) -> ModelUnusable:
        assert self._last is not None
        seconds, last = self.breaker.seconds(now), self._last
        self.breaker.reset()
        problem = f"it has failed every call for {seconds:.0f} s, last: {self.clean(last.problem)}"
        unusable = ModelUnusable(self.name, kind=last.kind, problem=problem)
        unusable.waited_out = True
        return unusable

    def _end(
        self,
        ticket: Ticket,
        completion: Completion | None,
        failure: ModelError | None,
        *,
        is_probe: bool,
        request: Request,
    ) -> None:
        """Record how a call ended, and wake the first in line."""
        now = monotonic()
        self.answers += completion is not None
        tokens = completion.prompt_tokens + completion.completion_tokens if completion else 0
        retry_after = min(failure.retry_after, LONGEST_RETRY_AFTER) if failure and failure.retry_after else None
        outcome = _outcome(completion, failure)
        if self.traffic.end(ticket, now, outcome, retry_after=retry_after, tokens=tokens):
            log.debug("limits cut", model=self.name, why=outcome, **self.traffic.describe())
        self._tell_breaker(outcome, failure, now, is_probe=is_probe, request=request)
        self._gate.changed()

    def _tell_breaker(
        self, outcome: Outcome, failure: ModelError | None, now: float, *, is_probe: bool, request: Request
    ) -> None:
        breaker, down = self.breaker, self.breaker.outage(now) or self.breaker.seconds(now)
        self._last = failure or self._last
        if outcome == "answered":
            if breaker.answered(now):
                warn_all(f"{self.name} answers again after {down:.0f} s; the run goes on")
        elif is_probe and breaker.is_open:
            breaker.probed(now, failed=failure is not None)
        elif failure is not None and self.answers:
            breaker.failed(failure.kind, now, _identity(request))
        if self._last is not None and breaker.is_to_tell(now):
            said = " ".join(self.clean(self._last.problem).split())[:200]
            warn_all(
                f"{self.name} has failed every call for {breaker.seconds(now):.0f} s ({self._last.kind}: {said}); "
                "paused, trying again every few seconds"
            )


def _identity(request: Request) -> int:
    """Return the identity of a request, the same for its further attempts."""
    return hash((request.seed, *(str(message["content"]) for message in request.messages())))


def _outcome(completion: Completion | None, failure: ModelError | None) -> Outcome:
    """Say how a call ended; a reply that is of no use is an answer too."""
    if failure is None:
        return "answered" if completion else "abandoned"
    if failure.kind not in OUTAGE_KINDS:
        return "answered"
    return "refused" if failure.kind == "rate_limit" else "timed_out" if failure.kind == "timeout" else "failed"
