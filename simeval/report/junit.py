"""JUnit XML: one test suite for each scenario, one test case for each verdict."""

from collections.abc import Sequence
from re import compile as pattern
from xml.etree import ElementTree as ET

from simeval.outcome import Verdict
from simeval.results import EvaluationResult, RunRecord

_UNPRINTABLE = pattern("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(results: Sequence[EvaluationResult], run: RunRecord) -> str:
    """Write a run as JUnit XML: fail and inconclusive are failures, error is an error."""
    root = ET.Element("testsuites", name="simeval", time=f"{run.seconds:.3f}")
    for result in results:
        outcomes = [verdict.outcome for verdict in result.verdicts]
        suite = ET.SubElement(
            root,
            "testsuite",
            name=_printable(result.title),
            tests=str(len(outcomes)),
            failures=str(outcomes.count("fail") + outcomes.count("inconclusive")),
            errors=str(outcomes.count("error")),
            timestamp=run.started.isoformat(),
        )
        facts = {"run": run.run_id, "seed": run.seed, "app": run.app, "judge": run.judge_model, "user": run.user_model}
        properties = ET.SubElement(suite, "properties")
        for fact, value in facts.items():
            ET.SubElement(properties, "property", name=fact, value=_printable(str(value)))
        for expectation in result.expectations:
            for verdict in expectation.verdicts:
                name = _printable(f"{expectation.label}: {verdict.evaluator}")
                case = ET.SubElement(suite, "testcase", classname=_printable(result.title), name=name)
                _add_outcome(case, verdict, result.show_worst(expectation))
    for total in ("tests", "failures", "errors"):
        root.set(total, str(sum(int(suite.get(total, "0")) for suite in root)))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _add_outcome(case: ET.Element, verdict: Verdict, worst: str) -> None:
    if verdict.passed:
        return
    tag = "error" if verdict.outcome == "error" else "failure"
    message = _printable(verdict.explanation)
    body = _printable("\n".join(part for part in (verdict.explanation, worst) if part))
    ET.SubElement(case, tag, type=verdict.outcome, message=message).text = body


def _printable(text: str) -> str:
    """Leave out the characters that XML cannot hold."""
    return _UNPRINTABLE.sub("", text)
