"""Embedding similarity: how near the output is to a reference in the space of an embedding model."""

from dataclasses import dataclass
from math import hypot
from pathlib import Path
from typing import Any

from simeval.errors import DefinitionError
from simeval.models.embedding import Embedding, EmbeddingRequest, TwoVectors, Vector
from simeval.models.encoder import Encoder
from simeval.models.model import Model, ModelKind
from simeval.scorers.asking import ModelScorer
from simeval.scorers.graded import as_text, needed
from simeval.settings import is_number, require


@dataclass(kw_only=True, eq=False)
class EmbeddingSimilarity(ModelScorer):
    """The cosine between the embeddings of the output and of the `reference`, and whether it is at least `threshold`.

    `model` is a LiteLLM embedding model, "openai-compatible/NAME", a transformers encoder as "local/NAME" or as the
    path of its folder, any object with `encode(texts)`, or a Model object that answers {"vectors": [[...], [...]]}.
    What a cosine means depends on the model: choose the threshold for yours.
    """

    default_score = "similarity_score"
    paths = ("similarity_score", "is_similar")
    model: str | Path | Encoder | Model | None = None  # type: ignore[assignment]
    threshold: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        where, given = f"scorer {self.name}", self.threshold
        within = is_number(given) and -1 <= given <= 1
        require(within, f"{where}: threshold", found=given, do="give a number from -1 to 1")
        if self.asked is None:
            do = "name one, such as openai/text-embedding-3-small, or give an object with encode(texts)"
            raise DefinitionError(f"{where}: model", found=f"found {self.model!r}", do=do)

    @property
    def asked(self) -> Model | ModelKind | None:
        if isinstance(self.model, Model):
            return self.model
        return Embedding(self.model) if isinstance(self.model, (str, Path, Encoder)) else None

    async def score(self, output: Any, reference: Any) -> dict[str, object]:
        """Give {"similarity_score": from -1 to 1, "is_similar": bool}.

        Raises ValueError where a text is empty or its vector is zero, and ModelError.
        """
        needed(output, "output")
        needed(reference, "reference")
        texts = [_text(output), _text(reference)]
        reply = await self.answer(EmbeddingRequest(texts=texts, reply=TwoVectors), TwoVectors)
        similarity = cosine(*reply.vectors)
        return {"similarity_score": similarity, "is_similar": similarity >= self.threshold}


def cosine(first: Vector, second: Vector) -> float:
    """Give the cosine of the angle between two vectors. Raises ValueError where one is zero: it has no direction."""
    lengths = hypot(*first), hypot(*second)
    if not all(lengths):
        raise ValueError("an embedding is the zero vector, which has no direction")
    product = sum((one / lengths[0]) * (other / lengths[1]) for one, other in zip(first, second, strict=True))
    return max(-1.0, min(1.0, product))


def _text(value: object) -> str:
    shown = as_text(value)
    return shown if isinstance(shown, str) else "\n\n".join(shown)
