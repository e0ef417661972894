"""Classification: accuracy, precision, recall and F1 of a dataset with labels, each with its interval.

A measure that is 0/0 is None, never 0 or 1: nobody knows the precision of a class that was never answered.
"""

import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import TYPE_CHECKING, Any

from simeval.core.settings import ALPHA
from simeval.core.trial import Estimate, Scored
from simeval.core.validation import require
from simeval.errors import DefinitionError
from simeval.scorers.base import ColumnScorer
from simeval.scorers.values import given, normalised, text_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from simeval.stats.classification import Interval

AVERAGES = ("macro", "micro", "weighted")
MEASURES = ("precision", "recall", "f1")
LONGEST_LABEL = 200  # characters kept of an answer that is no label
_AROUND = string.whitespace + "*_`'\"“”‘’.,;:!()[]{}#>"  # marks that answers put around a label
_NAMED = re.compile(r"(?:\w+ ){0,2}\w+[*_`\"' ]*[:=](.+)", re.DOTALL)  # "The label is" has no colon, and is a sentence


@dataclass(kw_only=True, eq=False)
class Classification(ColumnScorer):
    """How well the outputs name the class in the reference: one label for each example.

    Labels are compared without space around them, and with `ignore_case` without case. `labels` are the possible
    classes, by default those that occur as references. An output that is none of them, and an app that failed, is a
    wrong answer of no class: it lowers accuracy and the recall of the right class, and nobody's precision. `positive`
    names the class whose measures are also called just "precision", "recall" and "f1". With `lenient` an output may
    also have markup, end in punctuation, or begin with the name of the field: "**spam**", "spam.", "Label: spam". A
    sentence that has a label in it is still none: "not spam".

    `score` gives for an example whether its answer is `correct`; the measures are of the whole dataset: "accuracy",
    "macro.f1" and so on for precision, recall and f1 over macro, micro and weighted, and "class.<label>.f1". Shares
    have an exact interval (Clopper and Pearson; Korn and Graubard's if examples were repeated), the others a bootstrap
    one over examples with `seed`. Only shares are fit for a verdict.
    """

    gives_ratings = False
    labels: Sequence[object] | None = None
    positive: object = None
    ignore_case: bool = False
    lenient: bool = False
    seed: int = 0

    default_score = "correct"
    paths = ("correct",)
    direction = "higher"
    quick = True

    _classes: Mapping[str, str] = field(default_factory=dict, init=False, repr=False)  # spelling by form for comparison

    summarized = ("reference",)

    def __post_init__(self) -> None:
        super().__post_init__()
        labels = self.labels
        if labels is None:
            return
        do = "give a list of different labels, or None for those of the dataset"
        require(not isinstance(labels, str) and len(labels) > 0, "Classification.labels", found=labels, do=do)
        self._classes = {self._compared(label): normalised(label, ignore_space=True) for label in labels}
        require(
            len(self._classes) == len(labels) and "" not in self._classes, "Classification.labels", found=labels, do=do
        )
        known = self.positive is None or self._compared(self.positive) in self._classes
        require(known, "Classification.positive", found=self.positive, do="give one of the labels")

    def score(self, output: Any, reference: Any) -> Mapping[str, Any]:
        """Return whether the answer is right, and both labels. Raises DefinitionError for a reference that is none."""
        actual = self._actual(reference)
        predicted = self._answered(output, actual) if self.lenient else self._spelled(output)
        return {"correct": predicted == actual, "predicted": predicted[:LONGEST_LABEL], "actual": actual}

    def summarize(self, scored: Sequence[Scored], *, alpha: float = ALPHA) -> Mapping[str, Estimate]:
        """Return all measures.

        Examples without a score are missing, and each method gives their number.
        """
        answered = [(each.example, *pair) for each in scored if (pair := self._pair(each))]
        if not answered:
            return {
                "accuracy": Estimate(value=None, n=0, method=f"undefined: 0 of 0{_missing(len(scored), len(scored))}")
            }
        positive = [] if self.positive is None else [self._spelled(self.positive)]
        classes = list(self._classes.values()) or sorted({actual for _, actual, _ in answered} | set(positive))
        missing = _missing(len(scored) - len(answered), len(scored))
        found = dict(_Summary(answered, classes, missing=missing, seed=self.seed, alpha=alpha).estimates())
        only = {name: found[f"class.{label}.{name}"] for label in positive for name in MEASURES}
        return {"accuracy": found.pop("accuracy"), **only, **found}

    def _answered(self, output: object, actual: str) -> str:
        """Return the label of an output: as it is, or else the one inside markup or punctuation."""
        known = {*self._classes.values(), actual}
        forms = [self._spelled(form) for form in _bared(text_of(output))]
        return next((form for form in forms if form in known), forms[-1] or forms[0])

    def _pair(self, scored: Scored) -> tuple[str, str] | None:
        """Return the right label and the answered one; None if either is missing."""
        if isinstance(scored.measured, Mapping):
            return str(scored.measured["actual"]), str(scored.measured["predicted"])
        if scored.failure is None or scored.failure.stage != "app":
            return None
        actual = self._label(scored.columns.get("reference"))
        return (actual, "") if actual else None

    def _actual(self, reference: object) -> str:
        actual = self._label(given(reference, self.name))
        if not actual:
            do = f"use one of {', '.join(self._classes.values())}" if self._classes else "give each example its label"
            raise DefinitionError(f"scorer {self.name}", found=f"the reference is {reference!r:.99}", do=do)
        return actual

    def _label(self, reference: object) -> str:
        """Return the class that a reference names; empty if it names none."""
        label = self._spelled(reference)
        return label if not self._classes or label in self._classes.values() else ""

    def _compared(self, value: object) -> str:
        return normalised(value, ignore_case=self.ignore_case, ignore_space=True)

    def _spelled(self, value: object) -> str:
        """Return a label as `labels` spells it, if it is one of them."""
        compared = self._compared(value)
        return self._classes.get(compared, compared)


class _Summary:
    """The answers of a dataset: for each its example, the class that was right, and the class answered."""

    def __init__(
        self, answered: Sequence[tuple[int, str, str]], classes: Sequence[str], *, missing: str, seed: int, alpha: float
    ) -> None:
        import numpy as np

        from simeval.stats.classification import NONE, count_answers

        places = {label: place for place, label in enumerate(classes)}
        self.classes, self.missing, self.seed, self.alpha = classes, missing, seed, alpha
        self.level = f"{100 * (1 - 2 * alpha):.4g}%"
        self.examples = np.unique(np.array([example for example, _, _ in answered]), return_inverse=True)[1]
        self.actual = np.array([places[actual] for _, actual, _ in answered])
        self.predicted = np.array([places.get(predicted, NONE) for _, _, predicted in answered])
        self.n_examples = int(self.examples.max()) + 1
        self.counted = count_answers(
            self.actual.tolist(), self.predicted.tolist(), self.examples.tolist(), n_classes=len(classes)
        )

    def estimates(self) -> Mapping[str, Estimate]:
        """Return every estimate by its name."""
        from simeval.stats.classification import NONE

        everything = self.actual != NONE
        shares = {
            "accuracy": self._share(everything),
            "micro.precision": self._share(self.predicted != NONE),
            "micro.recall": self._share(everything),
        }
        for place, label in enumerate(self.classes):
            shares[f"class.{label}.precision"] = self._share(self.predicted == place)
            shares[f"class.{label}.recall"] = self._share(self.actual == place)
        found = self._resampled() | shares
        order = [
            f"{group}.{name}" for group in (*AVERAGES, *(f"class.{each}" for each in self.classes)) for name in MEASURES
        ]
        return {name: found[name] for name in ("accuracy", *order)}

    def _share(self, of: "NDArray[np.bool_]") -> Estimate:
        """Return the share of right answers among those chosen, with an interval that knows of repetitions."""
        import numpy as np

        from simeval.stats.binomial import clopper_pearson
        from simeval.stats.clusters import korn_graubard

        n, right = int(of.sum()), int((of & (self.actual == self.predicted)).sum())
        if not n:
            return Estimate(value=None, n=0, method=f"undefined: 0 of 0{self.missing}")
        sizes = np.bincount(self.examples[of])
        if sizes.max() == 1:
            interval, how = clopper_pearson(right, n, self.alpha), "Clopper-Pearson"
        else:
            good = np.bincount(self.examples[of], weights=(self.actual == self.predicted)[of])
            found = korn_graubard(good[sizes > 0], sizes[sizes > 0], alpha=self.alpha)
            interval, how = (found.low, found.high), f"Korn-Graubard over {found.n_clusters} examples"
        return Estimate(value=right / n, n=n, interval=interval, method=f"{how}, {self.level}{self.missing}")

    def _resampled(self) -> dict[str, Estimate]:
        """Return the measures that are no shares."""
        from simeval.stats.classification import N_DRAWS, bootstrap_intervals, measures

        names = ["micro.f1", *(f"{average}.{name}" for average in ("macro", "weighted") for name in MEASURES)]
        values, every = measures(self.counted), self.actual.size
        intervals = bootstrap_intervals(self.counted, [*names, "f1"], alpha=self.alpha, seed=self.seed)
        how = f"bootstrap over {self.n_examples} examples, {N_DRAWS} draws"
        found = {name: self._estimate(float(values[name]), every, intervals[name][0], how) for name in names}
        involved = values["actual"] + values["predicted"] - values["hits"]
        for place, label in enumerate(self.classes):
            value, n = float(values["f1"][place]), int(involved[place])
            found[f"class.{label}.f1"] = self._estimate(value, n, intervals["f1"][place], how)
        return found

    def _estimate(self, value: float, n: int, interval: "Interval", how: str) -> Estimate:
        """Return an estimate; without an interval where no draw differs from another, which is no proof."""
        if isnan(value):
            return Estimate(value=None, n=n, method=f"undefined: 0 of 0, or a mean over it{self.missing}")
        if not interval.low < interval.high:
            return Estimate(value=value, n=n, method=f"no interval: no draw differs{self.missing}")
        undefined = f" ({interval.n_undefined} undefined)" if interval.n_undefined else ""
        bounds = min(interval.low, value), max(interval.high, value)
        return Estimate(value=value, n=n, interval=bounds, method=f"{how}{undefined}, {self.level}{self.missing}")


def _bared(text: str) -> list[str]:
    """Return a text as it is, without marks around it, and without the name of its field."""
    plain = text.strip(_AROUND)
    named = _NAMED.fullmatch(plain)
    return [text, plain, *([named[1].strip(_AROUND)] if named else [])]


def _missing(missing: int, of: int) -> str:
    return f"; {missing} of {of} answers missing" if missing else ""
