"""Brand alignment: authenticity, safety and stability of a session in one number, with a letter for it."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from simeval.core.direction import UNIT, BoundsByPath, below, by_path
from simeval.core.settings import ALPHA
from simeval.core.trial import Estimate, Scored
from simeval.core.validation import is_number, require
from simeval.errors import DefinitionError
from simeval.extras.brand.authenticity import Authenticity
from simeval.extras.brand.persona import Persona, as_persona
from simeval.extras.brand.safety import Safety
from simeval.extras.brand.sessions import measured_in, require_weights, responses_of, session_mean, shares_of, weighted
from simeval.extras.brand.stability import Stability, several
from simeval.extras.brand.traits import TraitsModel
from simeval.models.encoders import MINILM, Encoding
from simeval.scorers.base import Callers, ColumnScorer, Scorer

WEIGHTS: Mapping[str, float] = {"authenticity": 0.5, "safety": 0.3, "stability": 0.2}
GRADES: Mapping[str, float] = {"A": 0.9, "B": 0.8, "C": 0.7, "D": 0.6}  # the lowest score of each; below, F
ROUNDING = 1e-9  # a threshold that is met but for the rounding of floats is met


def letter_grade(score: float) -> str:
    """Return the letter of a score from 0 to 1: A from 0.9 on, B from 0.8, C from 0.7, D from 0.6, else F."""
    require(is_number(score) and 0 <= score <= 1, "letter_grade: score", found=score, do="give a number from 0 to 1")
    return next((letter for letter, least in GRADES.items() if score >= least - ROUNDING), "F")


@dataclass(kw_only=True, eq=False)
class Alignment(ColumnScorer):
    """The mean of a session's `authenticity`, `safety` and `stability` by `weights`, from 0 to 1, and its letter.

    Give a `persona`, with an `encoder` and `traits` as `Authenticity` takes them, or that scorer itself. By default
    safety knows the persona's policies, and stability uses the same encoder: responses are then encoded once for both.
    A session with one response has no stability: it is left out of the mean, and the weights of the others are scaled
    to sum to 1. If a part with a weight cannot be measured, all is missing.
    """

    gives_ratings = False

    default_score = "alignment"
    paths = (
        "alignment",
        *(f"authenticity.{path}" for path in Authenticity.paths),
        *(f"safety.{path}" for path in Safety.paths),
        *(f"stability.{path}" for path in Stability.paths),
    )
    direction = (
        by_path(higher=["alignment"])
        | below("authenticity", Authenticity.direction)
        | below("safety", Safety.direction)
        | below("stability", Stability.direction)
    )
    bounds: ClassVar[BoundsByPath] = {
        "alignment": UNIT,
        **{
            f"{part}.{path}".rstrip("."): pair
            for part, kind in (("authenticity", Authenticity), ("safety", Safety), ("stability", Stability))
            for path, pair in kind.bounds.items()  # type: ignore[union-attr]
        },
    }
    timeout_seconds: ClassVar[float | None] = None  # the parts bound their calls
    persona: Persona | str | Path | None = None
    encoder: Encoding = MINILM
    traits: TraitsModel | str | Path | None = None
    authenticity: Authenticity | None = None
    safety: Safety | None = None
    stability: Stability | None = None
    weights: Mapping[str, float] = field(default_factory=lambda: dict(WEIGHTS))
    _authenticity: Authenticity = field(init=False, repr=False)
    _safety: Safety = field(init=False, repr=False)
    _stability: Stability = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        where = f"scorer {self.name}"
        require_weights(self.weights, WEIGHTS, where)
        for name, kind in (("authenticity", Authenticity), ("safety", Safety), ("stability", Stability)):
            given = getattr(self, name)
            fits = given is None or isinstance(given, kind)
            require(fits, f"{where}: {name}", found=given, do=f"give {kind.__name__}(...)")
        one = (self.persona is None) != (self.authenticity is None)
        if not one:
            found = "found neither a persona nor authenticity" if self.persona is None else "found both of them"
            raise DefinitionError(where, found=found, do="give one of them (--persona FILE on the command line)")
        self._authenticity = self.authenticity or Authenticity(
            persona=as_persona(self.persona), encoder=self.encoder, traits=self.traits
        )
        self._safety = self.safety or Safety(persona=self._authenticity.persona)
        self._stability = self.stability or Stability(encoder=self._authenticity.encoder)

    @property
    def calls(self) -> int:
        return self._safety.calls if self.weights.get("safety") else 0

    def bind(self, callers: Callers) -> Scorer:
        bound = copy(self)
        bound._safety = self._safety.bind(callers) if self.calls else self._safety  # type: ignore[assignment]
        return bound

    async def prepare(self, columns: Mapping[str, Any]) -> None:
        """Load the models of its parts with a weight. Raises ModelUnusable if one cannot be loaded."""
        parts = {"authenticity": self._authenticity, "safety": self._safety, "stability": self._stability}
        for name, part in parts.items():
            if self.weights.get(name):
                await part.prepare(columns)

    async def score(self, output: Any = None, conversation: Any = None, seed: int = 0) -> dict[str, Any]:
        """Return the score, its letter, and the results of each part.

        Raises ValueError if the app sent no text, and the errors of the parts.
        """
        texts = responses_of(output, conversation)
        wanted = [name for name in WEIGHTS if self.weights.get(name)]
        found: dict[str, Any] = await self._by_vectors(texts, wanted)
        if "safety" in wanted:
            found["safety"] = await self._safety.score(output=output, conversation=conversation, seed=seed)
        values = {name: found[name][name] for name in wanted}
        if "stability" in found and not several(found["stability"]):
            values["stability"] = None
        shares = shares_of(self.weights, values)
        if not shares:
            raise ValueError("one response says nothing about stability, the only part that has a weight")
        score = min(1.0, weighted(shares, values))
        return {
            "alignment": score,
            "grade": letter_grade(score),
            **{name: found[name] for name in wanted},
            "parts": [{"part": part, "weight": share, "score": values[part]} for part, share in shares.items()],
            "left_out": [part for part in WEIGHTS if part not in shares],
        }

    def summarize(self, scored: Sequence[Scored], *, alpha: float = ALPHA) -> Mapping[str, Estimate]:
        """Return the means over sessions with intervals; the letter of the whole is in its method."""
        found, n = measured_in(scored), len(scored)
        whole = session_mean([(place, each["alignment"]) for place, each in found], of=n, alpha=alpha)
        if whole.value is not None:
            whole = replace(whole, method=f"{whole.method}; grade {letter_grade(whole.value)}")
        parts = {
            name: [(place, each[name][name]) for place, each in found if name != "stability" or several(each[name])]
            for name in WEIGHTS
            if self.weights.get(name)
        }
        means = {name: session_mean(values, of=n, alpha=alpha) for name, values in parts.items()}
        return {"alignment": whole, **means}

    async def _by_vectors(self, texts: Sequence[str], wanted: Sequence[str]) -> dict[str, Any]:
        """Return the measures based on vectors; texts are encoded once if both parts have the same encoder."""
        found: dict[str, Any] = {}
        vectors = None
        if "authenticity" in wanted:
            vectors = await self._authenticity.vectors(texts)
            found["authenticity"] = await self._authenticity.measured(texts, vectors)
        if "stability" in wanted:
            shared = vectors is not None and self._stability.encoder == self._authenticity.encoder
            found["stability"] = self._stability.measured(vectors if shared else await self._stability.vectors(texts))
        return found
