"""Stability: how alike the responses of one session are, and whether they drift from their beginning."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from simeval.core.direction import COUNT, UNIT, BoundsByPath, by_path
from simeval.core.settings import ALPHA
from simeval.core.trial import Estimate, Scored
from simeval.core.validation import is_number, require, require_one_of
from simeval.extras.brand.sessions import measured_in, responses_of, session_mean
from simeval.models.encoders import MINILM, Encoding, LoadsModels, TextEncoder, encoder_name, text_encoder, unit_vectors
from simeval.scorers.base import ColumnScorer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Spread = Literal["pairwise", "documented"]
WIDEST: Mapping[Spread, float] = {"pairwise": 1.0, "documented": 0.5}


@dataclass(kw_only=True, eq=False)
class Stability(LoadsModels, ColumnScorer):
    """One minus how far the responses of a session are apart, as a share of `widest`; 1 if they are all the same.

    "pairwise" measures the mean cosine distance of any two responses (0: the same direction, 1: unrelated).
    "documented" measures the standard deviation of the distances to the mean vector, as Alignmenter's documents have
    it, which is 0 for any two responses. A session with one response is stable by definition, and `single_response`
    marks it. Distances are those of the `encoder`: they reflect content more than style.
    """

    gives_ratings = False

    default_score = "stability"
    paths = ("stability", "mean_distance", "spread", "drift", "responses", "single_response")
    direction = by_path(higher=["stability"], none=[""])  # the others are its components
    bounds: ClassVar[BoundsByPath] = {
        "stability": UNIT,
        "mean_distance": (0.0, 2.0),
        "spread": UNIT,
        "drift": (-2.0, 2.0),
        "responses": COUNT,
    }
    timeout_seconds: ClassVar[float | None] = 600.0  # the first text waits until an encoder is loaded
    encoder: Encoding = MINILM
    spread: Spread = "pairwise"
    widest: float | None = None  # by default 1 for pairwise distances, 0.5 for the documented spread
    _encoder: TextEncoder = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        where = f"scorer {self.name}"
        require_one_of(self.spread, tuple(WIDEST), f"{where}: spread")
        usable = self.widest is None or (is_number(self.widest) and 0 < self.widest <= 2)
        require(usable, f"{where}: widest", found=self.widest, do="give a distance above 0, up to 2")
        self._encoder = text_encoder(self.encoder, where)

    async def score(self, output: Any = None, conversation: Any = None) -> dict[str, Any]:
        """Return the result of `measured`. Raises ValueError if the app sent no text, and the encoder's errors."""
        return self.measured(await self.vectors(responses_of(output, conversation)))

    async def vectors(self, texts: Sequence[str]) -> "NDArray[np.float64] | None":
        """Return the unit vectors of responses; None for one, which is not encoded."""
        return None if len(texts) == 1 else await unit_vectors(self._encoder, texts)

    def measured(self, vectors: "NDArray[np.float64] | None") -> dict[str, Any]:
        """Return the stability of responses by their unit vectors, with its components; None is for one response.

        `drift` is the mean distance between the first and the second half, less that within the halves: above 0 if the
        responses moved away, about 0 if they only vary; None for fewer than four.
        """
        widest = WIDEST[self.spread] if self.widest is None else self.widest
        found = _SINGLE if vectors is None or len(vectors) == 1 else _distances(vectors)
        apart = found["mean_distance" if self.spread == "pairwise" else "spread"] or 0.0
        how = "mean pairwise distance" if self.spread == "pairwise" else "standard deviation of distances to the mean"
        return {
            "stability": max(0.0, 1.0 - apart / widest),
            **found,
            "responses": 1 if vectors is None else len(vectors),
            "single_response": found is _SINGLE,
            "encoder": encoder_name(self.encoder),
            "method": f"1 - {how} / {widest:g}, at least 0",
        }

    def summarize(self, scored: Sequence[Scored], *, alpha: float = ALPHA) -> Mapping[str, Estimate]:
        """Return the mean over sessions of several responses, with its interval."""
        values = [(example, found["stability"]) for example, found in measured_in(scored) if several(found)]
        return {"stability": session_mean(values, of=len(scored), alpha=alpha)}


def several(measured: Mapping[str, Any]) -> bool:
    """Return whether a session had the two responses that stability needs."""
    return not measured["single_response"]


_SINGLE: Mapping[str, float | None] = {"mean_distance": 0.0, "spread": 0.0, "drift": None}


def _distances(vectors: "NDArray[np.float64]") -> Mapping[str, float | None]:
    import numpy as np

    apart = np.clip(1.0 - vectors @ vectors.T, 0.0, 2.0)
    rows, columns = np.triu_indices(len(vectors), k=1)
    mean = vectors.mean(axis=0)
    length = float(np.linalg.norm(mean))
    from_mean = 1.0 - vectors @ (mean / length) if length > 1e-12 else np.ones(len(vectors))
    return {
        "mean_distance": float(apart[rows, columns].mean()),
        "spread": float(from_mean.std()),
        "drift": _drift(apart),
    }


def _drift(apart: "NDArray[np.float64]") -> float | None:
    import numpy as np

    half = len(apart) // 2
    if half < 2:
        return None
    rows, columns = np.triu_indices(half, k=1)
    first, second = apart[:half, :half], apart[-half:, -half:]
    within = (first[rows, columns].mean() + second[rows, columns].mean()) / 2
    return float(apart[:half, -half:].mean() - within)
