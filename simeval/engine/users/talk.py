"""A conversation as detectors of users' faults read it, and a fault that they find.

Behaviour that a scenario asks of its user and that would be a fault elsewhere: to repeat or contradict itself.

Detected by the words of `given` and `when` (`phrases.jsonl`), English and a few of other languages; a scenario lists
the rest itself, as its `allowed_user_faults`.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import get_args

from simeval.core.conversation import Conversation, UserFaultKind
from simeval.core.phrases import has, typed
from simeval.suites.scenario import ScenarioTest


@dataclass(frozen=True, slots=True)
class UserFault:
    """One fault: its kind, its message (by place in the conversation), and the evidence."""

    kind: UserFaultKind
    place: int
    evidence: str = ""

    def __str__(self) -> str:
        return f"{self.kind} (message {self.place + 1}{': ' if self.evidence else ''}{self.evidence})"


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation with the messages of each side and their places; `script` is all the user knew."""

    scenario: ScenarioTest
    conversation: Conversation
    user: Sequence[tuple[int, str]]
    app: Sequence[tuple[int, str]]
    script: str

    @classmethod
    def of(cls, scenario: ScenarioTest, conversation: Conversation) -> "Talk":
        """Return how detectors read a conversation."""
        said = list(enumerate(conversation.messages))
        style = " ".join((conversation.writing_style or {}).values())
        return cls(
            scenario,
            conversation,
            user=[(place, message.content) for place, message in said if message.role == "user"],
            app=[(place, message.content) for place, message in said if message.role == "assistant"],
            script=f"{scenario.given}\n{scenario.when}\n{style}",
        )

    def before(self, place: int) -> list[str]:
        """Return the messages before a place, by either side."""
        return [message.content for message in self.conversation.messages[:place]]

    def app_before(self, place: int) -> list[str]:
        """Return the app's messages before a place."""
        return [text for at, text in self.app if at < place]

    def answer_before(self, place: int) -> list[str]:
        """Return the app's last message before a place, if any."""
        last = bisect_left(self.app, place, key=itemgetter(0))
        return [text for _, text in self.app[max(0, last - 1) : last]]


Found = Iterator[UserFault]


def asked_for(scenario: ScenarioTest) -> frozenset[UserFaultKind]:
    """Return the faults that are none in a scenario: those it allows, and those its `given` and `when` ask for."""
    return frozenset(scenario.allowed_user_faults) | _in_words(f"{scenario.given}\n{scenario.when}")


@lru_cache(maxsize=1_000)
def _in_words(script: str) -> frozenset[UserFaultKind]:
    read = typed(script)
    kinds: tuple[UserFaultKind, ...] = get_args(UserFaultKind)
    return frozenset(kind for kind in kinds if has(f"asked for {kind}", read))
