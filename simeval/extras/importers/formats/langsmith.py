"""LangSmith: batches of runs as its SDK sends them, and runs as its API exports them.

A batch is `{"post": [...], "patch": [...]}`, with patches that complete the runs of their ids; an export is one run a
line, or a list of them. Runs of type "llm" are the model calls; runs of a trace make its conversations, and traces of
one thread (metadata session_id, thread_id or conversation_id) one conversation, as described in
`simeval.extras.importers.traces`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from simeval.core.serialization import Json
from simeval.datasets.dataset import Example
from simeval.datasets.messages import filled, first, identity, mapping, moment, usage
from simeval.datasets.records import REFUSALS, Opening, Unreadable, examples_from, reason_of, records
from simeval.extras.importers.payloads import answered, asked
from simeval.extras.importers.traces import Call, Trace, conversations_of, seconds_between

NAME = "langsmith"
_THREADS = ("session_id", "thread_id", "conversation_id")


def looks_like(opening: Opening) -> bool:
    """Return whether the first record is a batch of runs, or a run."""
    is_batch = opening.has("post") or opening.has("patch")
    return is_batch or (opening.has("run_type") and (opening.has("inputs") or opening.has("trace_id")))


def read(path: Path) -> Iterator[Example | Unreadable]:
    """Return the conversations of all runs in a file; only the runs are held in memory."""
    runs: dict[str, Json] = {}
    yield from examples_from(records(path), partial(_take, runs=runs))
    yield from conversations_of(_traces(runs.values()))


def _take(found: Mapping[str, Any], runs: dict[str, Json]) -> Sequence[Example]:
    """Add the runs of a record, a later one to the earlier one of its id; no example is whole yet.

    Raises ValueError if a run has no id.
    """
    is_batch = "post" in found or "patch" in found
    batch = [*(found.get("post") or []), *(found.get("patch") or [])] if is_batch else [found]
    for run in batch:
        if name := identity(run, "id"):
            known = runs.setdefault(name, {})
            known.update({key: value for key, value in run.items() if value not in (None, {}, [], "")})
    if not all(identity(run, "id") for run in batch):
        raise ValueError('a run in it has no "id"' if is_batch else 'it is no run: it has no "id"')
    return ()


def _traces(runs: Iterable[Json]) -> Iterator[Trace]:
    traces: dict[str, Trace] = {}
    for run in runs:
        name = str(run.get("trace_id") or run["id"])
        trace = traces.setdefault(name, Trace(trace_id=name))
        trace.parents[str(run["id"])] = str(run.get("parent_run_id") or "")
        try:
            _add(run, trace)
        except REFUSALS as error:
            trace.refused.append(Unreadable(f"run {run['id']}", reason_of(error)))
    return iter(traces.values())


def _add(run: Json, trace: Trace) -> None:
    """Add a run to its trace. Raises ValueError if a model call has no answer."""
    told = mapping(mapping(run.get("extra")).get("metadata"))
    trace.session = trace.session or identity(told, *_THREADS)
    kind, answer = run.get("run_type"), run.get("outputs")
    if kind == "llm":
        trace.calls.append(_call(run, told))
    elif kind == "tool":
        arguments = first(mapping(run.get("inputs")), "input") or run.get("inputs")
        result = first(mapping(answer), "output") or answer
        trace.runs.append(filled(name=run.get("name"), arguments=arguments, result=result))
        trace.within[str(run["id"])] = trace.runs[-1]
    elif agent := told.get("lc_agent_name"):
        trace.agents[str(run["id"])] = str(agent)
    if not run.get("parent_run_id"):
        trace.metadata |= _metadata(run, told)
        if kind != "llm":
            trace.root = (*asked(run.get("inputs")), *answered(answer))


def _call(run: Json, told: Mapping[str, Any]) -> Call:
    question, answer = mapping(run.get("inputs")), mapping(run.get("outputs"))
    turns = answered(answer)
    if not turns:
        raise ValueError(f"the model call has no answer: {run.get('error') or 'it has no outputs'}")
    started, ended = moment(run.get("start_time")), moment(run.get("end_time"))
    counted = first(answer, "usage_metadata", "usage") or mapping(answer.get("llm_output")).get("token_usage")
    model = first(answer, "model") or first(told, "ls_model_name") or question.get("model")
    return Call(
        call_id=str(run["id"]),
        asked=tuple(asked(question)),
        answered=tuple(turns),
        started=started,
        seconds=seconds_between(started, ended),
        details={**filled(model=model), **(usage(counted) or usage(run))},
    )


def _metadata(run: Json, told: Mapping[str, Any]) -> Json:
    """Return the outermost run's metadata on the whole trace."""
    own = {name: value for name, value in told.items() if not name.startswith("ls_") and name not in _THREADS}
    feedback = mapping(run.get("feedback_stats"))
    scores = [{"name": name, **mapping(each)} for name, each in feedback.items()]
    return {**own, **filled(name=run.get("name"), tags=run.get("tags"), error=run.get("error"), scores=scores)}
