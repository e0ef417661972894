"""What passes between a run and its workers: "give me a trial"; "here is its conversation, and its scores"."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from simeval.core.conversation import Conversation
from simeval.core.run_records import Start
from simeval.core.serialization import (
    Json,
    decode_conversation,
    decode_message,
    encode_conversation,
    encode_message,
    plain,
)
from simeval.core.trial import Failure, Score, Trial, TrialConversation
from simeval.core.usage import Usage

LEASE_SECONDS = 30.0  # without a sign of life, after which a worker's trials are lost


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """One trial for a worker.

    A conversation that was `held` before is only measured, one that was `begun` goes on where it was. Expectations in
    the places of `settled` need no more scores, of any trial; those of `known` have theirs of this one. `rubrics` are
    those of its scenario that a model wrote, by their keys.
    """

    trial: Trial
    held: TrialConversation | None = None
    begun: Start | None = None
    settled: frozenset[int] = frozenset()
    known: frozenset[int] = frozenset()
    rubrics: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What became of an assignment: the conversation, and a score or a failure for each expectation.

    `usage` is what its worker has used since its last delivery. `unusable` says of a model that no call to it can
    succeed (its name, the kind of error, the problem): that ends the run, as it does in one process.
    """

    conversation: Conversation
    failure: Failure | None = None
    results: tuple[Score | Failure, ...] = ()
    usage: Mapping[str, Usage] = field(default_factory=dict)
    unusable: tuple[str, Any, str] | None = None


class TrialLost(Exception):
    """A worker is gone, or silent for too long, with a trial under way."""


class Workers(Protocol):
    """Those who work for a run elsewhere."""

    async def do(self, assignment: Assignment) -> Delivery:
        """Have a trial held and measured, once. Raises TrialLost where its worker is lost, and StoreError."""


def encode_assignment(assignment: Assignment) -> str:
    """Return an assignment as JSON, in ASCII."""
    held, begun = assignment.held, assignment.begun
    found: Json = {
        "trial": asdict(assignment.trial),
        "held": None if held is None else _encode_held(held.conversation, held.failure),
        "begun": None,
        "settled": sorted(assignment.settled),
        "known": sorted(assignment.known),
        "rubrics": {key: dict(levels) for key, levels in assignment.rubrics.items()},
    }
    if begun is not None and begun.messages is not None:
        said = _encode_conversation(Conversation(messages=begun.messages))["turns"]
        found["begun"] = {"said": said, "state": begun.state}
    return json.dumps(found)


def decode_assignment(text: str) -> Assignment:
    """Return the assignment that `encode_assignment` wrote."""
    found = json.loads(text)
    trial, held, begun = Trial(**found["trial"]), found["held"], found["begun"]
    return Assignment(
        trial=trial,
        held=None if held is None else TrialConversation(trial, *_decode_held(held)),
        begun=None if begun is None else Start(trial, tuple(map(decode_message, begun["said"])), begun["state"]),
        settled=frozenset(found["settled"]),
        known=frozenset(found["known"]),
        rubrics=found["rubrics"],
    )


def encode_delivery(delivery: Delivery) -> str:
    """Return a delivery as JSON, in ASCII. Numbers are exact, infinities and NaN among them."""
    found: Json = {
        **_encode_held(delivery.conversation, delivery.failure),
        "results": [_encode_result(each) for each in delivery.results],
        "usage": {role: asdict(used) for role, used in delivery.usage.items()},
        "unusable": delivery.unusable,
    }
    return json.dumps(found)


def decode_delivery(text: str) -> Delivery:
    """Return the delivery that `encode_delivery` wrote."""
    found = json.loads(text)
    conversation, failure = _decode_held(found)
    return Delivery(
        conversation=conversation,
        failure=failure,
        results=tuple(map(_decode_result, found["results"])),
        usage={role: Usage(**used) for role, used in found["usage"].items()},
        unusable=found["unusable"] and tuple(found["unusable"]),
    )


def _encode_held(conversation: Conversation, failure: Failure | None) -> Json:
    return {"conversation": _encode_conversation(conversation), "failure": None if failure is None else asdict(failure)}


def _decode_held(found: Json) -> tuple[Conversation, Failure | None]:
    failure = found["failure"]
    return decode_conversation(found["conversation"]), None if failure is None else Failure(**failure)


def _encode_conversation(conversation: Conversation) -> Json:
    turns = [{**encode_message(each), "seconds": plain(each.seconds)} for each in conversation.messages]  # not rounded
    return {**encode_conversation(conversation), "turns": turns}


def _encode_result(result: Score | Failure) -> Json:
    if isinstance(result, Failure):
        return asdict(result)
    value = result.value if isinstance(result.value, (bool, int, float)) else plain(result.value)
    return {"score": value, "reasoning": result.reasoning, "details": plain(result.kept_details)}


def _decode_result(found: Json) -> Score | Failure:
    if "score" not in found:
        return Failure(**found)
    return Score.of(found["score"], reasoning=found["reasoning"], details=found["details"])
