"""Small facts about English text for the embedded models: words, their stems, the parts of an expectation."""

import re
from functools import lru_cache

_WORD = re.compile(r"[a-z0-9]+(?:['’][a-z]+)?")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+")
_CLAUSE = re.compile(r"\s*(?:;|(?<=\w)\.(?=\s|$))\s*")
_PART = re.compile(r"\s*(?:[:,]|\band\b)\s*", re.IGNORECASE)
_NEGATION = re.compile(
    r"\b(?:not|never|nor|without|no|avoids?|refrains?|refuses?|instead of)\b|n['’]t\b", re.IGNORECASE
)
_STOP = frozenset(
    """
    a about after all also am an and any app are as assistant at be been before being bot both but by can
    chatbot could customer did do does doing done during each every few for from further get gets give given
    gives had has have having he her here him his how i if in into is it its just may me might more most must
    my no nor not of off on once one only or other our out own person please same say says she should so some
    such system tell tells than that the their them then there these they this those to too under until up us
    use user user's users very was we were what when where which while who whom why will with would you your
    """.split()  # noqa: SIM905  (a word a line would be two pages)
)


@lru_cache(maxsize=20_000)
def content_stems(text: str) -> frozenset[str]:
    """Return the stems of the words of a text that carry meaning."""
    return frozenset(stem(word) for word in _WORD.findall(text.lower()) if word not in _STOP)


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """Cut the commonest English endings off a lower-case word."""
    word = word.split("'")[0].split("’")[0]
    for ending in ("ations", "ation", "ings", "ing", "ies", "ied", "ed", "es", "s", "ly"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    return word.rstrip("ey") if len(word) > 3 else word


def sentences(text: str) -> list[str]:
    """Split a text into its sentences."""
    return [sentence.strip() for sentence in _SENTENCE.split(text.strip()) if sentence.strip()]


@lru_cache(maxsize=5_000)
def parts(expectation: str) -> tuple[str, ...]:
    """Split an expectation into the parts that can be met one by one; the whole, where it has none.

    From a "not" to the end of its clause is one part: what must not happen.
    """
    found = []
    for clause in _CLAUSE.split(expectation):
        negation = _NEGATION.search(clause)
        positive = clause[: negation.start()] if negation else clause
        found += [*_PART.split(positive), clause[negation.start() :] if negation else ""]
    return tuple(part.strip() for part in found if content_stems(part)) or (expectation.strip(),)


def is_negative(part: str) -> bool:
    """Return whether a part says what must not happen."""
    return _NEGATION.search(part) is not None


def covers(text_stems: frozenset[str], part: str) -> bool:
    """Return whether a text, given by its stems, covers a part: half of its content words, and every number in it.

    A part that says what must not happen is covered by their absence.
    """
    wanted = content_stems(part)
    share = len(wanted & text_stems) / len(wanted) if wanted else 1.0
    facts = {word for word in wanted if any(letter.isdigit() for letter in word)}
    said = share >= 0.5 and facts <= text_stems
    return not said if is_negative(part) else said
