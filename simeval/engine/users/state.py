"""The state of a simulated user, and when it leaves. The model words the messages; their course is decided here.

                 the app asks, or has agreed and not done it          nothing that is open
    [talks] ◄──────────────────────────────────────────── answer ──────────────────────────► [may leave]
       ▲                                                                                          │
       └────────────────────────── open, no_progress ◄── status ──► satisfied, handed_off, gave_up ──► [left]

A user who was asked before, and does not know a fact that the app needs, may leave while it asks.

A turn without progress costs one of the patience that the trial's seed gave; without any left the user gives up,
whatever is asked. All of it follows from the messages, so that a conversation that was broken off goes on as it was.

Actions of a simulated user with tools of its own: those the app asks for, by a rule and not by a model.

A tool is used when one sentence of an answer has all the words of its name ("restart_phone": "Please restart your
phone") and denies nothing. The user knows their results from then on.

A conversation as detectors of users' faults read it, and a fault that they find.

Behaviour that a scenario asks of its user and that would be a fault elsewhere: to repeat or contradict itself.

Detected by the words of `given` and `when` (`phrases.jsonl`), English and a few of other languages; a scenario lists
the rest itself, as its `allowed_user_faults`.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from inspect import isawaitable
from operator import itemgetter
from typing import Any, get_args

from simeval.core import seeds
from simeval.core.capture import Caught, capture, place_of
from simeval.core.conversation import STATUS, Conversation, Ending, Message, UserFaultKind
from simeval.core.identifiers import Identifier, details, facts, identifiers, told_details
from simeval.core.phrases import content_stems, has, typed
from simeval.core.wording import asks, hands_over, promises, words
from simeval.errors import WorldError
from simeval.models.protocol.prompts import was_asked_before
from simeval.models.protocol.replies import NOT_KNOWN, Status, UserReply
from simeval.suites.scenario import ScenarioTest

PATIENCE = (3, 6)  # turns without progress that a person bears, at least and at most
LONGEST_HOLD = 3  # answers in a row that may keep a person who has given nothing new meanwhile

ENDINGS: Mapping[Status, Ending] = {
    "satisfied": "goal_satisfied",
    "gave_up": "gave_up",
    "handed_off": "handed_off",
    NOT_KNOWN: "not_in_scenario",
}

_SENTENCE = re.compile(r"[^.!?\n]+[.!?\n]*")
_DENIED = re.compile(r"\b(?:not|never|no|without)\b|n't\b", re.I)

UserTool = Callable[[], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class UserState:
    """The knowledge and mood of a simulated user before its next message.

    `untold` are the details of its situation and goal that it has not given yet; `is_asked` means that the app's last
    message waits for an answer, `is_held` that the user cannot leave now; `patience` is the rest of it.
    """

    untold: tuple[str, ...]
    is_asked: bool
    is_held: bool
    patience: int

    @property
    def may_leave(self) -> bool:
        """Whether a person would leave now, if the goal is reached."""
        return not self.is_held

    @property
    def has_had_enough(self) -> bool:
        """Whether the user leaves without another word."""
        return self.patience <= 0


def draw_patience(seed: int) -> int:
    """Draw the patience of the user of the trial that has this seed."""
    return seeds.generator(seed, "patience").randint(*PATIENCE)


@dataclass(slots=True)
class Progress:
    """The state of one conversation, with each message read once.

    `told` holds the user's messages, `spent` the turns without progress: by the user's opinion, or with an answer that
    the app has given before.
    """

    told: list[str] = field(default_factory=list)
    spent: int = 0
    _heard: set[tuple[str, ...]] = field(default_factory=set)
    _read: int = 0
    _script: str = ""
    _untold: tuple[str, ...] = ()
    _looked: int = 0  # number of `told` texts searched for details of the script

    def read(self, history: Sequence[Message]) -> None:
        """Read the new part of the conversation."""
        for message in history[self._read :]:
            if message.role == "assistant":
                spoken = words(message.content)
                self.spent += spoken in self._heard
                self._heard.add(spoken)
            else:
                self.spent += message.metadata.get(STATUS) == "no_progress"
                self.told.append(message.content)
        self._read = len(history)

    def untold(self, scenario: ScenarioTest) -> tuple[str, ...]:
        """Return the details of a scenario that are not given yet."""
        script = _script_of(scenario)
        if script != self._script:  # the user has found something out
            self._script, self._untold, self._looked = script, details(script), 0
        self._untold = _without(self._untold, script, self.told[self._looked :])
        self._looked = len(self.told)
        return self._untold


def read_state(
    scenario: ScenarioTest, history: Sequence[Message], *, patience: int, progress: Progress | None = None
) -> UserState:
    """Return the state of a user with this patience after these messages.

    `progress` is of the same conversation, as far as it was read before.
    """
    progress = progress or Progress()
    progress.read(history)
    answer = history[-1].content if history else ""
    is_asked = bool(history) and asks(answer, after=progress.told[-1] if progress.told else "")
    return UserState(
        untold=progress.untold(scenario),
        is_asked=is_asked,
        is_held=not history or is_held(scenario, history),
        patience=patience - progress.spent,
    )


def decide(state: UserState, reply: UserReply, history: Sequence[Message]) -> tuple[Message, Ending | None]:
    """Return the user's next message, without a time, and how that ends the conversation, if it does.

    An empty message ends it at once. A user who asks something stays, and so does one who may not leave; an earlier
    message is not repeated on leaving.
    """
    message = Message(role="user", content=reply.message)
    if reply.status == "no_progress":
        if state.patience <= 1:
            return replace(message, content=""), "gave_up"
        return replace(message, metadata={STATUS: reply.status}), None
    ending = ENDINGS.get(reply.status)
    may_leave = state.may_leave or (reply.status == NOT_KNOWN and was_asked_before(history))
    if ending is None or not may_leave:
        return message, None
    if any(words(each.content) == words(message.content) for each in history if each.role == "user"):
        message = replace(message, content="")
    elif message.content.rstrip().endswith(("?", "？", "؟")):
        return message, None
    return replace(message, metadata={STATUS: reply.status}), ending


def takes_leave(message: Message) -> bool:
    """Return whether its author left with a message."""
    return message.metadata.get(STATUS) in ENDINGS


def is_held(scenario: ScenarioTest, history: Sequence[Message]) -> bool:
    """Return whether a person would stay after the last answer: it waits for one itself, or has promised something.

    No loop may arise: a user who has been held so by many answers in a row, and had nothing new to give, may leave.
    """
    last = next((place for place in reversed(range(len(history))) if history[place].role == "assistant"), None)
    if last is None or not _holds(history, last):
        return False
    said = [message.content for message in history if message.role == "user"]
    answers = [place for place, message in enumerate(history) if message.role == "assistant"]
    in_a_row = len(answers) > LONGEST_HOLD and all(_holds(history, place) for place in answers[-LONGEST_HOLD - 1 :])
    return not in_a_row or _untold(scenario, said[:-LONGEST_HOLD]) != _untold(scenario, said)


def _holds(history: Sequence[Message], place: int) -> bool:
    """Return whether an answer waits for one, or promises something, and passes nobody on."""
    answer = history[place].content
    said = next((each.content for each in reversed(history[:place]) if each.role == "user"), "")
    return (asks(answer, after=said) or promises(answer)) and not hands_over(answer)


def _untold(scenario: ScenarioTest, told: Sequence[str]) -> tuple[str, ...]:
    script = _script_of(scenario)
    return _without(details(script), script, told)


def _script_of(scenario: ScenarioTest) -> str:
    return f"{scenario.given}\n{scenario.when}"


def _without(untold: tuple[str, ...], script: str, told: Sequence[str]) -> tuple[str, ...]:
    """Return the details of a script that these texts lack."""
    for text in told if untold else ():
        if known := told_details(script, text):
            untold = tuple(each for each in untold if each not in known)
    return untold


@dataclass(slots=True)
class Hands:
    """The tools of one trial's user, and their results; `taken` gives the calls since the last time."""

    tools: Mapping[str, UserTool]
    taken: Callable[[], tuple[Mapping[str, Any], ...]]
    _found: list[str] = field(default_factory=list)

    async def follow(self, answer: str) -> None:
        """Do the actions that an answer of the app asks for. Raises WorldError if a tool fails."""
        for name in tools_asked_for(answer, self.tools):
            came = await capture(partial(_used, self.tools[name]))
            if isinstance(came, Caught):
                raise WorldError(
                    f"has the tool {name} for its user, which failed: {came.error!r}{place_of(came.error)}"
                )
            self._found.append(f"You have done this: {name.replace('_', ' ')}. What came of it: {came}")

    def informed(self, scenario: ScenarioTest) -> ScenarioTest:
        """Return the scenario as the user knows it now."""
        return replace(scenario, given="\n".join([scenario.given, *self._found])) if self._found else scenario


async def _used(tool: UserTool) -> Any:
    came = tool()
    return await came if isawaitable(came) else came


def tools_asked_for(answer: str, names: Iterable[str]) -> list[str]:
    """Return the tools that an answer asks its reader to use, in its order."""
    sentences = [each for each in _SENTENCE.findall(answer.replace("’", "'")) if not _DENIED.search(each)]
    wanted = {name: content_stems(name.replace("_", " ")) for name in names}
    found = [
        name for said in map(content_stems, sentences) for name, words in wanted.items() if words and words <= said
    ]
    return list(dict.fromkeys(found))


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

    @property
    def known(self) -> Sequence[Identifier]:
        """The identifiers of the script, and its numbers in groups but for those of the style: "40-100 words"."""
        told = facts(f"{self.scenario.given}\n{self.scenario.when}")
        return tuple(dict.fromkeys((*identifiers(self.script), *told)))

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
