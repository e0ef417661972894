"""The base of toxicity and bias: a sequence classifier's labels for a text, and the probability of one class."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

from simeval.errors import DefinitionError
from simeval.extras.local.service import LocalClassifier, classifier
from simeval.models.encoders import LoadsModels
from simeval.scorers.base import Gauge
from simeval.scorers.llm.graded import needed, whole_text

ROUNDING = 1e-3


@runtime_checkable
class Classifier(Protocol):
    """Something that gives the probability of each of its labels for a text. Its `name`, if it has one, is its name."""

    async def classify(self, text: str) -> Mapping[str, float]:
        """Return the probability of each label."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a text that a classifier read whole, and its probabilities."""

    text: str
    probabilities: Mapping[str, float]


def as_classifier(model: object, where: str) -> Classifier:
    """Return the classifier of a hub name or a folder, or the object itself that is one. Raises DefinitionError."""
    if isinstance(model, (str, Path)):
        return classifier(str(model))
    if isinstance(model, Classifier):
        return model
    do = "give a hub name, a folder, or an object with `async classify(text)`"
    raise DefinitionError(f"{where}: model", found=f"found {model!r}", do=do)


def name_of(asked: Classifier) -> str:
    """Return the name of a classifier in results."""
    return str(getattr(asked, "name", type(asked).__name__))


def text_to_read(output: object) -> str:
    """Return the text of an output, all of it. Raises ValueError if it has none."""
    needed(output, "output")
    return whole_text(output)


def truncated(asked: Classifier) -> bool | None:
    """Say whether a part of a text was left out: never by a local classifier, not known of an object of the user's."""
    return False if isinstance(asked, LocalClassifier) else None


async def read(asked: Classifier, text: str) -> list[Piece]:
    """Classify a text, in windows if it is longer than a local classifier reads at once.

    Raises ValueError for results that are no probabilities, and the classifier's errors.
    """
    if isinstance(asked, LocalClassifier):
        texts = await asked.windows(text)
        found: Sequence[Mapping[str, float]] = await asked.classify_all(texts)
    else:
        texts, found = [text], [await asked.classify(text)]
    for each in found:
        if not each or not all(-ROUNDING <= value <= 1 + ROUNDING for value in each.values()):
            raise ValueError(f"{name_of(asked)} gave no probabilities: {dict(each)!r:.200}")
    within = [{label: min(1.0, max(0.0, value)) for label, value in each.items()} for each in found]
    return [Piece(*each) for each in zip(texts, within, strict=True)]


def mean_of(pieces: Sequence[Piece]) -> dict[str, float]:
    """Return the mean probabilities of pieces, each weighed by its length, and divided by their sum.

    Raises ValueError if they do not sum to 1: the labels do not exclude one another.
    """
    weights = [len(piece.text) for piece in pieces]
    labels = pieces[0].probabilities
    found = {
        label: fsum(weight * piece.probabilities[label] for weight, piece in zip(weights, pieces, strict=True))
        / sum(weights)
        for label in labels
    }
    total = fsum(found.values())
    if abs(total - 1) > ROUNDING:
        raise ValueError(f"the probabilities sum to {total:.4g}: this is no classifier with one label for a text")
    return {label: probability / total for label, probability in found.items()}


@dataclass(kw_only=True, eq=False)
class ClassProbability(LoadsModels, Gauge):
    """The probability that `model` gives the class called `label`: a hub name, a folder, or an object with `classify`.

    The class is found by its name, whatever its case, never by its position. A text longer than the model reads at
    once is read in windows, and its number is that of the window with the highest: one bad paragraph is not made good
    by many others.
    """

    model: str | Path | Classifier = field(kw_only=False)
    label: str
    _asked: Classifier = field(init=False, repr=False)

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._asked = as_classifier(self.model, f"scorer {self.name}")

    async def score(self, output: Any) -> dict[str, Any]:
        """Return the probability, the `label`, the `distribution` of that window, the `windows` and the `model`.

        Raises ValueError without a text, DefinitionError if the model has no such label, and ModelError.
        """
        pieces = await read(self._asked, text_to_read(output))
        label = self._label(pieces[0].probabilities)
        highest = max(pieces, key=lambda piece: piece.probabilities[label])
        return {
            self.metric: highest.probabilities[label],
            "label": label,
            "distribution": dict(highest.probabilities),
            "windows": len(pieces),
            "truncated": truncated(self._asked),
            "model": name_of(self._asked),
        }

    def _label(self, there: Mapping[str, float]) -> str:
        meant = [label for label in there if label == self.label] or [
            label for label in there if label.casefold() == self.label.casefold()
        ]
        if len(meant) != 1:
            found = f"{name_of(self._asked)} has no label {self.label!r} but {sorted(there)}"
            raise DefinitionError(f"scorer {self.name}: label", found=found, do="name one of those: label='...'")
        return meant[0]
