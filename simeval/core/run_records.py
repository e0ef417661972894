"""What a store keeps of a run beside its trials: rubrics, replies, usage; and what a resumed run finds there."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from simeval.core.trial import Score, TrialConversation
from simeval.core.usage import Usage

TrialKey = tuple[int, int]  # the scenario's position in the suite, and the trial's index


@dataclass(frozen=True, slots=True, kw_only=True)
class RubricRecord:
    """A rubric that a run judges by, under the key that says what it was made from."""

    key: str
    model: str
    expected_behavior: str
    levels: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyRecord:
    """A model's reply, under a key of everything that it depends on."""

    key: str
    model: str
    role: str
    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """A sign of life of a run, with the seconds and usage of its present sitting so far."""

    seconds: float
    usage: Mapping[str, Usage] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumableRun:
    """What a store holds of a run that is to be resumed.

    `held` are the conversations that were finished, also those that the app failed in; `scores` the scores there
    are, by the expectation's position. What failed for another reason, or was never finished, is not there.
    `seconds` and `usage` are those of all its sittings; `owner` names the process that is still at it, if one is.
    """

    run_id: str
    seed: int
    started: datetime
    definition: Mapping[str, Any]
    seconds: float = 0.0
    usage: Mapping[str, Usage] = field(default_factory=dict)
    owner: str = ""
    held: Mapping[TrialKey, TrialConversation] = field(default_factory=dict)
    scores: Mapping[TrialKey, Mapping[int, Score]] = field(default_factory=dict)
    rubrics: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
