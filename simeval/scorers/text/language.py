"""Language: the language of the output, and whether it is the wanted one."""

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from typing import Any, ClassVar

from simeval.core.bounds import UNIT, BoundsByPath
from simeval.core.direction import by_path
from simeval.core.validation import is_number, require
from simeval.errors import DefinitionError
from simeval.scorers.base import ColumnScorer
from simeval.scorers.values import text_of

LEAST_LETTERS = 12  # of a text with a detectable language
LEAST_CERTAINTY = 0.5  # one language is likelier than all others together


@dataclass(kw_only=True, eq=False)
class Language(ColumnScorer):
    """The language of the output, and whether it is `expected`, or without that, the language of the input.

    Languages are ISO 639-1 codes ("en"), detected by py3langid (139 of them, by their letters; no network). `among`
    names the possible languages, which makes short texts more reliable. A text with fewer than `least_letters` letters,
    or with a certainty below `min_certainty`, has no detectable language: that is no evidence about the app, and is not
    measured.
    """

    gives_ratings = False

    default_score = "matches"
    paths = ("matches", "probability")
    direction = by_path(higher=["matches"], none=["probability"])
    bounds: ClassVar[BoundsByPath] = {"probability": UNIT}
    expected: str | None = None
    among: Collection[str] = field(default_factory=tuple)
    least_letters: int = LEAST_LETTERS
    min_certainty: float = LEAST_CERTAINTY

    def __post_init__(self) -> None:
        super().__post_init__()
        where = f"scorer {self.name}"
        if find_spec("py3langid") is None:
            do = "install it: pip install py3langid"
            raise DefinitionError(where, found="py3langid is not installed", do=do)
        known = _identifier(()).labels
        codes = [*self.among, *([self.expected] if self.expected else [])]
        unknown = [code for code in codes if code not in known]
        require(not unknown, where, found=unknown, do=f"use codes such as en, de, ja: {', '.join(sorted(known))}")
        usable = is_number(self.min_certainty) and 0 <= self.min_certainty < 1
        do = "use a probability from 0 to below 1, such as 0.5"
        require(usable, f"{where}: min_certainty", found=self.min_certainty, do=do)
        fits = not self.among or self.expected is None or self.expected in self.among
        require(fits, f"{where}: among", found=list(self.among), do=f"let it hold {self.expected!r}, too")

    def score(self, output: object, input: object = "") -> dict[str, Any]:
        """Return {"matches": bool, "language", "probability", "expected"}.

        Raises ValueError if the output, or the input it is compared with, is too short or its language not certain.
        """
        language, probability = self._of(text_of(output), "output")
        expected = self.expected or self._of(text_of(input), "input")[0]
        return {
            "matches": language == expected,
            "language": language,
            "probability": probability,
            "expected": expected,
        }

    def _of(self, text: str, what: str) -> tuple[str, float]:
        letters = sum(character.isalpha() for character in text)
        if letters < self.least_letters:
            raise ValueError(f"the {what} has {letters} letters, too few to tell its language")
        language, probability = _identifier(tuple(sorted(self.among))).classify(text)
        if probability < self.min_certainty:
            found = f"the language of the {what} is not certain ({language}, {probability:.2f})"
            raise ValueError(f"{found}; name those that come into question (among), or lower min_certainty")
        return str(language), float(probability)


@cache
def _identifier(among: tuple[str, ...]) -> Any:
    """Load the model once for each choice of languages: 0.1 s and some 40 MB."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    if among:
        identifier.set_languages(list(among))
    return identifier
