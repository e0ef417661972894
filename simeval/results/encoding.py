"""Records as JSON-ready dicts: the one form for reports, stores and journals."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from math import isfinite

from simeval.core.conversation import encode_conversation
from simeval.core.run_records import total
from simeval.core.serialization import Json, plain
from simeval.core.trial import Estimate, Score, TrialResult, Verdict, encode_result
from simeval.results.document import (
    Described,
    ExpectationDocument,
    ExperimentDocument,
    MetricDocument,
    Requirement,
    RunDocument,
    RunHead,
    ScenarioDocument,
)


def encode_verdict(verdict: Verdict) -> Json:
    """Return a verdict; an unbounded side of the interval is null."""
    encoded = {each.name: plain(getattr(verdict, each.name)) for each in fields(Verdict) if each.name != "chart"}
    encoded["chart"] = None if verdict.chart is None else plain(asdict(verdict.chart))
    if not verdict.against:  # it is no comparison
        for name in ("against", "margin", "shares"):
            del encoded[name]
    return {**encoded, "passed": verdict.passed}


def encode_document(document: RunDocument | ExperimentDocument) -> Json:
    """Return the document of a run as the machine-readable result."""
    if isinstance(document, ExperimentDocument):
        return {**encode_head(document), **_encode_experiment(document)}
    scenarios = [
        {**encode_scenario(each), "conversations": [encode_trial(one, each.labels) for one in each.judgements]}
        for each in document.scenarios
    ]
    return {**encode_head(document), "scenarios": scenarios}


def encode_head(document: RunHead) -> Json:
    """Return the facts of a whole run, and its outcome."""
    return {
        "simeval": document.simeval,
        "run_id": document.run_id,
        "outcome": document.outcome,
        "passed": document.outcome == "pass",
        "gate_met": document.gate_met,
        "guarantee": document.guarantee,
        **({"baseline": asdict(document.baseline)} if document.baseline else {}),
        **encode_run(document),
    }


def encode_run(run: RunHead) -> Json:
    """Return the facts of a whole run."""
    by_role = {role: asdict(usage) for role, usage in run.usage.items()}
    return {
        "run_id": run.run_id,
        "models": dict(run.models),
        "judge_repeats": run.judge_repeats,
        **({"judge_examples": list(run.judge_examples)} if run.judge_examples else {}),
        "app": run.app,
        "seed": run.seed,
        "gate": run.gate,
        "joint": run.joint,
        "started": run.started.isoformat() if run.started else None,
        "seconds": round(run.seconds, 3),
        "notes": list(run.notes),
        "stopped": run.stopped,
        **_encode_findings(run),
        **({"conditions": run.conditions} if run.conditions is not None else {}),
        **({"dataset": asdict(run.dataset)} if run.dataset else {}),
        **({"metadata": plain(run.metadata)} if run.metadata else {}),
        "usage": {**asdict(total(run.usage)), "by_role": by_role},
    }


def _encode_experiment(found: ExperimentDocument) -> Json:
    return {
        "answers": found.answers,
        "significance_level": found.significance_level,
        "scorers": list(found.scorers),
        "metrics": [_encode_metric(metric) for metric in found.metrics],
        "summaries": _encode_estimates(found.summaries),
        "categories": _encode_estimates(found.categories),
        "expectations": [{**encode_expectation(each), "worst": each.worst} for each in found.expectations],
        "failures": dict(found.failures),
        "examples": {  # by column: much less than one object for each
            "keys": list(found.keys),
            "values": {name: list(values) for name, values in found.values.items()},
            "crashed": sorted(found.crashed),
        },
        **({"answered": [_encode_answer(found, each) for each in found.answered]} if found.answered else {}),
    }


def _encode_answer(found: ExperimentDocument, answer: TrialResult) -> Json:
    place, repetition = divmod(answer.trial.index, found.dataset.repetitions)
    which = {"example": found.keys[place], "repetition": repetition}
    return {**which, **encode_trial(answer, found.labels)}


def _encode_estimates(found: Mapping[str, Mapping[str, Estimate]]) -> Json:
    return {
        of: {name: plain(asdict(estimate)) for name, estimate in estimates.items()} for of, estimates in found.items()
    }


def _encode_metric(metric: MetricDocument) -> Json:
    counts = {"missing": metric.missing, "crashed": metric.crashed}
    direction = {} if metric.direction == "unknown" else {"direction": metric.direction}
    measured = {"name": metric.name, "kind": metric.kind, **direction}
    estimate = plain(asdict(metric.estimate)) if metric.estimate else {}
    return {**measured, **estimate, **counts}


def encode_scenario(found: ScenarioDocument) -> Json:
    """Return the result of a scenario, without its conversations."""
    quarantine, users = found.quarantine, found.users
    held = {"reason": quarantine.reason, "until": quarantine.until.isoformat()} if quarantine else {}
    return {
        "title": found.title,
        "given": found.given,
        "when": found.when,
        "outcome": found.outcome,
        "passed": found.outcome == "pass",
        **({"quarantine": held, "decides": found.decides} if held else {}),
        "sample_size": found.sample_size,
        "trials": found.trials,
        "extras": dict(found.extras),
        **({"users": {**plain(asdict(users)), "fault_rate": users.rate}} if users else {}),
        **_encode_findings(found),
        "errors": [{"index": i, "stage": failure.stage, "error": failure.error} for i, failure in found.errors],
        "expectations": [{**encode_expectation(each), "worst": each.worst} for each in found.expectations],
    }


def encode_expectation(found: ExpectationDocument) -> Json:
    """Return the result of an expectation."""
    return {
        "label": found.label,
        "expected_behavior": found.expected_behavior,
        **({"rubric": found.rubric} if found.rubric else {}),
        **({"controls": list(found.controls)} if found.controls else {}),
        **({"warnings": [*found.warnings]} if found.warnings else {}),
        "outcome": found.outcome,
        "verdicts": [_encode_requirement(each) for each in found.verdicts],
        "scores": plain(found.scores),
        **({"kinds": [plain(asdict(each)) for each in found.kinds]} if found.kinds else {}),
        **_encode_findings(found),
    }


def _encode_findings(found: Described) -> Json:
    """Return the sentences of findings, and their numbers by their names."""
    described = {"described": found.described} if found.described else {}
    return {**described, **{each.name: plain(each.numbers) for each in found.findings if each.name}}


def _encode_requirement(found: Requirement) -> Json:
    encoded = {**encode_verdict(found), **_encode_words(found)}
    if found.lacks_outcomes:
        del encoded["chart"]
    return encoded


def _encode_words(found: Requirement) -> Json:
    """Return which scores meet a requirement, a screen's words for it, and the place of its bar."""
    missed = sorted(filter(isfinite, found.missed))
    return {
        "cut": asdict(found.cut) if found.cut else None,
        **({"missed": missed} if missed and not found.cut else {}),
        "said": found.said,
        "observed": found.observed,
        "required": found.required,
        "range": found.range,
        "bar": encode_bar(found),
        **({"by_people": asdict(found.by_people)} if found.by_people else {}),
    }


def encode_bar(found: Requirement) -> Json | None:
    """Return the bar of a requirement, with the ends of its scale in words."""
    ends = {"ends": list(found.ends)} if found.ends else {}
    return {**asdict(found.bar), **ends} if found.bar else None


def encode_trial(trial: TrialResult, labels: Sequence[str]) -> Json:
    """Return a trial with its conversation and its scores, by the labels of its results; of two the first counts.

    Its seed is a text, because it has more digits than a number of JSON keeps everywhere.
    """
    scores: Json = {}
    for label, result in zip(labels, trial.results, strict=False):
        if isinstance(result, Score) and label not in scores:
            scores[label] = encode_result(result)
    which = {"index": trial.trial.index, "seed": str(trial.trial.seed)}
    return {**which, **encode_conversation(trial.conversation), "scores": scores}
