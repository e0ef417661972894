"""The lexicon's view of a text: VADER's scores, and the ones used as features of a model.

VADER (C.J. Hutto and E. Gilbert, ICWSM 2014) sums the valences of known words and emoticons, with rules for negation,
degree, capitals and punctuation. It knows English as written in social media.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from math import log1p, sqrt
from typing import Any

from simeval.errors import DefinitionError

WORDS_IN_A_WINDOW = 100  # VADER's sum saturates: beyond this a text is scored in parts
STRONGEST = 4.0  # valences run from -4 to 4
_NORMALIZER = 15.0  # VADER's alpha: compound = sum / sqrt(sum ** 2 + alpha)
_LARGEST_SUM = 15.0
_NEGATIONS = re.compile(
    r"\b(?:no|not|never|none|nothing|nor|neither|without|hardly|cannot|\w+n['’]?t)\b", re.IGNORECASE
)
_CONTRAST = re.compile(r"\b(?:but|however|although|though|yet|despite)\b", re.IGNORECASE)
_CHUNK = re.compile(r"\S+")
_EDGES = ".,!?:;\"'()[]{}“”‘’…*-"


@dataclass(frozen=True, slots=True)
class Shares:
    """VADER's scores of a text: `compound` from -1 to 1, and the shares of negative, neutral and positive words."""

    compound: float
    negative: float
    neutral: float
    positive: float


def shares_of(text: str) -> Shares:
    """Return VADER's scores. Raises DefinitionError if the package is not installed."""
    found = _analyzer().polarity_scores(text)
    return Shares(found["compound"], found["neg"], found["neu"], found["pos"])


def windows_of(text: str) -> list[str]:
    """Cut a text into parts of at most WORDS_IN_A_WINDOW words; a short one is its only part, unchanged."""
    words = text.split()
    if len(words) <= WORDS_IN_A_WINDOW:
        return [text]
    return [" ".join(words[at : at + WORDS_IN_A_WINDOW]) for at in range(0, len(words), WORDS_IN_A_WINDOW)]


def features_of(text: str) -> list[float]:
    """Return numbers of a text, each about 1 in size, for a model that reads the text itself, too."""
    shares = shares_of(text)
    bounded = max(-0.9999, min(0.9999, shares.compound))
    total = bounded * sqrt(_NORMALIZER / (1 - bounded * bounded))
    words = text.split()
    valences = [valence for _, _, valence in valences_of(text)] or [0.0]
    capitals = sum(word.isupper() and len(word) > 1 for word in words)
    return [
        shares.compound,
        shares.negative,
        shares.neutral,
        shares.positive,
        max(-_LARGEST_SUM, min(_LARGEST_SUM, total)) / STRONGEST,
        min(valences) / STRONGEST,
        max(valences) / STRONGEST,
        sum(valences) / len(valences) / STRONGEST,
        sum(valence != 0 for valence in valences) / max(len(words), 1),
        min(len(_NEGATIONS.findall(text)), 3) / 3,
        float(bool(_CONTRAST.search(text))),
        min(text.count("!"), 3) / 3,
        min(text.count("?"), 3) / 3,
        capitals / max(len(words), 1),
        log1p(len(words)) / STRONGEST,
    ]


def valences_of(text: str) -> Iterator[tuple[int, int, float]]:
    """Return (start, end, valence from -4 to 4) of each word and emoticon that the lexicon knows, without its rules."""
    lexicon: Mapping[str, float] = _analyzer().lexicon
    for found in _CHUNK.finditer(text):
        chunk = found[0].lower()
        valence = lexicon.get(chunk, lexicon.get(chunk.strip(_EDGES), 0.0))
        if valence:
            yield found.start(), found.end(), valence


def require_lexicon() -> None:
    """Raise DefinitionError if the lexicon's package is not installed."""
    if find_spec("vaderSentiment") is None:
        do = "install it: pip install vaderSentiment"
        raise DefinitionError("sentiment lexicon", found="vaderSentiment is not installed", do=do)


@cache
def _analyzer() -> Any:
    require_lexicon()
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    return SentimentIntensityAnalyzer()
