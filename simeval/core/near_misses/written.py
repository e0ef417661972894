"""Near misses that the writer of the rubric gave: checked before a judge is shown one."""

import re
from collections.abc import Collection, Sequence

from simeval.core.languages import language_of
from simeval.core.near_misses.statements import CODES, statements

LONGEST = 60  # words; a longer one is no plain answer
_SIGNS = re.compile(r"\w+")


def usable_pair(written: Sequence[str], expected: str, *, others: Collection[str] = ()) -> tuple[str, ...]:
    """Return the first two of the answers that a model wrote that can be shown; none if fewer can.

    One alone could not refuse a judge: a judge is refused for two. `others` as in `unusable`.
    """
    found: list[str] = []
    for text in map(str.strip, written):
        if not unusable(text, expected, others=[*others, *found]):
            found.append(text)
    return tuple(found[:2]) if len(found) > 1 else ()


def unusable(written: str, expected: str, *, others: Collection[str] = ()) -> str:
    """Say why an answer that a model wrote cannot be the near miss of an expectation; "" if it can.

    `others` are answers that it must differ from: other controls, and the best level of the rubric. A language is
    compared only if both texts are long enough to tell theirs.
    """
    said = _words(written)
    if not said:
        return "it is empty"
    if len(written.split()) > LONGEST:
        return f"it has more than {LONGEST} words"
    if any(said == _words(other) for other in others):
        return "it is another control, or the best level of the rubric"
    right = [expected, *(each.good for each in statements(expected))]
    if any(f" {true} " in f" {said} " for true in map(_words, right) if true):
        return "it says what is expected"
    wanted, found = _language(expected), _language(written)
    if wanted and found and wanted != found:
        return f"its language is {found!r}, not {wanted!r}"
    return ""


def _language(text: str) -> str:
    found = language_of(text)
    return CODES.get(found, found) if found else ""


def _words(text: str) -> str:
    """Return the words of a text in one case, without its punctuation."""
    return " ".join(_SIGNS.findall(text.casefold()))
