"""Criteria: an expectation in several parts; judges rule on each, with a quote from the conversation."""

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from html import unescape
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator

from simeval.core import seeds
from simeval.core.conversation import Conversation
from simeval.core.feedback import LabelledExample
from simeval.core.judging import ESCALATION, EscalationRule
from simeval.core.logs import log
from simeval.core.serialization import plain
from simeval.core.setting_field import CriteriaCalls, JudgeReply
from simeval.core.trial import ControlKind, Preparation, Rating, Score
from simeval.errors import CannotTell, ModelError, ModelUnusable
from simeval.models.caller import Caller
from simeval.models.protocol.model import Reasoning, Reply, json_object
from simeval.models.protocol.prompt_texts import Prompt, built_in, end_state
from simeval.models.protocol.prompts import CriteriaRequest, LabelRulingRequest
from simeval.scorers.base import Scorer
from simeval.scorers.llm.judge import (
    ExpectationControls,
    RubricScorer,
    facts_of,
    mean_rating,
    of_each_judge,
    require_readable,
    told_left_out,
)

FEWEST = 4  # characters of a quote, unless it is the whole text: shorter ones occur anywhere
_GAPS = re.compile(r"\[?(?:\.{3,}|…)\]?")
_MARKS = re.compile(r"[\"'`´‘’‚‛“”„‟«»‹›「」『』*_]")
_SPACES = re.compile(r"\s+")

ALL_MET, NOT_ALL_MET = 10.0, 1.0  # on the scale of ratings, so that one bar fits both
SAID = {"met": "met", "not_met": "NOT met", "cannot_tell": "cannot be told"}
Said = Literal["met", "not_met", "cannot_tell"]
WORDS: Mapping[str, Said] = {"Yes": "met", "No": "not_met", "Unclear": "cannot_tell"}

_TEXT: Mapping[str, Any] = {"type": "string"}
_RULING = json_object(reasoning=_TEXT, quote=_TEXT, ruling={**_TEXT, "enum": list(SAID)})


def stands_in(quote: str, texts: Iterable[str]) -> bool:
    """Return whether a quote occurs in one of these texts.

    Spaces, quotation marks, marks of emphasis, case and entities make no difference; an ellipsis matches any words.
    """
    pieces = [piece for piece in map(_flat, _GAPS.split(quote)) if piece]
    return bool(pieces) and any(_all_in(pieces, _flat(text)) for text in texts)


def _all_in(pieces: list[str], text: str) -> bool:
    if sum(map(len, pieces)) < FEWEST and pieces != [text]:
        return False
    place = 0
    for piece in pieces:
        place = text.find(piece, place) + len(piece)
        if place < len(piece):
            return False
    return True


def _flat(text: str) -> str:
    plain = unicodedata.normalize("NFKC", unescape(text)).casefold()
    return _SPACES.sub(" ", _MARKS.sub("", plain)).strip().strip(".")


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
        json_schema: ClassVar[Mapping[str, Any]] = json_object(rulings=json_object(**dict.fromkeys(asked, _RULING)))

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


@dataclass(frozen=True, slots=True)
class EscalatingScorer(Scorer):
    """Rates as `both` does with its first judge, and if `rule` takes that rating, with its second alone.

    The composite is the criterion: a score is the rating of the judge that settled it. The second judge also rates a
    share `audit` of the conversations that the first settles, drawn by the trial's seed; that is kept in the score's
    details under "escalation", and changes no score.
    """

    both: RubricScorer | CriteriaScorer
    rule: EscalationRule
    audit: float
    timeout_seconds = None
    direction = "higher"

    @property
    def name(self) -> str:
        return self.both.name

    async def prepare(self, columns: Mapping[str, Any]) -> Preparation | None:
        """Prepare both judges; each is shown every control by itself. Raises ModelUnusable."""
        return await self.both.prepare(columns)

    async def score(self, conversation: Conversation, given: str, when: str, seed: int, facts: Any = "") -> Score:
        """Return the rating of the judge that settles it.

        Raises ModelError if that rating is missing, CannotTell if the judge cannot decide.
        """
        [first, second] = self.both.judges
        asked: dict[str, Any] = {
            "conversation": conversation,
            "given": given,
            "when": when,
            "seed": seed,
            "facts": facts,
        }
        try:
            found = await self._by(first).score(**asked)
        except CannotTell:
            if not self.rule.when_untold:
                raise
            return await self._settled_by(second, asked, {"why": "cannot tell"})
        if self.rule.takes(found.value):
            return await self._settled_by(second, asked, {"why": "rating", "first": found.value})
        audited = await self._audited(second, asked) if self._is_drawn(seed) else {}
        return _of_judge(found, first, {"why": "settled", "first": found.value, **audited})

    def _by(self, judge: Caller) -> RubricScorer | CriteriaScorer:
        return replace(self.both, judges=[judge], escalated=judge is self.both.judges[1])

    async def _settled_by(self, second: Caller, asked: Mapping[str, Any], known: Mapping[str, object]) -> Score:
        found = await self._by(second).score(**asked)
        return _of_judge(found, second, {**known, "second": found.value})

    def _is_drawn(self, seed: int) -> bool:
        return seeds.generator(seed, "escalation audit").random() < self.audit

    async def _audited(self, second: Caller, asked: Mapping[str, Any]) -> Mapping[str, object]:
        """Return the second judge's rating of a settled conversation; empty if it has none."""
        try:
            return {"second": (await self._by(second).score(**asked)).value}
        except ModelUnusable:
            raise
        except (ModelError, CannotTell) as error:
            log.debug("escalation audit", judge=second.model.name, error=second.redactor.clean(str(error)))
            return {}


def _of_judge(score: Score, judge: Caller, escalation: Mapping[str, object]) -> Score:
    """Return a score with the ratings behind its mean, which name their judges, and its escalation."""
    only = Rating(judge=judge.model.name, repeat=0, score=score.value, reasoning=score.reasoning)
    ratings: Sequence[Rating] = score.ratings or (only,)
    return replace(score, ratings=tuple(ratings), details={**score.details, ESCALATION: dict(escalation)})
