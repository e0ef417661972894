"""The document of a run read from its machine-readable result, of this version or an older one."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import inf, isfinite, nan
from typing import Any

from simeval.core.serialization import Json, decode_conversation
from simeval.core.trial import UNNEEDED, Failure, Judgement, Score, Trial
from simeval.results.document import ExperimentDocument, Finding, RunDocument

FINDINGS = ("escalations", "reliability", "turns", "cases", "personas")  # that have numbers of their own


def read_document(found: Mapping[str, Any], *, kept: Callable[[Json, int], bool] | None = None) -> Any:
    """Return the document of a machine-readable result: a RunDocument, or an ExperimentDocument.

    `kept` decides for a scenario and the index of a trial whether that trial is read; by default all are. Raises
    pydantic's ValidationError, and ValueError, KeyError or TypeError, for other things.
    """
    if "scenarios" in found:
        return _adapter(RunDocument).validate_python(_run(found, kept))
    return _adapter(ExperimentDocument).validate_python(_experiment(found))


def read_shown(found: Mapping[str, Any], *, kept: Callable[[Json, int], bool] | None = None) -> RunDocument | None:
    """Return the document of a suite's run for a screen; None for an experiment, and if a version kept too little."""
    from pydantic import ValidationError  # most results are never read back

    try:
        read = read_document(found, kept=kept) if "scenarios" in found else None
    except (ValidationError, KeyError):
        return None
    return read if isinstance(read, RunDocument) and read.has_words else None


def only_worst(scenario: Json, index: int) -> bool:
    """Return whether a report shows a trial: it is the worst of an expectation."""
    return any(each.get("worst") == index for each in scenario["expectations"])


@lru_cache
def _adapter(kind: Any) -> Any:
    from pydantic import TypeAdapter  # most results are never read back

    return TypeAdapter(kind)


def _run(found: Mapping[str, Any], kept: Callable[[Json, int], bool] | None) -> Json:
    opened = _head(found)
    if isinstance(scenarios := found["scenarios"], Sequence):
        opened["scenarios"] = [_scenario(place, each, kept) for place, each in enumerate(scenarios)]
    return opened


def _head(found: Mapping[str, Any]) -> Json:
    used = found.get("usage") or {}
    return {**found, "usage": used.get("by_role", {"all": used} if used else {})}


def _experiment(found: Mapping[str, Any]) -> Json:
    examples = found.get("examples") or {}
    return {
        **_head(found),
        **{name: examples[name] for name in ("keys", "values", "crashed") if name in examples},
        "metrics": [
            {**each, "estimate": each if "value" in each else {"value": None, "n": 0}} for each in found["metrics"]
        ],
        "expectations": [_expectation(each) for each in found.get("expectations", ())],
    }


def _scenario(place: int, found: Any, kept: Callable[[Json, int], bool] | None) -> Any:
    if not isinstance(found, Mapping) or "expectations" not in found:
        return found
    scenario = {**found}
    errors = [
        (each["index"], Failure(stage=each["stage"], error=each["error"], cause="")) for each in found.get("errors", ())
    ]
    failed: dict[int, list[Failure]] = {}
    for index, failure in errors:
        failed.setdefault(index, []).append(failure)
    labels = [each["label"] for each in found["expectations"]]
    return {
        **scenario,
        "expectations": [_expectation(each) for each in found["expectations"]],
        "errors": errors,
        "judgements": [
            read_trial(place, each, labels, failed.get(each["index"], ()))
            for each in found.get("conversations", ())
            if kept is None or kept(scenario, each["index"])
        ],
    }


def _expectation(found: Mapping[str, Any]) -> Json:
    numbers = [Finding(name=name, numbers=found[name]) for name in FINDINGS if name in found]
    return {
        **found,
        "verdicts": [_verdict(each) for each in found["verdicts"]],
        "findings": [*map(Finding, found.get("described", ())), *numbers],
    }


def _verdict(found: Mapping[str, Any]) -> Json:
    bar, interval = found.get("bar") or {}, found.get("confidence_interval")
    opened = {**found, "ends": bar.get("ends")}
    if interval is not None:
        low, high = interval
        opened["confidence_interval"] = (-inf if low is None else low, inf if high is None else high)
    return opened


def read_trial(place: int, found: Mapping[str, Any], labels: Sequence[str], failures: Sequence[Failure]) -> Judgement:
    """Return a trial of the scenario at a place of its suite; a missing measurement has one of its `failures`."""
    scores: Mapping[str, Json] = found["scores"]
    lost = [label for label in labels if label not in scores]
    missing = {label: failures[min(at, len(failures) - 1)] if failures else UNNEEDED for at, label in enumerate(lost)}
    return Judgement(
        trial=Trial(place, found["index"], int(found.get("seed") or 0)),
        conversation=decode_conversation({"turns": (), **found}),
        results=tuple(missing.get(label) or _score(scores[label]) for label in labels),
    )


def _score(found: Json) -> Score:
    value = found["score"]
    if value is not None and not isfinite(value):
        raise ValueError(f"a score should be a finite number, found {value}")
    number = nan if value is None else value
    return Score.of(number, reasoning=found.get("reasoning") or "", details=found.get("details"))
