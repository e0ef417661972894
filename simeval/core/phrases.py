r"""Phrases that show what a message does, in many languages, read from `phrases.jsonl`.

A row is a pattern of one kind and language, with texts it must match and texts it must not. Patterns are for small
letters, but names of people. `signs` are words, three letters that a word begins with ("mei*"), or marks ("\d": any
digit): each text that the pattern matches has one, so that few patterns are tried on a text. The kinds:

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
    asks when, tells when           a question for a time; a day, a time or a span (the same of prices, and of a yes)
    pushes back                     a user does not accept the app's reply as it is
    own name, given name            somebody gives a name; a scenario has one
    language name                   a language is named: the one that the row has as its own
    asked for KIND                  a scenario asks for what would be a fault of this kind elsewhere
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

_PATH = Path(__file__).with_name("phrases.jsonl")
_HAN = "\u3400-\u9fff"
_LETTERS = {  # of languages that are not written in Latin letters
    "ar": re.compile("[\u0600-\u06ff]"),
    "ja": re.compile(f"[\u3040-\u30ff{_HAN}]"),
    "ko": re.compile("[\uac00-\ud7a3]"),
    "ru": re.compile("[\u0400-\u04ff]"),
    "zh": re.compile(f"[{_HAN}]"),
}
_TOKEN = re.compile(r"\w+|[^\w\s]")
_DIGIT = re.compile(r"\d")
ANY_DIGIT = "\\d"  # a sign
MOST_READ = 100_000  # characters of a text that are searched: ten million would hold up the event loop for seconds
_PREFIX = 3  # letters of a sign that ends in "*"

_ENGLISH_WORD = re.compile(r"[a-z0-9]+(?:['’][a-z]+)?")
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


@dataclass(frozen=True, slots=True)
class Phrase:
    """One pattern, with the signs of texts that it may match, and examples that are its test."""

    kind: str
    language: str
    pattern: str
    signs: frozenset[str]
    matches: tuple[str, ...]
    misses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Kind:
    """The phrases of one kind, the places of those with a sign by it, and of those without one by their language."""

    phrases: Sequence[Phrase]
    words: frozenset[str]
    beginnings: frozenset[str]
    by_sign: Mapping[str, Sequence[int]]
    by_language: Mapping[str, Sequence[int]]


@cache
def phrases() -> tuple[Phrase, ...]:
    """Return all phrases, in the order of the file."""
    rows = map(json.loads, _PATH.read_text(encoding="utf-8").splitlines())
    return tuple(
        Phrase(
            row["kind"],
            row["language"],
            row["pattern"],
            frozenset(row["signs"]),
            matches=tuple(row["matches"]),
            misses=tuple(row["misses"]),
        )
        for row in rows
    )


@lru_cache(maxsize=2_000)  # each message is read for many kinds
def typed(text: str) -> str:
    """Return a text in small letters, as long as it is: patterns for letters of either case cost twice as much."""
    return text.replace("’", "'").replace("İ", "I").lower()


@lru_cache(maxsize=8_000)  # a scenario's texts are read in each of its trials
def has(kind: str, text: str) -> bool:
    """Return whether a text has a phrase of a kind; it is given as patterns are: mostly `typed`."""
    return any(_compiled(each.pattern).search(text, 0, MOST_READ) for each in candidates(kind, text))


def search(kind: str, text: str) -> re.Match[str] | None:
    """Return the first phrase of a kind in a text."""
    found = [match for each in candidates(kind, text) if (match := _compiled(each.pattern).search(text, 0, MOST_READ))]
    return min(found, key=re.Match.start) if found else None


def find_all(kind: str, text: str) -> Iterator[re.Match[str]]:
    """Return all phrases of a kind in a text, with their named groups."""
    return (match for each in candidates(kind, text) for match in _compiled(each.pattern).finditer(text, 0, MOST_READ))


def languages_of(kind: str, text: str) -> frozenset[str]:
    """Return the languages of all phrases of a kind in a text."""
    found = (each for each in candidates(kind, text) if _compiled(each.pattern).search(text, 0, MOST_READ))
    return frozenset(each.language for each in found)


def candidates(kind: str, text: str) -> Sequence[Phrase]:
    """Return the phrases of a kind that a text may have, by its words and letters, in the order of the file."""
    known, text = _of_kind(kind), text[:MOST_READ]
    shared = [*(known.words & _words_of(text))] if known.words else []
    if known.beginnings:
        shared += known.beginnings & _beginnings_of(text)
    if not shared and text.isascii():
        return ()
    places = {place for sign in shared for place in known.by_sign[sign]}
    places.update(place for language in _scripts(text) for place in known.by_language.get(language, ()))
    return [known.phrases[place] for place in sorted(places)]


@lru_cache(maxsize=2_000)
def _words_of(text: str) -> frozenset[str]:
    """Return the words and marks of a text, and the sign of any digit."""
    return frozenset([*_TOKEN.findall(text), *([ANY_DIGIT] if _DIGIT.search(text) else [])])


@lru_cache(maxsize=2_000)
def _beginnings_of(text: str) -> frozenset[str]:
    return frozenset([word[:_PREFIX] for word in _words_of(text)])


def _scripts(text: str) -> Sequence[str]:
    return () if text.isascii() else [language for language, letters in _LETTERS.items() if letters.search(text)]


@cache
def _of_kind(kind: str) -> _Kind:
    found = [each for each in phrases() if each.kind == kind]
    if not found:
        raise KeyError(kind)
    by_sign: dict[str, list[int]] = {}
    by_language: dict[str, list[int]] = {}
    for place, each in enumerate(found):
        for sign in each.signs:
            by_sign.setdefault(sign if sign == "*" else sign.removesuffix("*"), []).append(place)
        if not each.signs:
            by_language.setdefault(each.language, []).append(place)
    beginnings = {sign[:-1] for each in found for sign in each.signs if sign.endswith("*") and len(sign) > 1}
    return _Kind(found, frozenset(by_sign), frozenset(beginnings), by_sign, by_language)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


@lru_cache(maxsize=2_000)
def content_stems(text: str) -> frozenset[str]:
    """Return the stems of the words of a text that carry meaning."""
    return frozenset(stem(word) for word in _ENGLISH_WORD.findall(text.lower()) if word not in _STOP)


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """Cut the commonest English endings off a lower-case word."""
    word = word.split("'")[0].split("’")[0]
    for ending in ("ations", "ation", "ings", "ing", "ies", "ied", "ed", "es", "s", "ly"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    return word.rstrip("ey") if len(word) > 3 else word


GENERIC = content_stems(
    "want wants need needs ask asks asking try tries know like help find out question questions information make made "
    "go goes going look looking learn new wonder wonders thing things service support chat conversation first interact "
    "interacted"
)

_AKIN = tuple(
    content_stems(group)
    for group in (
        "arrive come comes coming deliver delivered delivery reach reaches receive due here land expect expected eta",
        "cost costs price prices charge fee fees pay paid free rate total expensive cheap much",
        "cancel cancellation cancelled call",
        "return send back refund money reimburse reimbursement repay",
        "change switch swap move reschedule modify update exchange replace",
        "open opens opening hours closed close closes",
        "buy order purchase book booking reserve reservation",
        "size sizes fit fits fitting small large big",
        "warranty guarantee guaranteed covered",
        "track tracking where location whereabouts parcel package shipment",
        "invoice receipt bill",
        "insured insurance insure",
        "luggage bag bags baggage suitcase",
        "collect collected pick pickup fetch",
        "discount voucher coupon code deal reduction off",
    )
)


def kin(stems: frozenset[str]) -> frozenset[str]:
    """Return stems with those of words of like meaning, such as "cost" and "price"."""
    return stems.union(*(group for group in _AKIN if group & stems))


def is_akin(one: str, other: str) -> bool:
    """Return whether two stems begin alike, as words of one family do."""
    return len(one) >= 5 and one[:5] == other[:5]
