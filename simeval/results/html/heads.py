"""The head of a report, made of the document of a suite's run or of an experiment."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import isfinite
from typing import Any

from simeval.core.run_records import SUITE, total
from simeval.core.serialization import Json, plain
from simeval.core.terminal import counted_of, show_share
from simeval.core.trial import Bar, Estimate
from simeval.results.document import (
    Document,
    ExpectationDocument,
    ExperimentDocument,
    FailureKind,
    MetricDocument,
    Requirement,
    RunDocument,
    ScenarioDocument,
)
from simeval.results.encoding import encode_bar
from simeval.results.guarantee import show_conduct
from simeval.results.html.charts import Node, interval_chart
from simeval.results.html.record import Report
from simeval.results.html.sentences import error_rates, meaning, meanings, proof
from simeval.results.html.source import NO_COURSES, Courses
from simeval.results.screen.experiment import count_requirements
from simeval.results.screen.report import count_outcomes, held_against
from simeval.results.text import gates_told, interval_header, meets_gate, show_malformed

SHARES = ("0%", "100%")
SHARE = Bar(value=0, low=0, high=1, is_lower_bound=True)  # the scale of a share of which nothing is required
NOTHING = Estimate(value=None, n=0)
MOST_CAUSES = 20
NOT_ENDED_YET = "Nothing is proven yet. What was said so far, and how it was rated, is below."


def head_of(document: Document, courses: Courses = NO_COURSES) -> Report:
    """Return the head of the report of a run; `courses` are those of an experiment's metrics."""
    if isinstance(document, RunDocument):
        return _suite(document)
    return replace(_experiment(document), courses=[[name, *each] for name, each in courses.items()])


def _suite(document: RunDocument) -> Report:
    outcomes = [_outcome(document, each) for each in document.scenarios]
    causes = Counter(f"{one.stage}: {one.error}" for each in document.scenarios for _, one in each.errors)
    counted = sum(each.trials for each in document.scenarios)
    proven = [*_gates(document), *meanings(document.verdicts)]
    return Report(
        kind="suite",
        name=document.run_id,
        outcome=document.status or document.outcome,
        headline=_headline(document),
        meaning=proven if document.has_ended else [NOT_ENDED_YET],
        sure=error_rates(document.verdicts, document.guarantee) if document.has_ended else [],
        facts=_facts(document, f"{counted:,}"),
        stopped=_stopped(document),
        counts=Counter(outcomes),
        usage=_usage(document),
        notes=_notes(document),
        causes=causes.most_common(MOST_CAUSES),
        scenarios=[scenario_of(each, outcome) for each, outcome in zip(document.scenarios, outcomes, strict=True)],
    )


def _outcome(document: Document, scenario: ScenarioDocument) -> str:
    """Return the outcome of a scenario; before a run has ended nothing is concluded."""
    return document.status or scenario.outcome


def _headline(document: RunDocument) -> str:
    """Return the number of scenarios for each outcome, and whether the gate accepts that."""
    if not document.has_ended:
        return "This run has not ended"
    deciding = [each for each in document.scenarios if each.decides]
    sides = held_against([(each.against, each.shares, each.n) for one in deciding for each in one.verdicts])
    said = count_outcomes([each.shown_outcome for each in deciding], sides)
    is_accepted = document.outcome != "pass" and document.gate_met
    accepted = f" (accepted by the gate {document.gate})" if is_accepted else ""
    return f"{said[:1].upper()}{said[1:]}{accepted}"


def _gates(document: RunDocument) -> list[str]:
    """Return which gates are met, if there is more than that of the bars, and the quarantined scenarios."""
    quarantines = [each.quarantine_told for each in document.scenarios if each.quarantine]
    if document.baseline is None:
        return quarantines
    return [gates_told(meets_gate(document.outcome, document.gate), document.baseline), *quarantines]


def _experiment(document: ExperimentDocument) -> Report:
    [scenario] = document.scenarios
    verdicts = scenario.verdicts
    outcome = document.outcome or ""
    dataset = document.dataset
    said = count_requirements(document)
    times = f" x {dataset.repetitions}" if dataset.repetitions > 1 else ""
    return Report(
        kind="experiment",
        name=document.run_id,
        outcome=outcome,
        headline=f"{said[:1].upper()}{said[1:]}" if said else f"Measured on {counted_of(document.answers, 'answer')}",
        meaning=meanings(verdicts),
        sure=error_rates(verdicts, document.guarantee),
        facts=[
            ("Dataset", f"{dataset.name} (version {dataset.version}), {dataset.size} examples{times}"),
            *_facts(document, f"{document.answers:,}"),
        ],
        stopped=_stopped(document),
        usage=_usage(document),
        notes=_notes(document),
        causes=Counter(document.failures).most_common(MOST_CAUSES),
        scenarios=[scenario_of(scenario, outcome)],
        metrics=[*map(_metric, document.metrics), *_summaries(document)],
        interval=interval_header(document.significance_level),
    )


def _stopped(document: Document) -> str:
    """Return why a run ended before its verdicts were settled, or its status; empty if it just ended."""
    why = document.stopped
    return f"The run ended early: {why}" if why and document.has_ended else why


def _facts(document: Document, counted: str) -> list[tuple[str, str]]:
    used, played, repeats = total(document.usage), document.played, document.judge_repeats
    repeated = f" ({repeats} ratings each)" if repeats > 1 else ""
    cached = f" ({used.cached_tokens:,} of them cached)" if used.cached_tokens else ""
    cost = used.cost_usd
    facts = [
        ("Suite", str(document.metadata.get(SUITE, ""))),
        ("App", document.app),
        ("Judge", f"{played['judge']}{repeated}" if "judge" in played else ""),
        ("Simulated user", played.get("user", "")),
        ("Conversations", counted),
        ("Model calls", f"{used.calls:,}"),
        ("Tokens", f"{used.prompt_tokens + used.completion_tokens:,}{cached}"),
        ("Cost", f"${cost:,.4f}" if cost is not None else "not known" if used.calls else ""),
        ("Time", _time(document.seconds)),
        ("Started", f"{document.started:%Y-%m-%d %H:%M:%S} UTC" if document.started else ""),
        ("Seed", str(document.seed)),
        ("Run", document.run_id),
        ("simeval", document.simeval),
    ]
    return [(name, said) for name, said in facts if said]


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes = int(seconds // 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 120 else f"{minutes} min {int(seconds % 60)} s"


def _usage(document: Document) -> list[list[str]]:
    return [
        [
            *[role, f"{each.calls:,}", f"{each.failed_calls:,}", f"{each.prompt_tokens:,}"],
            *[f"{each.completion_tokens:,}", "-" if each.cost_usd is None else f"${each.cost_usd:,.4f}"],
        ]
        for role, each in document.usage.items()
    ]


def _notes(document: Document) -> list[str]:
    said = [*document.described, show_malformed(document.usage)]
    return [*(document.baseline.against if document.baseline else ()), *document.notes, *filter(None, said)]


def scenario_of(found: ScenarioDocument, outcome: str) -> Json:
    """Return what a report shows of a scenario."""
    return {
        "title": found.title,
        "outcome": outcome,
        "trials": found.trials,
        "sample_size": found.sample_size,
        "expectations": [*map(_expectation, found.expectations)],
        "given": found.given or "",
        "when": found.when or "",
        "users": [*_users(found), *(f"The scenario: {said}" for said in found.described)],
    }


def _users(found: ScenarioDocument) -> list[str]:
    said = show_conduct([("faults", found.users)]) if found.users else []
    return [f"{line[:1].upper()}{line[1:]}" for line in said]


def _expectation(found: ExpectationDocument) -> Json:
    rubric = found.rubric or {}
    by = f"written by {rubric['model']}" if rubric.get("model") else "given by the suite"
    return {
        "label": found.label,
        "outcome": found.outcome,
        "verdicts": [_verdict(found.label, each) for each in found.verdicts],
        "behaviour": found.expected_behavior or "",
        "rubric_by": by if rubric else "",
        "warnings": found.warnings,
        "described": found.described,
        "cases": next((each.numbers["rows"] for each in found.findings if each.name == "cases"), ()),
        "worst": found.worst,
        "kinds": [_kind(each) for each in found.kinds],
    }


def _kind(found: FailureKind) -> Json:
    first, *_ = found.trials
    return {"said": found.said, "name": found.name, "n": len(found.trials), "range": found.range, "first": first}


def _verdict(label: str, found: Requirement) -> Json:
    """Return what a report says of a verdict, with the numbers as JSON results have them."""
    names = ("outcome", "estimate", "confidence_interval", "n", "missing", "left_out", "p_value", "p_value_fail")
    return {
        "outcome": found.outcome,
        "said": said_of(label, found),
        "meaning": meaning(found),
        "why": why_of(found),
        "proof": proof(found),
        "numbers": {**{name: plain(getattr(found, name)) for name in names}, "bar": encode_bar(found)},
    }


def said_of(label: str, found: Requirement) -> str:
    """Return the sentence of a verdict; older results have none."""
    return found.said or f"{label}: {found.evaluator}"


def why_of(found: Requirement) -> str:
    """Return why a verdict is no pass; older results have the explanation alone."""
    return found.why or ("" if found.said else found.explanation)


def picture_of(label: str, verdict: Requirement) -> Node | None:
    """Draw the interval of a verdict against its bar, if it has both and anything was measured."""
    bar, interval, estimate = verdict.bar, verdict.interval, verdict.estimate
    if not bar or interval is None or estimate is None:
        return None
    older = SHARES if (bar.low, bar.high) == (0, 1) else (f"{bar.low:g}", f"{bar.high:g}")
    said = said_of(label, verdict)
    return interval_chart(bar, interval, estimate, outcome=verdict.outcome, label=said, show=verdict.ends or older)


def _metric(found: MetricDocument) -> list[Any]:
    estimate, is_share = found.estimate or NOTHING, found.kind == "share"
    said = _shown(estimate.value, is_share=is_share)
    picture = (
        interval_chart(
            SHARE, estimate.interval, estimate.value, outcome="measured", label=f"{found.name}: {said}", show=SHARES
        )
        if is_share and estimate.interval
        else None
    )
    measured = [said, _range(estimate.interval, is_share=is_share), estimate.n, found.missing, found.crashed]
    return [found.name, *measured, picture]


def _summaries(document: ExperimentDocument) -> list[list[Any]]:
    return [
        [f"{scorer}: {name}", _shown(each.value), _range(each.interval), each.n, 0, 0, None]
        for scorer, found in document.summaries.items()
        for name, each in found.items()
    ]


def _shown(value: float | None, *, is_share: bool = False) -> str:
    if value is None or not isfinite(value):
        return "-"
    return show_share(value) if is_share else f"{value:.3g}"


def _range(interval: Sequence[float] | None, *, is_share: bool = False) -> str:
    return "-" if interval is None else " to ".join(_shown(each, is_share=is_share) for each in interval)
