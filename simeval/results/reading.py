"""The document of a run read from its machine-readable result, of this version or an older one."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import inf, isfinite
from typing import Any

from simeval.core.conversation import decode_conversation
from simeval.core.serialization import Json
from simeval.core.trial import UNNEEDED, Failure, Score, Trial, TrialResult
from simeval.results.document import Document, ExperimentDocument, Finding, Repeatability, RunDocument
from simeval.results.guarantee import Claims, Fidelity

FINDINGS = (  # that have numbers of their own
    *("escalations", "reliability", "turns", "cases", "personas"),
    *("claims", "fidelity", "repeatability"),
)
OLDER: Mapping[str, type] = {  # whose sentences older versions did not keep
    "claims": Claims,
    "fidelity": Fidelity,
    "repeatability": Repeatability,
}


def read_document(found: Mapping[str, Any]) -> Document:
    """Return the document of a machine-readable result: a RunDocument, or an ExperimentDocument.

    Raises pydantic's ValidationError, and ValueError, KeyError or TypeError, for other things.
    """
    kind, opened = (RunDocument, _run(found)) if "scenarios" in found else (ExperimentDocument, _experiment(found))
    read: Document = _adapter(kind).validate_python(opened)
    return read


@lru_cache
def _adapter(kind: Any) -> Any:
    from pydantic import TypeAdapter  # most results are never read back

    return TypeAdapter(kind)


def _run(found: Mapping[str, Any]) -> Json:
    opened = _head(found)
    if isinstance(scenarios := found["scenarios"], Sequence):
        opened["scenarios"] = [_scenario(place, each) for place, each in enumerate(scenarios)]
    return opened


def _head(found: Mapping[str, Any]) -> Json:
    used = found.get("usage") or {}
    by_role = used.get("by_role", {"all": used} if used else {})
    return {**found, "usage": by_role, "findings": _findings(found)}


def _experiment(found: Mapping[str, Any]) -> Json:
    examples, answered = found.get("examples") or {}, found.get("answered", ())
    labels = list(dict.fromkeys(label for each in answered for label in each["scores"]))
    return {
        **_head(found),
        **{name: examples[name] for name in ("keys", "values", "crashed") if name in examples},
        "metrics": [
            {**each, "estimate": each if "value" in each else {"value": None, "n": 0}} for each in found["metrics"]
        ],
        "expectations": [_expectation(each) for each in found.get("expectations", ())],
        "answered": [_trial(0, each, labels, ()) for each in answered],
        "labels": labels,
    }


def _scenario(place: int, found: Any) -> Any:
    if not isinstance(found, Mapping) or "expectations" not in found:
        return found
    errors = [
        (each["index"], Failure(stage=each["stage"], error=each["error"], cause="")) for each in found.get("errors", ())
    ]
    failed: dict[int, list[Failure]] = {}
    for index, failure in errors:
        failed.setdefault(index, []).append(failure)
    labels = [each["label"] for each in found["expectations"]]
    return {
        **found,
        "expectations": [_expectation(each) for each in found["expectations"]],
        "errors": errors,
        "findings": _findings(found),
        "judgements": [
            _trial(place, each, labels, failed.get(each["index"], ())) for each in found.get("conversations", ())
        ],
    }


def _expectation(found: Mapping[str, Any]) -> Json:
    return {
        **found,
        "verdicts": [_verdict(each) for each in found["verdicts"]],
        "findings": _findings(found),
    }


def _findings(found: Mapping[str, Any]) -> list[Finding]:
    numbers = [Finding(name=name, numbers=found[name]) for name in FINDINGS if name in found]
    older = [str(_adapter(OLDER[each.name]).validate_python(each.numbers)) for each in numbers if each.name in OLDER]
    return [*map(Finding, found.get("described", older)), *numbers]


def _verdict(found: Mapping[str, Any]) -> Json:
    bar, interval = found.get("bar") or {}, found.get("confidence_interval")
    opened = {**found, "ends": bar.get("ends"), "lacks_outcomes": "chart" not in found}
    if interval is not None:
        low, high = interval
        opened["confidence_interval"] = (-inf if low is None else low, inf if high is None else high)
    return opened


def _trial(place: int, found: Mapping[str, Any], labels: Sequence[str], failures: Sequence[Failure]) -> TrialResult:
    """Return a trial of the scenario at a place of its suite; a missing measurement has one of its `failures`."""
    scores: Mapping[str, Json] = found["scores"]
    results = [_result(scores[label]) if label in scores else UNNEEDED for label in labels]
    lost = [at for at, result in enumerate(results) if isinstance(result, Failure)] if failures else []
    for number, at in enumerate(lost):
        results[at] = failures[min(number, len(failures) - 1)]
    return TrialResult(
        trial=Trial(place, found["index"], int(found.get("seed") or 0)),
        conversation=decode_conversation({"turns": (), **found}),
        results=tuple(results),
    )


def _result(found: Json) -> Score | Failure:
    value, reasoning = found["score"], found.get("reasoning") or ""
    if value is None:  # as older versions wrote a number that is not finite
        return Failure(stage="scorer", error=reasoning or "the result has no number", cause="")
    if not isfinite(value):
        raise ValueError(f"a score should be a finite number, found {value}")
    return Score.of(value, reasoning=reasoning, details=found.get("details"))
