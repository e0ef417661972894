"""Whether a simulated user hears the app: it asks again what was answered, or goes on as if the answer were another."""

import re
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from rapidfuzz.fuzz import ratio

from simeval.core.conversation import LEFT
from simeval.core.phrases import find_all, has, plain_digits, typed
from simeval.core.wording import (
    agrees,
    asks,
    asks_again,
    asks_anything,
    denies,
    meaningful_topics,
    told_words,
    topics,
    words,
)
from simeval.engine.users.state import WHOLE_SENTENCE, Found, Talk, UserFault, values_asked

LEAST_REPEATED = 6  # words of a message that people do not repeat by chance
LEAST_TOLD = 3  # words among them that are no courtesy
LEAST_SHARED, SAME_TOPICS = 4, 0.8  # topics of a message said again in other words, a number among them
LEAST_OF_GOAL, MOST_OTHER = 3, 2  # of its goal in one without a number; topics that only one of the two has
LEAST_OF_ANSWER = 2  # topics of the message or of the goal, in an answer without a number that is to the point
LONGEST_AGAIN = 200  # characters of such a message
LEAST_ASKED, SHORTEST_ASKED = 5, 15  # words and characters of a question that is asked twice
SIGNS_A_WORD = 2  # of scripts without spaces
MOST_BESIDE = 6  # words beside it: more may be news, as in "I have done that. What is next?"
NEARLY_EQUAL, HARDLY_EQUAL = 93, 50  # of 100: the similarity of a message and its repetition, or its other form
ASKED_AGAIN = 90  # of 100: how alike messages are that ask for one thing again and again

_GREETING = re.compile(
    r"^\s*(?:(?:hi|hello|hey|hallo|guten\s+\w+|bonjour|bonsoir|hola|buen[oa]s\s+\w+|ciao|buon\w+|olá|bo[am]\s+\w+)\b[\s,]+)+",
    re.I,
)
LEAST_IN_VAIN = 2  # messages beside the app's question
LEAST_BESIDE = 4  # words of such a message: a shorter one may be the answer
_OFFERS = re.compile(r"\b(?:how\s+about|correct|confirm|would\s+you|shall|should|do\s+you|what\s+else)\b")
_ASKED = re.compile("[?？؟]")
_BUT = re.compile(  # an alternative
    r"\b(?:but|however|instead|aber|jedoch|dafür|mais|pero|sin\s+embargo|ma|però|mas|porém|maar|ale|но|зато|αλλά)\b|\d|が、|けど|但|不过|하지만|지만|لكن|אבל|लेकिन|पर"
)
_LETTERS = frozenset("bcdfghjklmnpqrstvx")  # that are no words of any language
_DIGIT = re.compile(r"\d")
_VALUE = re.compile(r"\d+(?:[.,:]\d+)*")
_TELLING = re.compile(r"\d[\d.,:]*\d|\d(?=\s?[€$£%])")  # a value that another answer has not by chance
_GAP = re.compile("(?<=[\u3040-\u9fff]) (?=[\u3040-\u9fff])")
_QUESTION_MARK = re.compile("[?？؟]")
_ANY_QUESTION = re.compile(r"(?:\s*[^\W\d]+,)?([^.!?;。！？؟\n]+)(?=[?？؟])")  # behind a first "So,"


def repeats_itself(talk: Talk) -> Found:
    """Find messages that repeat an answered one, or its question once the user has thanked for the answer."""
    said: defaultdict[str, list[tuple[int, str, str]]] = defaultdict(list)  # by its digits
    for at, (place, text) in enumerate(talk.user):
        spoken = " ".join(words(text))
        answered = talk.heard[place]
        alike = said["".join(_DIGIT.findall(spoken))]  # another number has another meaning
        is_long = len(words(text)) >= LEAST_REPEATED
        same = [each for each in alike if _is_said_again(talk, place, spoken, each)] if is_long else ()
        if same and len(told_words(text)) >= LEAST_TOLD and not asks_again(answered):
            for earlier, _, heard in same:
                if not _is_asked_the_same(answered, heard) and not _is_misunderstood(talk, earlier, place):
                    yield UserFault("repeats_itself", place, f"as message {earlier + 1}")
        alike.append((place, spoken, answered))
        if at and len(words(text)) >= LEAST_BESIDE and _is_reminded(talk, at):
            yield UserFault("repeats_itself", place, "answered before")
    yield from _asked_again(talk)


def _asked_again(talk: Talk) -> Found:
    """Find earlier questions in messages that have hardly anything else, once the user has thanked for an answer."""
    has_thanked = False
    for at, (_, text) in enumerate(talk.user[1:], start=1):
        has_thanked = has_thanked or any(has(kind, typed(text)) for kind in ("courtesy", "acknowledges"))
        if has_thanked and _QUESTION_MARK.search(text):
            yield from _asked_before(talk, at)


def _asked_before(talk: Talk, at: int) -> Found:
    """Find an earlier message with the only question of this one, if it was answered since."""
    place, text = talk.user[at]
    questions = _questions(text)
    most_beside = SIGNS_A_WORD * MOST_BESIDE if questions and _GAP.search(questions[0]) else MOST_BESIDE
    if len(questions) != 1 or len(words(text)) - len(questions[0].split()) > most_beside:
        return
    answered = talk.heard[place]
    for earlier, told in talk.user[:at]:
        is_again = any(_is_asked_twice(questions[0], each) for each in _questions(told)) or _is_alike(text, told)
        is_again = is_again and _names(text) <= _names(told)
        is_apps = _is_asked_the_same(answered, talk.heard[earlier])
        if is_again and not is_apps and _is_settled(talk, earlier, place, questions[0]):
            yield UserFault("repeats_itself", place, f"as message {earlier + 1}")


def _is_reminded(talk: Talk, at: int) -> bool:
    """Return whether the app says that it has answered a question before, or gives the same facts again."""
    place, text = talk.user[at]
    reply = talk.reply_to(place)
    is_short = len(text) <= LONGEST_AGAIN and 0 < len(reply) <= LONGEST_AGAIN
    values = _telling(reply) if is_short else frozenset[str]()
    has_said = is_short and has("said before", typed(reply))
    before = talk.app_before(place)
    alike = [each for each in before if values and values <= _telling(each)]
    if not (alike or has_said) or asks(reply) or denies(text) or has("hearsay", typed(text)):
        return False
    about = topics(text)
    if has_said:
        return any(about & topics(each) for each in [*before, *(told for _, told in talk.user[:at])])
    read = typed(text)
    goes_on = has("acknowledges", read)
    is_new = not (goes_on or (topics(reply) & about and not has("pushes back", read))) or values & _telling(text)
    if is_new or not asks_anything(text) or reply.startswith("{"):
        return False
    told, asked = topics(reply), [topics(each) for _, each in talk.user[:at]]
    least = 1 if goes_on else LEAST_OF_ANSWER
    is_again = any(len(about & each) >= least for each in asked)
    return is_again and any(2 * len(told & topics(each)) >= len(told) for each in alike)


@lru_cache(maxsize=2_000)
def _telling(text: str) -> frozenset[str]:
    return frozenset(_TELLING.findall(plain_digits(text)))


def ignores_answer(talk: Talk) -> Found:
    """Find users who go on as if the app's answer were another: it asks in vain.

    So does a user who is content with a refusal or a wrong booking, or who gives up although it was served.
    """
    asked_in_vain = 0
    for at, (place, _) in enumerate(talk.user[1:], start=1):
        asked_in_vain = asked_in_vain + 1 if _is_beside_the_question(talk, at) else 0
        if asked_in_vain >= LEAST_IN_VAIN:
            yield UserFault("ignores_answer", place, repr(talk.heard[place][-80:]))
    last, _ = talk.user[-1]
    if len(talk.user) > 1 and talk.conversation.ended in LEFT and _leaves_for_no_reason(talk, last):
        yield UserFault("ignores_answer", last, f"{talk.conversation.ended} for no reason")


def _is_beside_the_question(talk: Talk, at: int) -> bool:
    """Return whether the app asks again for a thing after a message that has nothing of it.

    An app that asks in the very same words does not listen either.
    """
    place, text = talk.user[at]
    asked, reply = talk.heard[place], talk.reply_to(place)
    is_short = max(len(asked), len(reply), len(text)) <= LONGEST_AGAIN
    if (
        not is_short
        or reply == asked
        or not asks(asked)
        or len(words(text)) < LEAST_BESIDE
        or not topics(asked) & topics(reply)
        or _VALUE.search(plain_digits(text))
    ):
        return False
    question = " ".join(each for each in WHOLE_SENTENCE.findall(asked) if asks(each))
    wanted = frozenset() if _OFFERS.search(typed(question)) else meaningful_topics(question) - topics(text)
    read = typed(text)
    if not wanted & topics(reply) or agrees(text) or denies(text) or has("lacks", read) or has("pushes back", read):
        return False
    return asks(reply) or len(talk.user) == at + 1 or len(wanted & topics(reply)) >= LEAST_OF_ANSWER


def _leaves_for_no_reason(talk: Talk, last: int) -> bool:
    """Return whether a user is content with a refusal, or gives up although nothing was refused."""
    answers = [typed(each) for each in talk.app_before(last)]
    told = [typed(each) for _, each in talk.user]
    if talk.conversation.ended == "gave_up" and any(
        has("delight", each) and not _ASKED.search(each) for each in told[1:-1]
    ):
        return True
    hoped = " ".join(each.behaviour or "" for each in talk.scenario.expectations)
    if talk.conversation.ended == "goal_satisfied":
        return _is_content_with_refusal(talk, hoped) or _accepts_another_day(talk)
    about = topics(hoped) | topics(talk.scenario.when)
    if talk.conversation.ended != "gave_up" or any(has("refusal", each) or asks(each) for each in answers):
        return False
    is_tired = any(has("pushes back", each) or has("too much", each) for each in told) or len({*answers}) < len(answers)
    return not is_tired and any(len(topics(each) & about) >= LEAST_OF_ANSWER for each in answers)


def _accepts_another_day(talk: Talk) -> bool:
    """Return whether a user is content with an answer that names another weekday than the only one it wants."""
    wanted = _weekdays(f"{talk.scenario.given}\n{talk.scenario.when}")
    place, text = talk.user[-1]
    heard = talk.heard[place]
    offered = frozenset[str]() if has("refusal", typed(heard)) else _weekdays(heard)
    if len(wanted) != 1 or not offered or wanted & offered or asks(heard) or denies(text):
        return False
    told = frozenset[str]().union(*(_weekdays(each) for _, each in talk.user))
    is_hoped = any(_weekdays(each.behaviour or "") & wanted for each in talk.scenario.expectations)
    is_open = not is_hoped or has("asks when", typed(talk.scenario.when)) or offered & told
    return not is_open and any(has(kind, typed(text)) for kind in ("courtesy", "delight"))


@lru_cache(maxsize=2_000)
def _weekdays(text: str) -> frozenset[str]:
    return frozenset(each[0].strip()[:4] for each in find_all("weekday", typed(text)))


def _is_content_with_refusal(talk: Talk, hoped: str) -> bool:
    """Return whether a user is delighted by an answer that only refuses, though nobody expects a refusal."""
    if any(has(kind, typed(hoped)) for kind in ("refusal", "denial")):
        return False
    for place, text in talk.user[1:]:
        answer, read = typed(talk.heard[place]), typed(text)
        is_happy = (
            has("delight", read) and not denies(text) and not _ASKED.search(read) and not has("pushes back", read)
        )
        if is_happy and has("refusal", answer) and not (_BUT.search(answer) or _ASKED.search(answer)):
            return True
    return False


def _questions(text: str) -> Sequence[str]:
    """Return the questions of a message that are long enough to be told apart, as words."""
    found = [" ".join(words(_GREETING.sub("", each))) for each in _ANY_QUESTION.findall(text)]
    return [each for each in found if len(each.split()) >= LEAST_ASKED and len(each) >= SHORTEST_ASKED]


def _about(question: str) -> frozenset[str]:
    return topics(_GAP.sub("", question))


def _is_alike(text: str, told: str) -> bool:
    """Return whether a message acknowledges an answer and asks for the same in other words."""
    now, then = topics(text), topics(told)
    is_same = {*filter(str.isdigit, text)} <= {*filter(str.isdigit, told)} and len(now - then) <= MOST_OTHER
    return is_same and len(now & then) >= LEAST_OF_GOAL and has("acknowledges", typed(text))


def _is_asked_twice(one: str, other: str) -> bool:
    is_same = [*filter(str.isdigit, one)] == [*filter(str.isdigit, other)] and len(_about(one) ^ _about(other)) <= 1
    return is_same and (one in other or other in one or ratio(one, other, score_cutoff=NEARLY_EQUAL) > 0)


def _names(text: str) -> frozenset[str]:
    """Return the single letters of a text, which name one of several: "plan S"."""
    return _LETTERS.intersection(words(text))


def _is_settled(talk: Talk, first: int, place: int, question: str) -> bool:
    """Return whether a question was answered since it was asked first, and the user has thanked for that."""
    since = [
        message.content for message in talk.conversation.messages[first + 1 : place] if message.role == "assistant"
    ]
    if not since or any(asks_again(each) or asks(each) for each in since) or _is_unanswered(talk, place):
        return False
    told = [typed(text) for at, text in talk.user if first < at <= place]
    if any(denies(each) or has("pushes back", each) for each in told if not has("acknowledges", each)):
        return False
    return bool(values_asked(typed(question))) or any(topics(each) & _about(question) for each in since)


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
    if not is_same or any(has(kind, text) for kind in ("pushes back", "denial")):
        return False
    is_answered = any(
        len(topics(each) & (shared | goal)) >= (1 if any(map(str.isdigit, each)) else LEAST_OF_ANSWER) for each in since
    )
    return is_answered and not _is_unanswered(talk, place)


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


def _is_asked_the_same(answered: str, heard: str) -> bool:
    """Return whether the app has repeated an earlier answer: then it is the app that repeats itself."""
    return bool(heard and answered) and ratio(answered, heard) >= NEARLY_EQUAL
