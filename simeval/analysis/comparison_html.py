"""The HTML report of a comparison: losses and gains, with the pairs side by side."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from simeval.analysis.changes import ASKED, WORST_FIRST, Change, ComparedRun, KindChange
from simeval.core.serialization import Json
from simeval.core.terminal import counted_of, show_p, show_share
from simeval.core.trial import Trial, TrialResult
from simeval.core.version import __version__
from simeval.results.document import Document, ExpectationDocument, ExperimentDocument, ScenarioDocument, numbered
from simeval.results.html.blocks import MOST_BYTES, Block, about_of, block_of
from simeval.results.html.charts import Node, difference_chart
from simeval.results.html.heads import scenario_of
from simeval.results.html.page import page_pieces, write_page
from simeval.results.html.record import ChangeRow, Report
from simeval.results.html.trials import Required, report_trial, required_of

if TYPE_CHECKING:  # comparisons write their reports with this module
    from simeval.analysis.comparison_report import Comparison

HEADLINES = {
    "better": "The new version is proven better",
    "worse": "The new version is proven worse",
    "unclear": "It is not proven whether the new version is worse",
    "not worse": "The new version is proven not to be worse",
}
FOUND = {
    "worse": ("is proven worse", "are proven worse"),
    "unclear": ("is open", "are open"),
    "changed": ("changed", "changed"),
    "better": ("is proven better", "are proven better"),
    "not worse": ("is proven not worse", "are proven not worse"),
    "unchanged": ("is unchanged", "are unchanged"),
}


def write_comparison(path: str | Path, comparison: "Comparison", baseline: Document, candidate: Document) -> None:
    """Write the report of a comparison of two runs. Raises StoreError."""
    sides = _Side(baseline), _Side(candidate)
    write_page(path, _head(comparison, sides[1]), _blocks(comparison, *sides))


def comparison_page(
    comparison: "Comparison", baseline: Document, candidate: Document, links: Sequence[tuple[str, str]]
) -> str:
    """Return the report of a comparison of two runs, with links to other pages."""
    sides = _Side(baseline), _Side(candidate)
    return "".join(page_pieces(_head(comparison, sides[1]), _blocks(comparison, *sides), links))


class _Side:
    """One of the two results: its trials by scenario and index."""

    def __init__(self, document: Document) -> None:
        self.document, self.scenarios = document, document.scenarios
        self._held: dict[int, Mapping[int, TrialResult]] = {}
        named = enumerate(each.title for each in self.scenarios)
        self.places = {title: place for place, title in numbered(named)}  # as comparisons number scenarios

    def place_of(self, title: str) -> int:
        return 0 if isinstance(self.document, ExperimentDocument) else self.places.get(title, 0)

    def required(self, place: int) -> list[Required]:
        expectations = self.scenarios[place].expectations
        return required_of(self._labels(place), expectations)

    def _labels(self, place: int) -> Sequence[str]:
        if isinstance(self.document, ExperimentDocument):
            return self.document.labels
        return self.scenarios[place].labels

    def trial(self, place: int, index: int) -> Json | None:
        """Return a trial, or the first answer to an example; None if the result does not have it."""
        if place not in self._held:
            self._held[place] = self._trials(place)
        found = self._held[place].get(index)
        return None if found is None else report_trial(found, self.required(place))

    def _trials(self, place: int) -> Mapping[int, TrialResult]:
        if not isinstance(self.document, ExperimentDocument):
            return self.scenarios[place].by_index()
        times = self.document.dataset.repetitions
        first = (each for each in self.document.answered if each.trial.index % times == 0)
        examples = [replace(each, trial=Trial(0, each.trial.index // times, 0)) for each in first]  # by their places
        return {each.trial.index: each for each in examples}

    def example(self, key: str) -> int | None:
        """Return the place of an example by its key; a run of a suite has none."""
        keys = self.document.keys if isinstance(self.document, ExperimentDocument) else ()
        return keys.index(key) if key in keys else None


def _head(comparison: "Comparison", candidate: _Side) -> Report:
    changes = sorted(comparison.changes, key=lambda each: WORST_FIRST.index(each.finding))
    return Report(
        kind="comparison",
        name=f"{comparison.baseline.run_id} and {comparison.candidate.run_id}",
        outcome=comparison.finding,
        headline=HEADLINES[comparison.finding],
        meaning=_meanings(comparison),
        sure=_error_rates(comparison),
        facts=[
            ("Before", _shown(comparison.baseline)),
            ("Now", _shown(comparison.candidate)),
            ("Compared", "pair by pair" if comparison.paired else "as two samples, because the seeds differ"),
            ("Tolerated loss", f"{100 * comparison.margin:.4g} percentage points"),
            ("Gate", f"{comparison.gate}: {'met' if comparison.passed else 'not met'}"),
            ("simeval", __version__),
        ],
        counts=Counter(each.finding for each in changes),
        notes=[*comparison.notes, *_alone(comparison)],
        scenarios=[_scenario(each) for each in candidate.scenarios],
        kinds=[_kind(each) for each in comparison.kinds if each.finding != "unclear"],
        changes=[_change(each, comparison, candidate) for each in changes],
    )


def _kind(kind: KindChange) -> list[str]:
    sides = (kind.before, kind.trials_before), (kind.now, kind.trials_now)
    counts = (f"{count} of {trials}" for count, trials in sides)
    return [kind.finding, f"{kind.title}: {kind.label}", kind.said, *counts, show_p(kind.p_value)]


def _shown(run: ComparedRun) -> str:
    return f"{run.app}, run {run.run_id}"


def _meanings(comparison: "Comparison") -> list[str]:
    found, size = Counter(each.finding for each in comparison.changes), len(comparison.changes)
    said = [f"{found[each]} {FOUND[each][found[each] > 1]}" for each in WORST_FIRST if found[each]]
    noun = "requirement" if comparison.kind == "suites" else "metric"
    return [
        f"Of {counted_of(size, noun)} {', '.join(said)}.",
        f"The gate {'is met' if comparison.passed else 'is not met'}: it requires that {ASKED[comparison.gate]}.",
    ]


def _error_rates(comparison: "Comparison") -> list[str]:
    level, lines = show_share(comparison.alpha), []
    if comparison.false_pass_bound is not None and any(each.has_margin for each in comparison.changes):
        lines.append(
            f'How sure is "not worse"? If a share fell by more than {100 * comparison.margin:.4g} points, the gate is '
            f"met, by luck, with a chance of at most {level}."
        )
    if any(each.finding == "worse" for each in comparison.changes):
        lines.append(f'How sure is "worse"? What did not get worse is found worse with a chance of at most {level}.')
    if any(each.approximate for each in comparison.changes):
        lines.append("These error rates are approximate where a change says so.")
    return lines


def _alone(comparison: "Comparison") -> list[str]:
    sides = (("before", comparison.baseline), ("now", comparison.candidate))
    return [
        f"Only there {when}, not compared: {': '.join(filter(None, key))}"
        for when, run in sides
        for key in run.only_here
    ]


def _scenario(found: ScenarioDocument) -> Json:
    """Return a comparison's data of a scenario: the expectations, without any conclusions."""
    expectations = [
        ExpectationDocument(
            label=each.label, outcome=each.outcome, expected_behavior=each.expected_behavior, verdicts=()
        )
        for each in found.expectations
    ]
    plain = ScenarioDocument(
        title=found.title, sample_size=found.sample_size, trials=found.trials, expectations=expectations
    )
    return scenario_of(plain, found.outcome)


def _change(change: Change, comparison: "Comparison", candidate: _Side) -> ChangeRow:
    approximate = f" Approximate: {change.approximate}." if change.approximate else ""
    numbers = {name: getattr(change, name) for name in ("finding", "difference", "interval", "p_better", "p_worse")}
    return ChangeRow(
        title=change.title,
        name=change.name,
        finding=change.finding,
        said=f"{change.explanation}.{approximate}",
        picture=_picture(change, comparison.margin),
        numbers={**numbers, "n": change.candidate.n if change.pairs is None else change.pairs},
        worse=[each.index for each in change.regressed],
        better=[each.index for each in (*change.improved, *change.changed)],
        scenario=candidate.place_of(change.title),
    )


def _picture(change: Change, margin: float) -> Node | None:
    if change.interval is None or change.difference is None:
        return None
    sign = -1 if change.direction == "lower" else 1
    low, high = sorted(sign * each for each in change.interval)
    tolerated = margin if change.kind == "share" else 0.0
    kind = change.finding.replace(" ", "")
    return difference_chart((low, high), sign * change.difference, tolerated, finding=kind, label=change.explanation)


def _blocks(comparison: "Comparison", baseline: _Side, candidate: _Side) -> Iterator[Block]:
    size = max(1, len(candidate.scenarios))
    for place in range(len(candidate.scenarios)):
        changes = [each for each in comparison.changes if candidate.place_of(each.title) == place]
        labels = [each.label for each in candidate.required(place)]
        yield block_of(place, about_of(labels), _pairs(changes, place, baseline, candidate), MOST_BYTES // size)


def _pairs(changes: Sequence[Change], place: int, baseline: _Side, candidate: _Side) -> Iterable[Json]:
    """Return the pairs that changed, each once: losses first."""
    turned = [("worse", each, pair) for each in changes for pair in each.regressed]
    turned += [("better", each, pair) for each in changes for pair in (*each.improved, *each.changed)]
    shown: set[int] = set()
    for way, change, pair in turned:
        now = None if pair.index in shown else candidate.trial(place, pair.index)
        if now is None:
            continue
        shown.add(pair.index)
        is_of_examples = isinstance(baseline.document, ExperimentDocument)
        there = baseline.example(pair.key) if is_of_examples else pair.index
        before = None if there is None else baseline.trial(baseline.place_of(change.title), there)
        yield {**now, "reason": f"Got {way}: {change.label}", "pair": before}
