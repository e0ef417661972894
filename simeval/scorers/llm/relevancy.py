"""Answers against questions and references by a model: response relevancy, context precision, answer similarity.

The prompts are defaults to be edited. None of them has been validated against human judgement.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from simeval.core.bounds import UNIT, BoundsByPath
from simeval.core.direction import by_path
from simeval.core.validation import require_whole
from simeval.models.encoders import MINILM, Encoding, TextEncoder, load_local, text_encoder, unit_vectors
from simeval.scorers.llm.graded import RULINGS, Graded, as_text, needed
from simeval.scorers.llm.replies import OneToFive, Questions, rulings_of
from simeval.scorers.values import average_precision


@dataclass(kw_only=True, eq=False)
class ResponseRelevancy(Graded):
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

    async def prepare(self, columns: Mapping[str, Any]) -> None:  # noqa: ARG002
        """Load a local encoder before the first trial. Raises ModelUnusable if it cannot be loaded."""
        await load_local(self._encoder)

    async def score(self, output: Any, input: Any, seed: int = 0, **columns: Any) -> dict[str, Any]:
        """Return {"response_relevancy": from -1 to 1, "noncommittal": bool, "questions": list of str}.

        Raises ValueError if one is empty, ModelError, and the encoder's errors.
        """
        needed(output, "output")
        needed(input, "input")
        system = self.system_prompt.replace("{questions}", str(self.questions))
        found = await self.grade(Questions, seed, {**columns, "output": output}, system=system)
        shown = as_text(input)
        asked = shown if isinstance(shown, str) else "\n\n".join(shown)
        vectors = await unit_vectors(self._encoder, [asked, *found.questions])
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
