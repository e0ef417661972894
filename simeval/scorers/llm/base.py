"""The base of scorers that ask a language model, with prompts that a user may edit."""

import re
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar

from simeval.core.conversation import ChatMessage
from simeval.core.settings import DEFAULTS
from simeval.core.usage import Ledger
from simeval.errors import DefinitionError
from simeval.models.caller import Caller
from simeval.models.protocol.model import Model, ModelKind, ModelRequest, Request
from simeval.models.protocol.prompt_texts import DATA_NOTICE
from simeval.models.protocol.prompts import escaped
from simeval.models.protocol.replies import Reply
from simeval.models.registry import Models
from simeval.scorers.base import Callers, ColumnScorer, Scorer

R = TypeVar("R", bound=Reply)

_PLACE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorerRequest(ModelRequest):
    """A request of a scorer to a model."""

    system: str
    user: str
    reply: type[Reply]
    max_tokens: int | None = 4000

    role: ClassVar[str] = "scorer"

    def first_messages(self) -> list[ChatMessage]:
        return [{"role": "system", "content": self.system}, {"role": "user", "content": self.user}]


@dataclass(kw_only=True, eq=False)
class ModelScorer(ColumnScorer):
    """The base of scorers that ask a `model`, a LiteLLM name or a Model object.

    In a run the model is asked within its limits, retried by cause, counted and cached, and without a `model` it is the
    engine's judge. A scorer that is used by itself needs a `model`, and opens and closes its connections.
    """

    model: str | Model | None = None
    timeout_seconds: ClassVar[float | None] = None
    _caller: Caller | None = field(default=None, init=False, repr=False)

    @property
    def calls(self) -> int:
        return 1

    @property
    def asked(self) -> str | Model | ModelKind | None:
        """The model to ask: a chat model, unless a subclass gives the kind of its `model`."""
        return self.model

    def bind(self, callers: Callers) -> Scorer:
        bound = copy(self)
        bound._caller = callers(self.asked)
        return bound

    async def ask(
        self, kind: type[R], *, system: str, user: str, seed: int = 0, quoted_texts: Sequence[str] = (), **texts: str
    ) -> R:
        """Return the model's answer to a prompt with each `{name}` replaced by one of `texts`, fenced and escaped.

        A reply that repeats one of `quoted_texts` is no answer. Raises ModelError.
        """
        request = ScorerRequest(system=f"{system}\n{DATA_NOTICE}", user=filled(user, texts), reply=kind, seed=seed)
        return await self.answer(request, kind, quoted_texts=quoted_texts)

    async def answer(self, request: Request, kind: type[R], *, quoted_texts: Sequence[str] = ()) -> R:
        """Return the model's answer to a request: in a run through the run's caller, else with a model of its own."""
        if self._caller is not None:
            return await self._caller.ask(request, kind, quoted_texts=quoted_texts)
        asked = self.asked
        if asked is None:
            do = f"name one: {type(self).__name__}(model='openai/gpt-5-nano')"
            raise DefinitionError(f"scorer {self.name}", found="no model", do=do)
        models = Models(DEFAULTS)
        models.open()
        try:
            return await models.caller(models.get(asked), Ledger()).ask(request, kind, quoted_texts=quoted_texts)
        finally:
            await models.close()


def filled(prompt: str, texts: Mapping[str, str | Sequence[str]]) -> str:
    """Put texts, each escaped and in a tag of its name, into the places of a prompt. Other braces stay as they are.

    Several texts in one place are numbered, each in a tag of its own.
    """
    return _PLACE.sub(lambda place: _tagged(place[1], texts[place[1]]) if place[1] in texts else place[0], prompt)


def places(prompt: str) -> Sequence[str]:
    """Return the names in the places of a prompt, each once."""
    return tuple(dict.fromkeys(_PLACE.findall(prompt)))


def _tagged(name: str, text: str | Sequence[str]) -> str:
    if isinstance(text, str):
        return f"<{name}>\n{escaped(text)}\n</{name}>"
    items = [f'<item number="{number}">\n{escaped(each)}\n</item>' for number, each in enumerate(text, 1)]
    return "\n".join([f"<{name}>", *items, f"</{name}>"])
