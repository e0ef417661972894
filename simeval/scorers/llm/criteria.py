"""Criteria: an expectation in several parts; judges rule on each, with a quote from the conversation."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator

from simeval.core.controls import ControlKind
from simeval.core.conversation import Conversation
from simeval.core.labelled_examples import LabelledExample
from simeval.core.logs import log
from simeval.core.preparation import Preparation
from simeval.core.serialization import plain
from simeval.core.setting_choices import CriteriaCalls, JudgeReply
from simeval.core.trial import Rating, Score
from simeval.errors import CannotTell
from simeval.models.caller import Caller
from simeval.models.protocol.prompt_texts import Prompt, built_in
from simeval.models.protocol.prompts import CriteriaRequest, LabelRulingRequest
from simeval.models.protocol.replies import Reasoning, Reply
from simeval.models.protocol.transcripts import end_state
from simeval.scorers.base import Scorer
from simeval.scorers.llm.controls import ExpectationControls
from simeval.scorers.llm.judge import mean_rating
from simeval.scorers.llm.panel import facts_of, of_each_judge, require_readable, told_left_out
from simeval.scorers.llm.quotes import stands_in

ALL_MET, NOT_ALL_MET = 10.0, 1.0  # on the scale of ratings, so that one bar fits both
SAID = {"met": "met", "not_met": "NOT met", "cannot_tell": "cannot be told"}
Said = Literal["met", "not_met", "cannot_tell"]
WORDS: Mapping[str, Said] = {"Yes": "met", "No": "not_met", "Unclear": "cannot_tell"}

_RULING: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "reasoning": {"type": "string"},
        "quote": {"type": "string"},
        "ruling": {"type": "string", "enum": list(SAID)},
    },
    "required": ["reasoning", "quote", "ruling"],
    "additionalProperties": False,
}


class CriterionRuling(Reply):
    """Whether one criterion is met, and the words of the conversation that this rests on."""

    reasoning: Reasoning
    quote: Annotated[str, Field(strict=True)] = ""
    ruling: Said
    json_schema: ClassVar[Mapping[str, Any]] = _RULING


class CriteriaRulings(Reply):
    """Rulings by the numbers of criteria; made for a conversation by `rulings_on`."""

    rulings: Mapping[str, CriterionRuling]
    numbers: ClassVar[frozenset[str]] = frozenset()
    said: ClassVar[Sequence[str]] = ()

    @field_validator("rulings")
    @classmethod
    def _each(cls, rulings: Mapping[str, CriterionRuling]) -> Mapping[str, CriterionRuling]:
        if rulings.keys() != cls.numbers:
            raise ValueError(f"rulings must be exactly on {', '.join(sorted(cls.numbers, key=int))}")
        for number, each in rulings.items():
            if each.ruling == "met" and not stands_in(each.quote, cls.said):
                raise ValueError(f"the quote of criterion {number} does not stand in the conversation")
        return rulings


def rulings_on(asked: Sequence[str], texts: Sequence[str]) -> type[CriteriaRulings]:
    """Return the reply that rules on each of these numbers, and quotes one of these texts for each one met."""

    class RulingsOnConversation(CriteriaRulings):
        numbers = frozenset(asked)
        said = tuple(texts)
        json_schema: ClassVar[Mapping[str, Any]] = {
            "type": "object",
            "properties": {
                "rulings": {
                    "type": "object",
                    "properties": dict.fromkeys(asked, _RULING),
                    "required": list(asked),
                    "additionalProperties": False,
                }
            },
            "required": ["rulings"],
            "additionalProperties": False,
        }

    return RulingsOnConversation


@dataclass(frozen=True, slots=True, kw_only=True)
class CriteriaScorer(Scorer):
    """Rates a conversation 10 where all `criteria` are met, else 1; each of the `judges` rules on them `repeats` times.

    They are asked about "all" in one call, or about "each" in one of its own. The rulings, with their quotes, are in
    the score's details. Where the `reply` is a label, each criterion has a call, is ruled on by the more probable word
    and has that word's probability in place of a quote.
    """

    judges: Sequence[Caller]
    criteria: Sequence[str]
    reference: str = ""
    repeats: int = 1
    asked: CriteriaCalls = "all"
    reply: JudgeReply = "json"
    most_tokens: int | None = None
    prompt: Prompt = field(default_factory=partial(built_in, "criteria"))
    examples: Sequence[LabelledExample] = ()
    controls: ExpectationControls | None = None
    control: ControlKind | None = None
    escalated: bool = False
    told: set[str] = field(default_factory=set, repr=False, compare=False)
    held_on: str | None = None
    timeout_seconds = None
    direction = "higher"

    @property
    def name(self) -> str:
        return "criteria"

    async def prepare(self, columns: Mapping[str, Any]) -> Preparation | None:
        """Show the controls to the judges. Raises ModelUnusable."""
        return None if self.controls is None else await self.controls.prepare(self, columns, Preparation())

    @property
    def basis(self) -> Sequence[object]:
        """The inputs of its rulings besides the scenario."""
        known = [self.prompt.name, self.prompt.identity, self.reference, self.asked]
        return [*known, *self.criteria, *(each.key for each in self.examples)]

    def alone(self, judge: Caller, control: ControlKind) -> "CriteriaScorer":
        """Return the scorer with which one judge rules on a control once."""
        return replace(self, judges=[judge], repeats=1, control=control)

    async def score(self, conversation: Conversation, given: str, when: str, seed: int, facts: Any = "") -> Score:
        """Return whether all criteria are met. Raises ModelError, and CannotTell if a judge cannot decide on one.

        One that is not met settles it, whatever is undecided about the others.
        """
        texts = said_in(conversation)
        request = partial(
            CriteriaRequest,
            given=given,
            when=when,
            facts=facts_of(facts),
            reference=self.reference,
            examples=self.examples,
            conversation=conversation.messages,
            most_tokens=self.most_tokens,
            held_on=self.held_on,
            prompt=self.prompt,
            control=self.control,
            escalated=self.escalated,
        )

        require_readable(shown := request(criteria={}, reply=CriteriaRulings, seed=seed).shown)

        async def ask(judge: Caller, repeat: int, seed: int) -> tuple[Rating, list[Mapping[str, object]]]:
            rulings: dict[str, CriterionRuling] = {}
            if self.reply == "label":
                rulings = await self._by_label(judge, partial(LabelRulingRequest, **request.keywords, seed=seed))
                return self._rating(judge, repeat, rulings), self._details(judge, repeat, rulings, texts)
            for numbered in self._calls():
                kind = rulings_on(list(numbered), texts)
                asked = request(criteria=numbered, reply=kind, seed=seed)
                rulings |= (await judge.ask(asked, kind, quoted_texts=texts)).rulings
            return self._rating(judge, repeat, rulings), self._details(judge, repeat, rulings, texts)

        found = await of_each_judge(self.judges, self.repeats, seed, ask)
        score = mean_rating([rating for rating, _ in found])
        left_out = {} if shown.is_whole else {"left_out": told_left_out(shown, self.told)}
        rulings = [each for _, details in found for each in details]
        return Score(
            value=score.value,
            reasoning=score.reasoning,
            ratings=score.ratings,
            details={"rulings": rulings, **left_out},
        )

    async def _by_label(self, judge: Caller, request: Callable[..., LabelRulingRequest]) -> dict[str, CriterionRuling]:
        """Return the rulings of a judge who answers in a word, by the numbers of their criteria."""
        rulings: dict[str, CriterionRuling] = {}
        for number, text in enumerate(self.criteria, 1):
            chosen = await judge.choose(request(criterion=text), list(WORDS))
            likeliest = max(chosen.probabilities, key=lambda word: chosen.probabilities[word])
            share = chosen.probabilities[likeliest]
            rulings[str(number)] = CriterionRuling(ruling=WORDS[likeliest], reasoning=f"{likeliest} ({share:.0%})")
        return rulings

    def _calls(self) -> list[Mapping[str, str]]:
        """Return the criteria of each call, by their numbers."""
        numbered = {str(number): text for number, text in enumerate(self.criteria, 1)}
        return [numbered] if self.asked == "all" else [{number: text} for number, text in numbered.items()]

    def _rating(self, judge: Caller, repeat: int, rulings: Mapping[str, CriterionRuling]) -> Rating:
        said = [each.ruling for each in rulings.values()]
        lines = [self._line(number, each) for number, each in rulings.items()]
        reasoning = judge.redactor.clean("\n".join(lines))
        log.debug("rulings", judge=judge.model.name, repeat=repeat, rulings=reasoning)
        if "cannot_tell" in said and "not_met" not in said:
            unclear = [
                self.criteria[int(number) - 1] for number, each in rulings.items() if each.ruling == "cannot_tell"
            ]
            raise CannotTell(judge.model.name, judge.redactor.clean(unclear[0]))
        value = ALL_MET if set(said) == {"met"} else NOT_ALL_MET
        return Rating(judge=judge.model.name, repeat=repeat, score=value, reasoning=reasoning)

    def _line(self, number: str, ruling: CriterionRuling) -> str:
        quoted = f' ("{ruling.quote}")' if ruling.quote and ruling.ruling == "met" else f": {ruling.reasoning}"
        return f"{SAID[ruling.ruling]}: {self.criteria[int(number) - 1]}{quoted}"

    def _details(
        self, judge: Caller, repeat: int, rulings: Mapping[str, CriterionRuling], texts: Sequence[str]
    ) -> list[Mapping[str, object]]:
        return [
            {
                "judge": judge.model.name,
                "repeat": repeat,
                "criterion": self.criteria[int(number) - 1],
                "ruling": each.ruling,
                "quote": each.quote if stands_in(each.quote, texts) else "",
                "reasoning": each.reasoning,
            }
            for number, each in rulings.items()
        ]


def said_in(conversation: Conversation) -> list[str]:
    """Return the texts that a judge may quote: messages, tool calls, the state at the end."""
    messages = conversation.messages
    calls = [json.dumps(plain(call), ensure_ascii=False) for message in messages for call in message.tool_calls]
    return [*(message.content for message in messages), *calls, end_state(messages) or ""]
