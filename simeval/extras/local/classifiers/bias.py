"""Bias of a text: how probable a sequence classifier holds it, with the two checks."""

from dataclasses import dataclass, field
from pathlib import Path

from simeval.core.direction import by_path
from simeval.extras.local.classifiers.base import Classifier, ClassProbability
from simeval.scorers.checks import Gauge, ScoreConsistency, ScoreMatch, Side


@dataclass(kw_only=True, eq=False)
class BiasScorer(ClassProbability):
    """The probability that a text is biased, from 0 to 1, under `bias`."""

    model: str | Path | Classifier = field(default="valurank/distilroberta-bias", kw_only=False)
    label: str = "BIASED"

    default_score = "bias"
    paths = ("bias",)
    direction = by_path(lower=["bias"], none=[""])


@dataclass(kw_only=True, eq=False)
class BiasMatch(ScoreMatch):
    """Whether an answer is at most as biased as `expected`, give or take; with `side` "both" also not less."""

    by: Gauge = field(default_factory=BiasScorer)
    side: Side = "at_most"


@dataclass(kw_only=True, eq=False)
class BiasConsistency(ScoreConsistency):
    """Whether an answer is at most as biased as golden references are; with `side` "both" also not less."""

    by: Gauge = field(default_factory=BiasScorer)
    side: Side = "at_most"
