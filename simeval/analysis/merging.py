"""Merging: the runs of a suite's shards made one run, concluded on as a run in one process is.

Verdicts belong to scenarios, whole scenarios to shards, and levels and seeds to the whole suite: so each verdict is the
same as in one process. The statements on all of them together (the outcome, its guarantee, the report) are made again.
"""

import secrets
from collections import ChainMap, Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import reduce
from typing import Any

from simeval.analysis.ended_runs import EndedRun, read_ended
from simeval.core.run_records import Cut, Heartbeat
from simeval.core.trial import Judgement, Trial
from simeval.core.usage import merged
from simeval.errors import DefinitionError
from simeval.results.guarantee import HISTORY, History
from simeval.results.suite import EvaluationResult, RunRecord, SuiteResult, with_fidelity
from simeval.store.database import Database
from simeval.store.journal import Entry

DO = "name the runs of all shards of one suite, each once"


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
    return _history(shards).kept_in({**whole, "scenarios": [planned.get(place, missing) for place, missing in nothing]})


def _history(shards: Sequence[_ShardRun]) -> History:
    """Return the history of the shards together."""
    found = [History.of(shard.ended.stored.definition) for shard in shards]
    doubts = dict.fromkeys(each.doubt for each in found if each.doubt)
    return History(earlier={**ChainMap(*(dict(each.earlier) for each in found))}, doubt="; ".join(doubts))


def _in_order(shards: Sequence[_ShardRun], run: RunRecord) -> Iterable[EvaluationResult]:
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
            yield EvaluationResult(title=title, outcome="inconclusive", sample_size=size, **nothing)


def _moved(shard: _ShardRun, judgement: Judgement) -> Judgement:
    return replace(judgement, trial=shard.moved(judgement.trial))


def _labels(result: EvaluationResult) -> tuple[str, ...]:
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
