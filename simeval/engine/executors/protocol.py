"""The messages between a run and its workers: "give me a trial"; "here is its conversation, and its scores"."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from simeval.core.conversation import Conversation
from simeval.core.run_records import RubricRecord, Start
from simeval.core.trial import Failure, Score, Trial, TrialConversation
from simeval.core.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """One trial for a worker.

    A conversation that was `held` before is only measured, one that was `begun` continues. Expectations in the places
    of `settled` need no more scores, of any trial; those of `known` have theirs of this one. `rubrics` are those of its
    scenario that a model wrote, by their keys.
    """

    trial: Trial
    held: TrialConversation | None = None
    begun: Start | None = None
    settled: frozenset[int] = frozenset()
    known: frozenset[int] = frozenset()
    rubrics: Mapping[str, RubricRecord] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """The result of an assignment: the conversation, and a score or a failure for each expectation.

    `usage` is its worker's usage since its last delivery. `unusable` reports a model to which no call can succeed (its
    name, the kind of error, the problem): that ends the run, as it does in one process.
    """

    conversation: Conversation
    failure: Failure | None = None
    results: tuple[Score | Failure, ...] = ()
    usage: Mapping[str, Usage] = field(default_factory=dict)
    unusable: tuple[str, Any, str] | None = None


class TrialLost(Exception):
    """A worker is gone with a trial under way."""


class Workers(Protocol):
    """The workers of a run in other places."""

    async def do(self, assignment: Assignment) -> Delivery:
        """Have a trial held and measured, once. Raises TrialLost where its worker is lost."""
