"""Conclusions from labels of a sample that has more of the judge's failures than a random one, weighted.

The probabilities with which trials were drawn identify such a sample. The judge's outcome by the first requirement of
the expectation divides the trials into two strata; within each, labels are of a random subset. Such a sample allows no
conclusion on other requirements of the expectation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from simeval.analysis.labels import Label, first_outcomes
from simeval.core.arrays import Floats
from simeval.errors import DefinitionError
from simeval.results.document import RunDocument
from simeval.stats.agreement import Confusion, Rate
from simeval.stats.calibration import CONDITIONS, CorrectedRate
from simeval.stats.stratified import StratifiedRates, StratifiedShare, Stratum, stratified_rates

METHOD = "weighted by how the sample was drawn (Horvitz-Thompson)"
HOLDS = (
    "Among what the judge passes, and among what it fails, the labelled conversations must be a random subset.",
    CONDITIONS[-1],
)
NEARLY = 1e-6


def stratified_in(labels: Sequence[Label], run: RunDocument) -> set[str | None]:
    """Return the expectations with labels of a stratified sample. Raises DefinitionError for ratings of one."""
    outcomes = first_outcomes(run)
    stratified = {
        name
        for name in dict.fromkeys(each.expectation for each in labels)
        if _is_stratified(
            [each for each in labels if each.expectation == name],
            {title: met for (title, label), met in outcomes.items() if label == name},
        )
    }
    if any(each.expectation in stratified and not isinstance(each.value, bool) for each in labels):
        do = "label a stratified sample with pass and fail"
        raise DefinitionError("labels", found="ratings of a stratified sample", do=do)
    return stratified


def _is_stratified(labels: Sequence[Label], outcomes: Mapping[str, Mapping[int, bool | None]]) -> bool:
    """Return whether trials that the judge passes were drawn with another probability than those that it fails.

    If only one of the two kinds is labelled so far: whether its probability fits no whole number drawn from all.
    """
    chances: dict[bool, set[float]] = {True: set(), False: set()}
    for each in labels:
        if each.inclusion is not None:
            chances[bool(outcomes.get(each.scenario, {}).get(each.index))].add(each.inclusion)
    if all(chances.values()):
        return chances[True] != chances[False]
    size = sum(is_met is not None for met in outcomes.values() for is_met in met.values())
    return not all(_is_whole(chance * size) for found in chances.values() for chance in found)


def _is_whole(number: float) -> bool:
    return abs(number - round(number)) < NEARLY


@dataclass(frozen=True, slots=True)
class StratifiedLabels:
    """The majority of people's labels of a requirement's trials, and the judge's outcomes: of each, by its index."""

    human: Mapping[int, bool]
    judge: Mapping[int, bool]

    def weights(self, indexes: Sequence[int]) -> Floats:
        """Return the number of trials that each of these represents."""
        each = {True: self._stratum(True), False: self._stratum(False)}
        stands = {said: found.size / max(1, found.labelled) for said, found in each.items()}
        return np.array([stands[self.judge[index]] for index in indexes], dtype=np.float64)

    def rates(self, alpha: float) -> StratifiedRates:
        """Return the rates on all trials."""
        return stratified_rates(self._stratum(True), self._stratum(False), alpha=alpha)

    def weighted(self, table: Confusion, *, alpha: float) -> Confusion:
        """Return a table of the labels as they were given with the rates of all trials."""
        found = self.rates(alpha)
        return replace(
            table,
            sensitivity=_with(table.sensitivity, found.sensitivity),
            specificity=_with(table.specificity, found.specificity),
            accuracy=_with(table.accuracy, found.accuracy),
        )

    def corrected(self, plain: CorrectedRate, *, alpha: float) -> CorrectedRate:
        """Return the rate that people would find."""
        found = self.rates(alpha).rate
        return replace(
            plain, method=METHOD, estimate=found.value, lower=found.low, upper=found.high, exact=True, conditions=HOLDS
        )

    def _stratum(self, said: bool) -> Stratum:
        labelled = [people for index, people in self.human.items() if self.judge[index] is said]
        return Stratum(list(self.judge.values()).count(said), len(labelled), labelled.count(True))


def _with(plain: Rate, found: StratifiedShare) -> Rate:
    return replace(plain, value=found.value, low=found.low, high=found.high)
