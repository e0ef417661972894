"""Traits of a voice in a text: by rules for formality, tone and length, or by a model fitted to labelled turns.

The rules know English words and punctuation. They were written down, not fitted, and not compared with people.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import Any

from simeval.errors import DefinitionError
from simeval.extras.brand.persona import Formality, Persona, Verbosity
from simeval.extras.brand.style import Style, style_of
from simeval.scorers.text.phrases import tokens

CONCISE_WORDS, BALANCED_WORDS = 40, 120  # the most that a concise and a balanced response have
LONG_LETTERS = 5.0  # letters of a word, on average; from here on plain words no longer make a text informal
FORMAT = "simeval persona traits 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trait:
    """Whether a text has one of the traits that a persona asks for, and why."""

    name: str
    wanted: str
    matched: bool
    why: str


def traits_of(text: str, persona: Persona) -> Sequence[Trait]:
    """Compare a text with each trait that the persona asks for and a detector knows; empty without any."""
    style = style_of(text)
    found = []
    if persona.formality:
        formality, why = formality_of(style)
        found.append(Trait(name="formality", wanted=persona.formality, matched=formality == persona.formality, why=why))
    for tone in persona.tone:
        if tone in _TONES:
            matched, why = _TONES[tone](style)
            found.append(Trait(name="tone", wanted=tone, matched=matched, why=why))
    if persona.verbosity:
        verbosity = verbosity_of(style)
        why = f"{verbosity}: {style.words} words"
        found.append(Trait(name="verbosity", wanted=persona.verbosity, matched=verbosity == persona.verbosity, why=why))
    return found


def formality_of(style: Style) -> tuple[Formality, str]:
    """Return how formal a text is, and why.

    casual: slang, emoji, drawn-out letters, or most sentences begun with a small letter, and no less of these than of
    formal words; formal: no contraction, and formal words, or words of 5 letters on average; business_casual: neither.
    """
    small = int(style.lowered > 0.5)
    casual = style.slang + style.emoji + style.elongated + small
    counts = f"slang {style.slang}, emoji {style.emoji}, drawn-out {style.elongated}, begun small {style.lowered:.0%}"
    if casual and casual >= style.formal:
        return "casual", f"casual: {counts}"
    if not style.contractions and (style.formal or style.letters_per_word >= LONG_LETTERS):
        words = f"formal words {style.formal}, {style.letters_per_word:.1f} letters a word"
        return "formal", f"formal: no contraction, {words}"
    return "business_casual", f"business_casual: {counts}, contractions {style.contractions}, formal {style.formal}"


def verbosity_of(style: Style) -> Verbosity:
    """Return how long a text is: up to 40 words concise, up to 120 balanced, above detailed."""
    if style.words <= CONCISE_WORDS:
        return "concise"
    return "balanced" if style.words <= BALANCED_WORDS else "detailed"


def _professional(style: Style) -> tuple[bool, str]:
    loud = style.slang + style.emoji + style.elongated + style.shouted
    why = (
        f"slang, emoji, drawn-out or shouted words {loud} (none allowed), exclamation marks {style.exclamations} (one)"
    )
    return loud == 0 and style.exclamations <= 1, why


def _friendly(style: Style) -> tuple[bool, str]:
    return style.warm + style.emoji > 0, f"warm words {style.warm}, emoji {style.emoji} (one wanted)"


def _technical(style: Style) -> tuple[bool, str]:
    return style.technical >= 2, f"technical words, units or code {style.technical} (two wanted)"


def _conversational(style: Style) -> tuple[bool, str]:
    signs = style.contractions + style.questions + style.second_person + style.slang
    return signs >= 2, f"contractions, questions, addressed words, slang {signs} (two wanted)"


_TONES: Mapping[str, Callable[[Style], tuple[bool, str]]] = {
    "professional": _professional,
    "friendly": _friendly,
    "technical": _technical,
    "conversational": _conversational,
}


@dataclass(frozen=True, kw_only=True)
class TraitsModel:
    """A logistic model of on-brand text: the words, pairs of words and style of a text, each with its weight.

    A word or pair counts once however often it occurs. A rate of `Style.rates` counts by how many of its `scales` (the
    standard deviation in the data it was fitted on) it exceeds its `centres`, at most 3 to each side. `report` holds
    the measurements of `simeval persona calibrate`.
    """

    persona: str
    bias: float = 0.0
    tokens: Mapping[str, float] = field(default_factory=dict)
    phrases: Mapping[str, float] = field(default_factory=dict)
    style: Mapping[str, float] = field(default_factory=dict)
    centres: Mapping[str, float] = field(default_factory=dict)
    scales: Mapping[str, float] = field(default_factory=dict)
    report: Mapping[str, Any] = field(default_factory=dict)

    def probability(self, text: str) -> float:
        """Return the probability that a text is on brand, by the model."""
        return self.judged(text)[0]

    def judged(self, text: str) -> tuple[float, Sequence[tuple[str, float]]]:
        """Return the probability, and the features for (above 0) or against it, in logits, the strongest first."""
        from scipy.special import expit

        words = tokens(text)
        found = [(word, self.tokens[word]) for word in dict.fromkeys(words) if word in self.tokens]
        pairs = dict.fromkeys(f"{one} {other}" for one, other in pairwise(words))
        found += [(pair, self.phrases[pair]) for pair in pairs if pair in self.phrases]
        if self.style:
            rates = style_of(text).rates()
            found += [(f"style: {name}", weight * self._scaled(name, rates)) for name, weight in self.style.items()]
        logit = self.bias + sum(weight for _, weight in found)
        return float(expit(logit)), sorted(found, key=lambda each: -abs(each[1]))

    def _scaled(self, name: str, rates: Mapping[str, float]) -> float:
        return scaled(rates[name], self.centres[name], self.scales[name])

    def as_dict(self) -> dict[str, Any]:
        """Return the form for a file."""
        return {"format": FORMAT, **asdict(self)}


def scaled(value: float, centre: float, scale: float) -> float:
    """Return a rate in standard deviations from the centre, at most 3 to each side; 0 without a deviation."""
    return max(-3.0, min(3.0, (value - centre) / scale)) if scale > 0 else 0.0


def load_traits(path: str | Path) -> TraitsModel:
    """Read a model that `simeval persona calibrate` wrote. Raises DefinitionError."""
    do = "name a file that `simeval persona calibrate` wrote"
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        if not isinstance(found, dict) or found.pop("format", None) != FORMAT:
            raise ValueError(f"this is not of the format {FORMAT!r}")
        model = TraitsModel(**found)
        _check(model)
    except (OSError, ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise DefinitionError(f"traits {str(path)!r}", found=str(error), do=do) from error
    return model


def _check(model: TraitsModel) -> None:
    """Raise ValueError if a weight is no number, or a part of the style is unknown."""
    parts = (model.tokens, model.phrases, model.style, model.centres, model.scales)
    numbers = [model.bias, *(weight for part in parts for weight in part.values())]
    if not all(type(number) in (int, float) and isfinite(number) for number in numbers):
        raise ValueError("a weight is no number")
    known = style_of("").rates().keys()
    if not known >= model.style.keys() or not model.style.keys() <= model.centres.keys() & model.scales.keys():
        raise ValueError(f"the style has weights that cannot be used; known are {', '.join(known)}")
