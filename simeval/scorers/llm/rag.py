"""Scorers of retrieval and summaries by a model: entities, density, relevancy, precision, similarity of answers.

The prompts are defaults to be edited. None of them has been validated against human judgement.
"""

import unicodedata
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from simeval.core.direction import COUNT, UNIT, BoundsByPath, by_path
from simeval.core.validation import is_number, require, require_whole
from simeval.models.encoders import MINILM, Encoding, LoadsModels, TextEncoder, text_encoder, unit_vectors
from simeval.scorers.llm.base import Entities, ModelScorer, OneToFive, Quality, Questions, rulings_of
from simeval.scorers.llm.graded import RULINGS, Graded, as_text, needed, whole_text
from simeval.scorers.llm.judge import at_once
from simeval.scorers.values import average_precision

ENTITY_SYSTEM = """You list the entities that a text names: persons, organisations, places, products, works, events,
dates and amounts. List each as it stands in the text, and nothing that the text does not name.
Answer with a JSON object: {"entities": [text, ...]}, an empty list if it names none."""
ENTITY_USER = "The text:\n{text}"

QUALITY: Mapping[str, float] = {"poor": 0.0, "ok": 0.5, "excellent": 1.0}
DENSE_FROM = 0.08


async def entities_of(scorer: ModelScorer, text: str, *, system: str, user: str, seed: int) -> list[str]:
    """Return the entities of a text, normalised, each once, in order. Raises ModelError."""
    reply = await scorer.ask(Entities, system=system, user=user, seed=seed, quoted_texts=[text], text=text)
    return [name for name in dict.fromkeys(normalised(entity) for entity in reply.entities) if name]


def normalised(entity: str) -> str:
    """Return an entity in lower case, in one width, and with single spaces."""
    return " ".join(unicodedata.normalize("NFKC", entity).casefold().split())


@dataclass(kw_only=True, eq=False)
class ContextEntityRecall(ModelScorer):
    """The share of the `reference`'s entities that the `context` has too, and the reverse.

    Recall is |C and R| / |R|, with C the entities of the context and R those of the reference, as RAGAS defines it;
    precision is |C and R| / |C|. Both are of sets, whatever case the entities are written in. With
    `column_map={"reference": "output"}` it is the share of the output's entities that the context has.
    """

    default_score = "context_entity_recall"
    paths = ("context_entity_recall", "context_entity_precision")
    direction = "higher"
    bounds = UNIT
    system_prompt: str = ENTITY_SYSTEM
    user_prompt: str = ENTITY_USER

    @property
    def calls(self) -> int:
        return 2

    async def score(self, context: Any, reference: Any, seed: int = 0) -> dict[str, Any]:
        """Return {"context_entity_recall", "context_entity_precision", "found", "missing"}.

        There is no precision if the context has no entity. Raises ValueError if the reference has none, or one of the
        two is empty, and ModelError.
        """
        needed(context, "context")
        needed(reference, "reference")
        there, wanted = await at_once([partial(self._entities, each, seed=seed) for each in (context, reference)])
        if not wanted:
            raise ValueError("the reference names no entity, so there is no share of them to be found")
        found = [entity for entity in wanted if entity in there]
        precision = {"context_entity_precision": len(found) / len(there)} if there else {}
        missing = [entity for entity in wanted if entity not in there]
        return {"context_entity_recall": len(found) / len(wanted), **precision, "found": found, "missing": missing}

    async def _entities(self, value: object, *, seed: int) -> list[str]:
        return await entities_of(self, whole_text(value), system=self.system_prompt, user=self.user_prompt, seed=seed)


@dataclass(kw_only=True, eq=False)
class Summarization(Graded):
    """The quality of a summary of the `input`, and its entity density: different entities for each word.

    Quality is 0 for poor, 0.5 for ok, 1 for excellent. A summary is dense from `dense_from` on: 0.08 is one entity in
    twelve and a half words. Words are separated by white space.
    """

    gives_ratings = False

    default_score = "quality"
    paths = ("quality", "entity_density", "is_entity_dense")
    direction = by_path(higher=["quality", "is_entity_dense"], none=["entity_density"])
    bounds: ClassVar[BoundsByPath | None] = {"quality": UNIT, "entity_density": COUNT}
    dense_from: float = DENSE_FROM
    system_prompt: str = """You grade the quality of a summary of a source.
"excellent": it has all that matters in the source, nothing that is not there, and no word too many.
"ok": it has most of what matters, with minor omissions, vagueness or length.
"poor": it misses or distorts something that matters, adds what the source does not say, or is no summary.
Answer with a JSON object: {"reasoning": a brief explanation, "grade": "poor", "ok" or "excellent"}."""
    user_prompt: str = "The source:\n{input}\n\nThe summary to grade:\n{output}"
    entity_system_prompt: str = ENTITY_SYSTEM
    entity_user_prompt: str = ENTITY_USER

    def __post_init__(self) -> None:
        super().__post_init__()
        usable = is_number(self.dense_from) and 0 < self.dense_from <= 1
        where, do = f"scorer {self.name}: dense_from", "give a number above 0, up to 1"
        require(usable, where, found=self.dense_from, do=do)

    @property
    def calls(self) -> int:
        return 2

    async def score(self, output: Any, input: Any, seed: int = 0, **columns: Any) -> dict[str, Any]:
        """Return {"quality", "grade", "reasoning", "entity_density", "is_entity_dense", "entities"}.

        Raises ValueError for an empty summary or source, and ModelError.
        """
        needed(output, "output")
        needed(input, "input")
        summary = whole_text(output)
        system, user = self.entity_system_prompt, self.entity_user_prompt
        asked: list[Callable[[], Awaitable[Any]]] = [
            partial(self.grade, Quality, seed, {**columns, "output": output, "input": input}),
            partial(entities_of, self, summary, system=system, user=user, seed=seed),
        ]
        graded, entities = await at_once(asked)
        density = len(entities) / len(summary.split())
        return {
            "quality": QUALITY[graded.grade],
            "grade": graded.grade,
            "reasoning": graded.reasoning,
            "entity_density": density,
            "is_entity_dense": density >= self.dense_from,
            "entities": entities,
        }


@dataclass(kw_only=True, eq=False)
class ResponseRelevancy(LoadsModels, Graded):
    """How much the output answers the `input`: the mean cosine of the input to questions that the output would answer.

    A model writes `questions` questions that the output answers, and decides whether the output is `noncommittal`,
    which makes the score 0; `encoder` turns questions and input into vectors. As RAGAS defines it: whether the output
    is true is not asked. An encoder is needed: "minilm", a hub name or folder, "hashed", or an object with
    `encode(texts)`.
    """

    gives_ratings = False

    default_score = "response_relevancy"
    paths = ("response_relevancy", "noncommittal")
    direction = by_path(higher=["response_relevancy"], lower=["noncommittal"])
    bounds: ClassVar[BoundsByPath | None] = {"response_relevancy": (-1.0, 1.0)}
    encoder: Encoding = MINILM
    questions: int = 3
    system_prompt: str = """You are shown an answer of an AI assistant, and not what was asked.
Write {questions} different questions that it would be a complete answer to, each understandable by itself.
"noncommittal" is true if the answer evades, is vague, or only says that it does not know.
Answer with a JSON object: {"noncommittal": true or false, "questions": [text, ...]}."""
    user_prompt: str = "The answer:\n{output}"
    _encoder: TextEncoder = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        require_whole(self.questions, f"scorer {self.name}: questions")
        self._encoder = text_encoder(self.encoder, f"scorer {self.name}")

    async def score(self, output: Any, input: Any, seed: int = 0, **columns: Any) -> dict[str, Any]:
        """Return {"response_relevancy": from -1 to 1, "noncommittal": bool, "questions": list of str}.

        Raises ValueError if one is empty, ModelError, and the encoder's errors.
        """
        needed(output, "output")
        needed(input, "input")
        system = self.system_prompt.replace("{questions}", str(self.questions))
        found = await self.grade(Questions, seed, {**columns, "output": output}, system=system)
        vectors = await unit_vectors(self._encoder, [whole_text(input), *found.questions])
        cosine = float((vectors[1:] @ vectors[0]).mean())
        relevancy = 0.0 if found.noncommittal else max(-1.0, min(1.0, cosine))
        return {
            "response_relevancy": relevancy,
            "noncommittal": found.noncommittal,
            "questions": list(found.questions),
        }


@dataclass(kw_only=True, eq=False)
class ContextPrecision(Graded):
    """Whether documents that help to the `reference` answer come first in the `context`: average precision, 0 to 1.

    As RAGAS defines it (`LLMContextPrecisionWithReference`): the mean, over the relevant documents, of the share of
    relevant ones down to their place; 0 if none is relevant.
    """

    own_places: ClassVar[Sequence[str]] = ("input",)
    default_score = "context_precision"
    paths = ("context_precision",)
    direction = "higher"
    bounds: ClassVar[BoundsByPath | None] = UNIT
    system_prompt: str = f"""You grade documents that were retrieved for an input, one by one, by the right answer.
A document is relevant ("met" is true) if it was useful in arriving at the right answer.
NAME is the number of a document; a document without a number is number 1.
{RULINGS}"""
    user_prompt: str = (
        "The input:\n{input}\n\nThe right answer:\n{reference}\n\nThe documents, in their order:\n{context}"
    )

    async def score(
        self, context: Any, reference: Any, input: Any = "", seed: int = 0, **columns: Any
    ) -> dict[str, Any]:
        """Return {"context_precision": number, "relevant": list of bool, "reasoning": list of str}.

        Raises ValueError for an empty reference or without a document, and ModelError.
        """
        needed(context, "context")
        needed(reference, "reference")
        shown = as_text(context)
        numbers = ["1"] if isinstance(shown, str) else [str(number) for number in range(1, len(shown) + 1)]
        asked = {**columns, "context": context, "reference": reference, "input": input}
        rulings = (await self.grade(rulings_of(numbers), seed, asked)).rulings
        relevant = [rulings[number].met for number in numbers]
        reasons = [rulings[number].reasoning for number in numbers]
        return {"context_precision": average_precision(relevant), "relevant": relevant, "reasoning": reasons}


@dataclass(kw_only=True, eq=False)
class AnswerSimilarity(Graded):
    """How close the output is in meaning to the `reference`, rated by a model from 1 (nothing) to 5 (the same)."""

    own_places: ClassVar[Sequence[str]] = ("input",)
    default_score = "answer_similarity"
    paths = ("answer_similarity",)
    direction = "higher"
    bounds: ClassVar[BoundsByPath | None] = (1.0, 5.0)
    system_prompt: str = """You rate how similar in meaning an answer of an AI assistant is to a reference answer.
The words do not matter, what they say in answer to the input does. 1: nothing in common, or the contrary; 2: little;
3: about half; 4: nearly all; 5: the same.
Answer with a JSON object: {"reasoning": a brief explanation, "score": a whole number from 1 to 5}."""
    user_prompt: str = "The input:\n{input}\n\nThe reference answer:\n{reference}\n\nThe answer to rate:\n{output}"

    async def score(
        self, output: Any, reference: Any, input: Any = "", seed: int = 0, **columns: Any
    ) -> dict[str, Any]:
        """Return {"answer_similarity": 1 to 5, "reasoning": str}. Raises ValueError for an empty text, ModelError."""
        needed(output, "output")
        needed(reference, "reference")
        asked = {**columns, "output": output, "reference": reference, "input": input}
        rated = await self.grade(OneToFive, seed, asked)
        return {"answer_similarity": rated.score, "reasoning": rated.reasoning}
