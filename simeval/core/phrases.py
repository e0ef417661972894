"""Phrases that show what a message does, in many languages, read from `phrases.jsonl`.

A row is a pattern of one kind and language, with texts it must match and texts it must not. Patterns are for small
letters, but names of people. The kinds:

    promise, done                   something will be done, or is
    request, courtesy question      an answer is waited for, though without a question mark; none is: "anything else?"
    assistant                       an assistant speaks
    breaks character                a simulated user speaks of the simulation, or in its marks
    directs the app                 the app is told how it should answer
    role label, own label           "User:" at the beginning of a line, or of the message
    courtesy, denial, hearsay       thanks; "no"; "my neighbour told me"
    first person, third person      "I want", "she wants"
    value                           a weekday, a month, an amount, a time, a number of three digits
    purchase                        an order, or its parcel
    own name, given name            somebody says its name; a scenario says one
    asked for KIND                  a scenario asks for what would be a fault of this kind elsewhere
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

_PATH = Path(__file__).with_name("phrases.jsonl")
_BEYOND_LATIN = frozenset(["ar", "ja", "ko", "ru", "zh"])
_ENGLISH = re.compile(r"\b(?:the|and|you|your|this|that|have|with|which)\b")
_GROUP = re.compile(r"\?P<\w+>")


@dataclass(frozen=True, slots=True)
class Phrase:
    """One pattern, with examples that are its test."""

    kind: str
    language: str
    pattern: str
    matches: tuple[str, ...]
    misses: tuple[str, ...]


@cache
def phrases() -> tuple[Phrase, ...]:
    """Return all phrases, in the order of the file."""
    rows = map(json.loads, _PATH.read_text(encoding="utf-8").splitlines())
    return tuple(
        Phrase(row["kind"], row["language"], row["pattern"], tuple(row["matches"]), tuple(row["misses"]))
        for row in rows
    )


def typed(text: str) -> str:
    """Return a text in small letters, as long as it is: patterns for letters of either case cost twice as much."""
    return text.replace("’", "'").replace("İ", "I").lower()


def search(kind: str, text: str) -> re.Match[str] | None:
    """Return the first phrase of a kind in a text, which is given as patterns are: mostly `typed`.

    A text that is plainly English is searched for English phrases only: all others cost five times as much.
    """
    latin, english, other = _patterns(kind)
    pattern = english if _is_english(text) else latin
    found = pattern.search(text) if pattern else None
    return found or (other.search(text) if other and not text.isascii() else None)


@lru_cache(maxsize=2_000)
def _is_english(text: str) -> bool:
    return len(set(_ENGLISH.findall(text))) > 1


def find_all(kind: str, text: str) -> Iterator[re.Match[str]]:
    """Return all phrases of a kind in a text, with their named groups."""
    return (match for _, pattern in _by_language(kind) for match in pattern.finditer(text))


def languages_of(kind: str, text: str) -> frozenset[str]:
    """Return the languages of all phrases of a kind in a text."""
    return frozenset(language for language, pattern in _by_language(kind) if pattern.search(text))


@cache
def _by_language(kind: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((each.language, re.compile(each.pattern)) for each in phrases() if each.kind == kind)


_Pattern = re.Pattern[str] | None


@cache
def _patterns(kind: str) -> tuple[_Pattern, _Pattern, _Pattern]:
    """Return the patterns of a kind in one: for all languages in Latin letters, for English, and for the others."""
    rows = [each for each in phrases() if each.kind == kind]
    if not rows:
        raise KeyError(kind)
    other = [each for each in rows if each.language in _BEYOND_LATIN]
    english = [each for each in rows if each.language in ("en", "any")]
    return _joined([each for each in rows if each not in other]), _joined(english), _joined(other)


def _joined(rows: Sequence[Phrase]) -> _Pattern:
    return re.compile("|".join(f"(?:{_GROUP.sub('', each.pattern)})" for each in rows)) if rows else None
