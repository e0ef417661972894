r"""Phrases and literal facts in texts. Phrases show the acts of a message, in many languages: `phrases.jsonl`.

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
    works now                       the app's advice has worked
    pushes back                     a user does not accept the app's reply as it is
    own name, given name            somebody gives a name; a scenario has one
    given KIND, other KIND          a scenario gives an age, home, trade and such; a message speaks of another one
    language name                   a language is named: the one that the row has as its own
    asked for KIND                  a scenario asks for what would be a fault of this kind elsewhere
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from rapidfuzz.distance import Levenshtein

_PATH = Path(__file__).with_name("phrases.jsonl")
_HAN = "\u3400-\u9fff"
_LETTERS = {  # of languages that are not written in Latin letters
    "ar": re.compile("[\u0600-\u06ff]"),
    "el": re.compile("[\u0370-\u03ff]"),
    "he": re.compile("[\u0590-\u05ff]"),
    "hi": re.compile("[\u0900-\u097f]"),
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

_LETTER = "A-Za-z0-9_\u00c0-\u052f"  # of scripts whose words have spaces; others may be close to a number
_EMAIL = rf"[{_LETTER}.+-]+@[{_LETTER}-]+(?:\.[{_LETTER}-]+)+"
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|sept|oct|nov|dec)[a-z]*\.?"
_DATE = (
    rf"\b\d{{4}}-\d{{1,2}}-\d{{1,2}}\b|\b\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}\b|\b{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?\b"
)
_QUOTED = r"[\"“„«]([^\"“”„«»\n]{2,60})[\"”“»]"
_CODE = rf"[#$€£]?(?<![{_LETTER}])[A-Za-z]*\d[{_LETTER}]*(?:[.,:_-][{_LETTER}]+)*(?![{_LETTER}])%?"
_NAMED = r"\b[A-Za-z]+(?:_[A-Za-z0-9]+)+\b"
_DETAIL = re.compile(rf"{_EMAIL}|{_DATE}|\b\d{{1,2}}\s+{_MONTH}(?!\w)|{_NAMED}|{_CODE}", re.IGNORECASE)
_CODE_OF = (
    rf"(?P<email>{_EMAIL})|(?<![{_LETTER}@.$€£:/-])#?"
    rf"(?P<code>(?=[^\W\d_]*[\d_-])[%s]+(?:[_-][%s]+)*)(?![{_LETTER}@%%:]|[.,/]\d)"
)
_IDENTIFIER = re.compile(_CODE_OF % (("A-Za-z0-9",) * 2))
_CYRILLIC_IDENTIFIER = re.compile(_CODE_OF % (("A-Za-z0-9\u0400-\u04ff",) * 2))
_TIME_OR_ORDINAL = re.compile(r"\d+(?:am|pm|st|nd|rd|th|k|m|gb|mb|tb|kg|cm|mm|ml|h|hrs?|mins?|usd|eur)", re.IGNORECASE)
_MEASURE = re.compile(  # "24-hour", "18-year-old"; Russian ordinals, and amounts without a space
    r"\d{1,4}(?:[_-](?:[a-z\u0430-\u045f]{2,}|[A-Z\u0400-\u042f][a-z\u0430-\u045f]{2,}))+"
    r"|\d{1,4}-[\u0430-\u045f]|\d+[\u0430-\u045f]{3,}"
)
_GROUPS = "groups of digits"  # a shape
_GROUPED = re.compile(r"(?<![\w.,/:$€£-])\d{2,}(?:-\d{2,})+(?![\w/:%-]|[.,]\d)", re.ASCII)
_WHOLE_DATE = re.compile(r"\d{4}-\d\d-\d\d|\d\d-\d\d-\d{2,4}")
_BETWEEN = re.compile(r"[\W_]+")
_DIGIT_OR_AT = re.compile(r"[\d@]")
_RUN = re.compile(r"[^\W\d_]+|\d+")
_DIGITS = {start + value: str(value) for start in (0x660, 0x6F0, 0x966, 0xFF10) for value in range(10)}
_OTHER_DIGIT = re.compile(f"[{''.join(map(chr, _DIGITS))}]")
LEAST_CHARACTERS = 5  # of an identifier: shorter ones are too often numbers of other things
LEAST_DIGITS = 2  # of it, but for codes such as JG7FMM


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
    """Return a text in small letters, as long as it is: patterns for letters of either case cost twice as much.

    Greek questions end with a question mark.
    """
    read = text.replace("’", "'").replace("İ", "I").lower()
    return read if read.isascii() or not _LETTERS["el"].search(read) else read.replace(";", "?").replace("\u037e", "?")


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
    spoken = _words_of(text)
    shared = [] if known.words.isdisjoint(spoken) else [*(known.words & spoken)]
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
    "want wants need needs whether ask asks asking try tries know like help find out question questions "
    "information make made go goes going look looking learn new wonder wonders thing things service support chat "
    "conversation first interact interacted take taken put keep let week weeks month months time times"
)

_AKIN = tuple(
    content_stems(group)
    for group in (
        "arrive come comes coming deliver delivered delivery reach reaches receive due expect expected eta",
        "cost costs price prices charge fee fees pay paid rate total expensive cheap",
        "cancel cancellation cancelled call",
        "return send sent back refund money reimburse reimbursement repay",
        "change switch swap move reschedule modify update exchange replace",
        "open opens opening hours closed close closes",
        "buy bought order purchase book booking reserve reservation",
        "size sizes fit fits fitting small large big",
        "warranty guarantee guaranteed covered",
        "track tracking where location whereabouts parcel package shipment",
        "invoice receipt bill",
        "insured insurance insure",
        "luggage bag bags baggage suitcase",
        "collect collected pick pickup fetch empty emptied",
        "tap faucet",
        "leak leaking leaks drip dripping drips",
        "bin bins garbage trash rubbish waste",
        "activate enable switch turn start",
        "repair repaired fix fixed mend broken broke cracked",
        "flat apartment",
        "lift elevator",
        "internet wifi broadband",
        "phone mobile cellphone smartphone",
        "doctor gp physician",
        "holiday vacation trip",
        "car vehicle",
        "job work position",
        "child children kid kids son daughter",
        "heating radiator boiler heater",
        "extend extension longer renew renewal prolong",
        "lost missing lose stolen",
        "password login log sign",
        "register registration enrol enroll join sign",
        "end terminate stop close quit cancel leave",
        "complain complaint",
        "spouse husband wife partner",
        "meal dinner lunch food eat",
        "photo picture image",
        "discount voucher coupon code deal reduction off",
    )
)


@lru_cache(maxsize=1_000)
def kin(stems: frozenset[str]) -> frozenset[str]:
    """Return stems with those of words of like meaning, such as "cost" and "price"."""
    return stems.union(*(group for group in _AKIN if group & stems))


def is_akin(one: str, other: str) -> bool:
    """Return whether two stems begin alike, as words of one family do."""
    return len(one) >= 5 and one[:5] == other[:5]


def is_misspelt(one: str, other: str) -> bool:
    """Return whether two stems are one word but for a slip of typing: "swich"."""
    is_long = len(one) >= 5 and one[0] == other[:1]
    return is_long and Levenshtein.distance(one, other, score_cutoff=1) == 1


@dataclass(frozen=True, slots=True)
class Identifier:
    """A value that names one thing: as it was written, the part that counts, and its shape."""

    written: str
    value: str
    shape: str


@lru_cache(maxsize=1_000)  # a scenario's text is read again at every turn
def details(text: str) -> tuple[str, ...]:
    """Return the facts of a text that can be listed one by one, each once, in order."""
    found = [(match.start(), match[0].strip("#")) for match in _DETAIL.finditer(plain_digits(text))]
    found += [(match.start(1), match[1]) for match in re.finditer(_QUOTED, text)]
    return tuple(dict.fromkeys(each for _, each in sorted(found)))


@lru_cache(maxsize=1_000)
def names_of_things(text: str) -> tuple[str, ...]:
    """Return the identifiers and quoted names of a text, which any message about these things must contain."""
    quoted = [match[1] for match in re.finditer(_QUOTED, text) if squeezed(match[1])]
    return (*(each.written for each in identifiers(text)), *quoted)


@lru_cache(maxsize=2_000)  # a message is read again at every turn
def told_details(script: str, text: str) -> frozenset[str]:
    """Return the facts of a script that occur in a text."""
    return frozenset(each for each, bare in _with_bare(script) if _is_in(each, bare, text))


@lru_cache(maxsize=1_000)
def _with_bare(script: str) -> tuple[tuple[str, str], ...]:
    return tuple((each, squeezed(each)) for each in details(script))


def is_told(detail: str, texts: Iterable[str]) -> bool:
    """Return whether a fact occurs in one of these texts, however it is spaced and written."""
    bare = squeezed(detail)
    return any(_is_in(detail, bare, text) for text in texts)


def _is_in(detail: str, bare: str, text: str) -> bool:
    if len(bare) >= LEAST_CHARACTERS:
        return bare in squeezed(text)
    text = _folded(text)
    return detail.casefold() in text and _as_a_word(detail).search(text) is not None


@lru_cache(maxsize=2_000)
def _folded(text: str) -> str:
    return plain_digits(text).casefold()


@lru_cache(maxsize=1_000)
def _as_a_word(detail: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![{_LETTER}]){re.escape(detail.casefold())}(?![{_LETTER}])")


@lru_cache(maxsize=2_000)
def squeezed(text: str) -> str:
    """Return the letters and digits of a text, in small letters."""
    return _BETWEEN.sub("", _folded(text))


@lru_cache(maxsize=1_000)
def identifiers(text: str) -> tuple[Identifier, ...]:
    """Return the e-mail addresses, codes and long numbers of a text, in order; no dates, times and amounts."""
    return tuple(_identifiers(plain_digits(text)))


def plain_digits(text: str) -> str:
    """Return a text with the digits of other scripts written as 0 to 9; it is as long as before."""
    return text.translate(_DIGITS) if not text.isascii() and _OTHER_DIGIT.search(text) else text


def _identifiers(text: str) -> Iterator[Identifier]:
    if not _DIGIT_OR_AT.search(text):
        return
    for match in (_IDENTIFIER if text.isascii() else _CYRILLIC_IDENTIFIER).finditer(text):
        if match["email"]:
            yield Identifier(match[0], match["email"].casefold(), "e-mail")
        elif not match["code"].isalpha() and (shape := _shape(match["code"])):
            yield Identifier(match[0], squeezed(match["code"]), shape)


def _shape(code: str) -> str:
    """Return the common part of identifiers of one kind; "" if it is none."""
    digits = sum(letter.isdigit() for letter in code)
    is_code = digits >= LEAST_DIGITS or (code.isupper() and len(_RUN.findall(code.casefold())) > 2)
    is_measure = _TIME_OR_ORDINAL.fullmatch(code) or _MEASURE.fullmatch(code)
    if not is_code or len(code) < LEAST_CHARACTERS or is_measure:
        return ""
    parts = re.split(r"[_-]", code)
    if all(part.isdigit() for part in parts) and len(parts) > 1:
        return ""  # a date, a span, a telephone number with dashes
    return "-".join(_part_shape(part) for part in parts)


def _part_shape(part: str) -> str:
    runs = _RUN.findall(part.casefold())
    if len(runs) == 1:
        return "a" if runs[0].isalpha() else f"9{len(part)}"
    if len(runs) == 2 and runs[0].isalpha():
        return f"{'a' * len(runs[0])}9{len(runs[1])}"
    return f"x{len(part)}"


@lru_cache(maxsize=1_000)
def facts(text: str) -> tuple[Identifier, ...]:
    """Return the identifiers of a text, and its numbers in groups ("55-902") that are no date, time or span."""
    if not _DIGIT_OR_AT.search(plain_digits(text)):
        return ()
    found = [match[0] for match in _GROUPED.finditer(plain_digits(text))]
    grouped = (each for each in found if not _WHOLE_DATE.fullmatch(each) and not _is_span(each.split("-")))
    return (*identifiers(text), *(Identifier(each, squeezed(each), _GROUPS) for each in grouped))


def _is_span(groups: Sequence[str]) -> bool:
    return len(groups) == 2 and len(groups[0]) == len(groups[1]) and groups[0] < groups[1]
