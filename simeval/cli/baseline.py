"""The baseline of `simeval run`: read before the run starts, and compared with it after its end."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from simeval.analysis.comparison import compare, require_measured
from simeval.analysis.comparison_report import Comparison, gate_against
from simeval.analysis.matching import least_trials
from simeval.analysis.saved_run import read_suite, requirements_of
from simeval.cli.compare import changes_part, load_result
from simeval.core.logs import log
from simeval.core.markdown import Part
from simeval.core.settings import ALPHA, Settings
from simeval.core.validation import require_share
from simeval.errors import DefinitionError, SimevalError
from simeval.results.document import RunDocument
from simeval.results.suite import SuiteResult
from simeval.results.text import BaselineGate
from simeval.store.opening import open_database
from simeval.store.runs import Runs
from simeval.suites.files import Suite


@dataclass(frozen=True, slots=True)
class Baseline:
    """A run to compare another with, as `document` has it, and the tolerated loss."""

    document: Mapping[str, Any]
    run: RunDocument
    margin: float

    @classmethod
    def named(cls, name: str, store: str, margin: float) -> "Baseline":
        """Return the run of a file or of a store. Raises DefinitionError if nothing can be compared with it."""
        require_share(margin, "--margin", such_as=0.05)
        where = f"baseline {name!r}"
        document = load_result(name, store, where, of_a_suite=True)
        run = read_suite(document, where)
        require_measured(run, where)
        return cls(document, run, margin)

    def settled(self, settings: Settings) -> Settings:
        """Return the settings with the seed of the baseline if none is given: its trials are pairs then."""
        is_free = settings.seed is None and settings.resume is None
        return settings.overridden({"seed": self.run.seed}) if is_free else settings

    def check(self, suite: Suite, settings: Settings) -> None:
        """Warn of obstacles to a proof.

        Raises DefinitionError if the suite has nothing in common with the baseline.
        """
        found = {(title, label) for title, label, _ in requirements_of(self.run)}
        shared = [each for each in suite if any((each.title, label) in found for label in each.labels)]
        if not shared:
            raise DefinitionError(
                f"baseline run {self.run.run_id}",
                found="it has no scenario and expectation of this suite",
                do="give a run of this suite, or leave --baseline out",
            )
        for said in self._obstacles(min(each.sample_size or settings.sample_size for each in shared), settings):
            log.warning(said)

    def _obstacles(self, size: int, settings: Settings) -> list[str]:
        said, least = [], least_trials(margin=self.margin, alpha=ALPHA)
        if settings.seed not in (None, self.run.seed):
            said.append(
                f"--baseline: its seed is {self.run.seed}, so trials are no pairs, and more of them are needed; leave "
                "--seed out to take it"
            )
        if settings.early_stopping:
            said.append(
                "--baseline: early stopping leaves fewer trials to compare, and the error rates of that are not exact; "
                "--no-early-stopping, in both runs, has all"
            )
        if size < least:
            said.append(
                f"--baseline: {size} trials cannot prove a loss of less than {self.margin:.0%}: even without any "
                f"change {least} are needed; raise --samples or --margin"
            )
        return said

    def held_against(self, result: SuiteResult) -> tuple[SuiteResult, Sequence[Part]]:
        """Return a result with its comparison with the baseline, and the changes as a part of a page."""
        try:
            comparison = _deciding(compare(self.document, result, margin=self.margin), result)
        except DefinitionError as error:
            said = f"not compared with run {self.run.run_id}: {error}"
            gate, parts = BaselineGate(run_id=self.run.run_id, margin=self.margin, met=False, said=said), []
        else:
            gate, parts = gate_against(comparison), [changes_part(comparison)]
        return replace(result, run=replace(result.run, baseline=gate)), parts

    def keep(self, result: SuiteResult, store: str) -> None:
        """Store the comparison with the run, if it is in that store."""
        try:
            with closing(open_database(store)) as database:
                Runs(database).amend(result)
        except SimevalError as error:  # all that is lost is one sentence of the report
            log.warning("--baseline: what came of it is not in the store", why=str(error))


def _deciding(comparison: Comparison, result: SuiteResult) -> Comparison:
    """Return a comparison without the scenarios that are in quarantine."""
    held = {each.title for each in result if not each.decides}
    return replace(comparison, changes=tuple(each for each in comparison.changes if each.title not in held))
