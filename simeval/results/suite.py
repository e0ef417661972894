"""The results of an evaluation: records of runs, scenarios and expectations, which print themselves."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, overload

from simeval.core.conversation import Conversation
from simeval.core.judging import complaints, failed
from simeval.core.run_records import Usage, players
from simeval.core.serialization import Json
from simeval.core.setting_field import PERSONA, Gate
from simeval.core.settings import DEFAULTS
from simeval.core.terminal import counted_of, printed
from simeval.core.trial import Failure, Kept, Outcome, Preparation, Quarantine, Score, TrialResult, Verdict
from simeval.core.validation import nearest, require
from simeval.errors import DefinitionError
from simeval.evaluators.base import Evaluator
from simeval.results.cases import CaseTable, case_of, table_of
from simeval.results.document import (
    DatasetRecord,
    ExpectationDocument,
    FailureKind,
    Finding,
    Repeatability,
    Requirement,
    RunDocument,
    ScenarioDocument,
    met_in,
    repeatability_of,
)
from simeval.results.encoding import encode_document
from simeval.results.findings import (
    Attempts,
    Escalations,
    PersonaShare,
    Reliability,
    TurnShare,
    escalations_of,
    findings_of,
    personas_of,
    reliability_of,
    turns_of,
)
from simeval.results.guarantee import (
    Claims,
    Concluded,
    Fidelity,
    UserConduct,
    conditions_of,
    fidelity_of,
    guaranteed_of,
)
from simeval.results.kinds import kinds_among
from simeval.results.rows import Row, Rows, chained, row_of
from simeval.results.screen.report import run_text
from simeval.results.text import (
    BaselineGate,
    Printable,
    badness,
    combine,
    meets_gates,
    speaks_against,
)

HEAD = (  # the fields that a run and its document have both
    *("run_id", "app", "seed", "gate", "joint", "baseline", "judge_repeats", "started", "seconds", "notes", "stopped"),
    *("dataset", "metadata", "usage"),
)
ENOUGH_SCORES = 100  # to tell yes or no from a number


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """The facts of a whole run: its id, seed, models, app, scenarios (title, size, labels), time and usage.

    `judge_model` names a panel's judges with " + " between them; each rates a conversation `judge_repeats` times.
    `definition` holds everything that the results depend on, in the form JSON has: a run can be resumed with the
    same one. `stopped` is the reason if the run ended before its verdicts were settled. `dataset` is that of an
    experiment, `metadata` its user's notes on it. `baseline` is the comparison with another run, if one was asked for,
    and `fidelity` how like people its simulated users were.
    """

    run_id: str
    seed: int
    judge_model: str
    judge_repeats: int = DEFAULTS.judge_repeats
    user_model: str
    app: str
    started: datetime
    gate: Gate = DEFAULTS.gate
    joint: bool = DEFAULTS.joint
    scenarios: tuple[tuple[str, int, tuple[str, ...]], ...] = field(default=(), repr=False)
    seconds: float = 0.0
    usage: Mapping[str, Usage] = field(default_factory=dict, repr=False)
    notes: tuple[str, ...] = field(default=(), repr=False)
    definition: Mapping[str, Any] = field(default_factory=dict, repr=False)
    stopped: str = ""
    dataset: DatasetRecord | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    baseline: BaselineGate | None = None
    fidelity: Fidelity | None = None

    @property
    def played(self) -> Mapping[str, str]:
        """Who judged and who played the user, where that was asked for anything."""
        return players(self.judge_model, self.user_model, asked=self.usage)

    def head(self, outcome: Outcome | None, guarantee: str, *, gate_met: bool) -> dict[str, Any]:
        """Return the fields of its document that are true of the whole run."""
        return {
            **{name: getattr(self, name) for name in HEAD},
            "findings": [Finding(str(self.fidelity), "fidelity", self.fidelity.numbers())] if self.fidelity else [],
            "outcome": outcome,
            "guarantee": guarantee,
            "gate_met": gate_met,
            "models": {"judge": self.judge_model, "user": self.user_model},
            "judge_examples": self.definition.get("judge examples") or (),
            "conditions": conditions_of(self.definition) if self.definition else None,
        }

    @property
    def leaves_out_crashes(self) -> bool:
        """Whether trials on which the app failed count neither for nor against it."""
        return bool(self.definition.get("settings", {}).get("on_app_error") == "exclude")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectationResult:
    """One expectation: its verdicts, and for each trial a score or a failure, in the order dealt.

    Verdicts are in the order of their evaluators. `prepared` has the rubric that a judge rated by, or why none did,
    `signs` the evidence against judges in their ratings; `personas` how each of a mix of users fared,
    `cases` how each row of a table of cases, `kinds` the kinds of its misses. Of an example the
    `repetitions` are one value.
    """

    label: str
    evaluators: tuple[Evaluator, ...]
    verdicts: tuple[Verdict, ...]
    results: Sequence[Score | Failure]
    expected_behavior: str | None = None
    prepared: Preparation | None = None
    signs: tuple[str, ...] = ()
    personas: tuple[PersonaShare, ...] = ()
    cases: CaseTable | None = None
    kinds: tuple[FailureKind, ...] = ()
    repetitions: int = 1

    def __repr__(self) -> str:
        return f"<ExpectationResult {self.label!r}: {self.outcome}, {counted_of(len(self.results), 'trial')}>"

    @property
    def outcome(self) -> Outcome:
        """The worst outcome of the verdicts; a judge that failed its controls proves no pass."""
        outcome = combine([verdict.outcome for verdict in self.verdicts])
        return "inconclusive" if outcome == "pass" and self.distrusted else outcome

    @property
    def distrusted(self) -> tuple[str, ...]:
        """The judges that failed its controls and rated it all the same (`on_failed_control` is "warn")."""
        if self.prepared is None or self.prepared.failure is not None:
            return ()
        return tuple(dict.fromkeys(each.judge for each in failed(self.prepared.controls)))

    @property
    def scores(self) -> tuple[float, ...]:
        """The values of the trials that have one, in the order dealt."""
        return tuple(result.value for result in self.results if isinstance(result, Score))

    def first_scores(self) -> Iterator[float]:
        """Yield the values of the first trials that have one, by which yes or no is told from a number."""
        return islice((result.value for result in self.results if isinstance(result, Score)), ENOUGH_SCORES)

    @property
    def turns(self) -> TurnShare | None:
        """The turns of all conversations together, where the scorer counts them; else None."""
        return turns_of(self.results)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Why its judges may not be worth their ratings, each reason in a sentence; none where it was not judged."""
        if self.prepared is None or self.prepared.failure is not None:
            return ()
        return (*complaints(self.prepared.controls), *self.signs)

    @property
    def described(self) -> tuple[str, ...]:
        """The sentences of its findings: how far ratings agree, how good all turns are, and the like."""
        return tuple(each.said for each in self.findings if each.said)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings on it: attacks, ratings, turns, cases and users."""
        return findings_of(self.results, self.evaluators, self.verdicts, self.personas, self.cases)

    def missed_scores(self, evaluator: Evaluator) -> frozenset[float]:
        """Return the scores that do not meet a requirement, if no cut tells."""
        scores = () if evaluator.cut else self.scores
        return frozenset(score for score in scores if not evaluator.meets(score))

    def document(self, worst: TrialResult | None = None) -> ExpectationDocument:
        """Return all that is known of it; `worst` is the trial that speaks most against it."""
        prepared = self.prepared or Preparation()
        return ExpectationDocument(
            label=self.label,
            outcome=self.outcome,
            verdicts=[
                Requirement.of(
                    self.label,
                    evaluator,
                    verdict,
                    self.first_scores(),
                    missed=self.missed_scores(evaluator),
                    repetitions=self.repetitions,
                )
                for evaluator, verdict in zip(self.evaluators, self.verdicts, strict=True)
            ],
            expected_behavior=self.expected_behavior,
            rubric=prepared.rubric.source if prepared.rubric else None,
            controls=[each.shown for each in prepared.controls],
            warnings=self.warnings,
            distrusted=self.distrusted,
            findings=self.findings,
            scores=self.scores,
            worst=worst.trial.index if worst else None,
            kinds=self.kinds,
        )

    @property
    def attempts(self) -> Attempts | None:
        """How often attacks succeeded, and the most that this leaves open; None where there were none."""
        return Attempts.of(self.results, self.evaluators, self.verdicts, self.personas)

    @property
    def escalations(self) -> Escalations | None:
        """How much its first judge left to the second, where one escalates to the other; else None."""
        return escalations_of(self.results, self.evaluators)

    @property
    def reliability(self) -> Reliability | None:
        """How far the judge's ratings agree, where each conversation has two or more; else None."""
        return reliability_of(self.results)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ScenarioResult(Printable):
    """The result of one scenario. Trials and conversations are in the order dealt.

    `judgements` are the trials the verdicts rest on, at most `sample_size`; `extras` those that were under way
    when the verdicts were settled: ended early, or finished but not concluded on. Those of a run of more than 10,000
    trials are in a temporary file, and read from there when they are looked at.
    """

    title: str
    outcome: Outcome
    expectations: tuple[ExpectationResult, ...]
    judgements: Sequence[TrialResult]
    run: RunRecord
    sample_size: int
    extras: tuple[TrialResult, ...] = ()
    given: str = ""
    when: str = ""
    quarantine: Quarantine | None = None

    @property
    def decides(self) -> bool:
        """Whether its outcome counts for the whole run: in quarantine, on the day the run began, it does not."""
        return self.quarantine is None or not self.quarantine.holds(self.run.started.date())

    @property
    def passed(self) -> bool:
        """Whether every verdict is a pass."""
        return self.outcome == "pass"

    @property
    def is_trusted(self) -> bool:
        """Whether no judge that failed its controls rated it."""
        return not any(each.distrusted for each in self.expectations)

    @property
    def trials(self) -> int:
        """How many trials the verdicts rest on."""
        return len(self.judgements)

    @property
    def finished_extras(self) -> int:
        """How many trials were finished that no verdict needed."""
        return sum(all(not isinstance(r, Failure) for r in extra.results) for extra in self.extras)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts of all expectations, in order."""
        return tuple(verdict for expectation in self.expectations for verdict in expectation.verdicts)

    @property
    def p_value(self) -> float | None:
        """The p-value of "every requirement is met": the largest of the verdicts'. None where one has none."""
        values = [verdict.p_value for verdict in self.verdicts]
        known = [value for value in values if value is not None]
        return max(known, default=None) if len(known) == len(values) else None

    @property
    def average_score(self) -> float | None:
        """The mean score of the first expectation over the trials that have one."""
        scores = self.expectations[0].scores
        return sum(scores) / len(scores) if scores else None

    @property
    def conversations(self) -> tuple[Conversation, ...]:
        """The conversation of each trial, as far as it went."""
        return tuple(judgement.conversation for judgement in self.judgements)

    @property
    def users(self) -> UserConduct:
        """How the simulated users of these trials ended their conversations, and their faults."""
        return UserConduct.of(self.judgements)

    @property
    def claims(self) -> Claims:
        """In which trials the judge is satisfied, and the state of the world is not as it is to be."""
        results = [each.results for each in self.expectations]
        judged = [each.results for each in self.expectations if each.expected_behavior is not None]
        return Claims.of(self.judgements, results, judged)

    @property
    def failures(self) -> tuple[tuple[int, Failure], ...]:
        """The failures of trials, each with the index of its trial; without those of settled expectations."""
        measured = zip(self.judgements, zip(*(each.results for each in self.expectations), strict=True), strict=True)
        return tuple(
            (j.trial.index, failure) for j, found in measured for failure in replace(j, results=found).failures
        )

    @property
    def rows(self) -> Rows:
        """The trials the verdicts rest on as rows, with all that was measured of each."""
        return Rows(self._rows, self.trials)

    def met(self) -> Iterator[bool | None]:
        """Yield of each conversation whether it met all that is required of a share; None if some is not known."""
        found = [(each.evaluators, each.results) for each in self.expectations]
        return met_in(found, leaves_out_crashes=self.run.leaves_out_crashes)

    def _rows(self) -> Iterator[Row]:
        labels = [expectation.label for expectation in self.expectations]
        for each in self.judgements:
            yield row_of(each, zip(labels, each.results, strict=True), title=self.title, concluded=frozenset(labels))

    def worst(self, expectation: ExpectationResult) -> TrialResult | None:
        """Return the trial that speaks most against an expectation: a crash of the app, else the worst score.

        None if every trial speaks for it. Raises DefinitionError for anything but an ExpectationResult.
        """
        do = "give one of result.expectations"
        require(isinstance(expectation, ExpectationResult), "worst", found=expectation, do=do)
        at_worst = [
            (badness(result, expectation.evaluators[0]), -judgement.trial.index, judgement)
            for judgement, result in zip(self.judgements, expectation.results, strict=True)
            if speaks_against(result, expectation.evaluators)
        ]
        return max(at_worst, key=lambda entry: entry[:2])[2] if at_worst else None

    def run_document(self) -> RunDocument:
        """Return the document of a run of this scenario alone."""
        return self._alone.document()

    def document(self, kept: Kept = "every") -> ScenarioDocument:
        """Return all that is known of it, by default with every trial."""
        expectations = [each.document(self.worst(each)) for each in self.expectations]
        return ScenarioDocument(
            title=self.title,
            sample_size=self.sample_size,
            trials=self.trials,
            expectations=expectations,
            judgements=self._kept(kept, {each.worst for each in expectations}),
            outcome=self.outcome,
            given=self.given,
            when=self.when,
            quarantine=self.quarantine,
            decides=self.decides,
            extras={"finished": self.finished_extras, "ended_early": len(self.extras) - self.finished_extras},
            users=self.users,
            findings=[Finding(str(self.claims), "claims", asdict(self.claims))] if self.claims.both else [],
            errors=self.failures,
        )

    def _kept(self, kept: Kept, worst: Collection[int | None]) -> Sequence[TrialResult]:
        if kept == "every":
            return self.judgements
        return [each for each in self.judgements if each.trial.index in worst] if kept == "worst" else ()

    def to_html(self, path: str | Path) -> None:
        """Write the report that a browser shows: one file with all in it. Raises StoreError."""
        self._alone.to_html(path)

    def to_markdown(self) -> str:
        return self._alone.to_markdown()

    def text(self) -> str:
        return self._alone.text()

    def __str__(self) -> str:
        return str(self._alone)

    @property
    def _alone(self) -> "SuiteResult":
        return SuiteResult((self,), self.run)

    def __repr__(self) -> str:
        return (
            f"<ScenarioResult {self.title!r}: {self.outcome}, {counted_of(self.trials, 'trial')}{_first_fault(self)}>"
        )


EvaluationResult = ScenarioResult  # its name in SigmaEval


@dataclass(frozen=True, slots=True, repr=False)
class SuiteResult(Printable, Sequence[ScenarioResult]):
    """The results of a suite, in the order of its scenarios. It passes when every verdict does.

    No correction is needed for that: if a requirement is truly not met, the suite passes only if that one's
    verdict is wrong (intersection-union).
    """

    results: tuple[ScenarioResult, ...]
    run: RunRecord

    @property
    def outcome(self) -> Outcome:
        """The worst outcome of the scenarios that are not in quarantine."""
        return combine([each.outcome for each in self.results if each.decides])

    @property
    def rows(self) -> Rows:
        """The rows of all scenarios, in order."""
        return chained([result.rows for result in self.results])

    @property
    def passed(self) -> bool:
        """Whether every verdict of every scenario is a pass, but for those in quarantine."""
        return self.outcome == "pass"

    def meets(self, gate: Gate) -> bool:
        """Return whether the suite gets through a gate: "pass", all verdicts are.

        "not_fail", none is a fail or an error. A run that is held against a baseline has to get through that, too. One
        whose judges failed their controls gets through none.
        """
        is_trusted = all(each.is_trusted for each in self.results if each.decides)
        return meets_gates(self.outcome, gate, self.run.baseline, trusted=is_trusted)

    @property
    def guarantee(self) -> str:
        """The error bound of the suite, in words, or why none is known; empty where nothing passed."""
        run = self.run
        has_faults = run.definition.get("settings", {}).get("on_user_fault") in ("retry", "count")
        found = [
            concluded(each.title, each.expectations, each.users if has_faults else None)
            for each in self.results
            if each.decides
        ]
        return guaranteed_of(found, run.definition, gate=run.gate, joint=run.joint)

    @property
    def repeatability(self) -> Repeatability | None:
        """How often conversations of one scenario end alike; None where fewer than two scenarios show it."""
        known = [each for each in self.results if each.outcome != "error"]  # of others nothing is known
        return repeatability_of(each.met() for each in known)

    def to_html(self, path: str | Path) -> None:
        """Write the report that a browser shows: one file with all in it. Raises StoreError."""
        from simeval.results.html.page import write_report  # most results are never shown so
        from simeval.results.html.source import DocumentSource

        expectations = [each for result in self.results for each in result.expectations]
        write_report(path, DocumentSource(self.document(), rubrics_of(expectations)))

    @overload
    def __getitem__(self, index: int) -> ScenarioResult: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[ScenarioResult, ...]: ...
    @overload
    def __getitem__(self, index: str) -> ScenarioResult: ...
    def __getitem__(self, index: int | slice | str) -> ScenarioResult | tuple[ScenarioResult, ...]:
        """Return the result of a scenario by its place or title, or several by their places."""
        if not isinstance(index, str):
            return self.results[index]
        found = {result.title: result for result in self.results}
        if index not in found:
            raise DefinitionError("SuiteResult", found=f"there is no scenario {index!r}", do=nearest(index, [*found]))
        return found[index]

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[ScenarioResult]:
        return iter(self.results)

    def document(self, kept: Kept = "every") -> RunDocument:
        """Return all that is known of the run, by default with every trial."""
        return RunDocument(**self.head(), scenarios=[each.document(kept) for each in self.results])

    run_document = document

    def head(self) -> dict[str, Any]:
        """Return the fields of its document that are true of the whole run."""
        head = self.run.head(self.outcome, self.guarantee, gate_met=self.meets(self.run.gate))
        found = self.repeatability
        repeated = [Finding(str(found), "repeatability", asdict(found))] if found else []
        return {**head, "findings": [*head["findings"], *repeated]}

    def to_markdown(self) -> str:
        from simeval.results.markdown import run_markdown  # a face

        return run_markdown(self.document("worst"))

    def text(self) -> str:
        return run_text(self.document("worst"))

    def __str__(self) -> str:
        return run_text(self.document("worst"), printed())

    def __repr__(self) -> str:
        worst = next((each for each in self if each.decides and each.outcome == self.outcome), None)
        fault = "" if worst is None else _first_fault(worst)
        return f"<SuiteResult of run {self.run.run_id}: {self.outcome}, {counted_of(len(self), 'scenario')}{fault}>"


def _first_fault(found: ScenarioResult) -> str:
    """Return the sentence of the first requirement that made a scenario's outcome, which is no pass; else empty."""
    if found.passed:
        return ""
    requirements = [one for each in found.expectations for one in each.document().verdicts]
    return next((f": {each.said}" for each in requirements if each.outcome == found.outcome), "")


def concluded(title: str, expectations: Sequence[ExpectationResult], users: UserConduct | None = None) -> Concluded:
    """Return the conclusions under one title."""
    return Concluded(
        title=title,
        verdicts=[verdict for each in expectations for verdict in each.verdicts],
        evaluators=[evaluator for each in expectations for evaluator in each.evaluators],
        distrusted=[judge for each in expectations for judge in each.distrusted],
        users=users,
    )


def rubrics_of(expectations: Iterable[ExpectationResult]) -> Mapping[str, Mapping[str, str]]:
    """Return the levels of rubrics by their keys."""
    prepared = [each.prepared.rubric for each in expectations if each.prepared and each.prepared.rubric]
    return {rubric.key: rubric.levels for rubric in prepared}


def encode_suite(results: Sequence[ScenarioResult], run: RunRecord, *, version: str) -> Json:
    """Return a whole run as the machine-readable result."""
    return encode_document(replace(SuiteResult((*results,), run).document(), simeval=version))


def with_shares(result: ScenarioResult) -> ScenarioResult:
    """Return a result with the kinds of its misses, and how each persona and each row of a table of cases fared."""
    personas, cases = [], []
    for each in result.judgements:
        personas.append((each.conversation.writing_style or {}).get(PERSONA))
        cases.append(case_of(each))
    rows, leaves_out = [case and case[0] for case in cases], result.run.leaves_out_crashes
    values = dict(case for case in reversed(cases) if case)

    def fared(found: ExpectationResult) -> ExpectationResult:
        measured = found.results, found.evaluators
        return replace(
            found,
            personas=personas_of(personas, *measured, leaves_out_crashes=leaves_out) if any(personas) else (),
            cases=table_of(rows, *measured, values=values, leaves_out_crashes=leaves_out) if values else None,
            kinds=kinds_among(*measured, leaves_out_crashes=leaves_out),
        )

    return replace(result, expectations=tuple(map(fared, result.expectations)))


def with_fidelity(suite: SuiteResult) -> SuiteResult:
    """Return the results of a suite, with how like people its simulated users were."""
    planned = suite.run.definition.get("scenarios") or [{}] * len(suite)
    simulated = [
        (each, entry)
        for each, entry in zip(suite, planned, strict=False)
        if not entry.get("script") and not entry.get("users' scripts")
    ]
    fitted = (entry["users' logs"] for _, entry in simulated if "users' logs" in entry)
    logs: Mapping[str, Sequence[float]] = next(fitted, {})
    found = fidelity_of([(one.conversation for one in each.judgements) for each, _ in simulated], logs)
    return replace(suite, run=replace(suite.run, fidelity=found))
