"""Small facts about English text for the embedded models: its sentences, the parts of an expectation."""

import re
from functools import lru_cache

from simeval.core.stems import content_stems

_SENTENCE = re.compile(r"(?<=[.!?;])\s+")
_CLAUSE = re.compile(r"\s*(?:;|(?<=\w)\.(?=\s|$))\s*")
_PART = re.compile(r"\s*(?:[:,]|\band\b)\s*", re.IGNORECASE)
_NEGATION = re.compile(
    r"\b(?:not(?! only\b)|never|nor|(?:without|no)(?! (?:extra |further |additional )?(?:charge|cost|fee)s?\b)"
    r"(?! (?:problem|later|earlier|more than|less than)\b)|avoids?|refrains?|refuses?|instead of)\b|n['’]t\b",
    re.IGNORECASE,
)
_CAN_NOT = re.compile(r"\bcan not\b", re.IGNORECASE)


def sentences(text: str) -> list[str]:
    """Split a text into its sentences."""
    return [sentence.strip() for sentence in _SENTENCE.split(text.strip()) if sentence.strip()]


@lru_cache(maxsize=5_000)
def parts(expectation: str) -> tuple[str, ...]:
    """Split an expectation into the parts that can be met one by one; the whole, if it has none.

    From a "not" to the end of its clause is one part: a forbidden act.
    """
    found = []
    for clause in _CLAUSE.split(_CAN_NOT.sub("cannot", expectation)):  # it is a text to say, not to avoid
        negation = _NEGATION.search(clause)
        positive = clause[: negation.start()] if negation else clause
        found += [*_PART.split(positive), clause[negation.start() :] if negation else ""]
    return tuple(part.strip() for part in found if content_stems(part)) or (expectation.strip(),)


def is_negative(part: str) -> bool:
    """Return whether a part forbids something."""
    return _NEGATION.search(part) is not None


def covers(text_stems: frozenset[str], part: str) -> bool:
    """Return whether a text, given by its stems, covers a part: half of its content words, and every number in it.

    A part that forbids something is covered by its absence.
    """
    wanted = content_stems(part)
    share = len(wanted & text_stems) / len(wanted) if wanted else 1.0
    facts = {word for word in wanted if any(letter.isdigit() for letter in word)}
    said = share >= 0.5 and facts <= text_stems
    return not said if is_negative(part) else said
