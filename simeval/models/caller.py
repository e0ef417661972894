"""Calls that are made again when their cause may pass."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from logging import DEBUG
from typing import TypeVar

import anyio
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception
from tenacity.wait import wait_random_exponential

from simeval.core.logs import log
from simeval.core.redaction import Redactor
from simeval.core.settings import RetryConfig
from simeval.errors import MalformedReply, ModelError, ModelUnusable
from simeval.models.protocol.model import Completion, Request, SharedModel
from simeval.models.protocol.replies import Reply, read_reply
from simeval.models.reply_cache import ReplyCache

LONGEST_RETRY_AFTER = 120.0  # seconds; a provider that asks for more is not waited for
REFUSALS = 4  # times the further attempts: how often a call may be refused while others are answered

R = TypeVar("R", bound=Reply)
T = TypeVar("T")


@dataclass(slots=True)
class Caller:
    """Asks a model and retries by cause: each attempt is one call, and its reply is read within it.

    Rate limits, time-outs, lost connections, server errors and malformed replies are tried again; anything
    else is not. Raises the last ModelError, with the number of attempts; ModelUnusable where a model that has
    never answered cannot be reached. A call that is refused while others are answered is out of luck, not of
    attempts: it waits for its own Retry-After, then in the line of whoever governs the model. With a `cache` the reply
    is looked for there first.
    """

    model: SharedModel
    retry: RetryConfig = field(default_factory=RetryConfig)
    redactor: Redactor = field(default_factory=Redactor)
    cache: ReplyCache | None = None

    async def ask(self, request: Request, kind: type[R], *, quoted_texts: Sequence[str] = ()) -> R:
        """Return the model's answer as `kind`; what `quoted_texts` holds is no answer where the model repeats it."""
        return await self._attempt(
            request, lambda text: read_reply(text, kind, model=self.model.name, quoted_texts=quoted_texts)
        )

    async def text(self, request: Request) -> str:
        """Return the model's answer as it stands; an empty one is malformed."""
        return await self._attempt(request, self._not_empty)

    def _not_empty(self, text: str) -> str:
        if not text.strip():
            raise MalformedReply(self.model.name, problem="an empty reply", reply=text)
        return text

    async def _attempt(self, request: Request, read: Callable[[str], T]) -> T:
        if self.cache is not None and (kept := await self.cache.find(self.model.name, request)) is not None:
            with suppress(MalformedReply):  # kept by another version: it is asked for again
                return read(kept)
        try:
            tries = _Tries(self.retry.max_attempts if self.retry.enabled else 1)
            async for attempt in self._retrying(request, tries):
                with attempt:
                    if log.isEnabledFor(DEBUG):
                        self._log("prompt", request, _rendered(request))
                    completion = await self._complete(request, tries)
                    if log.isEnabledFor(DEBUG):
                        self._log("reply", request, completion.text)
                    answer = read(completion.text)
                    if self.cache is not None:
                        await self.cache.keep(self.model.name, request, completion)
                    return answer
        except ModelError as error:
            error.clean(self.redactor.clean)
            error.attempts, error.role = attempt.retry_state.attempt_number, request.role
            if error.kind == "connection" and error.attempts > 1 and not self.model.answers:
                raise ModelUnusable(self.model.name, kind=error.kind, problem=error.problem) from None
            raise
        raise AssertionError("tenacity re-raises the last error")

    async def _complete(self, request: Request, tries: "_Tries") -> Completion:
        answers = self.model.answers
        try:
            completion = await self.model.complete(request)
        except ModelError as error:
            tries.failed(error, others_answered=self.model.answers > answers)
            raise
        tries.is_unlucky = False
        return completion

    def _log(self, event: str, request: Request, text: str) -> None:
        log.debug(event, role=request.role, model=self.model.name, text=self.redactor.clean(text))

    def _retrying(self, request: Request, tries: "_Tries") -> AsyncRetrying:
        def before_sleep(state: RetryCallState) -> None:
            log.debug(
                "retry",
                role=request.role,
                model=self.model.name,
                attempt=state.attempt_number,
                wait_seconds=round(state.upcoming_sleep, 2),
                error=self.redactor.clean(str(_error(state))),
            )

        return AsyncRetrying(
            sleep=anyio.sleep,
            stop=lambda state: tries.are_spent(state.attempt_number),
            wait=lambda state: _retry_after(state) if tries.is_unlucky else self._wait(state),
            retry=retry_if_exception(_may_pass),
            before_sleep=before_sleep,
            reraise=True,
        )

    def _wait(self, state: RetryCallState) -> float:
        backoff = wait_random_exponential(self.retry.backoff_multiplier, self.retry.max_backoff_seconds)(state)
        return max(backoff, _retry_after(state))


@dataclass(slots=True)
class _Tries:
    """How often one request was tried, refusals that were bad luck apart."""

    most: int
    is_unlucky: bool = False
    _unlucky: int = 0

    def failed(self, error: ModelError, *, others_answered: bool) -> None:
        """Count a failure."""
        self.is_unlucky = error.kind == "rate_limit" and others_answered
        self._unlucky += self.is_unlucky

    def are_spent(self, attempts: int) -> bool:
        """Return whether there may be no further attempt."""
        return attempts - self._unlucky >= self.most or self._unlucky > REFUSALS * (self.most - 1)


def _rendered(request: Request) -> str:
    return "\n\n".join(f"[{message['role']}]\n{message['content']}" for message in request.messages())


def _error(state: RetryCallState) -> BaseException | None:
    return state.outcome.exception() if state.outcome else None


def _retry_after(state: RetryCallState) -> float:
    error = _error(state)
    return error.retry_after or 0.0 if isinstance(error, ModelError) else 0.0


def _may_pass(error: BaseException) -> bool:
    """Return whether it is worth calling again: the cause may pass, and in a time that can be waited for."""
    if not isinstance(error, ModelError) or error.waited_out:
        return False
    return error.retryable and (error.retry_after or 0.0) <= LONGEST_RETRY_AFTER
