"""Faults of simulated users in how they speak: twice, for others, of the simulation, in another language."""

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import pairwise

from rapidfuzz.fuzz import ratio

from simeval.core.languages import ANY, has_latin_letters, is_script, language_of, named_languages
from simeval.core.phrases import find_all, has, search, typed
from simeval.core.stems import content_stems
from simeval.core.wording import asks, asks_again, assistant_phrase, is_empty, told_words, topics, words
from simeval.engine.users.goal_faults import GENERIC
from simeval.engine.users.talk import Found, Talk, UserFault

LEAST_REPEATED = 6  # words of a message that people do not repeat by chance
LEAST_TOLD = 3  # words among them that are no courtesy
NEARLY_EQUAL = 93  # of 100: the similarity of a message and its repetition
ASKED_AGAIN = 90  # of 100: how alike messages are that ask for one thing again and again
LEAST_RECITED = 15  # characters of a message that recites the script
RECITED = 90  # of 100: how alike it is to the script
THANKS_IN_A_ROW = 3
LONGEST_THANKS = 9  # words

_SENTENCE = re.compile(r"[^.!?;。！？؟\n]+")
_QUESTION = re.compile(r"[?？؟\d]")


def repeats_itself(talk: Talk) -> Found:
    """Find messages that repeat an answered one."""
    said: defaultdict[str, list[tuple[int, str, str]]] = defaultdict(list)  # by its digits
    for place, text in talk.user:
        spoken = " ".join(words(text))
        answered = talk.answer_before(place)
        alike = said["".join(filter(str.isdigit, spoken))]  # another number has another meaning
        is_long = len(words(text)) >= LEAST_REPEATED
        same = [each for each in alike if ratio(spoken, each[1], score_cutoff=NEARLY_EQUAL)] if is_long else ()
        if same and len(told_words(text)) >= LEAST_TOLD and not any(map(asks_again, answered)):
            for earlier, _, heard in same:
                if not _is_asked_the_same(answered, heard) and not _is_misunderstood(talk, earlier, place):
                    yield UserFault("repeats_itself", place, f"as message {earlier + 1}")
        alike.append((place, spoken, "".join(answered)))


def _is_misunderstood(talk: Talk, first: int, place: int) -> bool:
    """Return whether the user asks again because the app has not understood.

    Since the `first` time nothing else was asked, and no answer so far has anything to do with its message, or with the
    user's goal (somebody who just chats has none), or the message asks for a time or price and no answer has one. (That
    one answer shares nothing with the question is not enough: "Sure, where at?" does not either, and of 97% caught
    repeats 66% would be left.)
    """
    if not any(not each.isascii() or content_stems(each) - GENERIC for each in topics(talk.scenario.when)):
        return False
    asked = [" ".join(words(text)) for at, text in talk.user if first <= at <= place]
    if any(ratio(one, other) < ASKED_AGAIN for one, other in pairwise(asked)):
        return False
    if any(_is_unanswered(talk, place, of=each) for each in ("when", "price")):
        return True
    told = [text for at, text in talk.user if at <= place]
    about = topics("\n".join([talk.scenario.given, talk.scenario.when, *told]))
    return not any(about & topics(answer) for answer in talk.app_before(place))


def _is_unanswered(talk: Talk, place: int, *, of: str) -> bool:
    """Return whether a message asks for a time or a price, and no answer so far gives one, or asks something itself."""
    if not has(f"asks {of}", typed(dict(talk.user)[place])):
        return False
    return not any(asks(answer) or has(f"tells {of}", typed(answer)) for answer in talk.app_before(place))


def _is_asked_the_same(answered: Sequence[str], heard: str) -> bool:
    """Return whether the app has repeated an earlier answer: then it is the app that repeats itself."""
    return bool(heard) and any(ratio(answer, heard) >= NEARLY_EQUAL for answer in answered)


def speaks_as_assistant(talk: Talk) -> Found:
    """Find words of an assistant."""
    for place, text in talk.user:
        if phrase := assistant_phrase(text):
            yield UserFault("speaks_as_assistant", place, repr(phrase))


def empty_message(talk: Talk) -> Found:
    """Find empty messages."""
    for place, text in talk.user:
        if is_empty(text):
            yield UserFault("empty_message", place)


def switches_language(talk: Talk) -> Found:
    """Find messages in a language that nobody has brought up."""
    if not any(language_of(text) for _, text in talk.user):
        return
    own = {language_of(talk.script)} - {""}
    for place, text in talk.user:
        found = language_of(text)
        if not found or found in own:
            continue
        told = [talk.script, *(text for at, text in talk.user if at <= place)]
        named = frozenset[str]().union(*map(named_languages, told))
        if ANY in named:
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


def recites_script(talk: Talk) -> Found:
    """Find messages that read the script out, or speak of the user as "she": of a script in the third person only."""
    told = _told_of_another(talk.scenario.given, talk.scenario.when)
    for place, text in talk.user if told else ():
        spoken = " ".join(words(text))
        if len(text) < LEAST_RECITED or not _is_of_another(text):
            continue
        if any(ratio(spoken, " ".join(words(each))) >= RECITED or _begins_alike(spoken, each) for each in told):
            yield UserFault("recites_script", place, repr(text))


@lru_cache(maxsize=1_000)
def _told_of_another(given: str, when: str) -> Sequence[str]:
    """Return the parts of a script in the third person, each sentence of `when` by itself, too."""
    return tuple(each.strip() for each in (when, *_SENTENCE.findall(when), given) if _is_of_another(each))


def _is_of_another(text: str) -> bool:
    read = typed(text)
    return has("third person", read) and not has("first person", read)


def _begins_alike(spoken: str, told: str) -> bool:
    """Return whether a message begins as the script does, by a verb and a person other than "I"."""
    first, begun = spoken.split()[:2], list(words(told))[:2]
    return first == begun and has("third person", " ".join(begun))


def plays_both_sides(talk: Talk) -> Found:
    """Find messages with the words of two speakers, by the names before them, or of one at the very beginning."""
    for place, text in talk.user:
        read = typed(text)
        if ":" not in read and "：" not in read:
            continue
        roles = {match["role"] for match in find_all("role label", read)}
        if len(roles) > 1 or has("own label", read):
            yield UserFault("plays_both_sides", place, ", ".join(sorted(roles)))


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
    """Find three courtesies in a row, or one short message three times, that answer no question of the app."""
    row = 0
    for at, (place, text) in enumerate(talk.user):
        answered = "".join(talk.answer_before(place))
        row = row + 1 if _only_thanks(text) and not asks_anything(answered) else 0
        is_again = len(words(text)) == 1 and not _QUESTION.search(text) and _said_thrice(talk, at)
        if row >= THANKS_IN_A_ROW or (is_again and not asks_anything(answered)):
            yield UserFault("only_thanks", place, repr(text))


def _said_thrice(talk: Talk, at: int) -> bool:
    same = [typed(text) for _, text in talk.user[max(0, at + 1 - THANKS_IN_A_ROW) : at + 1]]
    return len(same) == THANKS_IN_A_ROW and len(set(same)) == 1


def asks_anything(text: str) -> bool:
    """Return whether a message asks at all, though only out of courtesy."""
    return asks(text) or any(mark in text for mark in "?？؟")


def _only_thanks(text: str) -> bool:
    is_short = len(words(text)) <= LONGEST_THANKS or (not text.isascii() and len(text) <= 3 * LONGEST_THANKS)
    return is_short and not _QUESTION.search(text) and has("courtesy", typed(text))
