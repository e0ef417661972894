"""Two near misses of one expectation, by one rule, with different values."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from simeval.core.languages import is_common
from simeval.core.near_misses.changed_values import Changed, all_changed, changed
from simeval.core.near_misses.frames import framed
from simeval.core.near_misses.statements import Statement, language_in, statements, third_person
from simeval.core.stems import content_stems

_UNASKED = frozenset(  # words for speakers and speaking
    """
    assistant bot agent chatbot user customer says say tells tell states mentions
    asistente agente usuario cliente dice assistent kunde kunden sagt sagen assistente
    """.split()  # noqa: SIM905  (a word a line would be half a page)
)
_CJK = 0x2E80  # from here on, scripts without spaces
_SHORT = 2  # letters of words that carry nothing
_LONGEST = 60  # words of a reference that a near miss is made from
_UNSAID = ("does what it must not", "says what it must not", "does not ask")  # forms without a value to change
_ASKED = {  # which words of an expectation ask for values, and of which rules
    re.compile(r"\b(?:when|days?|dates?|times?|hours|deadline|how long)\b", re.IGNORECASE): (
        "time", "date", "weekday", "month",
    ),
    re.compile(r"\b(?:prices?|costs?|how much|fees?|amount|total|rent)\b", re.IGNORECASE): ("amount",),
    re.compile(r"\b(?:how many|number of|how long|deadline)\b", re.IGNORECASE): ("number",),
}  # fmt: skip
_SENTENCES = re.compile(r"(?<=[.!?])\s+|(?<=。)|\n")


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A courteous answer with one thing wrong, the plain statement in it, the rule that made it, and its language."""

    rule: str
    statement: str
    answer: str
    language: str


@lru_cache(maxsize=1_000)  # an expectation is read at its definition, in the plan and in the run
def near_misses(expected: tuple[str, ...], *, answers: tuple[str, ...] = (), facts: str = "") -> tuple[NearMiss, ...]:
    """Return two near misses of one rule, the second to be shown to a judge that was wrong about the first.

    `expected` is an expectation, or its criteria; `answers` are right ones, its reference and its example. None are
    returned where no rule applies, as to tone, form and conduct.
    """
    read = [statement for text in expected for statement in statements(text)]
    if not read:
        return ()
    return _of_values(read, expected) or _of_answers(" ".join(expected), answers, facts) or _of_contraries(read)


def _of_values(read: Sequence[Statement], expected: Sequence[str]) -> tuple[NearMiss, ...]:
    """Return near misses with a value changed in the expected text or act, all of it together if that has one.

    If that leaves less than half of the expected words, those are put as a report about the assistant, except in
    scripts without spaces, where such a report is no answer.
    """
    good = [each for each in read if each.good and each.rule not in _UNSAID]
    if not good:
        return ()
    gap = "" if good[0].language in ("ja", "zh") else " "
    together = gap.join(each.good for each in good)
    for text, language in [(together, good[0].language), *((each.good, each.language) for each in good[1:])]:
        if made := _both(text, language):
            is_short = not all(_has_half(expected[0], each.text) for each in made)
            if len(expected) == 1 and is_short and language not in ("ja", "zh"):
                told = _both(third_person(expected[0], language), language)
                made = told if told and told[0].rule == made[0].rule else made
            return tuple(_near_miss(each, language, turn) for turn, each in enumerate(made))
    return ()


def _both(text: str, language: str) -> tuple[Changed, ...]:
    """Return a text with its value replaced by one and by another value; empty if it has no value."""
    made = [changed(text, language, turn) for turn in (0, 1)]
    return tuple(each for each in made if each) if all(made) else ()


def _of_answers(expected: str, answers: Sequence[str], facts: str) -> tuple[NearMiss, ...]:
    """Return near misses made from a right answer, or from facts, for an expectation such as "says when".

    All values are changed, as it is not known which is asked for; one of them must be of the kind that is.
    """
    wanted = frozenset(rule for asks, rules in _ASKED.items() if asks.search(expected) for rule in rules)
    about = content_stems(expected)
    nearest = max(_SENTENCES.split(facts), key=lambda each: len(content_stems(each) & about))
    for text in (*answers, *([nearest.strip()] if content_stems(nearest) & about else [])):
        language = language_in(text)
        made = [all_changed(text, language, turn) for turn in (0, 1)]
        if len(text.split()) <= _LONGEST and all(wanted & rules for rules, _ in made):
            rule = sorted(wanted & made[0][0])[0]
            return tuple(_near_miss(Changed(rule, each), language, turn) for turn, (_, each) in enumerate(made))
    return ()


def _of_contraries(read: Sequence[Statement]) -> tuple[NearMiss, ...]:
    for each in read:
        if each.contraries:
            both = [Changed(each.rule, contrary) for contrary in each.contraries]
            return tuple(_near_miss(contrary, each.language, turn) for turn, contrary in enumerate(both))
    return ()


def _near_miss(made: Changed, language: str, turn: int) -> NearMiss:
    return NearMiss(made.rule, made.text, framed(made.text, language, turn), language)


def _has_half(expected: str, text: str) -> bool:
    wanted = _words(expected)
    return 2 * len(wanted & _words(text)) >= len(wanted)


def _words(text: str) -> set[str]:
    """Return the words of a text that carry something; of scripts without spaces, its pairs of signs."""
    if any(ord(sign) > _CJK for sign in text):
        return {text[place : place + 2] for place in range(len(text) - 1)}
    found = re.findall(r"\w+", text.casefold())
    return {word for word in found if word.isdigit() or (len(word) > _SHORT and not is_common(word))} - _UNASKED
