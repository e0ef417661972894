"""Calls that are made again when their cause may pass.

A choice: a model answers with one of a few labels, each a single token, and may give the probability of each.

Labels are single characters or words, none of them a prefix of another: 1 and 10 may have the same first token, so that
its probability is ambiguous.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from logging import DEBUG
from typing import Any, Protocol, TypeVar

import anyio
import anyio.to_thread
from pydantic import ValidationError

from simeval.core.logs import log
from simeval.core.redaction import Redactor
from simeval.core.run_records import Ledger, ReplyRecord
from simeval.core.setting_field import RetryConfig
from simeval.core.waits import LONGEST_RETRY_AFTER, Attempts, Stage, Waits, retrying
from simeval.errors import MalformedReply, ModelError, ModelUnusable
from simeval.models.protocol.lenient_json import answer_in, read_reply
from simeval.models.protocol.model import LIMIT, Completion, Reply, Request, SharedModel

LEAST_MASS = 0.5  # of all probability; where labels have less, the first token is another, such as a space

ROOMS = (1, 2, 4, 8)  # times the tokens that a reply may have at first
MOST_ROOM = ROOMS[-1]

R = TypeVar("R", bound=Reply)
T = TypeVar("T")


class Choice(Reply):
    """A label, and the probabilities of all of them, which sum to 1; 1 for the label alone if none were sent."""

    label: str
    probabilities: Mapping[str, float]

    def expected(self, values: Mapping[str, float]) -> float:
        """Return the mean of the labels' values by their probabilities."""
        return sum(share * values[label] for label, share in self.probabilities.items())


def read_choice(completion: Completion, labels: Sequence[str], *, model: str) -> Choice:
    """Return the label that an answer begins with. Raises MalformedReply if it begins with none of them.

    If the model thought before it, the other labels' probabilities are unknown.
    """
    text = answer_in(completion.text, model).strip()
    first_token = completion.first_token if text == completion.text.strip() else {}
    if kept := _kept(text, labels):
        return kept
    first = text.strip("*_`\"'([<").casefold()
    said = next((label for label in labels if _begins(first, label.casefold())), None)
    if said is None:
        raise MalformedReply(model, problem=f"it begins with none of {', '.join(labels)}", reply=completion.text)
    mass: dict[str, float] = {}
    for token, share in first_token.items():
        label = next((each for each in labels if token.strip().casefold() == each.casefold()), None)
        if label is not None:
            mass[label] = mass.get(label, 0.0) + share
    whole = sum(mass.values())
    known = {label: share / whole for label, share in mass.items()} if whole >= LEAST_MASS else {said: 1.0}
    return Choice(label=said, probabilities=known)


def _kept(text: str, labels: Sequence[str]) -> Choice | None:
    """Return the choice that was kept with its probabilities, if the text is one of these labels."""
    if not text.startswith("{"):
        return None
    try:
        kept = Choice.model_validate(json.loads(text))
    except (ValueError, ValidationError, RecursionError):
        return None
    return kept if {kept.label, *kept.probabilities} <= set(labels) else None


def _begins(text: str, label: str) -> bool:
    rest = text.removeprefix(label)
    return rest != text and not rest[:1].isalnum()


class StoredReplies(Protocol):
    """Where replies are found again."""

    def reply(self, key: str) -> ReplyRecord | None:
        """Return the reply of a key; may block. Raises StoreError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyCache:
    """Answers calls of the judge, the simulated user and the rubric's writer that were answered before.

    The key is everything that an answer depends on: the model, its `address`, the options, the whole prompt, the
    temperature, the form asked for, and the seed, so that no trial gets the answer of another, nor one try that of
    another. The limit of a reply's length is no part of it: one that was cut could not be read. The app under test is
    never answered from here: it is the subject of measurement. Replies that could not be read are not kept. Hits are
    counted in `ledger`.
    """

    shelf: StoredReplies
    note: Callable[[ReplyRecord], Awaitable[object]]
    ledger: Ledger
    clean: Callable[[str], str]
    address: Mapping[str, str] = field(default_factory=dict)

    async def find(self, model: str, request: Request) -> str | None:
        """Return the reply to a request, if there is one."""
        if request.role == "app":
            return None
        kept = await anyio.to_thread.run_sync(self.shelf.reply, self.key(model, request), abandon_on_cancel=True)
        if kept is None:
            return None
        self.ledger.of(request.role).cached_calls += 1
        return kept.text

    async def keep(self, model: str, request: Request, completion: Completion) -> None:
        """Keep a reply that could be read."""
        if request.role == "app" or self.clean(completion.text) != completion.text:
            return  # a reply that held a secret would not be the same when it comes back
        await self.note(
            ReplyRecord(
                key=self.key(model, request),
                model=model,
                role=request.role,
                text=completion.text,
                prompt_tokens=completion.prompt_tokens,
                completion_tokens=completion.completion_tokens,
            )
        )

    def key(self, model: str, request: Request) -> str:
        """Return the key of a request: a hash of all that its answer depends on."""
        form: object = None if request.reply is None else [request.reply.__name__, request.reply.json_schema]
        if request.probabilities:
            form = [form, "probabilities"]
        if request.stop:
            form = [form, "stop", *request.stop]
        options = {name: str(value) for name, value in request.options.items() if name != LIMIT}
        parts = [model, {**self.address, **options}, request.messages(), request.temperature, request.seed, form]
        return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@dataclass(slots=True)
class Caller:
    """Asks a model in one role and retries by cause: each attempt is one call, and its reply is read within it.

    `options` are that role's, and go into each call; malformed replies are counted in `ledger`.

    An unreadable reply is asked for again with another seed, a temperature and a description of the problem; if it was
    cut, with twice the tokens, at most MOST_ROOM times as many; if it needed them, later replies of that role have as
    many at once.

    All attempts but the last are hurried, unless the role is the app's: one that takes far longer than usual is
    repeated, and the last has all the time there is.

    Rate limits, time-outs, lost connections, server errors and malformed replies are tried again; anything else is not,
    such as an answer that a content filter withheld. The objects of tenacity in `simeval.core.waits` decide, once an
    attempt has failed. Raises the last ModelError, with the number of attempts; ModelUnusable if a model that has never
    answered cannot be reached. A call that is refused while others are answered is out of luck, not of attempts: it
    waits for its own Retry-After, then in the line of whoever governs the model. With a `cache` the reply is looked for
    there first.
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
        """Return the model's answer as `kind`; a reply that repeats one of `quoted_texts` is no answer."""
        return await self._attempt(
            request,
            lambda made: read_reply(
                made.text,
                kind,
                model=self.model.name,
                quoted_texts=quoted_texts,
                was_cut=made.is_cut,
                was_filtered=made.is_filtered,
            ),
        )

    async def choose(self, request: Request, labels: Sequence[str]) -> Choice:
        """Return which of these labels the model's answer begins with, and how probable it finds each."""

        def read(completion: Completion) -> Choice:
            return read_choice(completion, labels, model=self.model.name)

        return await self._attempt(request, read)

    async def text(self, request: Request) -> str:
        """Return the model's answer without its thoughts; an empty one is malformed."""
        return (await self.completed(request)).text

    async def completed(self, request: Request) -> Completion:
        """Return the model's answer without its thoughts, with the data of the call.

        A refusal is an answer; an empty one is malformed.
        """

        def read(completion: Completion) -> Completion:
            said = answer_in(completion.text, self.model.name, is_prose=True) or completion.refusal
            if not said.strip():
                raise MalformedReply(self.model.name, problem="an empty reply", reply=completion.text)
            return completion if said == completion.text else replace(completion, text=said)

        return await self._attempt(request, read)

    async def _attempt(self, request: Request, read: Callable[[Completion], T]) -> T:
        """Return the result of `read` on the first readable reply."""
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
                attempts = tries.attempts = tries.attempts or Attempts(retrying(self.retry, _may_pass))
                seconds = attempts.wait_after(error, is_unlucky=tries.is_unlucky)
                if seconds is None:
                    error.attempts, error.role = attempts.made, request.role
                    if error.kind == "connection" and error.attempts > 1 and not self.model.answers:
                        raise ModelUnusable(self.model.name, kind=error.kind, problem=error.problem) from None
                    raise
                log.debug(
                    "retry",
                    role=request.role,
                    model=self.model.name,
                    attempt=attempts.made,
                    wait_seconds=round(seconds, 2),
                    error=str(error),
                )
                stage: Stage = "refused" if error.kind == "rate_limit" else "retry"
            with self.waits.during(stage, self.model.name, request.role, seconds=seconds):
                await anyio.sleep(seconds)

    async def _kept(self, request: Request, read: Callable[[Completion], T]) -> T | None:
        """Return the stored answer to a request, if there is one and it can be read."""
        if self.cache is not None and (text := await self.cache.find(self.model.name, request)) is not None:
            with suppress(MalformedReply):  # kept by another version: it is asked for again
                return read(Completion(text=text))
        return None

    async def _asked(self, request: Request, read: Callable[[Completion], T], tries: "_Tries") -> T:
        """Make one call and read its reply."""
        if log.is_enabled_for(DEBUG):
            self._log("prompt", request, _rendered(request))
        completion = await self._complete(request, tries)
        if log.is_enabled_for(DEBUG):
            self._log("reply", request, completion.text)
        try:
            answer = read(completion)
        except MalformedReply as error:
            if completion.refusal or completion.is_filtered:
                raise self._withheld(completion) from None
            was_cut = completion.is_cut and not request.probabilities  # text after a label is never of use
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

    def _withheld(self, completion: Completion) -> ModelError:
        said = f"the model refused: {completion.refusal}" if completion.refusal else "withheld by the content filter"
        return ModelError(self.model.name, kind="withheld", problem=said)

    def _cut(self, request: Request, completion: Completion) -> MalformedReply:
        tokens = completion.completion_tokens or request.max_tokens
        problem = f"the reply was cut at {tokens} tokens; give it more with the option max_tokens"
        return MalformedReply(self.model.name, problem=problem, reply=completion.text)

    async def _complete(self, request: Request, tries: "_Tries") -> Completion:
        answers = self.model.answers
        try:
            completion = await self.model.complete(request)
        except ModelError as error:
            tries.is_unlucky = error.kind == "rate_limit" and self.model.answers > answers
            if error.kind == "malformed":
                self.ledger.of(request.role).malformed_calls += 1
                tries.malformed(error, was_cut=False)
            raise
        tries.is_unlucky = False
        return completion

    def _log(self, event: str, request: Request, text: str) -> None:
        log.debug(event, role=request.role, model=self.model.name, text=self.redactor.clean(text))


@dataclass(slots=True)
class _Tries:
    """How one request was tried, and how it is asked next.

    `room` is how many times its tokens a reply may have, `most` how many attempts there may be; `attempts` are those
    that failed.
    """

    most: int
    room: int = 1
    attempts: Attempts | None = None
    is_unlucky: bool = False
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

    @property
    def is_last(self) -> bool:
        """Whether no further attempt is made after the next one, whatever its cause."""
        return (self.attempts.counted if self.attempts else 0) >= self.most - 1


def _rendered(request: Request) -> str:
    return "\n\n".join(f"[{message['role']}]\n{message['content']}" for message in request.messages())


def _may_pass(error: BaseException) -> bool:
    """Return whether it is worth calling again: the cause may pass, and in a time that can be waited for."""
    assert isinstance(error, ModelError)
    return not error.waited_out and error.retryable and (error.retry_after or 0.0) <= LONGEST_RETRY_AFTER
