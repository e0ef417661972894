"""Faults of simulated users about their goal, of `faults`: it is never stated, or a part of it is left out."""

import re
from collections.abc import Sequence
from functools import lru_cache

from simeval.core.conversation import LEFT
from simeval.core.identifiers import identifiers, is_told, names_of_things
from simeval.core.languages import is_script, language_of, named_languages
from simeval.core.phrases import GENERIC, content_stems, has, is_akin, kin, typed
from simeval.core.wording import agrees, meaningful_topics, topics, words
from simeval.engine.users.state import Found, Talk, UserFault

LONG_GOAL = 15  # of so many, one occurs by chance
LEAST_OF_GOAL = 3  # topics of a goal without names
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
    r"[,\s]+(?:because|since|so\s+that|but|although|though|if\s+(?:not|that|it)|unless|(?:before|after)(?!\s+\d)|while|for\s+(?:his|her|their)|in\s+order)\b.*"
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
    (re.compile(r".*\b(?:how\s+much|costs?|price)\b"), re.compile(r"[$€£]|\bfree\b|\b(?:dollars?|euros?)\b")),
    (
        re.compile(r"\s*(?:if|whether)\b.*\b(?:allowed|permitted|possible|okay|ok)\b"),
        re.compile(r"\b(?:can|could|may)\s+i\b"),
    ),
    (re.compile(r"\s*where\b"), re.compile(r"\bwhere\b|\b(?:in|at|on|near|with)\s")),
)


def never_states_goal(talk: Talk) -> Found:
    """Find users who do not mention a goal that names or wants things; a way to behave needs no description."""
    when = talk.scenario.when
    things = names_of_things(when)
    everything = " ".join(_MARKUP.sub(" ", text) for _, text in talk.user)
    if not things and _is_far_from_goal(talk, everything):
        yield UserFault("never_states_goal", talk.user[-1][0])
    is_bought = has("purchase", typed(when)) and has("purchase", typed(everything))  # as a parcel, perhaps
    if not things or any(is_told(each, [everything]) for each in things) or is_bought:
        return
    languages = {language_of(talk.scenario.given), language_of(when), language_of(everything)}
    is_english = (languages | named_languages(talk.script)) - {""} == {"en"}
    if _is_unstated(when, everything) if is_english else _is_of_something_else(talk, everything):
        yield UserFault("never_states_goal", talk.user[-1][0])


def _is_unstated(when: str, everything: str) -> bool:
    goal, said = content_stems(when) - GENERIC, content_stems(everything)
    stated = [one for one in goal if one in said or any(is_akin(one, other) for other in said)]
    return len(stated) <= (len(goal) >= LONG_GOAL)


def _is_far_from_goal(talk: Talk, everything: str) -> bool:
    """Return whether neither side speaks of a goal without names, which is that somebody wants something.

    An answer about the goal shows that the user has asked for it in other words.
    """
    when = typed(talk.scenario.when)
    is_english = when.isascii() and language_of(when) in ("en", "")
    is_wanted = _WANTED.search(when) if is_english else has("third person", when) or is_script(language_of(when))
    if not is_wanted or has("first person", when) or len(meaningful_topics(when)) < LEAST_OF_GOAL:
        return False
    told, hoped = topics(talk.script), [topics(each.behaviour or "") for each in talk.scenario.expectations]
    if any(topics(text) & told for _, text in talk.user):
        return False
    if any(topics(text) & told.union(*hoped) for _, text in talk.app) or not _has_said_enough(talk, everything):
        return False
    answers = " ".join(text for _, text in talk.app)
    return not (is_english and _is_spoken(when, content_stems(when) - GENERIC, [typed(everything), typed(answers)]))


def _is_of_something_else(talk: Talk, everything: str) -> bool:
    """Return whether a user of any language shares nothing with a goal that names something."""
    when = talk.scenario.when
    return bool(identifiers(when)) and _has_said_enough(talk, everything) and not topics(when) & topics(everything)


def _has_said_enough(talk: Talk, everything: str) -> bool:
    """Return whether a user has written two messages, or left, in the language of the goal."""
    if len(talk.user) < LEAST_MESSAGES and talk.conversation.ended not in LEFT:
        return False
    spoken, meant = language_of(everything), language_of(talk.scenario.when)
    is_other = spoken != meant and (is_script(meant) or bool(spoken and meant))
    return not is_other and not named_languages(talk.script)


def part_unsaid(talk: Talk) -> Found:
    """Find satisfied users with a part of their goal that neither side has mentioned, or that the app offered in vain.

    Only English goals are taken apart: "wants to know when it arrives, the price and whether it is insured".
    """
    if talk.conversation.ended != "goal_satisfied" or not talk.app:
        return
    if unasked := _unasked(talk):
        yield UserFault("part_unsaid", talk.user[-1][0], unasked)
    parts = _parts(talk.scenario.when)
    if len(parts) < 2 or language_of(" ".join(text for _, text in talk.user)) not in ("en", ""):
        return
    said = _spoken(talk)
    common = frozenset.intersection(*(stems for _, stems in parts))
    for part, stems in parts:
        own = stems - common
        if own and not _is_spoken(part, own, said):
            yield UserFault("part_unsaid", talk.user[-1][0], repr(part))


def _unasked(talk: Talk) -> str:
    """Return "when" or "price" if a goal in another language than English asks for it and neither side speaks of it."""
    when = typed(talk.scenario.when)
    if when.isascii() and language_of(when) in ("en", ""):
        return ""
    said = [typed(message.content) for message in talk.conversation.messages]
    asked = [of for of in ("when", "price") if has(f"asks {of}", when)]
    unsaid = (of for of in asked if not any(has(f"{does} {of}", text) for text in said for does in ("asks", "tells")))
    return next(unsaid, "")


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
    if any(one == other or is_akin(one, other) for one in kin(stems) for other in known):
        return True
    return any(asked.match(part) and any(map(told.search, said)) for asked, told in _ANSWERS)
