"""Faults of simulated users, found without a model in a scenario and a conversation.

    repeats_itself       repeats, word for word, a message that was answered, if the answer fitted it at all
    speaks_as_assistant  offers help, or does for others a part of the app's work
    empty_message        writes nothing
    left_while_asked     leaves satisfied, or handed over, while the app waits for an answer, or only promises something
    never_states_goal    writes not a word of its goal, nor does the app, or none of the things that the goal names
    leaks_expectation    quotes how the app is to be judged, or gives it the answer
    changes_fact         gives a number or address nearly as it was given before, and not quite, or is somebody else
    switches_language    writes in a language that nobody has brought up
    recites_script       reads out its own script, as of another person
    plays_both_sides     writes the app's part, too
    breaks_character     speaks of the simulation, or in its marks
    only_thanks          thanks again and again
    invents_fact         gives a number, address or name of its own that nobody has given
    part_unsaid          leaves satisfied, with a part of its goal never spoken of
    ignores_answer       goes on as if the app's answer were another

Nobody is accused of an act that the scenario asks for (`asked_for`). A detector rather misses a fault than accuses a
person: `python -m benchmarks.users.faults` prints how many of each it catches, and how many people it accuses.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import get_args

from rapidfuzz.fuzz import ratio

from simeval.core import closings
from simeval.core.conversation import GIVEN, LEFT, USER_FAULTS, Conversation, UserFaultKind
from simeval.core.languages import ANY, has_latin_letters, is_script, language_of, named_languages
from simeval.core.phrases import (
    content_stems,
    find_all,
    has,
    plain_digits,
    search,
    typed,
)
from simeval.core.wording import (
    agrees,
    asks,
    asks_anything,
    assistant_phrase,
    is_empty,
    meaningful_topics,
    promises,
    topics,
    words,
)
from simeval.engine.users.facts import changes_fact, invents_fact, numbers_in
from simeval.engine.users.repeats import ignores_answer, repeats_itself
from simeval.engine.users.state import (
    ANY_SENTENCE,
    WHOLE_SENTENCE,
    Found,
    Talk,
    UserFault,
    asked_for,
    is_held,
    never_states_goal,
    part_unsaid,
    read_state,
    takes_leave,
)
from simeval.suites.scenario import ScenarioTest

CLEAR = 3  # common words that show another language: two made Swedish Spanish, and Portuguese French
LEAST_QUOTED = 6  # words in a row that are no chance
LEAST_QUOTED_MEANING = 3  # words among them that carry meaning
LEAST_ANSWERED = 3  # topics of an expectation that are no chance in one message
LEAST_WITH_NUMBER = 2  # beside a number of it
ANSWERED = 0.5  # of its topics that neither the script nor the app has
LEAST_VALUES = 2  # weekdays, amounts and such of an expectation that are no chance
TRIED = 2  # answers of the app after which a person may give up, whatever is asked
LEAST_VOID, VOID = 6, 0.3  # words of a message, and the share of different ones in one that means nothing
SHORTEST_VERB = 4  # letters of the verb of a script, in a message that recites it
LEAST_RECITED = 15  # characters of a message that recites the script
RECITED = 90  # of 100: how alike it is to the script
LEAST_ECHOED = 6  # words of a message of the app that a user says again
_ANSWERED = re.compile(
    r"\n\s*\n\s*(?:of\s+course|certainly|sure|gerne?|natürlich|selbstverständlich|bien\s+sûr|claro|por\s+supuesto|certo|com\s+certeza|"
    r"zeker|natuurlijk|oczywiście|конечно|かしこまりました|承知|물론|好的|بالتأكيد|בוודאי|ज़रूर|βεβαίως)(?![^\W_])|[?？؟]\s*\n\s*(?:yes|sure|certainly|of\s+course|no|ja|natürlich|gerne?|nein|oui|bien\s+sûr|non|sí|claro|por\s+supuesto|sì|certo|"
    r"sim|com\s+certeza|ja\s+hoor|zeker|tak|oczywiście|да|конечно|はい|いいえ|네|예|是的?|可以|好的|نعم|بالتأكيد|כן|בטח|हाँ|जी|ναι|βεβαίως)(?![^\W_])"
)
_LABELLED = re.compile(  # "Name: A whole sentence." and not "Phone: 318"
    r"^[^\W\d_][^:：.!?。？！,;\n]{1,30}[:：]\s*(?![\sa-zà-ÿа-я])"
    r"[^\n]*?[^\W\d_]{2,}\s+[^\n]*[^\W\d_]{2,}\s+[^\n]*[.!?…]\s*$",
    re.M,
)
_DASHED = re.compile(r"^\s*[—–]\s*[^\W\d].*[.!?…؟。]\s*$", re.M)  # lines of a dialogue
THANKS_IN_A_ROW = 3
LONGEST_THANKS, LONGEST_LEAVE = 9, 25  # words

_QUESTION = re.compile(r"[?？؟\d]")

KINDS: tuple[UserFaultKind, ...] = get_args(UserFaultKind)


def left_while_asked(talk: Talk) -> Found:
    """Find users who leave with an open question of the app, or satisfied with a mere promise."""
    if talk.conversation.ended not in LEFT:
        return
    last, text = talk.user[-1]
    messages = talk.conversation.messages
    took_leave = takes_leave(messages[last]) or last == len(messages) - 1
    heard = messages[:last] if took_leave else messages
    answers = sum(message.role == "assistant" for message in heard)
    is_tired = talk.conversation.ended == "gave_up" and answers >= TRIED
    if is_tired or not answers or not is_held(talk.scenario, heard):
        return
    is_satisfied = talk.conversation.ended == "goal_satisfied"
    if took_leave and not agrees(text) and not (is_satisfied and _is_mere_thanks(talk, last, text)):
        return
    answer = talk.app_before(len(heard))[-1]
    is_promised = is_satisfied and promises(answer)
    if not is_promised and took_leave and has("accepts", typed(text)) and not has("open question", typed(answer)):
        return
    if is_promised or read_state(talk.scenario, heard, patience=1).is_asked:
        yield UserFault("left_while_asked", last)


def _is_mere_thanks(talk: Talk, place: int, text: str) -> bool:
    """Return whether a message thanks or takes leave, and does not say that the app's advice has worked."""
    return (_is_courtesy(text) or _is_beside(talk, place, text)) and not has("works now", typed(text))


def _is_courtesy(text: str) -> bool:
    """Return whether a message does nothing but thank and take leave, and declines nothing."""
    is_farewell = closings.takes_leave(text) or (_is_small_talk(text) and any(map(closings.takes_leave, _last(text))))
    return is_farewell and not has("denial", typed(text))


def _is_beside(talk: Talk, place: int, text: str) -> bool:
    """Return whether a message only thanks, and has nothing that the app has asked for."""
    if _QUESTION.search(text) or len(words(text)) > LONGEST_LEAVE or not has("courtesy", typed(text)):
        return False
    question = " ".join(each for each in WHOLE_SENTENCE.findall(talk.heard[place]) if asks(each))
    is_own = any(has(each, typed(text)) for each in ("denial", "first person"))
    return not is_own and not topics(question) & topics(text)


def _last(text: str) -> Sequence[str]:
    return [each for each in ANY_SENTENCE.findall(text) if each.strip()][-1:]


def leaks_expectation(talk: Talk) -> Found:
    """Find messages that quote an expectation, direct the app how to answer, or give it the values of the answer."""
    yield from _quoted(talk)
    yield from _answered(talk)
    values = {each for then in talk.scenario.expectations if then.behaviour for each in _values(then.behaviour)}
    for place, text in talk.user:
        directed, shared = search("directs the app", typed(text)), values & _values(text) if values else ()
        if not directed and not shared:
            continue
        heard = typed("\n".join([talk.script, *talk.app_before(place)]))
        if directed and directed[0] not in heard:
            yield UserFault("leaks_expectation", place, repr(directed[0].strip()))
        told = sorted(each for each in shared if each not in heard)
        if len(told) >= LEAST_VALUES and not has("hearsay", typed(text)):
            yield UserFault("leaks_expectation", place, repr(", ".join(told)))


@lru_cache(maxsize=1_000)
def _values(text: str) -> frozenset[str]:
    return frozenset(match[0].strip() for match in find_all("value", typed(plain_digits(text))))


def _answered(talk: Talk) -> Found:
    """Find messages with most of the topics of an answer that neither the script nor the app has brought up."""
    for then in talk.scenario.expectations:
        secret = meaningful_topics(then.behaviour or "") - topics(talk.script)
        least = max(LEAST_ANSWERED, ANSWERED * len(secret))
        for place, text in talk.user if len(secret) >= LEAST_ANSWERED else ():
            told = topics(text) & secret
            if len(told) < LEAST_WITH_NUMBER or has("hearsay", typed(text)):
                continue
            heard = " ".join([talk.script, *talk.app_before(place)])
            told -= topics(heard)
            numbers = [*filter(str.isdigit, numbers_in(text) & numbers_in(then.behaviour or "") - numbers_in(heard))]
            about = [each for each in told if not any(map(str.isdigit, numbers_in(each)))]
            if len(told) >= least or (numbers and len([*filter(str.isalpha, about)]) >= LEAST_WITH_NUMBER):
                yield UserFault("leaks_expectation", place, repr(", ".join(sorted(told))))


def _quoted(talk: Talk) -> Found:
    secret = _secret(tuple(each.behaviour for each in talk.scenario.expectations if each.behaviour))
    firsts = frozenset(run[0] for run in secret)
    for place, text in talk.user if secret else ():
        spoken = words(text)
        begun = (spoken[at : at + LEAST_QUOTED] for at, word in enumerate(spoken) if word in firsts)
        shared = {run for run in begun if run in secret}
        if not shared or has("hearsay", typed(text)):
            continue
        for run in sorted(shared):
            if run in _runs(words(talk.script)):
                continue
            is_heard = any(run in _runs(words(each)) for each in talk.app_before(place))
            meant = content_stems(" ".join(run))
            if not is_heard and len(meant) >= LEAST_QUOTED_MEANING and not meant <= content_stems(talk.script):
                yield UserFault("leaks_expectation", place, repr(" ".join(run)))


@lru_cache(maxsize=1_000)
def _secret(behaviours: tuple[str, ...]) -> frozenset[tuple[str, ...]]:
    """Return all runs of so many words of expectations."""
    return frozenset[tuple[str, ...]]().union(*(_runs(words(each)) for each in behaviours))


@lru_cache(maxsize=1_000)
def _runs(spoken: tuple[str, ...]) -> frozenset[tuple[str, ...]]:
    """Return all runs of so many words of a text."""
    return frozenset(tuple(spoken[at : at + LEAST_QUOTED]) for at in range(len(spoken) - LEAST_QUOTED + 1))


def speaks_as_assistant(talk: Talk) -> Found:
    """Find words of an assistant."""
    for place, text in talk.user:
        if phrase := assistant_phrase(text):
            yield UserFault("speaks_as_assistant", place, repr(phrase))


def empty_message(talk: Talk) -> Found:
    """Find empty messages, and such with the same few words again and again."""
    for place, text in talk.user:
        if is_empty(text) or _is_void(words(text)):
            yield UserFault("empty_message", place)


def _is_void(spoken: Sequence[str]) -> bool:
    return len(spoken) >= LEAST_VOID and len(set(spoken)) <= VOID * len(spoken)


def switches_language(talk: Talk) -> Found:
    """Find messages in a language that nobody has brought up."""
    if not any(language_of(text, least=CLEAR) for _, text in talk.user):
        return
    given, when = talk.scenario.given, talk.scenario.when
    hoped = (each.behaviour or "" for each in talk.scenario.expectations)
    own = {language_of(f"{given}\n{when}"), language_of("\n".join([given, when, *hoped]))} - {""}
    scripts = {language_of(given), language_of(when)}
    for place, text in talk.user:
        found = language_of(text, least=CLEAR)
        if not found or found in own or found in scripts:
            continue
        told = [talk.script, *(text for at, text in talk.user if at <= place)]
        named = frozenset[str]().union(*map(named_languages, told))
        if ANY in named:
            continue
        if found not in named and not _is_first_language(found, own, talk.before(place), talk.reply_to(place)):
            yield UserFault("switches_language", place, found)
        own.add(found)


def _is_first_language(found: str, own: Collection[str], before: Sequence[str], reply: str) -> bool:
    """Return whether nobody has written in another language before, or the app has in this one."""
    text = "\n".join(before)
    if found in (language_of(text), *map(language_of, before)) or (not before and found == language_of(reply)):
        return True
    return not (own or language_of(text) or (is_script(found) and has_latin_letters(text)))


def recites_script(talk: Talk) -> Found:
    """Find messages that read the script out, or speak of the user as "she": of a script in the third person only."""
    told, wanted = _told_of_another(talk.scenario.given, talk.scenario.when), words(talk.scenario.when)
    for place, text in talk.user:
        if len(text) < LEAST_RECITED or has("first person", typed(text)):
            continue
        sentences = [each.strip() for each in ANY_SENTENCE.findall(text)]
        parts = dict.fromkeys([text, *(each for each in sentences if len(words(each)) >= LEAST_QUOTED)])
        is_told = bool(told) and any(_recites(part, told) for part in parts)
        is_read = any(_begins_as(wanted, words(each)) for each in sentences)
        if is_told or is_read:
            yield UserFault("recites_script", place, repr(text))


def _begins_as(wanted: Sequence[str], spoken: Sequence[str]) -> bool:
    """Return whether a sentence begins with a goal, word for word."""
    return len(wanted) >= LEAST_QUOTED and tuple(spoken[: len(wanted)]) == tuple(wanted)


@dataclass(frozen=True, slots=True)
class _Told:
    """A part of a script in the third person: its words, and the verbs among the first of them."""

    read: Sequence[str]
    verbs: frozenset[str]


def _recites(text: str, told: Sequence[_Told]) -> bool:
    """Return whether a message is a part of a script, perhaps with another name for the person, or begins alike."""
    spoken = words(text)
    if has("third person", typed(text)):
        return any(_begins_alike(spoken, each.read) or _are_alike(spoken, each.read) for each in told)
    begun = spoken[:4]
    return any(
        _are_alike(spoken, each.read) and spoken[0] != each.read[1] for each in told if not each.verbs.isdisjoint(begun)
    )


def _are_alike(spoken: Sequence[str], told: Sequence[str]) -> bool:
    return ratio(" ".join(spoken), " ".join(told)) >= RECITED


@lru_cache(maxsize=1_000)
def _told_of_another(given: str, when: str) -> Sequence[_Told]:
    """Return the parts of a script in the third person, each sentence of `when` by itself, too."""
    parts = [words(each.strip()) for each in (when, *ANY_SENTENCE.findall(when), given) if _is_of_another(each)]
    return [_Told(read, frozenset(word for word in read[:3] if len(word) >= SHORTEST_VERB)) for read in parts]


def _is_of_another(text: str) -> bool:
    read = typed(text)
    return has("third person", read) and not has("first person", read)


def _begins_alike(spoken: Sequence[str], told: Sequence[str]) -> bool:
    """Return whether a message begins as the script does, by a verb and a person other than "I"."""
    return spoken[:2] == told[:2] and has("third person", " ".join(told[:2]))


def plays_both_sides(talk: Talk) -> Found:
    """Find messages with the words of two speakers, by the names before them, or of one at the very beginning.

    So is a message that says the app's again, or a question with its answer in the next line.
    """
    for place, text in talk.user:
        read = typed(text)
        is_of_lines = "\n" in text and (
            _ANSWERED.search(read) or any(len(each.findall(text)) > 1 for each in (_LABELLED, _DASHED))
        )
        if is_of_lines or (place and _is_said_by_app(talk, place, text)):
            yield UserFault("plays_both_sides", place, repr(text[:80]))
        if ":" not in read and "：" not in read:
            continue
        roles = {match["role"] for match in find_all("role label", read)}
        if len(roles) > 1 or has("own label", read):
            yield UserFault("plays_both_sides", place, ", ".join(sorted(roles)))


def _is_said_by_app(talk: Talk, place: int, text: str) -> bool:
    spoken = words(text)
    heard = words(talk.heard[place]) if len(spoken) >= LEAST_ECHOED else ()
    if spoken[:1] != heard[:1] or not LEAST_ECHOED <= len(heard) <= 2 * len(spoken):
        return False
    own = [words(told) for at, told in talk.user if at < place]
    return ratio(" ".join(spoken), " ".join(heard)) >= RECITED and heard not in own


def breaks_character(talk: Talk) -> Found:
    """Find messages that speak of the simulation or in its marks, which neither the script nor the app has used."""
    for place, text in talk.user:
        found = search("breaks character", typed(text))
        if found is None or is_empty(text):
            continue
        has_marks = any(mark in talk.script for mark in "<{`")
        heard = typed("\n".join([talk.script, *talk.app_before(place)]))
        if found[0].strip() not in heard and not (has_marks and found[0].strip()[:1] in "<{`["):
            yield UserFault("breaks_character", place, repr(found[0].strip()))


def only_thanks(talk: Talk) -> Found:
    """Find three courtesies in a row that answer no question of the app.

    One of the three may have no known word of thanks, if it says nothing of the script ("You've been great.").
    """
    thanks = others = 0
    for place, text in talk.user if len(talk.user) >= THANKS_IN_A_ROW else ():
        answer = talk.heard[place]
        is_small_talk = _is_small_talk(text)
        if not is_small_talk or asks(answer):
            thanks = others = 0
        if not is_small_talk or asks_anything(answer):  # "Anything else?"
            continue
        is_answer = bool(topics(text) & (topics(talk.script) | topics(answer)))
        if has("courtesy", typed(text)) and not (is_answer and has("wish", typed(text))):
            thanks += 1
        else:
            thanks, others = (thanks, others + 1) if thanks > others and not is_answer else (0, 0)
        if thanks + others >= THANKS_IN_A_ROW and thanks > others:
            yield UserFault("only_thanks", place, repr(text))


def _is_small_talk(text: str) -> bool:
    is_short = len(words(text)) <= LONGEST_THANKS or (not text.isascii() and len(text) <= 3 * LONGEST_THANKS)
    return is_short and not _QUESTION.search(text)


def find_faults(scenario: ScenarioTest, conversation: Conversation) -> tuple[UserFault, ...]:
    """Return the faults of the user in a conversation, at most one of a kind, in the order of the kinds.

    An act that the scenario asks for, or allows, is none.
    """
    talk = Talk.of(scenario, conversation)
    if not talk.user:
        return ()
    none = asked_for(scenario)
    given = {place for place, message in enumerate(conversation.messages) if GIVEN in message.metadata}  # by a script
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


_DETECTORS: Mapping[UserFaultKind, Callable[[Talk], Found]] = {
    "repeats_itself": repeats_itself,
    "speaks_as_assistant": speaks_as_assistant,
    "empty_message": empty_message,
    "left_while_asked": left_while_asked,
    "never_states_goal": never_states_goal,
    "leaks_expectation": leaks_expectation,
    "changes_fact": changes_fact,
    "switches_language": switches_language,
    "recites_script": recites_script,
    "plays_both_sides": plays_both_sides,
    "breaks_character": breaks_character,
    "only_thanks": only_thanks,
    "invents_fact": invents_fact,
    "part_unsaid": part_unsaid,
    "ignores_answer": ignores_answer,
}
