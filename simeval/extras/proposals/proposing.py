"""Asks a model for scenarios, part by part, and keeps those that add something new."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, StringConstraints

from simeval.core import seeds
from simeval.core.conversation import ChatMessage
from simeval.core.phrases import content_stems
from simeval.core.run_records import Ledger, total
from simeval.core.settings import Settings
from simeval.errors import DefinitionError, ModelError, ModelUnusable
from simeval.extras.proposals.sources import Part, chosen
from simeval.models.caller import Caller
from simeval.models.protocol.model import Model, ModelRequest, Reply, Text, json_object
from simeval.models.protocol.prompt_texts import Prompt, all_prompts, built_in
from simeval.models.protocol.prompts import chat_of, tagged
from simeval.models.registry import Models
from simeval.scorers.llm.judge import at_once

MOST_AT_ONCE = 5  # scenarios that are asked for in one call
TOKENS_EACH = 400  # of a scenario, at the most

Line = Annotated[str, StringConstraints(strict=True, strip_whitespace=True)]

MOST_ROUNDS = 3  # in which a source is asked for new scenarios
ALIKE = 0.8  # the share of common words at which two scenarios are one


class ProposedScenario(BaseModel):
    """A scenario as a model proposes it; `quote` are the words of the source that it rests on, or ""."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    title: Text
    given: Text
    when: Text
    expected_behavior: Text
    counterexample: Line = ""
    quote: Line = ""


class ProposalReply(Reply):
    """The scenarios that a model proposes from one part of a source; empty if it has no more."""

    scenarios: tuple[ProposedScenario, ...]
    json_schema: ClassVar[Any] = json_object(
        scenarios={
            "type": "array",
            "items": json_object(**{name: {"type": "string"} for name in ProposedScenario.model_fields}),
        }
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalRequest(ModelRequest):
    """Asks for `count` scenarios of a part of a source, other than those whose titles are `known`."""

    source: str
    count: int
    known: Sequence[str] = ()
    temperature: float = 0.5
    prompt: Prompt = field(default_factory=partial(built_in, "proposal"))

    role: ClassVar[str] = "proposal"
    reply: ClassVar[type[Reply]] = ProposalReply

    def first_messages(self) -> list[ChatMessage]:
        user = self.prompt.render(
            "user",
            source=tagged("source", self.source),
            known=tagged("known", "\n".join(self.known)) if self.known else None,
            count=str(self.count),
        )
        return chat_of(self.prompt.render("system"), user)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A scenario with its source; `quote` exists only if the source has it, word by word."""

    scenario: ProposedScenario
    source: str
    quote: str


@dataclass(slots=True, kw_only=True)
class Proposals:
    """A model's proposals: at most as many scenarios as requested, and the ones left out."""

    model: str
    parts: int
    parts_read: int = 0
    found: list[Proposal] = field(default_factory=list)
    alike: int = 0
    problems: list[str] = field(default_factory=list)
    calls: int = 0
    tokens: int = 0

    def take(self, scenario: ProposedScenario, part: Part) -> None:
        """Keep a scenario unless it is like one of the others."""
        if any(_alike(scenario, each.scenario) for each in self.found):
            self.alike += 1
        else:
            self.found.append(Proposal(scenario, part.name, _quoted(scenario.quote, part.text)))


async def propose(parts: Sequence[Part], *, count: int, model: str | Model, settings: Settings) -> Proposals:
    """Return `count` scenarios that a model proposes from parts of a source, or fewer if it has no more.

    Raises DefinitionError, before any call for invalid arguments, and if the model proposes nothing; ModelUnusable if
    it cannot be asked, and ModelError if none of its replies could be read.
    """
    prompt = all_prompts(settings.prompts)["proposal"]
    models, ledger = Models(settings), Ledger()
    [asked] = models.panel(model)
    await models.check()
    made = Proposals(model=asked.name, parts=len(parts))
    clean = models.redactor().clean
    read = [Part(each.name, clean(each.text)) for each in chosen(parts, count)]
    models.open()
    try:
        asking = _Asking(models.caller(asked, ledger, role="judge"), prompt, settings.seed or 0, made)
        for number in range(MOST_ROUNDS):
            before = len(made.found)
            await asking.round(number, read, count)
            if len(made.found) >= count or len(made.found) == before:
                break
    finally:
        await models.close()
    usage = total(ledger.by_role())
    made.calls, made.tokens = usage.calls, usage.prompt_tokens + usage.completion_tokens
    if not made.found:
        do = "describe what the app does, or name another model with --model"
        raise DefinitionError("generate", found=f"{asked.name} found nothing to propose in these sources", do=do)
    made.parts_read, made.found = len(read), made.found[:count]
    return made


@dataclass(frozen=True, slots=True)
class _Asking:
    caller: Caller
    prompt: Prompt
    seed: int
    made: Proposals

    async def round(self, number: int, parts: Sequence[Part], count: int) -> None:
        """Ask about all parts at once for the missing scenarios. Raises ModelError if the first round finds nothing."""
        known = tuple(each.scenario.title for each in self.made.found)
        each = min(MOST_AT_ONCE, -(-(count - len(known)) // len(parts)))
        replies = await at_once(
            [partial(self._one, part, each, known, (number, place)) for place, part in enumerate(parts)]
        )
        failed = [reply for reply in replies if isinstance(reply, ModelError)]
        if len(failed) == len(parts) and not known:
            raise failed[0]
        self.made.problems += [str(error) for error in failed]
        for part, reply in zip(parts, replies, strict=True):
            for scenario in () if isinstance(reply, ModelError) else reply.scenarios[:each]:
                self.made.take(scenario, part)

    async def _one(
        self, part: Part, count: int, known: Sequence[str], place: tuple[int, int]
    ) -> ProposalReply | ModelError:
        request = ProposalRequest(
            source=part.text,
            count=count,
            known=known,
            max_tokens=count * TOKENS_EACH,
            seed=seeds.derive(self.seed, "proposal", *place),
            prompt=self.prompt,
        )
        try:
            return await self.caller.ask(request, ProposalReply, quoted_texts=[part.text])
        except ModelUnusable:
            raise
        except ModelError as error:
            return error


def _alike(one: ProposedScenario, other: ProposedScenario) -> bool:
    """Return whether two scenarios have one title, or want and expect the same."""
    if one.title.casefold() == other.title.casefold():
        return True
    first, second = (content_stems(f"{each.when} {each.expected_behavior}") for each in (one, other))
    return len(first & second) >= ALIKE * max(1, len(first | second))


def _quoted(quote: str, text: str) -> str:
    """Return a quotation that the source has, whatever its spaces; "" for any other."""
    words = " ".join(quote.split())
    return words if words and words.casefold() in " ".join(text.split()).casefold() else ""
