"""Records as JSON-ready dicts: the one form in which reports and journals write them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING

from simeval.core.conversation import Conversation
from simeval.core.preparation import Preparation
from simeval.core.serialization import Json, encode_conversation, plain
from simeval.core.trial import Estimate, Failure, Judgement, Outcome, Score, Trial, Verdict
from simeval.core.usage import total
from simeval.evaluators.base import Evaluator
from simeval.results.conditions import conditions_of
from simeval.results.fidelity import encode_fidelity
from simeval.results.gates import are_trusted, meets_gates
from simeval.results.guarantee import guaranteed
from simeval.results.outcomes import decided
from simeval.results.repeatability import Repeatability, repeatability_of
from simeval.results.screen.page import shown_verdict
from simeval.results.shown import missed_scores

if TYPE_CHECKING:  # results are written as reports, which are made of what is here
    from simeval.results.experiment import ExperimentResult, MetricResult
    from simeval.results.suite import EvaluationResult, ExpectationResult, RunRecord, SuiteResult


def encode_result(result: Score | Failure) -> Json:
    """Return a score with its reasoning, or a failure with its stage and cause."""
    if isinstance(result, Failure):
        return asdict(result)
    details = result.kept_details
    return {"score": plain(result.value), "reasoning": result.reasoning} | (
        {"details": plain(details)} if details else {}
    )


def encode_verdict(verdict: Verdict) -> Json:
    """Return a verdict; an unbounded side of the interval is null."""
    interval = verdict.confidence_interval
    return {
        "evaluator": verdict.evaluator,
        "outcome": verdict.outcome,
        "passed": verdict.passed,
        "p_value": verdict.p_value,
        "p_value_fail": verdict.p_value_fail,
        "estimate": plain(verdict.estimate),
        "confidence_interval": None if interval is None else [b if isfinite(b) else None for b in interval],
        "significance_level": verdict.significance_level,
        "n": verdict.n,
        "missing": verdict.missing,
        "left_out": verdict.left_out,
        "method": verdict.method,
        "reason": verdict.reason,
        "explanation": verdict.explanation,
        "why": verdict.why,
        "chart": None if verdict.chart is None else plain(asdict(verdict.chart)),
        **_encode_comparison(verdict),
    }


def _encode_comparison(verdict: Verdict) -> Json:
    """Return what a verdict was held against, with the shares of both sides; nothing where it stands by itself."""
    if not verdict.against:
        return {}
    shares = None if verdict.shares is None else list(verdict.shares)
    return {"against": verdict.against, "margin": verdict.margin, "shares": shares}


def encode_head(result: "SuiteResult | ExperimentResult", *, version: str) -> Json:
    """Return what the machine-readable result says first: what a run came to, and what is true of all of it."""
    head = _head(result.run, result.outcome, result.guarantee, gate_met=result.meets(result.run.gate), version=version)
    return head | _encode_repeatability(getattr(result, "repeatability", None))


def encode_suite(results: Sequence["EvaluationResult"], run: "RunRecord", *, version: str) -> Json:
    """Return a whole run as the machine-readable result."""
    outcome = decided(results)
    gate_met = meets_gates(outcome, run.gate, run.baseline, trusted=are_trusted(results))
    return {
        **_head(run, outcome, guaranteed(results, run), gate_met=gate_met, version=version),
        **_encode_repeatability(repeatability_of(results)),
        "scenarios": [
            encode_scenario(result) | {"conversations": [_encode_judgement(result, each) for each in result.judgements]}
            for result in results
        ],
    }


def _encode_repeatability(found: Repeatability | None) -> Json:
    return {} if found is None else {"repeatability": asdict(found)}


def _head(run: "RunRecord", outcome: Outcome | None, stated: str, *, gate_met: bool, version: str) -> Json:
    return {
        "simeval": version,
        "run_id": run.run_id,
        "outcome": outcome,
        "passed": outcome == "pass",
        "gate_met": gate_met,
        "guarantee": stated,
        **({"baseline": asdict(run.baseline)} if run.baseline else {}),
        **encode_run(run),
    }


def encode_experiment(result: "ExperimentResult", *, version: str) -> Json:
    """Return an experiment as the machine-readable result; what was answered is in the store."""
    return {
        **encode_head(result, version=version),
        "answers": result.answers,
        "significance_level": result.significance_level,
        "scorers": list(result.scorers),
        "metrics": [_encode_metric(metric) for metric in result.metrics],
        "summaries": _encode_estimates(result.summaries),
        "categories": _encode_estimates(result.categories),
        "expectations": [encode_expectation(expectation) for expectation in result.expectations],
        "failures": dict(result.failures),
        "examples": {  # by column: much less than one object for each
            "keys": list(result.keys),
            "values": {name: plain(list(values)) for name, values in result.values.items()},
            "crashed": sorted(result.crashed),
        },
    }


def _encode_estimates(found: Mapping[str, Mapping[str, Estimate]]) -> Json:
    return {
        of: {name: plain(asdict(estimate)) for name, estimate in estimates.items()} for of, estimates in found.items()
    }


def _encode_metric(metric: "MetricResult") -> Json:
    counts = {"missing": metric.missing, "crashed": metric.crashed}
    measured = {"name": metric.name, "kind": metric.kind, "direction": metric.direction}
    return {**measured, **plain(asdict(metric.estimate)), **counts}


def encode_run(run: "RunRecord", *, suite: bool = False) -> Json:
    """Return what is true of a whole run; with `suite`, what its scenarios were to be."""
    by_role = {role: asdict(usage) for role, usage in run.usage.items()}
    return {
        "run_id": run.run_id,
        "models": {"judge": run.judge_model, "user": run.user_model},
        "judge_repeats": run.judge_repeats,
        **({"judge_examples": shown} if (shown := run.definition.get("judge examples")) else {}),
        "app": run.app,
        **(
            {"suite": [{"title": t, "sample_size": n, "expectations": list(labels)} for t, n, labels in run.scenarios]}
            if suite
            else {}
        ),
        "seed": run.seed,
        "gate": run.gate,
        "joint": run.joint,
        "started": run.started.isoformat(),
        "seconds": round(run.seconds, 3),
        "notes": list(run.notes),
        "stopped": run.stopped,
        **encode_fidelity(run.fidelity),
        **({"conditions": conditions_of(run.definition)} if run.definition and run.dataset is None else {}),
        **({"dataset": asdict(run.dataset)} if run.dataset else {}),
        **({"metadata": plain(run.metadata)} if run.metadata else {}),
        "usage": {**asdict(total(run.usage)), "by_role": by_role},
    }


def encode_scenario(result: "EvaluationResult") -> Json:
    """Return what a scenario came to, without its conversations."""
    return {
        "title": result.title,
        "given": result.given,
        "when": result.when,
        "outcome": result.outcome,
        "passed": result.passed,
        **_encode_quarantine(result),
        "sample_size": result.sample_size,
        "trials": result.trials,
        "extras": {"finished": result.finished_extras, "ended_early": len(result.extras) - result.finished_extras},
        "users": {**plain(asdict(result.users)), "fault_rate": result.users.rate},
        **({"claims": plain(asdict(result.claims))} if result.claims.both else {}),
        "errors": [{"index": i, "stage": failure.stage, "error": failure.error} for i, failure in result.failures],
        "expectations": [
            {**encode_expectation(expectation), "worst": worst.trial.index if worst else None}
            for expectation in result.expectations
            for worst in [result.worst(expectation)]
        ],
    }


def _encode_quarantine(result: "EvaluationResult") -> Json:
    """Return the quarantine of a scenario, and whether its outcome decides; nothing where it has none."""
    found = result.quarantine
    if found is None:
        return {}
    return {"quarantine": {"reason": found.reason, "until": found.until.isoformat()}, "decides": result.decides}


def encode_expectation(expectation: "ExpectationResult") -> Json:
    """Return what an expectation came to."""
    reliability, turns, escalations = expectation.reliability, expectation.turns, expectation.escalations
    return {
        "label": expectation.label,
        "expected_behavior": expectation.expected_behavior,
        **_encode_prepared(expectation.prepared),
        **({"warnings": [*expectation.warnings]} if expectation.warnings else {}),
        **({"described": [*expectation.described]} if expectation.described else {}),
        "outcome": expectation.outcome,
        "verdicts": [
            {
                **encode_verdict(verdict),
                **_encode_standard(expectation, evaluator),
                **_encode_words(expectation, evaluator, verdict),
            }
            for evaluator, verdict in zip(expectation.evaluators, expectation.verdicts, strict=True)
        ],
        "scores": plain(expectation.scores),
        **({"escalations": plain(asdict(escalations))} if escalations else {}),
        **({"reliability": plain(asdict(reliability))} if reliability else {}),
        **({"turns": plain(asdict(turns))} if turns else {}),
        **({"personas": [plain(asdict(each)) for each in expectation.personas]} if expectation.personas else {}),
    }


def _encode_prepared(prepared: Preparation | None) -> Json:
    """Return by which rubric judges rated, and what they gave to controls; nothing where none did."""
    if prepared is None:
        return {}
    controls = [
        {name: value for name, value in asdict(each).items() if name not in ("key", "expected_behavior")}
        | {"is_right": each.is_right}
        for each in prepared.controls
    ]
    return {
        **({"rubric": prepared.rubric.source} if prepared.rubric else {}),
        **({"controls": controls} if controls else {}),
    }


def _encode_words(expectation: "ExpectationResult", evaluator: Evaluator, verdict: Verdict) -> Json:
    """Return what a screen says of a verdict, and where its bar lies."""
    shown = shown_verdict(expectation.label, evaluator, verdict, expectation.first_scores())
    bar = None
    if shown.bar:
        bar = {**asdict(shown.bar), "ends": [evaluator.show(end) for end in (shown.bar.low, shown.bar.high)]}
    return {"said": shown.said, "range": shown.range, "bar": bar}


def _encode_standard(expectation: "ExpectationResult", evaluator: Evaluator) -> Json:
    """Return which scores speak for a requirement: those on one side of a cut, else all but those that missed it."""
    if evaluator.cut is not None:
        return {"cut": {"sign": evaluator.cut[0], "score": evaluator.cut[1]}}
    missed = sorted(filter(isfinite, missed_scores(expectation, evaluator)))
    return {"cut": None, **({"missed": missed} if missed else {})}


def _encode_judgement(result: "EvaluationResult", judgement: Judgement) -> Json:
    labels = [expectation.label for expectation in result.expectations]
    found = zip(labels, judgement.results, strict=True)
    scores = {label: score for label, score in found if isinstance(score, Score)}
    return encode_trial(judgement.trial, judgement.conversation, scores)


def encode_trial(trial: Trial, conversation: Conversation, scores: Mapping[str, Score]) -> Json:
    """Return a trial with its conversation and its scores, by the labels of their expectations.

    Its seed is a text, because it has more digits than a number of JSON keeps everywhere.
    """
    found = {label: encode_result(score) for label, score in scores.items()}
    return {"index": trial.index, "seed": str(trial.seed), **encode_conversation(conversation), "scores": found}
