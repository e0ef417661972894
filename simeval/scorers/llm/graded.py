"""Graded scorers: a model decides, with reasons, if an answer is right, grounded, helpful or meets a criterion.

    Graded
    ├── Ruled: one yes or no    HallucinationFree, Correctness, Helpfulness
    ├── Supported: a share      Faithfulness, FactualAccuracy
    ├── DocumentRelevance       a share of documents
    ├── ContextRelevancy        a number from 0 to 1
    └── Criteria                a yes or no for each criterion of the user's own

The prompts are defaults to be edited. None of them has been validated against human judgement.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any, ClassVar, TypeVar

from simeval.core import seeds
from simeval.core.conversation import Conversation
from simeval.core.direction import UNIT
from simeval.core.serialization import plain
from simeval.core.validation import require, require_whole
from simeval.datasets.dataset import Dataset, Example
from simeval.errors import DefinitionError
from simeval.models.protocol.model import Reply
from simeval.scorers.base import COLUMNS, conversation_columns
from simeval.scorers.llm.base import Claims, ModelScorer, Ruling, Share, filled, places, rulings_of
from simeval.scorers.values import canonical

LABEL = "label"  # of an example: the label people gave it

R = TypeVar("R", bound=Reply)

EXAMPLES = "What people said of others; grade as they do. Of these you are not asked:"
_RULING = 'Answer with a JSON object: {"reasoning": a brief explanation, "met": true or false}.'
RULINGS = (
    'Answer with a JSON object: {"rulings": {NAME: {"reasoning": a brief explanation, "met": true or false}}}, '
    "with an entry for each NAME asked about and no other."
)
_CLAIMS = (
    'Answer with a JSON object: {"claims": [{"claim": the claim in a sentence of its own, '
    '"reasoning": what supports it, or that nothing does, "supported": true or false}]}, '
    "an empty list if it makes no claim."
)
_SHARE = 'Answer with a JSON object: {"reasoning": a brief explanation, "score": a number from 0 to 1}.'


def draw_examples(
    dataset: Dataset, *, label: str, number: int = 4, seed: int = 0
) -> tuple[list[Mapping[str, Any]], Dataset]:
    """Return rows for a scorer's `examples`, drawn at random with every label by turns, and the dataset without them.

    `label` names the column with people's labels, also by a path with dots, such as "feedback.helpful.score". The
    dataset must have recorded answers. Raises DefinitionError if it has none, if no row has a label, or if none would
    be left to validate the scorer on.
    """
    require_whole(number, "draw_examples: number")
    if not dataset.recorded:
        do = "give recorded conversations: what people said of an answer is of that answer alone"
        raise DefinitionError(f"dataset {dataset.name!r}", found="it has no recorded answers", do=do)
    by_label: defaultdict[str, list[Example]] = defaultdict(list)
    for example in dataset:
        if (said := _at(example.columns(), label)) not in (None, ""):
            by_label[canonical(said)].append(example)
    if not by_label:
        do = f"name a column there is: {', '.join(dataset.columns)}"
        raise DefinitionError(f"dataset {dataset.name!r}", found=f"no row has a label in {label!r}", do=do)
    chance = seeds.generator(seed, "examples")
    groups = [chance.sample(by_label[said], len(by_label[said])) for said in sorted(by_label)]
    in_turn = chain.from_iterable(zip_longest(*groups))
    drawn = [example for example in in_turn if example is not None][:number]
    rest = dataset.only(_other_than(drawn), "validation, beside the examples")
    return [_row(example, label) for example in drawn], rest


def _other_than(drawn: list[Example]) -> Callable[[Example], bool]:
    """Return a predicate for examples with another conversation: a drawn one may occur again with new labels."""
    shown = {_said(example) for example in drawn}
    return lambda example: _said(example) not in shown


def _said(example: Example) -> Sequence[tuple[str, str]]:
    messages = example.conversation.messages if example.conversation else ()
    return tuple((message.role, " ".join(message.content.split())) for message in messages)


def _row(example: Example, label: str) -> Mapping[str, Any]:
    columns = example.columns()
    said = conversation_columns(example.conversation) if example.conversation else {}
    return {**said, **columns, LABEL: _at(columns, label)}


def _at(columns: Mapping[str, Any], path: str) -> Any:
    found: Any = columns
    for part in [path] if path in columns else path.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


@dataclass(kw_only=True, eq=False)
class Graded(ModelScorer):
    """The base: a system prompt, and a user's prompt with `{column}` replaced by the content of that column.

    A prompt may name any column there is. A text is put there in a tag of its name; a list of texts as numbered items;
    anything else as JSON. `examples` are rows that people labelled, each with the columns of the prompt and a "label",
    such as `draw_examples` gives: the prompt shows them to the model, so it is never asked about these rows.
    """

    own_places: ClassVar[Sequence[str]] = ()  # of its prompt that need not be columns
    system_prompt: str = ""
    user_prompt: str = ""
    examples: Sequence[Mapping[str, Any]] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        for number, row in enumerate(self.examples):
            usable = isinstance(row, Mapping) and LABEL in row and not self._lacking(row)
            do = f"give {LABEL!r} and {', '.join(self._own_columns)}, as draw_examples does"
            require(usable, f"scorer {self.name}: examples, {number}", found=row, do=do)
        where, do = f"scorer {self.name}: user_prompt", "name a column in it, such as {output}"
        require(bool(places(self.user_prompt)), where, found=self.user_prompt, do=do)

    def check(self, columns: Collection[str] = COLUMNS) -> None:
        """Raise DefinitionError as every scorer, and if the prompt names an unknown column."""
        super().check(columns)
        ours = {*self.column_map, *self.own_places}
        absent = [name for name in places(self.user_prompt) if name not in columns and name not in ours]
        do = f"name columns there are: {', '.join(columns)}"
        require(not absent, f"scorer {self.name}: user_prompt", found=absent, do=do)

    async def grade(self, kind: type[R], seed: int, columns: Mapping[str, object], *, system: str = "") -> R:
        """Ask about the columns that the prompt names, by another `system` prompt if that is given.

        Raises ModelError, and DefinitionError for a missing column.
        """
        named = places(self.user_prompt)
        if missing := [name for name in named if name not in columns]:
            raise DefinitionError(f"scorer {self.name}", found=f"no column for {missing}", do="give it a value")
        texts = {name: as_text(columns[name]) for name in named}
        shown = self._shown(texts)
        quoted_texts = [text for found in texts.values() for text in ([found] if isinstance(found, str) else found)]
        return await self.ask(
            kind,
            system=system or self.system_prompt,
            user=shown + filled(self.user_prompt, texts),
            seed=seed,
            quoted_texts=quoted_texts,
        )

    @property
    def _own_columns(self) -> Sequence[str]:
        """The columns of the prompt that an example must have itself."""
        return [name for name in places(self.user_prompt) if name not in self.own_places]

    def _lacking(self, row: Mapping[str, Any]) -> Sequence[str]:
        return [name for name in self._own_columns if self.column_map.get(name, name) not in row]

    def _shown(self, texts: Mapping[str, str | tuple[str, ...]]) -> str:
        """Return the examples for the start of the prompt. Raises ValueError if the question is about one of them."""
        lines = []
        for row in self.examples:
            mapped = {name: self.column_map.get(name, name) for name in texts}
            of_row = {name: as_text(row[column]) for name, column in mapped.items() if column in row}
            if all(of_row.get(name, text) == text for name, text in texts.items()):
                raise ValueError("it is one of the scorer's own examples, so that what it says of it shows nothing")
            said = filled("What people said:\n{people}", {"people": as_text(row[LABEL])})
            lines.append(f"<example>\n{filled(self.user_prompt, {**texts, **of_row})}\n{said}\n</example>")
        return "\n".join([EXAMPLES, "<examples>", *lines, "</examples>\n\n"]) if lines else ""


def as_text(value: object) -> str | tuple[str, ...]:
    """Return a value of a column as a prompt shows it: texts as they are, all else as JSON, and None as nothing."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, Conversation):
        value = [{"role": message.role, "content": message.content} for message in value.messages]
    elif isinstance(value, (list, tuple)) and value and all(isinstance(each, str) for each in value):
        return tuple(value)
    return json.dumps(plain(value), ensure_ascii=False)


def whole_text(value: object) -> str:
    """Return a value of a column as one text, with a blank line between several."""
    shown = as_text(value)
    return shown if isinstance(shown, str) else "\n\n".join(shown)


def needed(value: object, column: str) -> None:
    """Raise ValueError if a column needed for the measurement is empty."""
    if whole_text(value).strip() in ("", "[]", "{}"):
        raise ValueError(f"there is nothing in {column!r}, so it cannot be measured")


@dataclass(kw_only=True, eq=False)
class Ruled(Graded):
    """Whether one thing is so: a boolean under the name of `default_score`, and the `reasoning`."""

    gives_ratings = False

    async def rule(self, seed: int, columns: Mapping[str, object]) -> dict[str, object]:
        """Return the ruling."""
        ruling = await self.grade(Ruling, seed, columns)
        return {str(self.default_score): ruling.met, "reasoning": ruling.reasoning}


@dataclass(kw_only=True, eq=False)
class HallucinationFree(Ruled):
    """Whether the `context` supports everything in the output: true is good."""

    default_score = "hallucination_free"
    paths = ("hallucination_free",)
    direction = "higher"
    system_prompt: str = f"""You grade whether an answer of an AI assistant keeps to a context.
A statement of fact that the context neither says nor implies is a hallucination, even where it is true.
What follows from the context by plain reasoning is none; nor are questions, courtesies, and saying that one does not
know. "met" is true if the output has no hallucination. In "reasoning" quote each one that it has.
{_RULING}"""
    user_prompt: str = "The context:\n{context}\n\nThe answer to grade:\n{output}"

    async def score(self, output: Any, context: Any, seed: int = 0, **columns: Any) -> dict[str, Any]:
        """Return {"hallucination_free": bool, "reasoning": str}. Raises ValueError for an empty context, ModelError."""
        needed(context, "context")
        return await self.rule(seed, {**columns, "output": output, "context": context})


@dataclass(kw_only=True, eq=False)
class Correctness(Ruled):
    """Whether the output agrees with the `reference`: a correct answer may be worded otherwise, or add more."""

    own_places: ClassVar[Sequence[str]] = ("input",)
    default_score = "correct"
    paths = ("correct",)
    direction = "higher"
    system_prompt: str = f"""You grade whether an answer of an AI assistant is correct, by a reference that is correct.
"met" is true if the output says what the reference says in answer to the input, in whatever words, and contradicts it
nowhere. Something left out that the input asks for makes it false; something added that is consistent does not.
{_RULING}"""
    user_prompt: str = (
        "The input:\n{input}\n\nThe reference answer, which is correct:\n{reference}\n\nThe answer to grade:\n{output}"
    )

    async def score(
        self, output: Any, reference: Any, input: Any = "", seed: int = 0, **columns: Any
    ) -> dict[str, Any]:
        """Return {"correct": bool, "reasoning": str}. Raises ValueError for an empty reference, ModelError."""
        needed(reference, "reference")
        return await self.rule(seed, {**columns, "output": output, "reference": reference, "input": input})


@dataclass(kw_only=True, eq=False)
class Helpfulness(Ruled):
    """Whether the output gives the help that the `input` asks for; whether it is true is not asked."""

    default_score = "helpful"
    paths = ("helpful",)
    direction = "higher"
    system_prompt: str = f"""You grade whether an answer of an AI assistant is helpful to who asked.
"met" is true if the output deals with what the input asks for, completely enough to be of use, clearly, and without
much that is beside the point. An answer that evades, refuses without cause, or only promises is not helpful.
{_RULING}"""
    user_prompt: str = "The input:\n{input}\n\nThe answer to grade:\n{output}"

    async def score(self, output: Any, input: Any, seed: int = 0, **columns: Any) -> dict[str, Any]:
        """Return {"helpful": bool, "reasoning": str}. Raises ValueError for an empty input, ModelError."""
        needed(input, "input")
        return await self.rule(seed, {**columns, "output": output, "input": input})


@dataclass(kw_only=True, eq=False)
class Supported(Graded):
    """The share of a text's claims that are supported, under the name of `default_score`, and all `claims`."""

    async def share(self, seed: int, columns: Mapping[str, object]) -> dict[str, object]:
        """Return the share. Raises ValueError if the text makes no claim."""
        found = (await self.grade(Claims, seed, columns)).claims
        if not found:
            raise ValueError("the output makes no claim, so there is no share of them that is supported")
        claims = [{"claim": each.claim, "reasoning": each.reasoning, "supported": each.supported} for each in found]
        return {str(self.default_score): sum(each.supported for each in found) / len(found), "claims": claims}


@dataclass(kw_only=True, eq=False)
class Faithfulness(Supported):
    """The share of the output's claims that can be inferred from the `context`, from 0 to 1."""

    default_score = "faithfulness"
    paths = ("faithfulness",)
    direction = "higher"
    bounds = UNIT
    system_prompt: str = f"""You grade how faithful an answer of an AI assistant is to a context, claim by claim.
Break the output into its claims of fact, each once and understandable by itself. A claim is supported if it can be
inferred from the context alone, whatever else you know.
{_CLAIMS}"""
    user_prompt: str = "The context:\n{context}\n\nThe answer to grade:\n{output}"

    async def score(self, output: Any, context: Any, seed: int = 0, **columns: Any) -> dict[str, Any]:
        """Return {"faithfulness": number, "claims": list}.

        Raises ValueError for an empty context or an output without claims, and ModelError.
        """
        needed(context, "context")
        return await self.share(seed, {**columns, "output": output, "context": context})


@dataclass(kw_only=True, eq=False)
class FactualAccuracy(Supported):
    """The share of a summary's claims that its source, the `input`, states as they are stated, from 0 to 1."""

    default_score = "factual_accuracy"
    paths = ("factual_accuracy",)
    direction = "higher"
    bounds = UNIT
    system_prompt: str = f"""You grade how accurately a summary gives the facts of its source, claim by claim.
Break the summary into its claims, each once and understandable by itself. A claim is supported if the source says it,
with the same persons, numbers, dates, conditions and certainty; one that is distorted or added is not.
{_CLAIMS}"""
    user_prompt: str = "The source:\n{input}\n\nThe summary to grade:\n{output}"

    async def score(self, output: Any, input: Any, seed: int = 0, **columns: Any) -> dict[str, Any]:
        """Return {"factual_accuracy": number, "claims": list}.

        Raises ValueError for an empty source or a summary without claims, and ModelError.
        """
        needed(input, "input")
        return await self.share(seed, {**columns, "output": output, "input": input})


@dataclass(kw_only=True, eq=False)
class DocumentRelevance(Graded):
    """The share of the documents in `context`, one text or a list, that help to answer the `input`, from 0 to 1."""

    default_score = "relevant_share"
    paths = ("relevant_share",)
    direction = "higher"
    bounds = UNIT
    system_prompt: str = f"""You grade whether documents that were retrieved are relevant to an input, one by one.
A document is relevant ("met" is true) if it has something that helps to answer the input, alone or with others.
NAME is the number of a document; a document without a number is number 1.
{RULINGS}"""
    user_prompt: str = "The input:\n{input}\n\nThe documents:\n{context}"

    async def score(self, context: Any, input: Any, seed: int = 0, **columns: Any) -> dict[str, Any]:
        """Return {"relevant_share": number, "relevant": list of bool, "reasoning": list of str}.

        Raises ValueError for an empty input or without a document, and ModelError.
        """
        needed(input, "input")
        needed(context, "context")
        shown = as_text(context)
        numbers = ["1"] if isinstance(shown, str) else [str(number) for number in range(1, len(shown) + 1)]
        reply = await self.grade(rulings_of(numbers), seed, {**columns, "context": context, "input": input})
        rulings = [reply.rulings[number] for number in numbers]
        return {
            "relevant_share": sum(each.met for each in rulings) / len(rulings),
            "relevant": [each.met for each in rulings],
            "reasoning": [each.reasoning for each in rulings],
        }


@dataclass(kw_only=True, eq=False)
class ContextRelevancy(Graded):
    """How much of the `context` is of use for answering the `input`, from 0 to 1."""

    default_score = "relevancy_score"
    paths = ("relevancy_score",)
    direction = "higher"
    bounds = UNIT
    system_prompt: str = f"""You grade how relevant a retrieved context is to a question.
"score" is the share of the context that helps to answer the question: 1 if all of it does, 0 if nothing does, and
fractions between.
{_SHARE}"""
    user_prompt: str = "The question:\n{input}\n\nThe context:\n{context}"

    async def score(self, context: Any, input: Any, seed: int = 0, **columns: Any) -> dict[str, Any]:
        """Return {"relevancy_score": number, "reasoning": str}.

        Raises ValueError if one is empty, and ModelError.
        """
        needed(input, "input")
        needed(context, "context")
        share = await self.grade(Share, seed, {**columns, "context": context, "input": input})
        return {"relevancy_score": share.score, "reasoning": share.reasoning}


@dataclass(kw_only=True, eq=False)
class Criteria(Graded):
    """Whether each of the user's own criteria is met: {name: criterion}. All are asked about in one call."""

    direction = "higher"
    own_places: ClassVar[Sequence[str]] = ("criteria", "input")
    criteria: Mapping[str, str]
    system_prompt: str = f"""You grade an answer of an AI assistant by criteria. A criterion is met if it holds for the
output; judge each by itself, strictly by its text. NAME is the name of a criterion, which stands before its colon.
{RULINGS}"""
    user_prompt: str = "The criteria:\n{criteria}\n\nThe input:\n{input}\n\nThe answer to grade:\n{output}"

    def __post_init__(self) -> None:
        super().__post_init__()
        where, do = f"scorer {self.name}: criteria", "give {name: what is to hold}, both texts"
        texts = [*self.criteria, *self.criteria.values()] if isinstance(self.criteria, Mapping) else []
        usable = texts and all(isinstance(text, str) and text.strip() for text in texts)
        require(bool(usable), where, found=self.criteria, do=do)
        require("reasoning" not in self.criteria, where, found="reasoning", do="give that criterion another name")

    async def score(self, output: Any, input: Any = "", seed: int = 0, **columns: Any) -> dict[str, Any]:
        """Return {name: bool for each criterion, "reasoning": {name: str}}. Raises ModelError."""
        listed = [f"{name}: {text}" for name, text in self.criteria.items()]
        found = {**columns, "output": output, "input": input, "criteria": listed}
        rulings = (await self.grade(rulings_of(list(self.criteria)), seed, found)).rulings
        reasons = {name: rulings[name].reasoning for name in self.criteria}
        return {**{name: rulings[name].met for name in self.criteria}, "reasoning": reasons}
