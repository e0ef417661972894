"""Words and phrases in a text: whole ones in any case, however the white space between them runs.

Scripts without spaces show no words: there every letter, with its marks, is one, and a phrase is found anywhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import regex

from simeval.scorers.values import by_value, folded

# Scripts without spaces between words, including the signs Kana and Han share with others: long sound, voiced sounds,
# 〆.
_UNSPACED = (
    r"[\p{Script=Thai}\p{Script=Lao}\p{Script=Myanmar}\p{Script=Khmer}\p{Script=Hiragana}\p{Script=Katakana}"
    r"\p{Script=Bopomofo}\p{Script=Han}\u3006\u3099\u309a\u30fc\uff70\uff9e\uff9f]"
)
_MARK = r"[[\p{Mn}\p{Mc}]--[\ufe00-\ufe0f\U000e0100-\U000e01ef]]"  # variation selectors belong to emoji
_LETTER = rf"[[\p{{L}}\p{{N}}_{_MARK}]--{_UNSPACED}]"  # of a word that spaces part from others
_TOKEN = regex.compile(rf"{_UNSPACED}{_MARK}*|{_LETTER}++(?:'{_LETTER}++)*|\S", regex.V1)
_BEFORE = rf"(?<!{_LETTER}'?)"  # "can" is not in "can't", but "brand" is in "brand's"
_AFTER = rf"(?!{_LETTER}|'(?!s\b){_LETTER})"
_BEGINS, _ENDS = regex.compile(_LETTER, regex.V1), regex.compile(rf"{_LETTER}\Z", regex.V1)
_ENDS_UNSPACED = regex.compile(rf"{_UNSPACED}\Z", regex.V1)


def typed(text: str) -> str:
    """Return a text as phrases are compared; letters with their accents are one sign, an ellipsis stays one."""
    return "…".join(map(folded, text.split("…")))


def tokens(text: str) -> list[str]:
    """Return the words of a text in small letters, and its marks and emoji, each by itself, in order."""
    return _TOKEN.findall(typed(text).lower())


@dataclass(frozen=True, slots=True)
class Read:
    """A text as `typed` gives it, and its words, also with 's: read once for all phrases."""

    text: str
    words: frozenset[str]


def read(text: str) -> Read:
    """Read a text for phrases."""
    text = typed(text)
    words = _TOKEN.findall(text.lower())
    return Read(text, frozenset(words).union(word[:-2] for word in words if word.endswith("'s")))


class Phrases:
    """Finds phrases in texts: no word inside another; a space also matches a hyphen."""

    def __init__(self, phrases: Sequence[str]) -> None:
        distinct = list(dict.fromkeys(phrases))
        self._size = len(distinct)
        self._by_first: dict[str, list[tuple[str, regex.Pattern[str]]]] = {}  # most are ruled out by their first word
        for phrase in distinct:
            first = tokens(phrase)[0]
            self._by_first.setdefault(first, []).append((phrase, _pattern(phrase)))

    def __len__(self) -> int:
        return self._size

    def counts(self, read: Read) -> dict[str, int]:
        """Return how often each phrase occurs in a text, only for those that do; one may occur within another."""
        return {phrase: len(places) for phrase, places in self.places(read).items()}

    def places(self, read: Read) -> dict[str, list[tuple[int, int]]]:
        """Return the start and end of each phrase in a text, only for those that occur."""
        first = read.words & self._by_first.keys()
        if not first:
            return {}
        likely = [each for word in first for each in self._by_first[word]]
        found = {phrase: [match.span() for match in pattern.finditer(read.text)] for phrase, pattern in likely}
        return {phrase: places for phrase, places in sorted(found.items()) if places}


def stands_alone(phrase: str, text: str) -> bool:
    """Return whether a phrase is found in a text, both folded, and is no part of a longer word or number."""
    found = [regex.compile(_around(each), regex.V1) for each in by_value(phrase)]
    return any(pattern.search(each) for pattern in found for each in by_value(text))


def _around(written: str) -> str:
    """Return a pattern of a phrase by itself."""
    before = _BEFORE if _BEGINS.match(written) else ""
    after = _AFTER if _ENDS.search(written) else ""
    if written.startswith("\0"):
        before = rf"(?<!{_LETTER})"
    if written.endswith("\0"):
        after = rf"(?!{_LETTER})"
    return before + regex.escape(written) + after


def _pattern(phrase: str) -> regex.Pattern[str]:
    written = typed(phrase).strip()
    inner = r"[\s-]+".join(regex.escape(part) for part in written.split())
    before = _BEFORE if _BEGINS.match(written) else ""
    after = _AFTER if _ENDS.search(written) else f"(?!{_MARK})" if _ENDS_UNSPACED.search(written) else ""
    return regex.compile(f"(?V1)(?i-f:{before}{inner}{after})")  # each letter for one letter: "ss" is not "ß"
