"""Runs of suites that have ended, read back from a store as the records that they were written from."""

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, nan
from typing import Any

import simeval.evaluators
from simeval.core.controls import ControlRecord, complaints
from simeval.core.conversation import Conversation
from simeval.core.preparation import Preparation
from simeval.core.run_records import ResumableRun, RubricRecord, TrialKey
from simeval.core.trial import UNNEEDED, Failure, Judgement, Score, Trial, TrialConversation, Verdict
from simeval.errors import DefinitionError
from simeval.evaluators.base import Evaluator
from simeval.results.document import ExpectationDocument, RunDocument, ScenarioDocument
from simeval.results.suite import (
    HEAD,
    EvaluationResult,
    ExpectationResult,
    RunRecord,
    SuiteResult,
    with_fidelity,
    with_shares,
)
from simeval.store.database import Database
from simeval.store.runs import Runs
from simeval.suites.objects import load_object

Failures = Mapping[TrialKey, Mapping[int, Failure]]


@dataclass(frozen=True, slots=True)
class EndedRun:
    """A run of a suite that has ended: all that its store holds of it, and what it came to.

    `failures` say what could not be measured, by the position of the expectation.
    """

    stored: ResumableRun
    failures: Failures
    result: SuiteResult

    @property
    def rubrics(self) -> list[RubricRecord]:
        """The rubrics that it was judged by."""
        expectations = [each for result in self.result for each in result.expectations]
        return [each.prepared.rubric for each in expectations if each.prepared and each.prepared.rubric]

    def judgements(self) -> Iterable[Judgement]:
        """Return what was measured on every trial that was held, also where no verdict rests on it."""
        for (position, index), held in self.stored.held.items():
            if held.failure is None or not held.failure.is_cut:
                yield _judgement(position, index, self.stored, self.failures)


def read_ended(database: Database, run_id: str) -> EndedRun:
    """Return a run of scenarios that has ended.

    Raises DefinitionError where there is none, it has not ended, or it is an experiment.
    """
    runs = Runs(database)
    runs.require_ended(run_id)
    document, stored = runs.head(run_id), runs.load(run_id)
    if not isinstance(document, RunDocument):
        raise DefinitionError(f"run {run_id}", found="it is an experiment", do="name a run of scenarios")
    run = _run_record(document, stored)
    failures, reader = runs.failures(run_id), _EvaluatorReader(stored.definition.get("shard", {}).get("evaluators", {}))
    results = tuple(
        _scenario(position, each, stored, failures, run, reader) for position, each in enumerate(document.scenarios)
    )
    return EndedRun(stored, failures, with_fidelity(SuiteResult(results, run)))


def _run_record(document: RunDocument, stored: ResumableRun) -> RunRecord:
    return RunRecord(
        **{name: getattr(document, name) for name in HEAD if name not in ("baseline", "notes")},
        notes=tuple(document.notes),
        judge_model=document.models["judge"],
        user_model=document.models["user"],
        scenarios=tuple(
            (each.title, each.sample_size, tuple(one.label for one in each.expectations)) for each in document.scenarios
        ),
        definition=stored.definition,
    )


def _scenario(
    position: int,
    found: ScenarioDocument,
    stored: ResumableRun,
    failures: Failures,
    run: RunRecord,
    reader: "_EvaluatorReader",
) -> EvaluationResult:
    asked = stored.definition["scenarios"][position]["then"]
    judgements = [_judgement(position, index, stored, failures) for index in range(found.trials)]
    evaluators = [tuple(map(reader.read, each["evaluators"])) for each in asked]
    measured = [_concluded_on(judgements, place, each.verdicts) for place, each in enumerate(found.expectations)]
    expectations = [
        ExpectationResult(
            label=each.label,
            evaluators=evaluators[place],
            verdicts=tuple(verdict.verdict() for verdict in each.verdicts),
            results=measured[place],
            expected_behavior=each.expected_behavior,
            **_prepared(each, stored),
        )
        for place, each in enumerate(found.expectations)
    ]
    result = EvaluationResult(
        title=found.title,
        outcome=found.outcome,
        expectations=tuple(expectations),
        judgements=tuple(judgements),
        run=run,
        sample_size=found.sample_size,
        extras=_extras(position, found),
        given=found.given or "",
        when=found.when or "",
        quarantine=found.quarantine,
    )
    return with_shares(result)


def _concluded_on(
    judgements: Sequence[Judgement], place: int, verdicts: Sequence[Verdict]
) -> tuple[Score | Failure, ...]:
    """Return the results of an expectation, without those that came after its verdicts were settled."""
    taken = max(each.n + each.left_out for each in verdicts) or len(judgements)
    found = [judgement.results[place] for judgement in judgements]
    return (*found[:taken], *[UNNEEDED] * len(found[taken:]))


def _judgement(position: int, index: int, stored: ResumableRun, failures: Failures) -> Judgement:
    key, measures = (position, index), len(stored.definition["scenarios"][position]["then"])
    held = stored.held.get(key) or TrialConversation(Trial(*key, 0), Conversation(ended="settled"), UNNEEDED)
    scores, failed = stored.scores.get(key, {}), failures.get(key, {})
    results: list[Score | Failure] = [
        held.failure or scores.get(place) or failed.get(place, UNNEEDED) for place in range(measures)
    ]
    return Judgement(
        trial=held.trial,
        conversation=held.conversation,
        results=tuple(results),
        failure=held.failure,
        columns=held.columns,
    )


def _extras(position: int, found: ScenarioDocument) -> tuple[Judgement, ...]:
    """Return as many trials as were finished, and ended, that no verdict needed."""
    results = [Score(value=nan)] * found.extras["finished"] + [UNNEEDED] * found.extras["ended_early"]
    return tuple(
        Judgement(
            trial=Trial(position, found.trials + number, 0),
            conversation=Conversation(ended="settled"),
            results=(each,),
        )
        for number, each in enumerate(results)
    )


def _prepared(found: ExpectationDocument, stored: ResumableRun) -> dict[str, Any]:
    """Return by what judges rated, and what speaks against them."""
    if found.rubric is None and not found.controls:
        return {}
    behaviour, warnings, rubric = found.expected_behavior or "", tuple(found.warnings), None
    controls = tuple(_control(each, behaviour, stored) for each in found.controls)
    if found.rubric:
        rubric = replace(stored.rubrics[found.rubric["key"]], expected_behavior=behaviour)
    said = complaints(controls)
    refusal = Failure(stage="judge", error="; ".join(said), cause="control") if said and not warnings else None
    prepared = Preparation(rubric=rubric, controls=controls, failure=refusal)
    return {"prepared": prepared, "signs": tuple(each for each in warnings if each not in said)}


def _control(found: Mapping[str, Any], behaviour: str, stored: ResumableRun) -> ControlRecord:
    of_it = {name: value for name, value in found.items() if name != "is_right"}
    made = ControlRecord(key="", expected_behavior=behaviour, **of_it)
    same = (each for each in stored.controls.values() if _is_same(each, made))
    return next(same, made)


def _is_same(control: ControlRecord, other: ControlRecord) -> bool:
    names = ("judge", "control", "expected_behavior", "score")
    return all(getattr(control, name) == getattr(other, name) for name in names)


@dataclass(frozen=True, slots=True)
class _EvaluatorReader:
    """Reads evaluators as definitions hold them; `own` says where the classes are that are not simeval's."""

    own: Mapping[str, str]

    def read(self, text: str) -> Evaluator:
        """Return the evaluator that a text describes, such as "SuccessRateEvaluator(min_proportion=0.9)".

        Raises DefinitionError for another text, and for a class that cannot be found.
        """
        name = text.partition("(")[0]
        kind = load_object(self.own[name], what="evaluator") if name in self.own else _of_simeval(name)
        try:
            [call] = ast.parse(text).body
            assert isinstance(call, ast.Expr)
            assert isinstance(call.value, ast.Call)
            arguments = {str(each.arg): self._value(each.value) for each in call.value.keywords}
            made: Evaluator = kind(**arguments)
        except (AssertionError, SyntaxError, TypeError, ValueError) as error:
            do = "give it the repr of a dataclass"
            raise DefinitionError("evaluator", found=f"{text!r} cannot be read ({error})", do=do) from error
        return made

    def _value(self, node: ast.expr) -> Any:
        """Return the value of an argument, which may be an evaluator."""
        return self.read(ast.unparse(node)) if isinstance(node, ast.Call) else _literal(node)


def _of_simeval(name: str) -> Any:
    if name not in dir(simeval.evaluators):
        do = "merge with the version of simeval that the shards were run by"
        raise DefinitionError("evaluator", found=f"there is none named {name!r}", do=do)
    return getattr(simeval.evaluators, name)


def _literal(node: ast.expr) -> Any:
    """Return the value of a literal, infinities among them."""
    if isinstance(node, (ast.Tuple, ast.List)):
        return tuple(map(_literal, node.elts))
    if isinstance(node, ast.Name) and node.id == "inf":
        return inf
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_literal(node.operand)
    return ast.literal_eval(node)
