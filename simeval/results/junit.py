"""JUnit XML: one test suite for each scenario, one test case for each verdict, its figures as properties."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isnan
from re import compile as pattern
from xml.etree import ElementTree as ET

from simeval.core.run_records import total
from simeval.core.trial import Verdict
from simeval.results.document import ExpectationDocument, RunDocument, ScenarioDocument
from simeval.results.suite import RunRecord, ScenarioResult, SuiteResult
from simeval.results.text import BaselineGate

MOST_CHARACTERS = 400_000  # of all conversations: readers of these files refuse large ones
LONGEST, SHORTEST = 20_000, 500  # of one conversation
_UNPRINTABLE = pattern("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(results: Sequence[ScenarioResult], run: RunRecord) -> str:
    """Write a run as JUnit XML: fail is a failure, error an error; inconclusive a failure, or skipped where it may be.

    It may be at the gate "not_fail".
    """
    return _written(SuiteResult((*results,), run).document())


def _written(run: RunDocument) -> str:
    lenient, most = run.gate == "not_fail", _most_of_one(len(run.verdicts))
    root = ET.Element("testsuites", name="simeval", time=f"{run.seconds:.3f}")
    for result in run.scenarios:
        outcomes, seconds = [verdict.outcome for verdict in result.verdicts], _seconds(result)
        tags = [_tag(each, found, result, lenient=lenient) for found in result.expectations for each in found.verdicts]
        suite = ET.SubElement(
            root,
            "testsuite",
            name=_printable(result.title),
            tests=str(len(outcomes)),
            failures=str(tags.count("failure")),
            skipped=str(tags.count("skipped")),
            errors=str(tags.count("error")),
            timestamp=run.started.isoformat() if run.started else "",
            time=f"{seconds:.3f}",
        )
        facts: dict[str, object] = {
            "run": run.run_id,
            "seed": run.seed,
            "app": run.app,
            **run.played,
            "run_cost_usd": total(run.usage).cost_usd,
        }
        if result.quarantine is not None:
            facts["quarantine"] = result.quarantine_told
        facts["guarantee"] = run.guarantee or None
        facts["notes"] = "; ".join(run.notes) or None
        if result.users and result.users.faulty:
            facts["user_faults"] = f"{result.users.faulty} of {result.users.trials} trials"
        _add_properties(suite, facts)
        for place, expectation in enumerate(result.expectations):
            worst = _cut(result.shown_worst(place), most, run.run_id)
            for verdict in expectation.verdicts:
                name = _printable(f"{expectation.label}: {verdict.evaluator}")
                case = ET.SubElement(suite, "testcase", classname=_printable(result.title), name=name)
                case.set("time", f"{seconds / len(outcomes):.3f}")
                _add_properties(case, {**_figures(verdict), "cases": expectation.sentence("cases") or None})
                if tag := _tag(verdict, expectation, result, lenient=lenient):
                    _add_outcome(case, tag, _rated(verdict, expectation), worst)
                said = [*(f"warning: {each}" for each in expectation.warnings), *([worst] if verdict.passed else [])]
                if any(said):
                    ET.SubElement(case, "system-out").text = _printable("\n".join(said))
    if run.baseline is not None:
        _add_baseline(root, run.baseline)
    for count in ("tests", "failures", "errors", "skipped"):
        root.set(count, str(sum(int(suite.get(count, "0")) for suite in root)))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _add_baseline(root: ET.Element, gate: BaselineGate) -> None:
    """Add a suite with a case for each requirement that was held against the baseline, and one for the gate itself."""
    name = f"no worse than the baseline, run {gate.run_id}"
    failures = str(sum(not row.met for row in gate.rows) + (not gate.met))
    suite = ET.SubElement(root, "testsuite", name=name, tests=str(len(gate.rows) + 1), failures=failures)
    for case_name, met, said, p in [
        ("the gate", gate.met, gate.said, None),
        *((f"{row.title}: {row.name}", row.met, row.said, row.p_value) for row in gate.rows),
    ]:
        case = ET.SubElement(suite, "testcase", classname=name, name=_printable(case_name))
        _add_properties(case, {"margin": gate.margin, "p": p})
        tag = "system-out" if met else "failure"
        found = ET.SubElement(case, tag, {} if met else {"type": "baseline", "message": _printable(said)})
        found.text = _printable(said)


def _figures(verdict: Verdict) -> Mapping[str, object]:
    """Return what was found; `p` belongs to the side that the outcome is about, as on the screen."""
    low, high = verdict.confidence_interval or (None, None)
    return {
        "estimate": verdict.estimate,
        "interval_low": low,
        "interval_high": high,
        "n": verdict.n,
        "p": verdict.p_value_fail if verdict.failed else verdict.p_value,
    }


def _add_properties(parent: ET.Element, facts: Mapping[str, object]) -> None:
    """Add what is known of these facts."""
    properties = ET.SubElement(parent, "properties")
    for fact, value in facts.items():
        if value is not None:
            ET.SubElement(properties, "property", name=fact, value=_printable(str(value)))


def _most_of_one(verdicts: int) -> int:
    """Return how many characters of a conversation fit."""
    return max(SHORTEST, min(LONGEST, MOST_CHARACTERS // max(verdicts, 1)))


def _cut(text: str, most: int, run_id: str) -> str:
    if len(text) <= most:
        return text
    return f"{text[:most]}\n… {len(text) - most} more characters: `simeval show {run_id} --failed` shows all"


def _seconds(result: ScenarioDocument) -> float:
    """Return the time from the first message of a scenario's conversations to the end of the last."""
    said = [
        message for each in result.judgements for message in each.conversation.messages if message.started is not None
    ]
    begun = [message.started for message in said if message.started is not None]
    took = [0.0 if isnan(message.seconds) else message.seconds for message in said]
    if not begun:
        return 0.0
    first = min(begun)
    return max((start - first).total_seconds() + seconds for start, seconds in zip(begun, took, strict=True))


def _tag(verdict: Verdict, expectation: ExpectationDocument, result: ScenarioDocument, *, lenient: bool) -> str:
    """Return what a case is that did not pass: in quarantine, and where another had ended the run, it is skipped.

    A pass by a judge that failed its controls is none.
    """
    if verdict.passed:
        return "failure" if expectation.distrusted and result.decides else ""
    if not result.decides or (verdict.inconclusive and (lenient or verdict.reason == "suite_settled")):
        return "skipped"
    return "error" if verdict.outcome == "error" else "failure"


def _rated(verdict: Verdict, expectation: ExpectationDocument) -> Verdict:
    """Return a verdict as its judges leave it: by one that failed its controls, no pass is proven."""
    if not (verdict.passed and expectation.distrusted):
        return verdict
    return replace(verdict, outcome="inconclusive", explanation="; ".join(expectation.warnings))


def _add_outcome(case: ET.Element, tag: str, verdict: Verdict, worst: str) -> None:
    message = _printable(verdict.explanation)
    body = _printable("\n".join(part for part in (verdict.explanation, worst) if part))
    ET.SubElement(case, tag, type=verdict.outcome, message=message).text = body


def _printable(text: str) -> str:
    """Leave out the characters that XML cannot hold."""
    return _UNPRINTABLE.sub("", text)
