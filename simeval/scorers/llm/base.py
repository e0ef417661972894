"""The base of scorers that ask a language model, with prompts that a user may edit."""

import re
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import Field, field_validator

from simeval.core.conversation import ChatMessage
from simeval.core.run_records import Ledger
from simeval.core.settings import DEFAULTS
from simeval.errors import DefinitionError
from simeval.models.caller import Caller
from simeval.models.protocol.model import Model, ModelKind, ModelRequest, Reasoning, Reply, Request, Text, json_object
from simeval.models.protocol.prompt_texts import DATA_NOTICE
from simeval.models.protocol.prompts import escaped
from simeval.models.registry import Models
from simeval.scorers.base import Callers, ColumnScorer, Scorer

R = TypeVar("R", bound=Reply)

_PLACE = re.compile(r"\{(\w+)\}")

MOST_CLAIMS = 1000

Flag = Annotated[bool, Field(strict=True)]


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


def _list(item: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"type": "array", "items": item}


_TEXT: Mapping[str, Any] = {"type": "string"}
_FLAG: Mapping[str, Any] = {"type": "boolean"}


class Ruling(Reply):
    """Whether one criterion is met."""

    reasoning: Reasoning
    met: Flag
    json_schema: ClassVar[Mapping[str, Any]] = json_object(reasoning=_TEXT, met=_FLAG)


class Rulings(Reply):
    """Whether each of several criteria is met, by its name; made for given names by `rulings_of`."""

    rulings: Mapping[str, Ruling]
    names: ClassVar[frozenset[str]] = frozenset()
    json_schema: ClassVar[Mapping[str, Any]] = json_object(rulings=json_object())

    @field_validator("rulings")
    @classmethod
    def _each(cls, rulings: Mapping[str, Ruling]) -> Mapping[str, Ruling]:
        if rulings.keys() != cls.names:
            raise ValueError(f"rulings must be exactly on {', '.join(sorted(cls.names))}")
        return rulings


def rulings_of(asked: Sequence[str]) -> type[Rulings]:
    """Return the reply that holds a ruling for each of these names, and for no other."""

    class RulingsOfNames(Rulings):
        names = frozenset(asked)
        json_schema = json_object(rulings=json_object(**dict.fromkeys(asked, Ruling.json_schema)))

    return RulingsOfNames


class Claim(Reply):
    """One claim that a text makes, and whether its source supports it."""

    claim: Text
    reasoning: Reasoning
    supported: Flag
    json_schema: ClassVar[Mapping[str, Any]] = json_object(claim=_TEXT, reasoning=_TEXT, supported=_FLAG)


class Claims(Reply):
    """All claims of a text; empty if it makes none."""

    claims: Annotated[tuple[Claim, ...], Field(max_length=MOST_CLAIMS)]
    json_schema: ClassVar[Mapping[str, Any]] = json_object(claims=_list(Claim.json_schema))


class Share(Reply):
    """How much of something, from 0 to 1."""

    reasoning: Reasoning
    score: Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]
    json_schema: ClassVar[Mapping[str, Any]] = json_object(
        reasoning=_TEXT, score={"type": "number", "minimum": 0, "maximum": 1}
    )


class OneToFive(Reply):
    """A rating on a scale of five."""

    reasoning: Reasoning
    score: Annotated[int, Field(strict=True, ge=1, le=5)]
    json_schema: ClassVar[Mapping[str, Any]] = json_object(
        reasoning=_TEXT, score={"type": "integer", "minimum": 1, "maximum": 5}
    )


class Questions(Reply):
    """Questions that a text would answer, and whether it answers nothing."""

    noncommittal: Flag
    questions: Annotated[tuple[Text, ...], Field(min_length=1, max_length=MOST_CLAIMS)]
    json_schema: ClassVar[Mapping[str, Any]] = json_object(noncommittal=_FLAG, questions=_list(_TEXT))


class Quality(Reply):
    """The quality of a summary."""

    reasoning: Reasoning
    grade: Literal["poor", "ok", "excellent"]
    json_schema: ClassVar[Mapping[str, Any]] = json_object(
        reasoning=_TEXT, grade={"type": "string", "enum": ["poor", "ok", "excellent"]}
    )


class Entities(Reply):
    """The named entities of a text."""

    entities: tuple[Annotated[str, Field(strict=True)], ...]
    json_schema: ClassVar[Mapping[str, Any]] = json_object(entities=_list(_TEXT))
