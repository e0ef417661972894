"""Faults of simulated users, found without a model in what a scenario says and what was said.

    repeats_itself       says again, word for word, what was answered, if that had anything to do with it
    speaks_as_assistant  offers help, or does for others what is the app's to do
    empty_message        says nothing
    left_while_asked     leaves satisfied, or handed over, while the app waits for an answer
    never_states_goal    says not a word of what it came for, where that names a number, an address or a quoted name
    leaks_expectation    quotes how the app is to be judged
    changes_fact         tells a number or address nearly as it was given, or told before, and not quite
    switches_language    writes in a language that nobody has brought up

Nobody is accused of what the scenario asks for (`asked_for`). A detector rather says nothing than accuses a person:
`python -m benchmarks.users.faults` prints how many of each it catches, and how many people it accuses.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import get_args

from rapidfuzz.distance import Levenshtein
from rapidfuzz.fuzz import ratio

from simeval.core.conversation import GIVEN, LEFT, USER_FAULTS, Conversation, UserFaultKind
from simeval.core.languages import ANY, has_latin_letters, is_script, language_of, named_languages
from simeval.core.stems import content_stems
from simeval.core.wording import (
    agrees,
    asks_again,
    assistant_phrase,
    is_empty,
    told_words,
    topics,
    words,
)
from simeval.engine.users.asked_for import asked_for
from simeval.engine.users.identifiers import Identifier, identifiers, is_told, names_of_things, squeezed
from simeval.engine.users.state import is_held, read_state, takes_leave
from simeval.suites.scenario import ScenarioTest

KINDS: tuple[UserFaultKind, ...] = get_args(UserFaultKind)

LEAST_REPEATED = 6  # words of a message that people do not say twice by chance
LEAST_TOLD = 3  # words among them that are no courtesy
NEARLY_EQUAL = 93  # of 100: how alike two messages are where one repeats the other
ASKED_AGAIN = 90  # of 100: how alike messages are that ask for one thing again and again
LONG_GOAL = 15  # of so many, one is said by chance
LEAST_QUOTED = 6  # words in a row that are no chance
LEAST_QUOTED_MEANING = 3  # words among them that carry meaning
MOST_CHANGED = 2  # characters by which an identifier is the other one, told wrong, or
CHANGED_OF = 5  # one in so many characters of a long one
TRIED = 2  # answers of the app after which a person may give up, whatever is asked

_MARKUP = re.compile(r"<[^<>]*>")
_GENERIC = content_stems(
    "want wants need needs ask asks asking try tries know like help find out question questions information make made "
    "go goes going look looking learn new wonder wonders thing things service support chat conversation first interact "
    "interacted"
)


@dataclass(frozen=True, slots=True)
class UserFault:
    """One fault: of which kind, in which message (its place in the conversation), and what shows it."""

    kind: UserFaultKind
    place: int
    evidence: str = ""

    def __str__(self) -> str:
        return f"{self.kind} (message {self.place + 1}{': ' if self.evidence else ''}{self.evidence})"


@dataclass(frozen=True, slots=True)
class _Talk:
    """A conversation as detectors read it: what the user said, and the app, each with its place."""

    scenario: ScenarioTest
    conversation: Conversation
    user: Sequence[tuple[int, str]]
    app: Sequence[tuple[int, str]]
    script: str  # all that the user was told

    def before(self, place: int) -> list[str]:
        """Return what was said before a place, by whomever."""
        return [message.content for message in self.conversation.messages[:place]]

    def app_before(self, place: int) -> list[str]:
        """Return what the app said before a place."""
        return [text for at, text in self.app if at < place]


def find_faults(scenario: ScenarioTest, conversation: Conversation) -> tuple[UserFault, ...]:
    """Return the faults of the user in a conversation, at most one of a kind, in the order of the kinds.

    What the scenario asks for, or allows, is none.
    """
    said = list(enumerate(conversation.messages))
    style = " ".join((conversation.writing_style or {}).values())
    talk = _Talk(
        scenario,
        conversation,
        user=[(place, message.content) for place, message in said if message.role == "user"],
        app=[(place, message.content) for place, message in said if message.role == "assistant"],
        script=f"{scenario.given}\n{scenario.when}\n{style}",
    )
    if not talk.user:
        return ()
    none = asked_for(scenario)
    given = {place for place, message in said if GIVEN in message.metadata}  # nobody simulated said these
    found = (
        next((fault for fault in _DETECTORS[kind](talk) if fault.place not in given), None)
        for kind in KINDS
        if kind not in none
    )
    return tuple(fault for fault in found if fault is not None)


def with_faults(conversation: Conversation, faults: Sequence[UserFault]) -> Conversation:
    """Return a conversation with its user's faults noted on the messages that show them."""
    messages = list(conversation.messages)
    for fault in faults:
        message = messages[fault.place]
        noted = {**message.metadata.get(USER_FAULTS, {}), fault.kind: fault.evidence}
        messages[fault.place] = replace(message, metadata={**message.metadata, USER_FAULTS: noted})
    return replace(conversation, messages=tuple(messages))


def _repeats_itself(talk: _Talk) -> Iterator[UserFault]:
    said: list[tuple[int, str, str]] = []
    for place, text in talk.user:
        spoken = " ".join(words(text))
        answered = talk.app_before(place)[-1:]
        is_long = spoken.count(" ") + 1 >= LEAST_REPEATED and len(told_words(text)) >= LEAST_TOLD
        if is_long and not any(map(asks_again, answered)):
            for earlier, before, heard in said:
                if not _says_the_same(spoken, before) or _is_asked_the_same(answered, heard):
                    continue
                if not _is_misunderstood(talk, earlier, place):
                    yield UserFault("repeats_itself", place, f"as message {earlier + 1}")
        said.append((place, spoken, "".join(answered)))


def _is_misunderstood(talk: _Talk, first: int, place: int) -> bool:
    """Return whether the user asks again because the app has not understood.

    Since the `first` time nothing else was asked, and no answer so far has anything to do with what was said to it, or
    with what the user is here for; somebody who just chats is here for nothing. (That one answer shares nothing with
    the question is not enough: "Sure, where at?" does not either, and of 97% caught repeats 66% would be left.)
    """
    if not any(not each.isascii() or content_stems(each) - _GENERIC for each in topics(talk.scenario.when)):
        return False
    asked = [" ".join(words(text)) for at, text in talk.user if first <= at <= place]
    if any(ratio(one, other) < ASKED_AGAIN for one, other in pairwise(asked)):
        return False
    told = [text for at, text in talk.user if at <= place]
    about = topics("\n".join([talk.scenario.given, talk.scenario.when, *told]))
    return not any(about & topics(answer) for answer in talk.app_before(place))


def _says_the_same(spoken: str, before: str) -> bool:
    """Return whether two messages differ in a few letters at most; another number says another thing."""
    return ratio(spoken, before, score_cutoff=NEARLY_EQUAL) > 0 and _digits(spoken) == _digits(before)


def _digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))


def _is_asked_the_same(answered: Sequence[str], heard: str) -> bool:
    """Return whether the app has said again what was answered so before: then it is the app that repeats itself."""
    return bool(heard) and any(ratio(answer, heard) >= NEARLY_EQUAL for answer in answered)


def _speaks_as_assistant(talk: _Talk) -> Iterator[UserFault]:
    for place, text in talk.user:
        if phrase := assistant_phrase(text):
            yield UserFault("speaks_as_assistant", place, repr(phrase))


def _empty_message(talk: _Talk) -> Iterator[UserFault]:
    for place, text in talk.user:
        if is_empty(text):
            yield UserFault("empty_message", place)


def _left_while_asked(talk: _Talk) -> Iterator[UserFault]:
    if talk.conversation.ended not in LEFT:
        return
    last, text = talk.user[-1]
    messages = talk.conversation.messages
    took_leave = takes_leave(messages[last]) or last == len(messages) - 1
    heard = messages[:last] if took_leave else messages
    answers = sum(message.role == "assistant" for message in heard)
    is_tired = talk.conversation.ended == "gave_up" and answers >= TRIED
    if is_tired or not answers or (took_leave and not agrees(text)) or not is_held(talk.scenario, heard):
        return
    if read_state(talk.scenario, heard, patience=1).is_asked:
        yield UserFault("left_while_asked", last)


def _never_states_goal(talk: _Talk) -> Iterator[UserFault]:
    # a way to behave can be tried without a word of its description; a goal that names things, hardly
    when = talk.scenario.when
    goal, things = content_stems(when) - _GENERIC, names_of_things(when)
    everything = " ".join(_MARKUP.sub(" ", text) for _, text in talk.user)
    if not things or any(is_told(each, [everything]) for each in things):
        return
    languages = {language_of(talk.scenario.given), language_of(when), language_of(everything)}
    is_english = (languages | named_languages(talk.script)) - {""} == {"en"}
    if not is_english:
        return
    said = content_stems(everything)
    stated = [one for one in goal if one in said or any(_is_akin(one, other) for other in said)]
    if len(stated) <= (len(goal) >= LONG_GOAL):
        yield UserFault("never_states_goal", talk.user[-1][0])


def _is_akin(one: str, other: str) -> bool:
    return len(one) >= 5 and one[:5] == other[:5]


def _leaks_expectation(talk: _Talk) -> Iterator[UserFault]:
    wanted = [words(each.behaviour) for each in talk.scenario.expectations if each.behaviour]
    secret = frozenset[tuple[str, ...]]().union(*map(_runs, wanted))
    for place, text in talk.user if secret else ():
        for run in sorted(_runs(words(text)) & secret):
            if run in _runs(words(talk.script)):
                continue
            is_heard = any(run in _runs(words(each)) for each in talk.app_before(place))
            if not is_heard and len(content_stems(" ".join(run))) >= LEAST_QUOTED_MEANING:
                yield UserFault("leaks_expectation", place, repr(" ".join(run)))


@lru_cache(maxsize=1_000)
def _runs(spoken: tuple[str, ...]) -> frozenset[tuple[str, ...]]:
    """Return all runs of so many words of a text."""
    return frozenset(tuple(spoken[at : at + LEAST_QUOTED]) for at in range(len(spoken) - LEAST_QUOTED + 1))


def _changes_fact(talk: _Talk) -> Iterator[UserFault]:
    if not any(identifiers(text) for _, text in talk.user):
        return
    known = list(identifiers(talk.script))
    script = squeezed(talk.script)
    for place, text in talk.user:
        for each in identifiers(text):
            bare = squeezed(each.value)
            if bare in script or bare in squeezed(" ".join(talk.app_before(place))):
                continue
            for before in known:
                if _is_told_wrong(each, before):
                    yield UserFault("changes_fact", place, f"{each.written!r}, and before {before.written!r}")
            known.append(each)


def _is_told_wrong(each: Identifier, before: Identifier) -> bool:
    """Return whether an identifier is nearly another one; one that is quite different may name another thing."""
    most = max(MOST_CHANGED, len(before.value) // CHANGED_OF)
    return before.shape == each.shape and 0 < Levenshtein.distance(before.value, each.value) <= most


def _switches_language(talk: _Talk) -> Iterator[UserFault]:
    if not any(language_of(text) for _, text in talk.user):
        return
    named = named_languages(talk.script)
    own = {language_of(talk.script)} - {""}
    for place, text in talk.user:
        named |= named_languages(text)
        found = language_of(text)
        if not found or found in own or ANY in named:
            continue
        if found not in named and not _is_first_language(found, own, talk.before(place)):
            yield UserFault("switches_language", place, found)
        own.add(found)


def _is_first_language(found: str, own: Collection[str], before: Sequence[str]) -> bool:
    """Return whether nobody has written in another language before, or the app has in this one."""
    text = "\n".join(before)
    if found in (language_of(text), *map(language_of, before)):
        return True
    return not (own or language_of(text) or (is_script(found) and has_latin_letters(text)))


_DETECTORS: Mapping[UserFaultKind, Callable[[_Talk], Iterator[UserFault]]] = {
    "repeats_itself": _repeats_itself,
    "speaks_as_assistant": _speaks_as_assistant,
    "empty_message": _empty_message,
    "left_while_asked": _left_while_asked,
    "never_states_goal": _never_states_goal,
    "leaks_expectation": _leaks_expectation,
    "changes_fact": _changes_fact,
    "switches_language": _switches_language,
}
