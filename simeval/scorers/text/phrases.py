"""Words and phrases in a text: whole ones in any case, however the white space between them runs.

Scripts without spaces show no words: there every letter, with its marks, is one, and a phrase is found anywhere.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

_TYPED = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"'})
# Scripts without spaces between words: Thai, Lao, Burmese, Khmer, Kana and Han.
_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u312f\u31a0-\u31bf\u31f0-\u31ff"
    r"\u3400-\u4dbf\u4e00-\u9fff\ua9e0-\ua9ff\uaa60-\uaa7f\uf900-\ufaff\uff66-\uff9f"
    r"\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
# Combining marks, by Unicode's categories Mn and Mc, which \w leaves out: those of these scripts, and all others of the
# basic plane. Variation selectors are none: they belong to emoji.
_UNSPACED_MARKS = (
    r"\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd\u102b-\u103e\u1056-\u1059\u105e-\u1060"
    r"\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d\u108f\u109a-\u109d\u17b4-\u17d3\u17dd\u3099-\u309a"
    r"\ua9e5\uaa7b-\uaa7d"
)
_MARKS = (
    r"\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1-\u05c2\u05c4-\u05c5\u05c7\u0610-\u061a\u064b-\u065f"
    r"\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0711-\u07f3\u07fd\u0816-\u082d\u0859-\u085b\u0898-\u08e1"
    r"\u08e3-\u0963\u0981-\u09e3\u09fe-\u0a75\u0a81-\u0ae3\u0afa-\u0b63\u0b82-\u0bd7\u0c00-\u0c63\u0c81-\u0c83"
    r"\u0cbc-\u0d4d\u0d57-\u0d63\u0d81-\u0df3\u0f18-\u0f19\u0f35\u0f37\u0f39\u0f3e-\u0f84\u0f86-\u0fbc\u0fc6"
    r"\u135d-\u135f\u1712-\u1734\u1752-\u1773\u180b-\u180d\u180f-\u193b\u1a17-\u1a1b\u1a55-\u1a7f\u1ab0-\u1abd"
    r"\u1abf-\u1b44\u1b6b-\u1b73\u1b80-\u1bf3\u1c24-\u1c37\u1cd0-\u1cd2\u1cd4-\u1dff\u2cef-\u2cf1\u2d7f-\u2dff"
    r"\u302a-\u302f\ua66f\ua674-\ua67d\ua69e-\ua6f1\ua802-\ua827\ua82c\ua880-\ua8c5\ua8e0-\ua8f1\ua8ff-\ua92d"
    r"\ua947-\ua953\ua980-\ua9c0\uaa29-\uaa4d\uaab0-\uaac1\uaaeb-\uaaef\uaaf5-\uaaf6\uabe3-\uabea\uabec-\uabed"
    r"\ufb1e\ufe20-\ufe2f"
)
_LETTER = rf"[^\W{_UNSPACED}]|[{_MARKS}]"  # of a word that spaces part from others
_WORD = rf"(?:[^\W{_UNSPACED}]++|[{_MARKS}])+"
_TOKEN = re.compile(rf"[{_UNSPACED}][{_UNSPACED_MARKS}{_MARKS}]*|{_WORD}(?:'{_WORD})*|[^\w\s]")
_BEFORE = rf"(?<!{_LETTER})(?<!(?:{_LETTER})')"  # "can" is not in "can't", but "brand" is in "brand's"
_AFTER = rf"(?!{_LETTER}|'(?!s\b)(?:{_LETTER}))"
_AFTER_UNSPACED = rf"(?![{_UNSPACED_MARKS}{_MARKS}])"
_BEGINS, _ENDS = re.compile(_LETTER), re.compile(rf"(?:{_LETTER})\Z")
_ENDS_UNSPACED = re.compile(rf"[{_UNSPACED}]\Z")


def typed(text: str) -> str:
    """Return a text in Unicode's form NFC with straight quotation marks, as phrases are compared."""
    return text if text.isascii() else unicodedata.normalize("NFC", text).translate(_TYPED)


def tokens(text: str) -> list[str]:
    """Return the words of a text in small letters, and its marks and emoji, each by itself, in order."""
    return _TOKEN.findall(typed(text).lower())


@dataclass(frozen=True, slots=True)
class Read:
    """A text as `typed` gives it, and its words, also those that stand there with 's: read once for all phrases."""

    text: str
    words: frozenset[str]


def read(text: str) -> Read:
    """Read a text for phrases."""
    text = typed(text)
    words = _TOKEN.findall(text.lower())
    return Read(text, frozenset(words).union(word[:-2] for word in words if word.endswith("'s")))


class Phrases:
    """Finds phrases in texts: no word inside another; a space also stands for a hyphen."""

    def __init__(self, phrases: Sequence[str]) -> None:
        distinct = list(dict.fromkeys(phrases))
        self._size = len(distinct)
        self._by_first: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # most are ruled out by their first word
        for phrase in distinct:
            first = tokens(phrase)[0]
            self._by_first.setdefault(first, []).append((phrase, re.compile(_pattern(phrase), re.IGNORECASE)))

    def __len__(self) -> int:
        return self._size

    def counts(self, read: Read) -> dict[str, int]:
        """Return how often each phrase stands in a text, those alone that do; one may stand within another."""
        return {phrase: len(places) for phrase, places in self.places(read).items()}

    def places(self, read: Read) -> dict[str, list[tuple[int, int]]]:
        """Return where each phrase begins and ends in a text, those alone that stand there."""
        first = read.words & self._by_first.keys()
        if not first:
            return {}
        likely = [each for word in first for each in self._by_first[word]]
        found = {phrase: [match.span() for match in pattern.finditer(read.text)] for phrase, pattern in likely}
        return {phrase: places for phrase, places in sorted(found.items()) if places}


def _pattern(phrase: str) -> str:
    written = typed(phrase).strip()
    inner = r"[\s-]+".join(re.escape(part) for part in written.split())
    before = _BEFORE if _BEGINS.match(written) else ""
    after = _AFTER if _ENDS.search(written) else _AFTER_UNSPACED if _ENDS_UNSPACED.search(written) else ""
    return f"{before}{inner}{after}"
