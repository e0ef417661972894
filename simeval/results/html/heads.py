"""The head of a report, made of the machine-readable result of a suite's run or of an experiment."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from simeval.core.counted import counted_of
from simeval.core.quarantine import Quarantine
from simeval.core.serialization import Json
from simeval.core.usage import Usage, players
from simeval.evaluators.verdicts import show_share
from simeval.results.claims import Claims, show_claims
from simeval.results.fidelity import read_fidelity
from simeval.results.gates import gates_told, read_baseline
from simeval.results.html.charts import Node, interval_chart
from simeval.results.html.record import Report, ReportExpectation, ReportScenario, ReportVerdict
from simeval.results.html.sentences import meaning, meanings, proof
from simeval.results.html.source import NO_COURSES, Courses
from simeval.results.outcomes import meets_gate, shown_outcome
from simeval.results.screen.report import count_outcomes, held_against
from simeval.results.text import interval_header, show_malformed
from simeval.results.users import UserConduct, show_conduct

NUMBERS = ("outcome", "estimate", "confidence_interval", "n", "missing", "left_out", "p_value", "p_value_fail", "bar")
SHARES = ("0%", "100%")
MOST_CAUSES = 20
NOT_ENDED_YET = "Nothing is proven yet. What was said so far, and how it was rated, is below."
OLDER_ALPHA = 0.025  # on each side of the intervals of results that do not say it


def head_of(document: Json, courses: Courses = NO_COURSES) -> Report:
    """Return the head of the report of a run; `courses` are those of an experiment's metrics."""
    if "metrics" not in document:
        return _suite(document)
    return replace(_experiment(document), courses=[[name, *each] for name, each in courses.items()])


def scenarios_of(document: Json) -> list[Json]:
    """Return the scenarios of a run; an experiment has one, its dataset."""
    if "metrics" not in document:
        return list(document["scenarios"])
    dataset = document["dataset"]
    size = dataset["size"] * dataset.get("repetitions", 1)
    return [
        {
            "title": f"dataset {dataset['name']}",
            "outcome": document["outcome"] or "",
            "trials": document["answers"],
            "sample_size": size,
            "expectations": document["expectations"],
        }
    ]


def _suite(document: Json) -> Report:
    has_ended = _has_ended(document)
    scenarios = scenarios_of(document)
    if not has_ended:  # neither of it nor of its scenarios is anything concluded
        scenarios = [{**each, "outcome": document["status"]} for each in scenarios]
    verdicts = [verdict for each in scenarios for one in each["expectations"] for verdict in one["verdicts"]]
    causes = Counter(f"{one['stage']}: {one['error']}" for each in scenarios for one in each.get("errors", ()))
    counted = sum(each["trials"] for each in scenarios)
    return Report(
        kind="suite",
        name=document["run_id"],
        outcome=document["outcome"] if has_ended else document["status"],
        headline=_headline(document),
        meaning=[*_gates(document), *meanings(verdicts, document.get("guarantee", ""))]
        if has_ended
        else [NOT_ENDED_YET],
        facts=_facts(document, f"{counted:,}"),
        stopped=_stopped(document),
        counts=Counter(each["outcome"] for each in scenarios),
        usage=_usage(document),
        notes=_notes(document),
        causes=causes.most_common(MOST_CAUSES),
        scenarios=[*map(_scenario, scenarios)],
    )


def _headline(document: Json) -> str:
    """Say how many scenarios of a run did what, and whether its gate accepts that."""
    if not _has_ended(document):
        return "This run has not ended"
    deciding = [each for each in document["scenarios"] if each.get("decides", True)]
    verdicts = [verdict for each in deciding for one in each["expectations"] for verdict in one["verdicts"]]
    sides = held_against([(each.get("against"), each.get("shares"), each["n"]) for each in verdicts])
    said = count_outcomes([_outcome(each) for each in deciding], sides)
    is_accepted = document["outcome"] != "pass" and document.get("gate_met", False)
    accepted = f" (accepted by the gate {document['gate']})" if is_accepted else ""
    return f"{said[:1].upper()}{said[1:]}{accepted}"


def _outcome(scenario: Json) -> str:
    reasons = [verdict["reason"] for each in scenario["expectations"] for verdict in each["verdicts"]]
    return shown_outcome(scenario["outcome"], reasons)


def _gates(document: Json) -> list[str]:
    """Say which gates are met, where there is more than that of the bars, and what is in quarantine."""
    baseline = read_baseline(document)
    quarantines = [_quarantine(each) for each in document["scenarios"] if "quarantine" in each]
    if baseline is None:
        return quarantines
    return [gates_told(meets_gate(document["outcome"], document["gate"]), baseline), *quarantines]


def _quarantine(scenario: Json) -> str:
    found = scenario["quarantine"]
    held = Quarantine(found["reason"], date.fromisoformat(found["until"]))
    return held.told(scenario["title"], scenario["outcome"], holds=not scenario["decides"])


def _has_ended(document: Json) -> bool:
    return "passed" in document


def _experiment(document: Json) -> Report:
    [scenario] = scenarios_of(document)
    verdicts = [verdict for one in document["expectations"] for verdict in one["verdicts"]]
    outcome = document["outcome"] or ""
    dataset = document["dataset"]
    said = {
        "pass": "Every requirement is proven to be met",
        "fail": "A requirement is proven not to be met",
        "inconclusive": "Not every requirement is proven",
        "error": "Some requirement could not be measured",
    }
    times = f" x {dataset['repetitions']}" if dataset.get("repetitions", 1) > 1 else ""
    return Report(
        kind="experiment",
        name=document["run_id"],
        outcome=outcome,
        headline=said.get(outcome, f"Measured on {counted_of(document['answers'], 'answer')}"),
        meaning=meanings(verdicts, document.get("guarantee", "")),
        facts=[
            ("Dataset", f"{dataset['name']} (version {dataset['version']}), {dataset['size']} examples{times}"),
            *_facts(document, f"{document['answers']:,}"),
        ],
        stopped=_stopped(document),
        usage=_usage(document),
        notes=_notes(document),
        causes=Counter(document.get("failures", {})).most_common(MOST_CAUSES),
        scenarios=[_scenario(scenario)],
        metrics=[*map(_metric, document["metrics"]), *_summaries(document)],
        interval=interval_header(document.get("significance_level", OLDER_ALPHA)),
    )


def _stopped(document: Json) -> str:
    """Say why a run ended before its verdicts were settled, or how it stands; empty where it just ended."""
    why = document.get("stopped", "")
    return f"The run ended early: {why}" if why and _has_ended(document) else why


def _facts(document: Json, counted: str) -> list[tuple[str, str]]:
    used, repeats = document["usage"], document.get("judge_repeats", 1)
    played = players(**document["models"], asked=used.get("by_role", ()))
    cost = used.get("cost_usd")
    anew = f" ({repeats} ratings each)" if repeats > 1 else ""
    tokens = used["prompt_tokens"] + used["completion_tokens"]
    cached = f" ({used['cached_tokens']:,} of them cached)" if used.get("cached_tokens") else ""
    facts = [
        ("App", document["app"]),
        ("Judge", f"{played['judge']}{anew}" if "judge" in played else ""),
        ("Simulated user", played.get("user", "")),
        ("Conversations", counted),
        ("Model calls", f"{used['calls']:,}"),
        ("Tokens", f"{tokens:,}{cached}"),
        ("Cost", f"${cost:,.4f}" if cost is not None else "not known" if used["calls"] else ""),
        ("Time", _time(document["seconds"])),
        ("Started", document["started"][:19].replace("T", " ") + " UTC"),
        ("Seed", str(document["seed"])),
        ("Run", document["run_id"]),
        ("simeval", document["simeval"]),
    ]
    return [(name, said) for name, said in facts if said]


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes = int(seconds // 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 120 else f"{minutes} min {int(seconds % 60)} s"


def _usage(document: Json) -> list[list[str]]:
    return [
        [
            *[role, f"{each['calls']:,}", f"{each.get('failed_calls', 0):,}", f"{each['prompt_tokens']:,}"],
            *[f"{each['completion_tokens']:,}", "-" if each.get("cost_usd") is None else f"${each['cost_usd']:,.4f}"],
        ]
        for role, each in document["usage"].get("by_role", {}).items()
    ]


def _notes(document: Json) -> list[str]:
    known = Usage.__dataclass_fields__
    by_role = document["usage"].get("by_role", {})
    used = {role: Usage(**{name: each[name] for name in each if name in known}) for role, each in by_role.items()}
    baseline = read_baseline(document)
    fidelity = read_fidelity(document)
    said = [str(fidelity) if fidelity else "", show_malformed(used)]
    return [*(baseline.against if baseline else ()), *document.get("notes", ()), *filter(None, said)]


def _scenario(found: Json) -> ReportScenario:
    return ReportScenario(
        title=found["title"],
        outcome=found["outcome"],
        trials=found["trials"],
        sample_size=found["sample_size"],
        expectations=[*map(_expectation, found["expectations"])],
        given=found.get("given") or "",
        when=found.get("when") or "",
        users=[*_users(found), *_claims(found)],
    )


def _users(found: Json) -> list[str]:
    conduct = found.get("users")
    if not conduct:
        return []
    known = {name: conduct[name] for name in UserConduct.__dataclass_fields__ if name in conduct}
    said = show_conduct([("faults", UserConduct(**known))])
    return [f"{line[:1].upper()}{line[1:]}" for line in said]


def _claims(found: Json) -> list[str]:
    claims = found.get("claims")
    return show_claims([("The scenario", Claims(**claims))]) if claims else []


def _expectation(found: Json) -> ReportExpectation:
    rubric = found.get("rubric") or {}
    by = f"written by {rubric['model']}" if rubric.get("model") else "given by the suite"
    return ReportExpectation(
        label=found["label"],
        outcome=found["outcome"],
        verdicts=[verdict_of(found["label"], each) for each in found["verdicts"]],
        behaviour=found.get("expected_behavior") or "",
        rubric_by=by if rubric else "",
        warnings=found.get("warnings", ()),
        described=found.get("described", ()),
        worst=found.get("worst"),
    )


def verdict_of(label: str, found: Json) -> ReportVerdict:
    """Return what a report says of one verdict of an expectation."""
    said = found.get("said") or f"{label}: {found['evaluator']}"  # older results have no sentence
    return ReportVerdict(
        outcome=found["outcome"],
        said=said,
        meaning=meaning(found),
        why=found.get("why") or ("" if found.get("said") else found.get("explanation", "")),
        proof=proof(found),
        numbers={name: found.get(name) for name in NUMBERS},
    )


def picture_of(verdict: ReportVerdict) -> Node | None:
    """Draw the interval of a verdict against its bar, where it has both and anything was measured."""
    bar, interval, estimate = (verdict.numbers[name] for name in ("bar", "confidence_interval", "estimate"))
    if not bar or interval is None or estimate is None or verdict.outcome == "error":
        return None
    older = SHARES if (bar["low"], bar["high"]) == (0, 1) else (f"{bar['low']:g}", f"{bar['high']:g}")
    ends = bar.get("ends", older)
    return interval_chart(bar, interval, estimate, outcome=verdict.outcome, label=verdict.said, show=ends)


def _metric(found: Json) -> list[Any]:
    estimate, interval, is_share = found["value"], found["interval"], found["kind"] == "share"
    label = f"{found['name']}: {_shown(estimate, is_share=is_share)}"
    bar = {"value": 0, "low": 0, "high": 1, "is_lower_bound": True}
    drawn = is_share and interval is not None
    return [
        found["name"],
        _shown(estimate, is_share=is_share),
        _range(interval, is_share=is_share),
        found["n"],
        found["missing"],
        found["crashed"],
        interval_chart(bar, interval, estimate, outcome="measured", label=label, show=SHARES) if drawn else None,
    ]


def _summaries(document: Json) -> list[list[Any]]:
    return [
        [f"{scorer}: {name}", _shown(each["value"]), _range(each["interval"]), each["n"], 0, 0, None]
        for scorer, found in document.get("summaries", {}).items()
        for name, each in found.items()
    ]


def _shown(value: float | None, *, is_share: bool = False) -> str:
    if value is None:
        return "-"
    return show_share(value) if is_share else f"{value:.3g}"


def _range(interval: Sequence[float] | None, *, is_share: bool = False) -> str:
    return "-" if interval is None else " to ".join(_shown(each, is_share=is_share) for each in interval)
