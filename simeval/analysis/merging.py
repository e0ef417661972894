"""Merging: the runs of a suite's shards made one run, concluded on as a run in one process is.

Verdicts belong to scenarios, whole scenarios to shards, and levels and seeds to the whole suite: so each verdict is the
same as in one process. The statements on all of them together (the outcome, its guarantee, the report) are made again.
"""

import ast
import secrets
from collections import ChainMap, Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import reduce
from math import inf, nan
from typing import Any

import simeval.evaluators
from simeval.core.conversation import Conversation
from simeval.core.judging import complaints
from simeval.core.run_records import Cut, Heartbeat, ResumableRun, TrialKey, merged
from simeval.core.trial import (
    UNNEEDED,
    ControlRecord,
    Failure,
    Preparation,
    RubricRecord,
    Score,
    Trial,
    TrialConversation,
    TrialResult,
    Verdict,
)
from simeval.errors import DefinitionError
from simeval.evaluators.base import Evaluator
from simeval.results.document import ExpectationDocument, RunDocument, ScenarioDocument
from simeval.results.guarantee import HISTORY, doubt_of, earlier_of, with_history
from simeval.results.suite import (
    HEAD,
    ExpectationResult,
    RunRecord,
    ScenarioResult,
    SuiteResult,
    with_fidelity,
    with_shares,
)
from simeval.store.database import Database
from simeval.store.journal import Entry
from simeval.store.runs import Runs
from simeval.suites.apps.named import load_object

Failures = Mapping[TrialKey, Mapping[int, Failure]]

DO = "name the runs of all shards of one suite, each once"


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

    def judgements(self) -> Iterable[TrialResult]:
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
) -> ScenarioResult:
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
    result = ScenarioResult(
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
    judgements: Sequence[TrialResult], place: int, verdicts: Sequence[Verdict]
) -> tuple[Score | Failure, ...]:
    """Return the results of an expectation, without those that came after its verdicts were settled."""
    taken = max(each.n + each.left_out for each in verdicts) or len(judgements)
    found = [judgement.results[place] for judgement in judgements]
    return (*found[:taken], *[UNNEEDED] * len(found[taken:]))


def _judgement(position: int, index: int, stored: ResumableRun, failures: Failures) -> TrialResult:
    key, measures = (position, index), len(stored.definition["scenarios"][position]["then"])
    held = stored.held.get(key) or TrialConversation(Trial(*key, 0), Conversation(ended="settled"), UNNEEDED)
    scores, failed = stored.scores.get(key, {}), failures.get(key, {})
    results: list[Score | Failure] = [
        held.failure or scores.get(place) or failed.get(place, UNNEEDED) for place in range(measures)
    ]
    return TrialResult(
        trial=held.trial,
        conversation=held.conversation,
        results=tuple(results),
        failure=held.failure,
        columns=held.columns,
    )


def _extras(position: int, found: ScenarioDocument) -> tuple[TrialResult, ...]:
    """Return as many trials as were finished, and ended, that no verdict needed."""
    results = [Score(value=nan)] * found.extras["finished"] + [UNNEEDED] * found.extras["ended_early"]
    return tuple(
        TrialResult(
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


@dataclass(frozen=True, slots=True)
class _ShardRun:
    """The run of one shard, and which shard it is."""

    ended: EndedRun
    entry: Mapping[str, Any]

    @property
    def run(self) -> RunRecord:
        return self.ended.result.run

    @property
    def name(self) -> str:
        return f"{self.entry['number']}/{self.entry['of']}"

    @property
    def places(self) -> Sequence[int]:
        """The places in the suite of its scenarios."""
        places: Sequence[int] = self.entry["places"]
        return places

    def moved(self, trial: Trial) -> Trial:
        """Return a trial of it under the place of its scenario in the suite."""
        return replace(trial, scenario=self.places[trial.scenario])


def merge(sources: Iterable[tuple[Database, str]], into: Database, *, allow_missing: bool = False) -> SuiteResult:
    """Make one run of the runs of all shards of a suite, each in a store under its id; keep it, and give it.

    Where shards may be missing, their scenarios are inconclusive, and the run is stopped. Raises DefinitionError where
    runs do not belong together.
    """
    shards = [_shard_run(read_ended(database, run_id)) for database, run_id in sources]
    missing = _check(shards, allow_missing=allow_missing)
    shards.sort(key=lambda shard: shard.entry["number"])
    run = _record(shards, missing)
    suite = with_fidelity(SuiteResult(tuple(_in_order(shards, run)), run))
    run = replace(run, scenarios=tuple((each.title, each.sample_size, _labels(each)) for each in suite))
    into.append(run.run_id, _entries(shards, run, suite))
    return suite


def _shard_run(ended: EndedRun) -> _ShardRun:
    entry = ended.stored.definition.get("shard")
    if entry is None:
        raise DefinitionError("merge", found=f"run {ended.stored.run_id} is no shard", do="give runs of --shard")
    return _ShardRun(ended, entry)


def _check(shards: Sequence[_ShardRun], *, allow_missing: bool) -> list[int]:
    """Return the numbers of the shards that are missing. Raises DefinitionError where runs do not belong together."""
    if not shards:
        raise DefinitionError("merge", found="found no run", do=DO)
    first = shards[0]
    for other in shards[1:]:
        if any(first.entry[name] != other.entry[name] for name in ("of", "all scenarios")):
            found = (
                f"runs {first.run.run_id} and {other.run.run_id} are shards of different runs ({_why(first, other)})"
            )
            raise DefinitionError("merge", found=found, do=DO)
    for name, times in Counter(shard.name for shard in shards).items():
        if times > 1:
            both = ", ".join(shard.run.run_id for shard in shards if shard.name == name)
            raise DefinitionError("merge", found=f"{times} runs are shard {name} ({both})", do=DO)
    numbers = {shard.entry["number"] for shard in shards}
    missing = [number for number in range(1, first.entry["of"] + 1) if number not in numbers]
    if missing and not allow_missing:
        do = "give their runs too, or merge without them (--allow-missing)"
        raise DefinitionError("merge", found=f"{_missing(missing, first.entry['of'])}", do=do)
    places = [place for shard in shards for place in shard.places]
    if len(set(places)) < len(places) or (not missing and len(places) < len(first.entry["titles"])):
        found = "the shards share the scenarios out in different ways"
        raise DefinitionError("merge", found=found, do="run all shards by the same version of simeval")
    return missing


def _why(one: _ShardRun, other: _ShardRun) -> str:
    """Return the difference between two shards that do not belong together."""
    if one.entry["of"] != other.entry["of"]:
        return f"{one.name} and {other.name}"
    first, second = one.ended.stored.definition, other.ended.stored.definition
    names = [name for name in first if name not in ("shard", "scenarios") and first[name] != second.get(name)]
    if names == ["seed"]:
        return f"with the seeds {first['seed']} and {second['seed']}"
    return f"they differ in {', '.join(names)}" if names else "their scenarios differ"


def _missing(numbers: Sequence[int], of: int) -> str:
    named = ", ".join(f"{number}/{of}" for number in numbers)
    return f"shard{'s'[: len(numbers) - 1]} {named} {'is' if len(numbers) == 1 else 'are'} missing"


def _record(shards: Sequence[_ShardRun], missing: Sequence[int]) -> RunRecord:
    now, runs = datetime.now(UTC), [shard.run for shard in shards]
    of = shards[0].entry["of"]
    stopped = [_missing(missing, of)] if missing else []
    stopped += [f"shard {shard.name}: {shard.run.stopped}" for shard in shards if shard.run.stopped]
    return replace(
        runs[0],
        run_id=f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}",
        started=min(run.started for run in runs),
        seconds=max(run.seconds for run in runs),
        usage=reduce(merged, (run.usage for run in runs)),
        notes=tuple(_notes(shards)),
        stopped="; ".join(stopped),
        definition=_definition(shards),
    )


def _notes(shards: Sequence[_ShardRun]) -> Iterable[str]:
    """Return the notes of the shards' reports: common ones once, others with their shard."""
    told = Counter(note for shard in shards for note in set(shard.run.notes))
    yield from (note for note in shards[0].run.notes if told[note] == len(shards) > 1)
    for shard in shards:
        for note in shard.run.notes:
            if not note.startswith(f"shard {shard.name}:") and (told[note] < len(shards) or len(shards) == 1):
                yield f"shard {shard.name}: {note}"
    yield f"merged from the runs of {len(shards)} shards: {', '.join(shard.run.run_id for shard in shards)}"


def _definition(shards: Sequence[_ShardRun]) -> Mapping[str, Any]:
    """Return the definition that a run of the suite in one process has; of missing shards with titles alone."""
    planned = {
        place: scenario
        for shard in shards
        for place, scenario in zip(shard.places, shard.ended.stored.definition["scenarios"], strict=True)
    }
    first = shards[0].ended.stored.definition
    whole = {name: value for name, value in first.items() if name not in ("shard", HISTORY)}
    nothing = enumerate({"title": title, "then": []} for title in shards[0].entry["titles"])
    whole["scenarios"] = [planned.get(place, missing) for place, missing in nothing]
    found = [shard.ended.stored.definition for shard in shards]
    doubts = dict.fromkeys(filter(None, map(doubt_of, found)))
    return with_history(whole, ChainMap(*(dict(earlier_of(each)) for each in found)), "; ".join(doubts))


def _in_order(shards: Sequence[_ShardRun], run: RunRecord) -> Iterable[ScenarioResult]:
    """Return the results of all scenarios in the suite's order; those of missing shards have no trials."""
    found = {
        place: (shard, result)
        for shard in shards
        for place, result in zip(shard.places, shard.ended.result, strict=True)
    }
    titles, sizes = shards[0].entry["titles"], shards[0].entry["sizes"]
    for place, (title, size) in enumerate(zip(titles, sizes, strict=True)):
        if place in found:
            shard, result = found[place]
            judgements = tuple(_moved(shard, each) for each in result.judgements)
            yield replace(result, run=run, judgements=judgements)
        else:
            nothing: Any = {"expectations": (), "judgements": (), "run": run}
            yield ScenarioResult(title=title, outcome="inconclusive", sample_size=size, **nothing)


def _moved(shard: _ShardRun, judgement: TrialResult) -> TrialResult:
    return replace(judgement, trial=shard.moved(judgement.trial))


def _labels(result: ScenarioResult) -> tuple[str, ...]:
    return tuple(expectation.label for expectation in result.expectations)


def _entries(shards: Sequence[_ShardRun], run: RunRecord, suite: SuiteResult) -> list[Entry]:
    """Return all that a store holds of the merged run."""
    entries: list[Entry] = [run]
    for shard in shards:
        stored = shard.ended.stored
        for scenario, cuts in stored.cuts.items():
            entries += [Cut(shard.moved(stored.held[scenario, index].trial)) for index in cuts]
        entries += [replace(start, trial=shard.moved(start.trial)) for start in stored.begun.values()]
        entries += [replace(held, trial=shard.moved(held.trial)) for held in stored.held.values()]
        entries += [_moved(shard, judgement) for judgement in shard.ended.judgements()]
        entries += [*shard.ended.rubrics, *stored.controls.values()]
    return [*entries, Heartbeat(seconds=run.seconds, usage=run.usage), suite]
