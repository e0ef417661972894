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

A conversation as detectors of users' faults read it, and a fault that they find. A scenario may ask for behaviour
that is a fault elsewhere, in words (`phrases.jsonl`) or as its `allowed_user_faults`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from inspect import isawaitable
from typing import Any, Protocol, get_args

from simeval.core import seeds
from simeval.core.capture import Caught, capture, place_of
from simeval.core.conversation import LEFT, STATUS, Conversation, Ending, Message, UserFaultKind
from simeval.core.languages import is_script, language_of, named_languages
from simeval.core.phrases import (
    GENERIC,
    Identifier,
    content_stems,
    details,
    facts,
    has,
    identifiers,
    is_akin,
    is_misspelt,
    is_told,
    kin,
    names_of_things,
    told_details,
    typed,
)
from simeval.core.wording import agrees, asks, hands_over, meaningful_topics, promises, topics, words
from simeval.errors import WorldError
from simeval.models.protocol.model import NOT_KNOWN, Status, UserReply
from simeval.models.protocol.prompts import was_asked_before
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

LONG_GOAL, LEAST_OF_GOAL = 15, 3  # of so many words one occurs by chance; topics of a goal without names
LEAST_OF_OWN = 2  # of them that the description of the person lacks
LEAST_MESSAGES = 2  # of a user who has not left, to expect its goal in them
SHORTEST_AKIN = 4  # letters that words of one family begin with
LEAST_OF_PART = 3  # topics of a part of a goal that is never mentioned
LONGEST_GOAL = 40  # words of a goal whose parts are looked for

_WISH = re.compile(r"\b(?:good|nice|great|lovely|fine)\s+(?:day|morning|afternoon|evening|weekend|week)\b", re.I)
_MARKUP = re.compile(r"<[^<>]*>")
_CLAUSE = re.compile(r"[^.!?;\n]+[.!?;]*")
_NOT_PLAIN = re.compile(r"[{}<>\[\]]|(?<!\A)\byou\b(?! want)|\beither\b|\bor\b")
_WANTED = re.compile(r"\b(?:wants?|asks?|needs?|would\s+like|wishes|tries|inquires?)\b(?:\s+(?:for|about|to))?\s+(.+)")
_BETWEEN_PARTS = re.compile(
    r",\s*(?:and\s+)?(?:also\s+|then\s+|finally\s+)?|\s+and\s+(?:also\s+|then\s+)?|\s+as\s+well\s+as\s+|\s+plus\s+"
)
_REASON = re.compile(
    r"[,\s]+(?:because|since|so\s+that|but|although|though|if\s+(?:not|that|it)|unless|(?:before|after)(?!\s+\d)|while|for\s+(?:his|her|their)|in\s+order)\b.*"
)
ANY_SENTENCE, WHOLE_SENTENCE = re.compile(r"[^.!?;。！？؟\n]+"), re.compile(r"[^.!?;。！？؟\n]+[.!?;。！？؟]*")
_QUESTIONS_OF = re.compile(r"[^.!?。！？؟\n]*[?？؟]")
_JOINED = re.compile(  # parts of a goal in any language
    r",\s+|\s+(?:and|und|sowie|et|y|e|en|i|oraz|και|и|а\s+также|और|तथा)\s+|\s+ו(?=\w{3})|\s+و(?=\w{3})|、|，|。|(?<=\w)と(?=\w)|また|并|以及|하고|그리고|(?<=\w)고\s|와\s|과\s"
)
_OFFER = re.compile(
    r"\?\s*$|\b(?:can|could)\s+also\b|\bif\s+you(?:'d|\s+would)?\s+(?:like|want|wish|need)\b|\blet\s+me\s+know\b|\bhappy\s+to\b"
)
_ANSWERS = (  # a question of a goal, and words that show it has been asked or answered
    (
        re.compile(
            r"\s*(?:to\s+(?:learn|know|hear|see|find\s+out)\s+)?(?:when|how\s+(?:long|soon)|by\s+when|until\s+when)\b"
        ),
        re.compile(
            r"\b(?:when|how\s+(?:long|soon))\b|^(?!.*\b(?:was|were|sent|shipped|left|placed|ordered)\b).*(?:day\b|days\b|week|month|today|tomorrow|hours?\b|minutes\b|\d(?:st|nd|rd|th|am|pm)\b|\d:\d\d|\b(?:soon|shortly)\b)"
        ),
    ),
    (
        re.compile(r".*\b(?:how\s+much|costs?|prices?|premium|fees?|charges?|rent)\b"),
        re.compile(
            r"[$€£¥]|\b(?:for|of)\s+free\b|\bfree\s+of\b|^(?!.*\d).*\bfree\b|\b(?:dollars?|euros?)\b|\b\d+\s+(?:pounds?|pence|cents?|francs?|crowns?|yen|rupees?)\b|\bhow\s+much\b"
        ),
    ),
    (
        re.compile(r"\s*(?:if|whether)\b.*\b(?:allowed|permitted|possible|okay|ok)\b"),
        re.compile(r"\b(?:can|could|may)\s+i\b"),
    ),
    (re.compile(r"\s*where\b"), re.compile(r"\bwhere\b|\b(?:in|at|on|near|with)\s")),
)


class Situation(Protocol):
    """The texts that a simulated user knows."""

    @property
    def given(self) -> str:
        """The person that it plays."""

    @property
    def when(self) -> str:
        """The person's aim."""


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

    def untold(self, scenario: Situation) -> tuple[str, ...]:
        """Return the details of a scenario that are not given yet."""
        script = _script_of(scenario)
        if script != self._script:  # the user has found something out
            self._script, self._untold, self._looked = script, details(script), 0
        self._untold = _without(self._untold, script, self.told[self._looked :])
        self._looked = len(self.told)
        return self._untold


def read_state(
    scenario: Situation, history: Sequence[Message], *, patience: int, progress: Progress | None = None
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


def is_held(scenario: Situation, history: Sequence[Message]) -> bool:
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


def _untold(scenario: Situation, told: Sequence[str]) -> tuple[str, ...]:
    script = _script_of(scenario)
    return _without(details(script), script, told)


def _script_of(scenario: Situation) -> str:
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
    heard: Mapping[int, str]  # by the place of a user's message, the app's last one before it; "" without one

    @classmethod
    def of(cls, scenario: ScenarioTest, conversation: Conversation) -> "Talk":
        """Return how detectors read a conversation."""
        said, heard, last = list(enumerate(conversation.messages)), dict[int, str](), ""
        for place, message in said:
            if message.role == "user":
                heard[place] = last
            else:
                last = message.content
        style = " ".join((conversation.writing_style or {}).values())
        return cls(
            scenario,
            conversation,
            user=[(place, message.content) for place, message in said if message.role == "user"],
            app=[(place, message.content) for place, message in said if message.role == "assistant"],
            script=f"{scenario.given}\n{scenario.when}\n{style}",
            heard=heard,
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

    def reply_to(self, place: int) -> str:
        """Return the app's answer to a message; "" without one."""
        messages = self.conversation.messages
        return messages[place + 1].content if place + 1 < len(messages) else ""


Found = Iterator[UserFault]


def asked_for(scenario: ScenarioTest) -> frozenset[UserFaultKind]:
    """Return the faults that are none in a scenario: those it allows, and those its `given` and `when` ask for."""
    return frozenset(scenario.allowed_user_faults) | _in_words(f"{scenario.given}\n{scenario.when}")


@lru_cache(maxsize=1_000)
def _in_words(script: str) -> frozenset[UserFaultKind]:
    read = typed(script)
    kinds: tuple[UserFaultKind, ...] = get_args(UserFaultKind)
    return frozenset(kind for kind in kinds if has(f"asked for {kind}", read))


def never_states_goal(talk: Talk) -> Found:
    """Find users who do not mention a goal that names or wants things; a way to behave needs no description."""
    when = talk.scenario.when
    things = names_of_things(when)
    everything = " ".join(_MARKUP.sub(" ", text) if "<" in text else text for _, text in talk.user)
    if not things and _is_far_from_goal(talk, everything):
        yield UserFault("never_states_goal", talk.user[-1][0])
    if not things or any(is_told(each, [everything]) for each in things):
        return
    if all(has("purchase", typed(each)) for each in (when, everything)):  # as a parcel, perhaps
        return
    languages = {language_of(talk.scenario.given), language_of(when), language_of(everything)}
    is_english = (languages | named_languages(talk.script)) - {""} == {"en"}
    if _is_unstated(when, everything) if is_english else _is_elsewhere(talk, everything):
        yield UserFault("never_states_goal", talk.user[-1][0])


def _is_unstated(when: str, everything: str) -> bool:
    goal, said = content_stems(when) - GENERIC, content_stems(_WISH.sub(" ", everything))
    stated = [one for one in goal if one in said or any(is_akin(one, other) for other in said)]
    return len(stated) <= (len(goal) >= LONG_GOAL)


def _is_far_from_goal(talk: Talk, everything: str) -> bool:
    """Return whether neither side speaks of a goal without names, which is that somebody wants something.

    An answer about the goal shows that the user has asked for it in other words.
    """
    when = typed(talk.scenario.when)
    is_english = when.isascii() and language_of(when) in ("en", "")
    about = meaningful_topics(talk.scenario.when)
    if len(about) < LEAST_OF_GOAL or (is_english and not _WANTED.search(when)):
        return False
    known = topics(talk.scenario.given)
    goal = about - known if len(about - known) >= LEAST_OF_OWN else about
    said = frozenset(each[:SHORTEST_AKIN] for _, text in talk.user for each in topics(text))
    if _among(goal, said) or not _has_said_enough(talk, everything):
        return False
    is_idle = "?" not in typed(everything).replace("？", "?").replace("؟", "?") and not any(map(_wishes, talk.user))
    if has("works now", typed(talk.user[-1][1])) if is_idle else any(topics(text) & about for _, text in talk.user):
        return False
    hoped = about.union(*(topics(each.behaviour or "") for each in talk.scenario.expectations))
    is_served = any(len(topics(text) & hoped) >= LEAST_OF_GOAL for _, text in talk.app)  # of a curt wish, perhaps
    hoped -= known if is_idle else frozenset()
    heard = [_QUESTIONS_OF.sub(" ", text) if is_idle else text for _, text in talk.app]
    if is_served or any(topics(text) & hoped for text in heard):
        return False
    spoken = [typed(_WISH.sub(" ", everything)), *([] if is_idle else [typed(" ".join(heard))])]
    stems = content_stems(when) - GENERIC - (content_stems(talk.scenario.given) if is_idle else frozenset())
    is_spoken = is_english and _is_spoken(when, stems, spoken, content_stems(" ".join(spoken)))
    return not (is_spoken or _is_answered_alike(talk, when))


def _wishes(told: tuple[int, str]) -> bool:
    return has("wish", typed(told[1]))


def _is_answered_alike(talk: Talk, when: str) -> bool:
    """Return whether the user asks for a time or a price as its goal does, and the app gives one."""
    return any(
        has(f"asks {of}", typed(text)) and any(at > place and has(f"tells {of}", typed(told)) for at, told in talk.app)
        for of in values_asked(when)
        for place, text in talk.user
    )


def _is_elsewhere(talk: Talk, everything: str) -> bool:
    """Return whether a user of any language shares nothing with a goal that names something."""
    when = talk.scenario.when
    if not identifiers(when):
        return _is_far_from_goal(talk, everything)
    return _has_said_enough(talk, everything) and not topics(when) & topics(everything)


def _has_said_enough(talk: Talk, everything: str) -> bool:
    """Return whether a user has written two messages, or left, in the language of the goal."""
    if len(talk.user) < LEAST_MESSAGES and talk.conversation.ended not in LEFT:
        return False
    spoken, meant = language_of(everything), language_of(talk.scenario.when)
    is_other = spoken != meant and (is_script(meant) or bool(spoken and meant))
    return not is_other and not named_languages(talk.script)


def part_unsaid(talk: Talk) -> Found:
    """Find satisfied users with a part of their goal that neither side has mentioned, or that the app offered in vain.

    An English goal is taken apart by its words, "wants to know when it arrives, the price and whether it is insured";
    of one in another language a part counts if the app has not met the expectation either.
    """
    if talk.conversation.ended != "goal_satisfied" or not talk.app:
        return
    if unspoken := _unspoken(talk):
        yield UserFault("part_unsaid", talk.user[-1][0], unspoken)
    parts = _parts(talk.scenario.when)
    if len(parts) < 2:
        return
    known = content_stems(" ".join(said := _spoken(talk)))
    common = frozenset.intersection(*(stems for _, stems in parts))
    own = ((part, stems - common) for part, stems in parts)
    unsaid = [part for part, stems in own if len(stems) > 1 and not _is_spoken(part, stems, said, known)]
    if unsaid and language_of(" ".join(text for _, text in talk.user)) in ("en", ""):
        yield UserFault("part_unsaid", talk.user[-1][0], repr(unsaid[0]))


def _unspoken(talk: Talk) -> str:
    """Return a part of a goal in another language than English whose topics neither side mentions."""
    parts = _parts_of_any(talk.scenario.when)
    if len(parts) < 2 or any(has("refusal", typed(text)) for _, text in talk.app):
        return ""
    spoken = {language_of(text) for _, text in talk.user} - {""}
    if (spoken and language_of(talk.scenario.when) not in {*spoken, ""}) or _asks_for_something_new(talk):
        return ""
    said = frozenset(each[:SHORTEST_AKIN] for text in _spoken(talk) for each in topics(text))
    known = topics(talk.scenario.given)
    own = ((part, about - known or about) for part, about in parts[1:] if not values_asked(part))
    unsaid = next((part for part, about in own if len(about) >= LEAST_OF_PART and not _among(about, said)), "")
    hoped = [
        meaningful_topics(part) for each in talk.scenario.expectations for part in _JOINED.split(each.behaviour or "")
    ]
    return unsaid if any(about and not _among(about, said) for about in hoped) else ""


def _asks_for_something_new(talk: Talk) -> bool:
    """Return whether a user asks for something that nobody has named: perhaps a part of its goal in other words."""
    known = topics(talk.script)
    asked = ((place, topics(each)) for place, text in talk.user for each in _QUESTIONS_OF.findall(text))
    return any(about and not about & known.union(*map(topics, talk.before(place))) for place, about in asked)


def _among(about: frozenset[str], said: frozenset[str]) -> bool:
    return any(each[:SHORTEST_AKIN] in said for each in about)


def values_asked(text: str) -> list[str]:
    """Return what a text in small letters asks for that an answer shows: "when", "price"."""
    return [of for of in ("when", "price") if has(f"asks {of}", text)]


@lru_cache(maxsize=1_000)
def _parts_of_any(when: str) -> tuple[tuple[str, frozenset[str]], ...]:
    read = typed(when)
    if (read.isascii() and language_of(when) in ("en", "")) or len(words(when)) > 2 * LONGEST_GOAL or "{" in when:
        return ()
    parts = [(part.strip(), meaningful_topics(part)) for part in _JOINED.split(read)]
    return tuple((part, about) for part, about in parts if about)


@lru_cache(maxsize=1_000)
def _parts(when: str) -> tuple[tuple[str, frozenset[str]], ...]:
    """Return the parts of a goal, each with the stems of its words; none of a long one, or of one in other forms."""
    if _NOT_PLAIN.search(typed(when)) or len(words(when)) > LONGEST_GOAL or language_of(when) not in ("en", ""):
        return ()
    wanted = [match[1] for match in map(_WANTED.search, _CLAUSE.findall(typed(when))) if match]
    parts = [each for text in wanted for each in _BETWEEN_PARTS.split(_REASON.sub("", text))]
    with_stems = ((part, content_stems(part) - GENERIC) for part in parts)
    return tuple((part, stems) for part, stems in with_stems if stems)


def _spoken(talk: Talk) -> Sequence[str]:
    """Return the sentences of both sides, without offers of the app that the user has not accepted."""
    found: list[str] = []
    is_taken = False
    for message in reversed(talk.conversation.messages):
        sentences = _CLAUSE.findall(typed(message.content))
        if message.role == "user":
            is_taken = agrees(message.content)
        elif not is_taken:
            sentences = [each for each in sentences if not _OFFER.search(each)]
        found += sentences
    return found


def _is_spoken(part: str, stems: frozenset[str], said: Sequence[str], known: frozenset[str]) -> bool:
    akin = kin(stems)
    if akin & known or any(is_akin(one, other) or is_misspelt(one, other) for one in akin for other in known):
        return True
    return any(asked.match(part) and any(map(told.search, said)) for asked, told in _ANSWERS)
