"""Whether a simulated user says or asks again what was answered."""

import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from rapidfuzz.fuzz import ratio

from simeval.core.phrases import has, typed
from simeval.core.wording import (
    asks,
    asks_again,
    asks_anything,
    denies,
    meaningful_topics,
    told_words,
    topics,
    words,
)
from simeval.engine.users.state import Found, Talk, UserFault

LEAST_REPEATED = 6  # words of a message that people do not repeat by chance
LEAST_TOLD = 3  # words among them that are no courtesy
LEAST_SHARED, SAME_TOPICS = 4, 0.8  # topics of a message said again in other words, a number among them
LEAST_OF_GOAL, MOST_OTHER = 3, 2  # of its goal in one without a number; topics that only one of the two has
LEAST_OF_ANSWER = 2  # topics of the message or of the goal, in an answer without a number that is to the point
LONGEST_AGAIN = 200  # characters of such a message
LEAST_ASKED, SHORTEST_ASKED = 5, 15  # words and characters of a question that is asked twice
MOST_BESIDE = 6  # words beside it: more may be news, as in "I have done that. What is next?"
NEARLY_EQUAL, HARDLY_EQUAL = 93, 50  # of 100: the similarity of a message and its repetition, or its other form
ASKED_AGAIN = 90  # of 100: how alike messages are that ask for one thing again and again

_GREETING = re.compile(
    r"^\s*(?:(?:hi|hello|hey|hallo|guten\s+\w+|bonjour|bonsoir|hola|buen[oa]s\s+\w+|ciao|buon\w+|olá|bo[am]\s+\w+)\b[\s,]+)+",
    re.I,
)
_QUESTION_MARK = re.compile("[?？؟]")
_ANY_QUESTION = re.compile(r"(?:\s*[^\W\d]+,)?([^.!?;。！？؟\n]+)(?=[?？؟])")  # behind a first "So,"


def repeats_itself(talk: Talk) -> Found:
    """Find messages that repeat an answered one, or its question once the user has thanked for the answer."""
    said: defaultdict[str, list[tuple[int, str, str]]] = defaultdict(list)  # by its digits
    for at, (place, text) in enumerate(talk.user):
        spoken = " ".join(words(text))
        answered = talk.answer_before(place)
        alike = said["".join(filter(str.isdigit, spoken))]  # another number has another meaning
        is_long = len(words(text)) >= LEAST_REPEATED
        same = [each for each in alike if _is_said_again(talk, place, spoken, each)] if is_long else ()
        if same and len(told_words(text)) >= LEAST_TOLD and not any(map(asks_again, answered)):
            for earlier, _, heard in same:
                if not _is_asked_the_same(answered, heard) and not _is_misunderstood(talk, earlier, place):
                    yield UserFault("repeats_itself", place, f"as message {earlier + 1}")
        alike.append((place, spoken, "".join(answered)))
        if at and _QUESTION_MARK.search(text):
            yield from _asked_again(talk, at)


def _asked_again(talk: Talk, at: int) -> Found:
    """Find an earlier question in one of the user's messages that has hardly anything else."""
    place, text = talk.user[at]
    has_thanked = any(has("courtesy", typed(told)) for _, told in talk.user[1 : at + 1])  # most need no further look
    questions = _questions(text) if has_thanked else ()
    if len(questions) != 1 or len(words(text)) - len(questions[0].split()) > MOST_BESIDE:
        return
    answered = talk.answer_before(place)
    for earlier, told in talk.user[:at]:
        is_again = any(_is_asked_twice(questions[0], each) for each in _questions(told))
        is_apps = _is_asked_the_same(answered, "".join(talk.answer_before(earlier)))
        if is_again and not is_apps and _is_settled(talk, earlier, place, questions[0]):
            yield UserFault("repeats_itself", place, f"as message {earlier + 1}")


def _questions(text: str) -> Sequence[str]:
    """Return the questions of a message that are long enough to be told apart, as words."""
    found = [" ".join(words(_GREETING.sub("", each))) for each in _ANY_QUESTION.findall(text)]
    return [each for each in found if len(each.split()) >= LEAST_ASKED and len(each) >= SHORTEST_ASKED]


def _is_asked_twice(one: str, other: str) -> bool:
    is_same = [*filter(str.isdigit, one)] == [*filter(str.isdigit, other)] and len(topics(one) ^ topics(other)) <= 1
    return is_same and ratio(one, other, score_cutoff=NEARLY_EQUAL) > 0


def _is_settled(talk: Talk, first: int, place: int, question: str) -> bool:
    """Return whether a question was answered since it was asked first, and the user has thanked for that."""
    since = [
        message.content for message in talk.conversation.messages[first + 1 : place] if message.role == "assistant"
    ]
    if not since or any(asks_again(each) or asks(each) for each in since) or _is_unanswered(talk, place):
        return False
    told = [typed(text) for at, text in talk.user if first < at <= place]
    if not any(has("courtesy", each) for each in told) or any(
        denies(each) or has("pushes back", each) for each in told
    ):
        return False
    is_known = any(has(f"asks {of}", typed(question)) for of in ("when", "price"))  # which has its answer
    return is_known or any(topics(each) & topics(question) for each in since)


def _is_said_again(talk: Talk, place: int, spoken: str, before: tuple[int, str, str]) -> bool:
    """Return whether a message repeats one with the same digits, word for word, or in other words once understood."""
    earlier, told, _ = before
    is_long = len(spoken) > LONGEST_AGAIN  # it may report news
    likeness = ratio(spoken, told, score_cutoff=NEARLY_EQUAL if is_long else HARDLY_EQUAL)
    if not likeness or likeness >= NEARLY_EQUAL:
        return likeness > 0
    messages = talk.conversation.messages
    since = [message.content for message in messages[earlier + 1 : place] if message.role == "assistant"]
    if not since or any(map(asks_anything, since)):
        return False
    now, then = topics(messages[place].content), topics(messages[earlier].content)
    shared, goal = now & then, meaningful_topics(talk.scenario.when)
    if any(map(str.isdigit, spoken)):
        is_same = len(shared) >= max(LEAST_SHARED, SAME_TOPICS * max(len(now), len(then)))
    else:
        is_same = len(shared & goal) >= LEAST_OF_GOAL and len(now ^ then) <= MOST_OTHER
    text = typed(messages[place].content)
    is_other = not is_same or any(has(kind, text) for kind in ("pushes back", "denial"))
    is_answered = any(
        len(topics(each) & (shared | goal)) >= (1 if any(map(str.isdigit, each)) else LEAST_OF_ANSWER) for each in since
    )
    return is_answered and not is_other and not _is_unanswered(talk, place)


def _is_misunderstood(talk: Talk, first: int, place: int) -> bool:
    """Return whether the user asks again because the app has not understood.

    Since the `first` time nothing else was asked, and no answer so far has anything to do with its message, or with the
    user's goal (somebody who just chats has none), or the message asks for a time, price or yes and no answer has one.
    (That one answer shares nothing with the question is not enough: "Sure, where at?" does not either, and of 97%
    caught repeats 66% would be left.)
    """
    if not meaningful_topics(talk.scenario.when):
        return False
    asked = [" ".join(words(text)) for at, text in talk.user if first <= at <= place]
    if any(ratio(one, other) < ASKED_AGAIN for one, other in pairwise(asked)):
        return False
    if _is_unanswered(talk, place):
        return True
    told = [text for at, text in talk.user if at <= place]
    about = topics("\n".join([talk.scenario.given, talk.scenario.when, *told]))
    return not any(about & topics(answer) for answer in talk.app_before(place))


def _is_unanswered(talk: Talk, place: int) -> bool:
    """Return whether a message asks for a time, a price or a yes, and no answer so far gives one, or asks itself."""
    text, answers = typed(talk.conversation.messages[place].content), talk.app_before(place)
    asked = [of for of in ("when", "price", "whether") if has(f"asks {of}", text)]
    return any(not any(asks(each) or has(f"tells {of}", typed(each)) for each in answers) for of in asked)


def _is_asked_the_same(answered: Sequence[str], heard: str) -> bool:
    """Return whether the app has repeated an earlier answer: then it is the app that repeats itself."""
    return bool(heard) and any(ratio(answer, heard) >= NEARLY_EQUAL for answer in answered)
