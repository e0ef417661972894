"""Calls that are made again when their cause may pass."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from logging import DEBUG
from random import uniform
from typing import Any, TypeVar

import anyio

from simeval.core.logs import log
from simeval.core.redaction import Redactor
from simeval.core.settings import RetryConfig
from simeval.core.usage import Ledger
from simeval.core.waits import Stage, Waits
from simeval.errors import MalformedReply, ModelError, ModelUnusable
from simeval.models.protocol.choices import Choice, read_choice
from simeval.models.protocol.model import Completion, Request, SharedModel
from simeval.models.protocol.replies import Reply, read_reply
from simeval.models.reply_cache import ReplyCache

LONGEST_RETRY_AFTER = 120.0  # seconds; a provider that asks for more is not waited for
ROOMS = (1, 2, 4, 8)  # times the tokens that a reply may have at first
MOST_ROOM = ROOMS[-1]
REFUSALS = 4  # times the further attempts: how often a call may be refused while others are answered

R = TypeVar("R", bound=Reply)
T = TypeVar("T")


@dataclass(slots=True)
class Caller:
    """Asks a model in one role and retries by cause: each attempt is one call, and its reply is read within it.

    `options` are that role's, and go into each call; malformed replies are counted in `ledger`.

    A reply that cannot be read is asked for again with another seed, a temperature and a word on what was wrong; where
    it was cut, with twice the tokens, at most MOST_ROOM times as many; if it needed them, later replies of that role
    have as many at once.

    All attempts but the last are hurried, unless the role is the app's: one that takes far longer than usual is made
    again, and the last has all the time there is.

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
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    ledger: Ledger = field(default_factory=Ledger)
    waits: Waits = field(default_factory=Waits, repr=False)
    _room: dict[str, int] = field(default_factory=dict, init=False, repr=False)  # times the tokens of a role's replies

    async def ask(self, request: Request, kind: type[R], *, quoted_texts: Sequence[str] = ()) -> R:
        """Return the model's answer as `kind`; what `quoted_texts` holds is no answer where the model repeats it."""
        return await self._attempt(
            request,
            lambda made: read_reply(
                made.text, kind, model=self.model.name, quoted_texts=quoted_texts, was_cut=made.is_cut
            ),
        )

    async def choose(self, request: Request, labels: Sequence[str]) -> Choice:
        """Return which of these labels the model's answer begins with, and how probable it finds each."""

        def read(completion: Completion) -> Choice:
            return read_choice(completion, labels, model=self.model.name)

        return await self._attempt(request, read)

    async def text(self, request: Request) -> str:
        """Return the model's answer as it stands; an empty one is malformed."""
        return (await self.completed(request)).text

    async def completed(self, request: Request) -> Completion:
        """Return the model's answer as it stands, with what is known of the call; an empty one is malformed."""

        def read(completion: Completion) -> Completion:
            if not completion.text.strip():
                raise MalformedReply(self.model.name, problem="an empty reply", reply=completion.text)
            return completion

        return await self._attempt(request, read)

    async def _attempt(self, request: Request, read: Callable[[Completion], T]) -> T:
        """Return what `read` makes of a reply that it can read."""
        request = request.addressed(self.options)
        tries = _Tries(self.retry.max_attempts if self.retry.enabled else 1, self._room.get(request.role, 1))
        while True:
            asked = tries.next(request)
            asked = asked.patient() if tries.is_last else asked
            try:
                kept = await self._kept(asked, read)
                return await self._asked(asked, read, tries) if kept is None else kept
            except ModelError as error:
                error.clean(self.redactor.clean)
                tries.attempts += 1
                if not _may_pass(error) or tries.are_spent:
                    error.attempts, error.role = tries.attempts, request.role
                    if error.kind == "connection" and error.attempts > 1 and not self.model.answers:
                        raise ModelUnusable(self.model.name, kind=error.kind, problem=error.problem) from None
                    raise
                seconds = self._wait(error, tries)
                log.debug(
                    "retry",
                    role=request.role,
                    model=self.model.name,
                    attempt=tries.attempts,
                    wait_seconds=round(seconds, 2),
                    error=str(error),
                )
                stage: Stage = "refused" if error.kind == "rate_limit" else "retry"
            with self.waits.during(stage, self.model.name, request.role, seconds=seconds):
                await anyio.sleep(seconds)

    async def _kept(self, request: Request, read: Callable[[Completion], T]) -> T | None:
        """Return what was answered to a request before, where that is kept and can be read."""
        if self.cache is not None and (text := await self.cache.find(self.model.name, request)) is not None:
            with suppress(MalformedReply):  # kept by another version: it is asked for again
                return read(Completion(text=text))
        return None

    async def _asked(self, request: Request, read: Callable[[Completion], T], tries: "_Tries") -> T:
        """Make one call and read its reply."""
        if log.isEnabledFor(DEBUG):
            self._log("prompt", request, _rendered(request))
        completion = await self._complete(request, tries)
        if log.isEnabledFor(DEBUG):
            self._log("reply", request, completion.text)
        try:
            answer = read(completion)
        except MalformedReply as error:
            was_cut = completion.is_cut and not request.probabilities  # what follows a label is never of use
            self.ledger.of(request.role).malformed_calls += 1
            tries.malformed(error, was_cut=was_cut)
            if was_cut:
                raise self._cut(request, completion) from None
            raise
        self._room[request.role] = max(self._room.get(request.role, 1), tries.needed(request, completion))
        if self.cache is not None:
            text = answer.model_dump_json() if isinstance(answer, Choice) else completion.text
            await self.cache.keep(self.model.name, request, replace(completion, text=text))
        return answer

    def _cut(self, request: Request, completion: Completion) -> MalformedReply:
        tokens = completion.completion_tokens or request.max_tokens
        problem = f"the reply was cut at {tokens} tokens; give it more with the option max_tokens"
        return MalformedReply(self.model.name, problem=problem, reply=completion.text)

    async def _complete(self, request: Request, tries: "_Tries") -> Completion:
        answers = self.model.answers
        try:
            completion = await self.model.complete(request)
        except ModelError as error:
            tries.failed(error, others_answered=self.model.answers > answers)
            if error.kind == "malformed":
                self.ledger.of(request.role).malformed_calls += 1
                tries.malformed(error, was_cut=False)
            raise
        tries.is_unlucky = False
        return completion

    def _log(self, event: str, request: Request, text: str) -> None:
        log.debug(event, role=request.role, model=self.model.name, text=self.redactor.clean(text))

    def _wait(self, error: ModelError, tries: "_Tries") -> float:
        """Return the seconds until the next attempt: at random up to a bound that doubles, or what the model asks."""
        asked = error.retry_after or 0.0
        if tries.is_unlucky:
            return asked
        bound = min(self.retry.max_backoff_seconds, self.retry.backoff_multiplier * 2.0 ** (tries.attempts - 1))
        return max(asked, uniform(0.0, bound))


@dataclass(slots=True)
class _Tries:
    """How often one request was tried, refusals that were bad luck apart, and how it is asked next.

    `room` is how many times its tokens a reply may have.
    """

    most: int
    room: int = 1
    attempts: int = 0
    is_unlucky: bool = False
    _unlucky: int = 0
    _malformed: int = 0
    _problem: str = ""

    def next(self, request: Request) -> Request:
        """Return the request as it is to be asked now."""
        again = request.again(self._malformed + 1, self._problem) if self._malformed else request
        return again.with_room(self.room)

    def malformed(self, error: ModelError, *, was_cut: bool) -> None:
        """Count a reply that could not be read."""
        self._malformed += 1
        self._problem = "it was cut; be much shorter" if was_cut else error.wrong
        self.room = min(MOST_ROOM, self.room * 2) if was_cut else self.room

    def needed(self, request: Request, completion: Completion) -> int:
        """Return how many times its tokens this reply needed, so that later ones have them at once."""
        first = (request.max_tokens or 0) / self.room
        return next((times for times in ROOMS if completion.completion_tokens <= times * first), 1)

    def failed(self, error: ModelError, *, others_answered: bool) -> None:
        """Count a failure."""
        self.is_unlucky = error.kind == "rate_limit" and others_answered
        self._unlucky += self.is_unlucky

    @property
    def is_last(self) -> bool:
        """Whether no further attempt is made after the next one, whatever its cause."""
        return self.attempts - self._unlucky >= self.most - 1

    @property
    def are_spent(self) -> bool:
        """Whether there may be no further attempt."""
        return self.attempts - self._unlucky >= self.most or self._unlucky > REFUSALS * (self.most - 1)


def _rendered(request: Request) -> str:
    return "\n\n".join(f"[{message['role']}]\n{message['content']}" for message in request.messages())


def _may_pass(error: ModelError) -> bool:
    """Return whether it is worth calling again: the cause may pass, and in a time that can be waited for."""
    return not error.waited_out and error.retryable and (error.retry_after or 0.0) <= LONGEST_RETRY_AFTER
