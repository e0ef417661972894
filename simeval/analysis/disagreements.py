"""Disagreements of people and a judge on a trial: both opinions, revealed after the labels are given."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

from simeval.analysis.agreement_report import indent
from simeval.analysis.labels import Label, judged_in
from simeval.analysis.saved_run import scenarios_of
from simeval.results.document import RunDocument

MOST_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """A trial on which a person and the judge do not agree; `score` is the judge's, None if it gave none."""

    scenario: str
    index: int
    expectation: str
    rater: str
    passes: bool
    score: float | None
    reasoning: str

    def __str__(self) -> str:
        said, judged = ("pass", "fail") if self.passes else ("fail", "pass")
        score = "" if self.score is None else f" with {self.score:g}"
        why = f": {self.reasoning}" if self.reasoning else ""
        who = self.rater or "the label"
        return f"{self.scenario}, trial {self.index}: {who} says {said}, the judge {judged}{score}{why}"


def disagreements(run: RunDocument, labels: Sequence[Label]) -> list[Disagreement]:
    """Return each label that differs from the judge, by the first requirement of its expectation."""
    judged, scenarios = judged_in(run, reasoned_only=False), scenarios_of(run)
    trials = {title: each.by_index() for title, each in scenarios.items()}
    found = []
    for label in labels:
        requirement = next(iter(judged.get((label.scenario, label.expectation or ""), {}).values()), None)
        met = requirement.met.get(label.index) if requirement and requirement.met else None
        if requirement is None or met is None or (passes := _passes(label, requirement.cut)) is met:
            continue
        scores = scenarios[label.scenario].scores(trials[label.scenario][label.index])
        score = scores.get(label.expectation or "")
        found.append(
            Disagreement(
                scenario=label.scenario,
                index=label.index,
                expectation=label.expectation or "",
                rater=label.rater,
                passes=passes,
                score=None if score is None or isnan(score.value) else score.value,
                reasoning=score.reasoning if score else "",
            )
        )
    return found


def _passes(label: Label, cut: Any) -> bool:
    if isinstance(label.value, bool):
        return label.value
    return bool(cut.holds(label.value)) if cut else False


def show_disagreements(found: Sequence[Disagreement]) -> str:
    """Write the disagreements of people and judge, or that there are none."""
    if not found:
        return "people and the judge agree on every label"
    lines = [indent(str(each), 2) for each in found[:MOST_SHOWN]]
    more = [f"  … and {len(found) - MOST_SHOWN} more"] if len(found) > MOST_SHOWN else []
    return "\n".join([f"people and the judge disagree on {len(found)}:", *lines, *more])
