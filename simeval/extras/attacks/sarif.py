"""Attacks that succeeded, as SARIF 2.1.0: code scanning shows a finding for each attacker at a line of the suite.

Answers are not in it: a revealed secret would be revealed again.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

from simeval.core.breaches import SAID, first_answer
from simeval.core.counted import counted_of
from simeval.core.terminal import one_line
from simeval.core.trial import Judgement, Score
from simeval.core.version import __version__
from simeval.core.writing_style import PERSONA
from simeval.extras.attacks.attack import family_of
from simeval.extras.attacks.families import Family
from simeval.results.findings import kinds_of
from simeval.results.suite import EvaluationResult, ExpectationResult
from simeval.results.text import speaks_against
from simeval.suites.files import Line

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
SEVERITY = "7.0"  # of 10: GitHub calls it high
LONGEST = 300  # characters of a text in a message


@dataclass(frozen=True, slots=True)
class _Finding:
    """The success of one attacker of a family, in words too, with the trials that show it."""

    family: Family
    attacker: str
    kind: str
    said: str
    trials: Sequence[Judgement]


def sarif(results: Sequence[EvaluationResult], lines: Mapping[str, Line]) -> dict[str, Any]:
    """Return the attacks of a run as SARIF: a rule for each family, a result for each attacker that got something.

    `lines` are the places of attacks' scenarios, by their titles; others are left out.
    """
    attacks = [(each, family) for each in results if each.title in lines and (family := family_of(each.title))]
    found = [
        _result(finding, place, result, lines[result.title])
        for place, (result, family) in enumerate(attacks)
        for finding in _findings(result, family)
    ]
    driver = {"name": "simeval", "version": __version__, "rules": [_rule(family) for _, family in attacks]}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": found}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _findings(result: EvaluationResult, family: Family) -> Iterator[_Finding]:
    reached: dict[tuple[str, str, str], list[Judgement]] = defaultdict(list)
    for expectation in result.expectations:
        for judgement, score in zip(result.judgements, expectation.results, strict=True):
            name = (judgement.conversation.writing_style or {}).get(PERSONA, "")
            for kind, said in _reached(expectation, score) if isinstance(score, Score) else ():
                reached[name, kind, said].append(judgement)
    for (attacker, kind, said), trials in reached.items():
        yield _Finding(family, attacker, kind, said, trials)


def _reached(expectation: ExpectationResult, score: Score) -> list[tuple[str, str]]:
    """Return the successes in a trial: the kinds of breach, or a forbidden act found by a judge."""
    if expectation.expected_behavior is None:
        return [(kind, SAID[kind]) for kind in kinds_of(score)]
    is_met = not speaks_against(score, expectation.evaluators)
    return [] if is_met else [("must_not", f"the judge does not find that it {expectation.label}")]


def _rule(family: Family) -> dict[str, Any]:
    owasp = ", ".join(family.owasp)
    return {
        "id": _rule_id(family),
        "name": "".join(part.capitalize() for part in family.name.split("-")),
        "shortDescription": {"text": f"Attack: {family.title}"},
        "fullDescription": {"text": f"{family.about} OWASP: {owasp}."},
        "help": {"text": f"{family.about} OWASP Top 10 for LLM Applications and for Agentic Applications: {owasp}."},
        "defaultConfiguration": {"level": "error"},
        "properties": {
            "tags": ["security", *(f"owasp/{each}" for each in family.owasp)],
            "precision": "high",
            "security-severity": SEVERITY,
        },
    }


def _result(finding: _Finding, rule: int, result: EvaluationResult, line: Line) -> dict[str, Any]:
    path, number = line
    name = "/".join((finding.family.name, finding.attacker, finding.kind, finding.said))
    print_of = sha256(name.encode()).hexdigest()
    location = {"artifactLocation": {"uri": _uri(path)}, "region": {"startLine": number}}
    return {
        "ruleId": _rule_id(finding.family),
        "ruleIndex": rule,
        "level": "warning" if result.passed else "error",
        "message": {"text": _message(finding, result)},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"primaryLocationLineHash": f"{print_of[:16]}:1", "attack/v1": print_of},
        "properties": {
            "attacker": finding.attacker,
            "breach": finding.kind,
            "owasp": list(finding.family.owasp),
            "trials": [each.trial.index for each in finding.trials],
            "run": result.run.run_id,
        },
    }


def _message(finding: _Finding, result: EvaluationResult) -> str:
    first, attempts = finding.trials[0], result.expectations[0].attempts
    times = counted_of(len(finding.trials), "time")
    return (
        f"{finding.said}, {times} by the attacker {finding.attacker!r}, as in trial {first.trial.index}: "
        f"{_short(_said_last(first))}\nOf all attackers of {finding.family.name}: {attempts or 'nothing was concluded'}"
    )


def _said_last(trial: Judgement) -> str:
    """Return the attacker's last message before the breach: he may repeat that later."""
    answers = [first_answer(each.details) for each in trial.results if isinstance(each, Score)]
    first = min(filter(None, answers), default=None)
    said = ""
    for message in trial.conversation.messages:
        if message.role == "user":
            said = message.content
        elif message.is_response and first is not None and (first := first - 1) == 0:
            break
    return said


def _rule_id(family: Family) -> str:
    return f"simeval/{family.name}"


def _short(text: str) -> str:
    flat = one_line(text)
    return flat if len(flat) <= LONGEST else f"{flat[: LONGEST - 1]}…"


def _uri(path: str) -> str:
    """Return a file's path from here, as code scanning needs it; of one outside, its address."""
    file = Path(path).resolve()
    return quote(file.relative_to(Path.cwd()).as_posix()) if file.is_relative_to(Path.cwd()) else file.as_uri()
