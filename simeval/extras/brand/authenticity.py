"""Authenticity: how far the app's responses are in a persona's voice, by style, traits and lexicon."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from simeval.core.direction import COUNT, UNIT, BoundsByPath, by_path
from simeval.core.settings import ALPHA
from simeval.core.trial import Estimate, Scored
from simeval.core.validation import require
from simeval.errors import DefinitionError
from simeval.extras.brand.persona import TONES, Persona, as_persona
from simeval.extras.brand.sessions import measured_in, require_weights, responses_of, session_mean, shares_of, weighted
from simeval.extras.brand.traits import TraitsModel, load_traits, traits_of
from simeval.models.encoders import MINILM, Encoding, LoadsModels, TextEncoder, encoder_name, text_encoder, unit_vectors
from simeval.scorers.base import ColumnScorer
from simeval.scorers.text.phrases import Phrases, read

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WEIGHTS: Mapping[str, float] = {"style": 0.6, "traits": 0.25, "lexicon": 0.15}
AVOIDED_COSTS = 0.1  # taken off the lexicon's score for each occurrence of an avoided word
MOST_REASONS = 5  # of a traits model, shown for a response


@dataclass(kw_only=True, eq=False)
class Authenticity(LoadsModels, ColumnScorer):
    """How much the responses of a session are in the voice of `persona`, from 0 to 1: the mean over the responses.

    A response's score is the mean, by `weights`, of its style (the greatest cosine to an example of the persona, by
    `encoder`, at least 0), its traits (the share of the persona's traits that it has; or, with `traits`, a model that
    `simeval persona calibrate` wrote, the probability that it is on brand) and its lexicon (the share of preferred
    words that it uses, less 0.1 for each avoided one, from 0 to 1). A part the persona does not define, such as the
    lexicon without preferred words, is left out, the others' weights are scaled to sum to 1, and `left_out` names it.
    """

    gives_ratings = False

    default_score = "authenticity"
    paths = ("authenticity", "style", "traits", "lexicon", "responses")
    direction = by_path(higher=["authenticity", "style", "traits", "lexicon"], none=["responses"])
    bounds: ClassVar[BoundsByPath] = {"": UNIT, "responses": COUNT}
    timeout_seconds: ClassVar[float | None] = 600.0  # the first text waits until an encoder is loaded
    persona: Persona | str | Path
    encoder: Encoding = MINILM
    weights: Mapping[str, float] = field(default_factory=lambda: dict(WEIGHTS))
    traits: TraitsModel | str | Path | None = None
    _persona: Persona = field(init=False, repr=False)
    _encoder: TextEncoder | None = field(init=False, repr=False)
    _model: TraitsModel | None = field(init=False, repr=False)
    _preferred: Phrases = field(init=False, repr=False)
    _avoided: Phrases = field(init=False, repr=False)
    _shares: Mapping[str, float] = field(init=False, repr=False)
    _examples: "NDArray[np.float64] | None" = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        where = f"scorer {self.name}"
        require_weights(self.weights, WEIGHTS, where)
        self._persona = persona = as_persona(self.persona)
        self._model = _model(self.traits, persona, where)
        self._preferred, self._avoided = Phrases(persona.preferred), Phrases(persona.avoided)
        styled = bool(persona.examples and self.weights.get("style"))
        self._encoder = text_encoder(self.encoder, where) if styled else None
        do = "give the persona examples, traits or preferred words, and a weight to one of them"
        persona_has = {
            "style": self._encoder,
            "traits": self._model or persona.formality or persona.verbosity or {*persona.tone} & {*TONES} or None,
            "lexicon": persona.preferred or None,
        }
        self._shares = shares_of(self.weights, persona_has)
        require(bool(self._shares), where, found=f"nothing to measure of persona {persona.id}", do=do)

    @property
    def shares(self) -> Mapping[str, float]:
        """The weights of the parts that are measured; they sum to 1."""
        return self._shares

    async def score(self, output: Any = None, conversation: Any = None) -> dict[str, Any]:
        """Return the score, its parts, their weights, and all findings in each response.

        Raises ValueError if the app sent no text, and the encoder's errors.
        """
        texts = responses_of(output, conversation)
        return await self.measured(texts, await self.vectors(texts))

    async def vectors(self, texts: Sequence[str]) -> "NDArray[np.float64] | None":
        """Return the unit vectors of responses; None if the style is not measured."""
        return await unit_vectors(self._encoder, texts) if self._encoder else None

    async def measured(self, texts: Sequence[str], vectors: "NDArray[np.float64] | None") -> dict[str, Any]:
        """Return the result of `score` for responses with known vectors."""
        shares, styles = self.shares, await self._styles(texts, vectors)
        responses = [self._response(text, style, shares) for text, style in zip(texts, styles, strict=True)]
        means = {part: fsum(each[part] for each in responses) / len(responses) for part in shares}
        return {
            "authenticity": weighted(shares, means),
            **{part: means.get(part) for part in WEIGHTS},
            "responses": len(responses),
            "parts": [{"part": part, "weight": share, "score": means[part]} for part, share in shares.items()],
            "left_out": [part for part in WEIGHTS if part not in shares],
            "not_measured": [f"tone: {word}" for word in self._persona.unmeasured],
            "encoder": encoder_name(self.encoder) if self._encoder else "",
            "each": responses,
        }

    def summarize(self, scored: Sequence[Scored], *, alpha: float = ALPHA) -> Mapping[str, Estimate]:
        """Return the means over sessions with intervals."""
        found = measured_in(scored)
        return {
            part: session_mean([(example, each[part]) for example, each in found], of=len(scored), alpha=alpha)
            for part in ("authenticity", *self.shares)
        }

    async def _styles(self, texts: Sequence[str], vectors: "NDArray[np.float64] | None") -> Sequence[dict[str, Any]]:
        """Return each response's greatest cosine to an example, and the example; empty if style is not measured."""
        if vectors is None or self._encoder is None:
            return [{} for _ in texts]
        if self._examples is None:  # several at once encode them twice at worst: a lock would belong to one event loop
            self._examples = await unit_vectors(self._encoder, self._persona.examples)
        cosines = vectors @ self._examples.T
        nearest = cosines.argmax(axis=1)
        greatest = cosines.max(axis=1).clip(0.0, 1.0)
        return [{"style": float(one), "nearest": int(place)} for one, place in zip(greatest, nearest, strict=True)]

    def _response(self, text: str, style: Mapping[str, Any], shares: Mapping[str, float]) -> dict[str, Any]:
        found: dict[str, Any] = {**style}
        if "traits" in shares:
            found |= self._traits(text)
        found |= self._lexicon(text)
        return {"authenticity": weighted(shares, found), **found}

    def _traits(self, text: str) -> Mapping[str, Any]:
        if self._model is not None:
            probability, reasons = self._model.judged(text)
            return {"traits": probability, "why": [f"{what} {weight:+.2f}" for what, weight in reasons[:MOST_REASONS]]}
        traits = traits_of(text, self._persona)
        why = [f"{each.name} {each.wanted}: {'yes' if each.matched else 'no'} ({each.why})" for each in traits]
        return {"traits": sum(each.matched for each in traits) / len(traits), "why": why}

    def _lexicon(self, text: str) -> Mapping[str, Any]:
        said = read(text)
        preferred, avoided = self._preferred.counts(said), self._avoided.counts(said)
        score = lexicon_score(len(preferred), len(self._preferred), sum(avoided.values()))
        return {"lexicon": score, "preferred": list(preferred), "avoided": avoided}


def lexicon_score(used: int, preferred: int, avoided: int) -> float | None:
    """Return the share of preferred words used, less 0.1 for each avoided one, from 0 to 1; None without preferred."""
    return max(0.0, min(1.0, used / preferred - AVOIDED_COSTS * avoided)) if preferred else None


def _model(given: object, persona: Persona, where: str) -> TraitsModel | None:
    if given is None:
        return None
    model = given if isinstance(given, TraitsModel) else load_traits(given) if isinstance(given, (str, Path)) else None
    if model is None:
        do = "give a TraitsModel, or the path of a file that `simeval persona calibrate` wrote"
        raise DefinitionError(f"{where}: traits", found=f"found {given!r:.80}", do=do)
    same = model.persona == persona.id
    require(same, f"{where}: traits", found=f"of {model.persona}", do=f"give those fitted for persona {persona.id}")
    return model
