"""The response cache: identical calls are answered from the store."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Protocol

import anyio.to_thread

from simeval.core.run_records import ReplyRecord
from simeval.core.usage import Ledger
from simeval.models.protocol.model import Completion, Request
from simeval.models.protocol.request import LIMIT


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
    note: Callable[[ReplyRecord], Awaitable[None]]
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
