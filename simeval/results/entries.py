"""Records as the lines of a journal."""

from dataclasses import asdict

from simeval.core.run_records import ControlRecord, Cut, Heartbeat, ReplyRecord, RubricRecord, Start
from simeval.core.serialization import Json, encode_conversation, encode_message, encode_result, plain
from simeval.core.trial import TrialConversation, TrialResult
from simeval.core.version import __version__
from simeval.results.document import RunHead
from simeval.results.encoding import encode_expectation, encode_run
from simeval.results.experiment import ExperimentResult, encode_experiment
from simeval.results.suite import RunRecord, ScenarioResult, SuiteResult

OfATrial = Start | Cut | TrialConversation | TrialResult
OfARun = RunRecord | RubricRecord | ControlRecord | ReplyRecord | Heartbeat | SuiteResult | ExperimentResult


def encode_entry(entry: OfATrial | OfARun) -> list[Json]:  # noqa: C901  (one case for each)
    """Return the entry of one record in a journal of JSON lines; "type" is its kind."""
    match entry:
        case RunRecord():
            return [_encode_run(entry)]
        case Start():
            return [_encode_start(entry)]
        case Cut():
            return [{"type": "cut", **asdict(entry.trial)}]
        case TrialConversation():
            failure = asdict(entry.failure) if entry.failure else None
            conversation = encode_conversation(entry.conversation)
            return [{"type": "conversation", **asdict(entry.trial), **conversation, "failure": failure}]
        case TrialResult():
            results = [encode_result(result) for result in entry.results]
            return [{"type": "judgement", **asdict(entry.trial), "results": results}]
        case RubricRecord():
            return [{"type": "rubric", **plain(asdict(entry))}]
        case ControlRecord():
            return [{"type": "control", **asdict(entry)}]
        case ReplyRecord():
            return [{"type": "reply", **asdict(entry)}]
        case Heartbeat():
            usage = {role: asdict(each) for role, each in entry.usage.items()}
            return [{"type": "usage", "seconds": round(entry.seconds, 3), "by_role": usage}]
        case SuiteResult():
            return [*(_encode_verdicts(result) for result in entry), *encode_entry(entry.run)]
        case ExperimentResult():
            return [{"type": "experiment", **encode_experiment(entry, version=__version__)}]


def _encode_run(run: RunRecord) -> Json:
    """Return the facts of a run, and the plan of its scenarios."""
    scenarios = [{"title": t, "sample_size": n, "expectations": list(labels)} for t, n, labels in run.scenarios]
    head = RunHead(**run.head(None, "", gate_met=False))
    return {"type": "run", **encode_run(head), "suite": scenarios}


def _encode_start(start: Start) -> Json:
    if start.messages is None:
        return {"type": "start", **asdict(start.trial)}
    turns = [encode_message(message) for message in start.messages]
    return {"type": "turn", **asdict(start.trial), "turns": turns, "state": start.state}


def _encode_verdicts(result: ScenarioResult) -> Json:
    expectations = [encode_expectation(expectation.document()) for expectation in result.expectations]
    return {"type": "verdicts", "title": result.title, "outcome": result.outcome, "expectations": expectations}
