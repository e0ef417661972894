"""Waits in progress: for answers of models and apps, places in line, and pauses before a further attempt.

Tenacity's stop, retry and wait objects decide when a failed call is made again. Whoever calls keeps the loop, so that a
call that succeeds at once pays for none of this:

    attempts = None
    while True:
        try:
            return await call()
        except ModelError as error:
            attempts = attempts or Attempts(retrying(config, may_pass))
            if (seconds := attempts.wait_after(error)) is None:
                raise
        await anyio.sleep(seconds)
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from time import monotonic
from typing import TYPE_CHECKING, Literal

from tenacity import BaseRetrying, RetryCallState, Retrying, retry_if_exception, wait_random_exponential
from tenacity.stop import stop_base
from tenacity.wait import wait_base

if TYPE_CHECKING:
    from simeval.core.setting_field import RetryConfig

Stage = Literal["answer", "line", "refused", "retry"]

LONGEST_RETRY_AFTER = 120.0  # seconds; a longer request is not waited for
REFUSALS = 4  # times the further attempts: how often a call may be refused while others are answered


@dataclass(slots=True, eq=False)
class Wait:
    """One call in progress, or held back, since a time of the monotonic clock.

    `who` is a model's name or an app, `role` the role it is asked in. A call in "line" waits for the limits of its
    model, one that was "refused" or is to be tried again ("retry") for `until`. Used as a context, it counts as waiting
    until the context is left.
    """

    who: str
    role: str
    stage: Stage
    since: float
    until: float | None = None
    _among: dict["Wait", None] = field(default_factory=dict, repr=False)

    def __enter__(self) -> None:
        self._among[self] = None

    def __exit__(self, *error: object) -> None:
        del self._among[self]


@dataclass(slots=True)
class Waits:
    """All that is waited for, the longest first."""

    _now: dict[Wait, None] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Wait]:
        return iter(tuple(self._now))

    def during(self, stage: Stage, who: str, role: str = "", *, seconds: float | None = None) -> Wait:
        """Report a wait until the block is left; `seconds` is how long, if known."""
        since = monotonic()
        return Wait(who, role, stage, since, None if seconds is None else since + seconds, self._now)


def in_words(seconds: float) -> str:
    """Return a number of seconds with its noun."""
    shown = f"{seconds:.3g}" if seconds < 100 else f"{seconds:,.0f}"
    return f"{shown} second{'' if shown == '1' else 's'}"


def seconds_of(retry_after: str | None) -> float | None:
    """Read a Retry-After header, seconds or an HTTP date; None if it is missing or cannot be read."""
    if retry_after is None:
        return None
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(retry_after) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


class Attempts(RetryCallState):
    """The failed attempts at one call, as tenacity's objects read them.

    One that was `unlucky`, refused while other calls were answered, does not count as an attempt.
    """

    def __init__(self, policy: BaseRetrying) -> None:
        super().__init__(policy, None, (), {})
        self.unlucky = 0
        self.is_unlucky = False

    @property
    def made(self) -> int:
        """How many attempts have failed."""
        return self.attempt_number - 1

    @property
    def counted(self) -> int:
        """How many of them count."""
        return self.made - self.unlucky

    def wait_after(self, error: Exception, *, is_unlucky: bool = False) -> float | None:
        """Take in a failed attempt, and return the seconds until the next one; None if no further one is made."""
        self.is_unlucky = is_unlucky
        self.unlucky += is_unlucky
        self.set_exception((type(error), error, error.__traceback__))
        policy = self.retry_object
        try:
            is_over = not policy.retry(self) or policy.stop(self)
            return None if is_over else float(policy.wait(self))
        finally:
            self.prepare_for_next_attempt()  # lets go of the error, which holds the caller's frame


class StopAfterCounted(stop_base):
    """Stop after so many attempts that count, or REFUSALS times as many further ones that were unlucky."""

    def __init__(self, most: int) -> None:
        self.most = most

    def __call__(self, retry_state: RetryCallState) -> bool:
        unlucky = retry_state.unlucky if isinstance(retry_state, Attempts) else 0
        return retry_state.attempt_number - unlucky >= self.most or unlucky > REFUSALS * (self.most - 1)


class WaitAsAsked(wait_base):
    """Wait as long as the error's `retry_after` asks, but at least as long as `otherwise`.

    After bad luck it waits as asked, and no longer.
    """

    def __init__(self, otherwise: wait_base) -> None:
        self.otherwise = otherwise

    def __call__(self, retry_state: RetryCallState) -> float:
        error = None if retry_state.outcome is None else retry_state.outcome.exception()
        asked = getattr(error, "retry_after", None) or 0.0
        if isinstance(retry_state, Attempts) and retry_state.is_unlucky:
            return float(asked)
        return max(float(asked), self.otherwise(retry_state))


@lru_cache(maxsize=100)
def retrying(config: "RetryConfig", may_pass: Callable[[BaseException], bool]) -> Retrying:
    """Return tenacity's policy for a RetryConfig: only an error that `may_pass` is worth a further attempt."""
    backoff = wait_random_exponential(multiplier=config.backoff_multiplier, max=config.max_backoff_seconds)
    return Retrying(
        stop=StopAfterCounted(config.max_attempts if config.enabled else 1),
        wait=WaitAsAsked(backoff),
        retry=retry_if_exception(may_pass),
        reraise=True,
    )
