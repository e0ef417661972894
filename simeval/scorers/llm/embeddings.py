"""Embedding similarity: how near the output is to a reference in the space of an embedding model."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import hypot
from pathlib import Path
from typing import Any, ClassVar

from simeval.core.direction import BoundsByPath
from simeval.core.validation import is_number, require
from simeval.errors import DefinitionError
from simeval.models.encoders import LOCAL_PREFIX, MINILM, LoadsModels, LocalModel, TextEncoder, local_encoder
from simeval.models.kinds import Embedding
from simeval.models.protocol.model import Encoder, Model, ModelKind
from simeval.models.providers.embedding import EmbeddingRequest, TwoVectors
from simeval.scorers.base import Callers, Scorer
from simeval.scorers.llm.base import ModelScorer
from simeval.scorers.llm.graded import needed, whole_text


@dataclass(kw_only=True, eq=False)
class EmbeddingSimilarity(LoadsModels, ModelScorer):
    """The cosine between the embeddings of the output and of the `reference`, and whether it is at least `threshold`.

    `model` is a LiteLLM embedding model, "openai-compatible/NAME", a transformers encoder on this machine as "minilm",
    "local/NAME" or the path of its folder, any object with `encode(texts)`, or a Model object that answers {"vectors":
    [[...], [...]]}. The meaning of a cosine depends on the model: choose the threshold for yours. An encoder on this
    machine is shared by all its users, costs no call, and reads no more of a text than it takes at once.
    """

    gives_ratings = False

    default_score = "similarity_score"
    paths = ("similarity_score", "is_similar")
    direction = "higher"
    bounds: ClassVar[BoundsByPath] = (-1.0, 1.0)
    model: str | Path | Encoder | TextEncoder | Model | None = None  # type: ignore[assignment]
    threshold: float = 0.5
    _local: TextEncoder | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        where, given = f"scorer {self.name}", self.threshold
        within = is_number(given) and -1 <= given <= 1
        require(within, f"{where}: threshold", found=given, do="give a number from -1 to 1")
        self._local = _local_encoder(self.model)
        if self._local is None and self.asked is None:
            do = "name one, such as openai/text-embedding-3-small, or give an object with encode(texts)"
            raise DefinitionError(f"{where}: model", found=f"found {self.model!r}", do=do)

    @property
    def calls(self) -> int:
        return 0 if self._local is not None else 1

    @property
    def asked(self) -> Model | ModelKind | None:
        if isinstance(self.model, Model):
            return self.model
        return Embedding(self.model) if self._local is None and isinstance(self.model, (str, Encoder)) else None

    def bind(self, callers: Callers) -> Scorer:
        return self if self._local is not None else super().bind(callers)

    async def score(self, output: Any, reference: Any) -> dict[str, Any]:
        """Return {"similarity_score": from -1 to 1, "is_similar": bool}.

        Raises ValueError if a text is empty or its vector is zero, and ModelError.
        """
        needed(output, "output")
        needed(reference, "reference")
        texts = [whole_text(output), whole_text(reference)]
        similarity = cosine(*await self._vectors(texts))
        return {"similarity_score": similarity, "is_similar": similarity >= self.threshold}

    async def _vectors(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        if self._local is not None:
            return await self._local.encode_all(texts)
        return (await self.answer(EmbeddingRequest(texts=texts, reply=TwoVectors), TwoVectors)).vectors


def cosine(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the cosine of the angle between two vectors. Raises ValueError if one is zero: it has no direction."""
    lengths = hypot(*first), hypot(*second)
    if not all(lengths):
        raise ValueError("an embedding is the zero vector, which has no direction")
    product = sum((one / lengths[0]) * (other / lengths[1]) for one, other in zip(first, second, strict=True))
    return max(-1.0, min(1.0, product))


def _local_encoder(model: object) -> TextEncoder | None:
    """Return the local encoder a name means, if it is one.

    Raises DefinitionError if it cannot be there.
    """
    if isinstance(model, LocalModel) and isinstance(model, TextEncoder):
        return model
    if isinstance(model, Path) or model == MINILM:
        return local_encoder(str(model))
    is_local = isinstance(model, str) and model.startswith(LOCAL_PREFIX)
    return local_encoder(str(model).removeprefix(LOCAL_PREFIX)) if is_local else None
