"""Words and phrases in a text: whole ones, in any script and case, however the white space between them runs."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

_TYPED = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"'})
_TOKEN = re.compile(r"\w+(?:'\w+)*|[^\w\s]")
_BEFORE, _AFTER = r"(?<!\w)(?<!\w')", r"(?!\w|'(?!s\b)\w)"  # "can" is not in "can't", but "brand" is in "brand's"


def typed(text: str) -> str:
    """Give a text in Unicode's form NFC with straight quotation marks, as phrases are compared."""
    return text if text.isascii() else unicodedata.normalize("NFC", text).translate(_TYPED)


def tokens(text: str) -> list[str]:
    """Give the words of a text in small letters, and its marks and emoji, each by itself, in order."""
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
        """Give how often each phrase stands in a text, those alone that do; one may stand within another."""
        first = read.words & self._by_first.keys()
        if not first:
            return {}
        likely = [each for word in first for each in self._by_first[word]]
        found = {phrase: sum(1 for _ in pattern.finditer(read.text)) for phrase, pattern in likely}
        return {phrase: count for phrase, count in sorted(found.items()) if count}


def _pattern(phrase: str) -> str:
    written = typed(phrase).strip()
    inner = r"[\s-]+".join(re.escape(part) for part in written.split())
    before = _BEFORE if re.match(r"\w", written) else ""
    after = _AFTER if re.search(r"\w$", written) else ""
    return f"{before}{inner}{after}"
