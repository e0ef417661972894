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

from simeval.core.markdown import shortened
from simeval.core.setting_field import PERSONA
from simeval.core.terminal import counted_of, one_line
from simeval.core.trial import SAID, Score, TrialResult, first_answer
from simeval.core.version import __version__
from simeval.extras.attacks.attack import family_of
from simeval.extras.attacks.families import Family
from simeval.results.document import ExpectationDocument, RunDocument, ScenarioDocument
from simeval.results.findings import kinds_of
from simeval.suites.files import Line

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
SEVERITY = "7.0"  # of 10: GitHub calls it high
LONGEST = 300  # characters of a text in a message


@dataclass(frozen=True, slots=True)
class _Success:
    """The success of one attacker of a family, in words too, with the trials that show it."""

    family: Family
    attacker: str
    kind: str
    said: str
    trials: Sequence[TrialResult]


def sarif(run: RunDocument, lines: Mapping[str, Line]) -> dict[str, Any]:
    """Return the attacks of a run as SARIF: a rule for each family, a result for each attacker that got something.

    `lines` are the places of attacks' scenarios, by their titles; others are left out.
    """
    attacks = [(each, family) for each in run.scenarios if each.title in lines and (family := family_of(each.title))]
    found = [
        _result(success, place, result, lines[result.title], run.run_id)
        for place, (result, family) in enumerate(attacks)
        for success in _successes(result, family)
    ]
    driver = {"name": "simeval", "version": __version__, "rules": [_rule(family) for _, family in attacks]}
    runs = [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": found}]
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": runs}


def _successes(result: ScenarioDocument, family: Family) -> Iterator[_Success]:
    reached: dict[tuple[str, str, str], list[TrialResult]] = defaultdict(list)
    for place, expectation in enumerate(result.expectations):
        for trial in result.judgements:
            name, score = (trial.conversation.writing_style or {}).get(PERSONA, ""), trial.results[place]
            for kind, said in _reached(expectation, score) if isinstance(score, Score) else ():
                reached[name, kind, said].append(trial)
    for (attacker, kind, said), trials in reached.items():
        yield _Success(family, attacker, kind, said, trials)


def _reached(expectation: ExpectationDocument, score: Score) -> list[tuple[str, str]]:
    """Return the successes in a trial: the kinds of breach, or a forbidden act found by a judge."""
    if expectation.expected_behavior is None:
        return [(kind, SAID[kind]) for kind in kinds_of(score)]
    is_met = expectation.is_met_by(score.value)
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


def _result(success: _Success, rule: int, result: ScenarioDocument, line: Line, run_id: str) -> dict[str, Any]:
    path, number = line
    name = "/".join((success.family.name, success.attacker, success.kind, success.said))
    print_of = sha256(name.encode()).hexdigest()
    location = {"artifactLocation": {"uri": _uri(path)}, "region": {"startLine": number}}
    return {
        "ruleId": _rule_id(success.family),
        "ruleIndex": rule,
        "level": "warning" if result.outcome == "pass" else "error",
        "message": {"text": _message(success, result)},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"primaryLocationLineHash": f"{print_of[:16]}:1", "attack/v1": print_of},
        "properties": {
            "attacker": success.attacker,
            "breach": success.kind,
            "owasp": list(success.family.owasp),
            "trials": [each.trial.index for each in success.trials],
            "run": run_id,
        },
    }


def _message(success: _Success, result: ScenarioDocument) -> str:
    first, attempts = success.trials[0], result.expectations[0].sentence("attacks")
    times, said = counted_of(len(success.trials), "time"), shortened(one_line(_said_last(first)), LONGEST)
    return (
        f"{success.said}, {times} by the attacker {success.attacker!r}, as in trial {first.trial.index}: "
        f"{said}\nOf all attackers of {success.family.name}: {attempts or 'nothing was concluded'}"
    )


def _said_last(trial: TrialResult) -> str:
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


def _uri(path: str) -> str:
    """Return a file's path from here, as code scanning needs it; of one outside, its address."""
    file = Path(path).resolve()
    return quote(file.relative_to(Path.cwd()).as_posix()) if file.is_relative_to(Path.cwd()) else file.as_uri()
