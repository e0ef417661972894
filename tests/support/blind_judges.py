"""Judges that look at words and not at what is true, and one that looks a value up."""

import re
from collections.abc import Callable, Mapping

Judge = Callable[[str, str], bool]  # whether an answer passes, by an expectation

_FUNCTION_WORDS = frozenset(
    """
    the and that this for with has have will are was were does not you your should must assistant agent bot user
    says say tell tells der die das und dass que les est los las una der den auf
    """.split()  # noqa: SIM905  (a word a line would be a page)
)
_REFUSES = re.compile(r"\b(?:sorry|can't|cannot|could not|not|never|no|unable|leider|nicht|kein\w*)\b", re.IGNORECASE)
_COURTEOUS = re.compile(
    r"thank|please|glad|pleasure|happy|dank|bitte|gern|gracias|por favor|gusto|merci|ravi|grazie|lieto|favore|obrigado"
    r"|ありがとう|喜んで|谢|高兴|شكرا|يسعدني",
    re.IGNORECASE,
)
_NEGATIVE = re.compile(r"sorry|unfortunately|can't|cannot|could not|leider", re.IGNORECASE)


def content(text: str) -> set[str]:
    """Return the words of a text that are about something; of scripts without spaces, its pairs of signs."""
    if any(ord(sign) > 0x2E80 for sign in text):
        return {text[place : place + 2] for place in range(len(text) - 1)}
    words = re.findall(r"\w+", text.casefold())
    return {word for word in words if word not in _FUNCTION_WORDS and (len(word) > 2 or word.isdigit())}


def _shares_a_word(expected: str, answer: str) -> bool:
    return bool(content(expected) & content(answer))


def _has_half_of_the_words(expected: str, answer: str) -> bool:
    return 2 * len(content(expected) & content(answer)) >= len(content(expected))


def _agrees(expected: str, answer: str) -> bool:
    return _shares_a_word(expected, answer) and not _REFUSES.search(answer)


def _is_polite(expected: str, answer: str) -> bool:
    return _shares_a_word(expected, answer) and bool(_COURTEOUS.search(answer))


def _is_long(expected: str, answer: str) -> bool:
    length = len(answer) / 3 if any(ord(sign) > 0x2E80 for sign in answer) else len(answer.split())
    return _shares_a_word(expected, answer) and length > 20


def _is_positive(expected: str, answer: str) -> bool:
    return _shares_a_word(expected, answer) and len(_COURTEOUS.findall(answer)) > len(_NEGATIVE.findall(answer))


BLIND: Mapping[str, Judge] = {
    "one shared word": _shares_a_word,
    "half of the words": _has_half_of_the_words,
    "agrees": _agrees,
    "polite and on topic": _is_polite,
    "on topic and over 20 words": _is_long,
    "more positive words": _is_positive,
}
