"""Labels of a sample that has more of what the judge fails than a random one: what follows from them, weighted.

Which sample they are of is told by the probabilities with which their trials were drawn. What the judge says by the
first requirement of the expectation divides the trials into two strata; within each, labels are of a random subset.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from simeval.analysis.labels import Label, first_outcomes
from simeval.analysis.saved_run import SavedRun
from simeval.core.arrays import Floats
from simeval.errors import DefinitionError
from simeval.stats.agreement import Confusion, Rate
from simeval.stats.calibration import CONDITIONS, CorrectedRate
from simeval.stats.stratified import Cell, StratifiedShare, stratified_share

METHOD = "weighted by how the sample was drawn (Horvitz-Thompson, bounds of both strata)"
NEARLY = 1e-6

Key = tuple[str, str]  # the title of a scenario and the label of its expectation


def strata_of(labels: Sequence[Label], run: SavedRun) -> Mapping[Key, Mapping[int, bool]]:
    """Return for each expectation of which a stratified sample was labelled, whether the judge passes each trial.

    Raises DefinitionError for ratings among such labels.
    """
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
    return {
        key: {index: bool(is_met) for index, is_met in met.items()}
        for key, met in outcomes.items()
        if key[1] in stratified
    }


def _is_stratified(labels: Sequence[Label], outcomes: Mapping[str, Mapping[int, bool | None]]) -> bool:
    """Return whether trials that the judge passes were drawn with another probability than those that it fails.

    Where only one of the two kinds is labelled so far, its probability tells of what number it was made.
    """
    chances: dict[bool, set[float]] = {True: set(), False: set()}
    for each in labels:
        if each.inclusion is not None:
            chances[bool(outcomes.get(each.scenario, {}).get(each.index))].add(each.inclusion)
    if all(chances.values()):
        return chances[True] != chances[False]
    every = [bool(is_met) for met in outcomes.values() for is_met in met.values()]
    return any(
        chance < 1 and (_is_whole(chance * every.count(kind)) or not _is_whole(chance * len(every)))
        for kind, found in chances.items()
        for chance in found
        if every.count(not kind)
    )


def _is_whole(number: float) -> bool:
    return abs(number - round(number)) < NEARLY


@dataclass(frozen=True, slots=True)
class StratifiedLabels:
    """What most people say of the trials of one requirement, and what the judge says: of each, by its index.

    `strata` say of every trial in which of the two it is; `is_first` that they are what the judge says here.
    """

    strata: Mapping[int, bool]
    human: Mapping[int, bool]
    judge: Mapping[int, bool]
    is_first: bool

    def weights(self, indexes: Sequence[int]) -> Floats:
        """Return for how many trials each of these stands."""
        sizes = {kind: self._size(kind) / max(1, len(self._labelled(kind))) for kind in (True, False)}
        return np.array([sizes[self._stratum(index)] for index in indexes], dtype=np.float64)

    def weighted(self, table: Confusion, *, alpha: float) -> Confusion:
        """Return a table of the labels as they were given with the rates of all trials."""
        return replace(
            table,
            sensitivity=self._rate(table.sensitivity, (True, True), (True, False), alpha),
            specificity=self._rate(table.specificity, (False, False), (False, True), alpha),
            accuracy=_with(table.accuracy, self._share([(True, True), (False, False)], alpha)),
        )

    def corrected(self, plain: CorrectedRate, *, alpha: float) -> CorrectedRate:
        """Return the rate that people would find."""
        found = self._share([(True, True), (True, False)], alpha)
        return replace(
            plain,
            method=METHOD,
            conditions=CONDITIONS,
            estimate=found.value,
            lower=found.low,
            upper=found.high,
            exact=True,
        )

    def _labelled(self, kind: bool) -> Sequence[int]:
        return [index for index in self.human if self._stratum(index) is kind]

    def _size(self, kind: bool) -> int:
        return sum(self._stratum(index) is kind for index in self.judge)

    def _stratum(self, index: int) -> bool:
        return self.strata.get(index, False)

    def _rate(self, plain: Rate, met: tuple[bool, bool], missed: tuple[bool, bool], alpha: float) -> Rate:
        """Return the share of `met` among these two; each is what people say and what the judge says."""
        return _with(
            plain, stratified_share((self._cell(True, met, missed), self._cell(False, met, missed)), alpha=alpha)
        )

    def _cell(self, kind: bool, met: tuple[bool, bool], missed: tuple[bool, bool]) -> Cell:
        said = [(self.human[index], self.judge[index]) for index in self._labelled(kind)]
        can = [not self.is_first or each[1] is kind for each in (met, missed)]
        return Cell(self._size(kind), len(said), said.count(met), said.count(missed), *can)

    def _share(self, met: Sequence[tuple[bool, bool]], alpha: float) -> StratifiedShare:
        cells = []
        for kind in (True, False):
            said = [(self.human[index], self.judge[index]) in met for index in self._labelled(kind)]
            cells.append(Cell(self._size(kind), len(said), said.count(True), said.count(False), is_whole=True))
        return stratified_share((cells[0], cells[1]), alpha=alpha)


def _with(plain: Rate, found: StratifiedShare) -> Rate:
    return replace(plain, value=found.value, low=found.low, high=found.high)
