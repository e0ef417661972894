"""Faults of simulated users about their goal: left too early, not stated, or leaked to the app beforehand."""

import re
from collections.abc import Sequence
from functools import lru_cache

from simeval.core import closings
from simeval.core.conversation import LEFT
from simeval.core.identifiers import identifiers, is_told, names_of_things, plain_digits
from simeval.core.languages import is_script, language_of, named_languages
from simeval.core.phrases import find_all, has, search, typed
from simeval.core.stems import content_stems
from simeval.core.wording import agrees, promises, topics, words
from simeval.engine.users.state import is_held, read_state, takes_leave
from simeval.engine.users.talk import Found, Talk, UserFault

LONG_GOAL = 15  # of so many, one occurs by chance
LEAST_QUOTED = 6  # words in a row that are no chance
LEAST_QUOTED_MEANING = 3  # words among them that carry meaning
LEAST_VALUES = 2  # weekdays, amounts and such of an expectation that are no chance
TRIED = 2  # answers of the app after which a person may give up, whatever is asked
LEAST_MESSAGES = 2  # of a user who has not left, to expect its goal in them
LONGEST_GOAL = 40  # words of a goal whose parts are looked for

_MARKUP = re.compile(r"<[^<>]*>")
_SENTENCE = re.compile(r"[^.!?;\n]+[.!?;]*")
_NOT_PLAIN = re.compile(r"[{}<>\[\]]|\byou\b|\byour\b|\beither\b|\bor\b")
_WANTED = re.compile(r"\b(?:wants?|asks?|needs?|would\s+like|wishes|tries|inquires?)\b(?:\s+(?:for|about|to))?\s+(.+)")
_BETWEEN_PARTS = re.compile(
    r",\s*(?:and\s+)?(?:also\s+|then\s+|finally\s+)?|\s+and\s+(?:also\s+|then\s+)?|\s+as\s+well\s+as\s+|\s+plus\s+"
)
_REASON = re.compile(
    r"[,\s]+(?:because|since|so\s+that|but|although|though|if\s+(?:not|that|it)|unless|before|after|while|for\s+(?:his|her|their)|in\s+order)\b.*"
)
_OFFER = re.compile(
    r"\?\s*$|\b(?:can|could)\s+also\b|\bif\s+you(?:'d|\s+would)?\s+(?:like|want|wish|need)\b|\blet\s+me\s+know\b|\bhappy\s+to\b"
)
_AKIN = tuple(
    content_stems(group)
    for group in (
        "arrive come comes coming deliver delivered delivery reach reaches receive due here land expect expected eta",
        "cost costs price prices charge fee fees pay paid free rate total expensive cheap much",
        "cancel cancellation cancelled call",
        "return send back refund money reimburse reimbursement repay",
        "change switch swap move reschedule modify update exchange replace",
        "open opens opening hours closed close closes",
        "buy order purchase book booking reserve reservation",
        "size sizes fit fits fitting small large big",
        "warranty guarantee guaranteed covered",
        "track tracking where location whereabouts parcel package shipment",
        "invoice receipt bill",
        "insured insurance insure",
        "luggage bag bags baggage suitcase",
        "discount voucher coupon code deal reduction off",
    )
)
_ANSWERS = (  # a question of a goal, and words that show it has been asked or answered
    (
        re.compile(r"\s*(?:when|how\s+(?:long|soon)|by\s+when|until\s+when)\b"),
        re.compile(
            r"\b(?:when|how\s+(?:long|soon))\b|^(?!.*\b(?:was|were|sent|shipped|left|placed|ordered)\b).*(?:day\b|days\b|week|month|today|tomorrow|hours?\b|minutes\b|\d(?:st|nd|rd|th|am|pm)\b|\d:\d\d|\b(?:soon|shortly)\b)"
        ),
    ),
    (re.compile(r".*\b(?:how\s+much|costs?|price)\b"), re.compile(r"[$€£]|\bfree\b|\b(?:dollars?|euros?)\b")),
    (re.compile(r"\s*where\b"), re.compile(r"\bwhere\b|\b(?:in|at|on|near|with)\s")),
)
GENERIC = content_stems(
    "want wants need needs ask asks asking try tries know like help find out question questions information make made "
    "go goes going look looking learn new wonder wonders thing things service support chat conversation first interact "
    "interacted"
)


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
    if took_leave and not agrees(text) and not (is_satisfied and _is_courtesy(text)):
        return
    is_promised = is_satisfied and promises(talk.app_before(len(heard))[-1])
    if is_promised or read_state(talk.scenario, heard, patience=1).is_asked:
        yield UserFault("left_while_asked", last)


def _is_courtesy(text: str) -> bool:
    """Return whether a message does nothing but thank and take leave, and declines nothing."""
    return closings.takes_leave(text) and not has("denial", typed(text))


def never_states_goal(talk: Talk) -> Found:
    """Find users who do not mention a goal that names things; a way to behave can be tried without its description."""
    when = talk.scenario.when
    things = names_of_things(when)
    everything = " ".join(_MARKUP.sub(" ", text) for _, text in talk.user)
    if not things or any(is_told(each, [everything]) for each in things) or _names_a_purchase(when, everything):
        return
    languages = {language_of(talk.scenario.given), language_of(when), language_of(everything)}
    is_english = (languages | named_languages(talk.script)) - {""} == {"en"}
    if _is_unstated(when, everything) if is_english else _is_of_something_else(talk, everything):
        yield UserFault("never_states_goal", talk.user[-1][0])


def _names_a_purchase(when: str, everything: str) -> bool:
    """Return whether the goal is about an order and the user speaks of one, as a parcel perhaps."""
    return has("purchase", typed(when)) and has("purchase", typed(everything))


def _is_unstated(when: str, everything: str) -> bool:
    goal, said = content_stems(when) - GENERIC, content_stems(everything)
    stated = [one for one in goal if one in said or any(_is_akin(one, other) for other in said)]
    return len(stated) <= (len(goal) >= LONG_GOAL)


def _is_of_something_else(talk: Talk, everything: str) -> bool:
    """Return whether a user of any language shares nothing with the goal, in two messages or until it left."""
    when = talk.scenario.when
    if not identifiers(when) or (len(talk.user) < LEAST_MESSAGES and talk.conversation.ended not in LEFT):
        return False
    spoken, meant = language_of(everything), language_of(when)
    is_other = spoken != meant and (is_script(meant) or bool(spoken and meant))
    return not is_other and not named_languages(talk.script) and not topics(when) & topics(everything)


def _is_akin(one: str, other: str) -> bool:
    return len(one) >= 5 and one[:5] == other[:5]


def leaks_expectation(talk: Talk) -> Found:
    """Find messages that quote an expectation, direct the app how to answer, or give it the values of the answer."""
    yield from _quoted(talk)
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
            if not is_heard and len(content_stems(" ".join(run))) >= LEAST_QUOTED_MEANING:
                yield UserFault("leaks_expectation", place, repr(" ".join(run)))


@lru_cache(maxsize=1_000)
def _secret(behaviours: tuple[str, ...]) -> frozenset[tuple[str, ...]]:
    """Return all runs of so many words of expectations."""
    return frozenset[tuple[str, ...]]().union(*(_runs(words(each)) for each in behaviours))


@lru_cache(maxsize=1_000)
def _runs(spoken: tuple[str, ...]) -> frozenset[tuple[str, ...]]:
    """Return all runs of so many words of a text."""
    return frozenset(tuple(spoken[at : at + LEAST_QUOTED]) for at in range(len(spoken) - LEAST_QUOTED + 1))


def part_unsaid(talk: Talk) -> Found:
    """Find satisfied users with a part of their goal that neither side has mentioned, or that the app offered in vain.

    Only English goals are taken apart: "wants to know when it arrives, the price and whether it is insured".
    """
    if talk.conversation.ended != "goal_satisfied" or not talk.app:
        return
    parts = _parts(talk.scenario.when)
    if len(parts) < 2 or language_of(" ".join(text for _, text in talk.user)) not in ("en", ""):
        return
    said = _spoken(talk)
    common = frozenset.intersection(*(stems for _, stems in parts))
    for part, stems in parts:
        own = stems - common
        if own and not _is_spoken(part, own, said):
            yield UserFault("part_unsaid", talk.user[-1][0], repr(part))


@lru_cache(maxsize=1_000)
def _parts(when: str) -> tuple[tuple[str, frozenset[str]], ...]:
    """Return the parts of a goal, each with the stems of its words; none of a long one, or of one in other forms."""
    if _NOT_PLAIN.search(typed(when)) or len(words(when)) > LONGEST_GOAL or language_of(when) not in ("en", ""):
        return ()
    wanted = [match[1] for match in map(_WANTED.search, _SENTENCE.findall(typed(when))) if match]
    parts = [each for text in wanted for each in _BETWEEN_PARTS.split(_REASON.sub("", text))]
    with_stems = ((part, content_stems(part) - GENERIC) for part in parts)
    return tuple((part, stems) for part, stems in with_stems if stems)


def _spoken(talk: Talk) -> Sequence[str]:
    """Return the sentences of both sides, without offers of the app that the user has not accepted."""
    found: list[str] = []
    for place, message in enumerate(talk.conversation.messages):
        sentences = _SENTENCE.findall(typed(message.content))
        replies = [text for at, text in talk.user if at > place][:1]
        is_taken = any(agrees(text) for text in replies)
        is_offer = message.role == "assistant" and not is_taken
        found += [each for each in sentences if not (is_offer and _OFFER.search(each))]
    return found


def _is_spoken(part: str, stems: frozenset[str], said: Sequence[str]) -> bool:
    known = content_stems(" ".join(said))
    wider = stems | {other for group in _AKIN for other in group if group & stems}
    if any(one == other or _is_akin(one, other) for one in wider for other in known):
        return True
    return any(asked.match(part) and any(map(told.search, said)) for asked, told in _ANSWERS)
