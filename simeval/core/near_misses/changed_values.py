"""A statement with one value changed, by the first rule that applies.

time → date → weekday → amount → number → month → of a set → name → identifier → opposite

A value is changed only in the predicate, where it decides whether the statement is true: never in a reason ("since it
is basic economy"), behind a "not", or in a limit on the form ("in two sentences").
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache

from simeval.core.near_misses.closed_sets import (
    AIRPORTS,
    CITIES,
    GIVEN_NAMES,
    MONTHS,
    NAMES,
    NUMBER_WORDS,
    OPPOSITES,
    OTHER_OPPOSITES,
    OTHER_SETS,
    SETS,
    SURNAMES,
    WEEKDAYS,
)

Other = Callable[[re.Match[str], int, str], str | None]  # the first or second other value of a match, in its text


@dataclass(frozen=True, slots=True)
class Changed:
    """A statement with one value changed, and the rule that changed it."""

    rule: str
    text: str


def changed(text: str, language: str, turn: int = 0) -> Changed | None:
    """Return a statement with one value changed, to one value at turn 0 and another at turn 1; None without a value."""
    start = _predicate(text) if language == "en" else 0
    return next((Changed(rule, _put(text, [other])) for rule, other in _others(text, language, start, turn)), None)


def all_changed(text: str, language: str, turn: int = 0) -> tuple[frozenset[str], str]:
    """Return a text with each time, date, amount, number and member of a set changed, and the rules that changed it."""
    taken: list[_Value] = []
    rules = set()
    for rule, value in _others(text, language, 0, turn):
        if rule not in _OF_A_SUBJECT and not any(value.overlaps(other.span) for other in taken):
            taken.append(value)
            rules.add(rule)
    return frozenset(rules), _put(text, sorted(taken, key=lambda each: each.span))


_OF_A_SUBJECT = ("name", "identifier", "opposite")  # may show the subject of an answer


@dataclass(frozen=True, slots=True)
class _Value:
    """Another value for a place in a text."""

    span: tuple[int, int]
    other: str

    def overlaps(self, span: tuple[int, int]) -> bool:
        return self.span[0] < span[1] and span[0] < self.span[1]


def _others(text: str, language: str, start: int, turn: int) -> Iterator[tuple[str, _Value]]:
    """Yield another value for each that may be changed, rule by rule."""
    shut = [found.span() for found in _SHUT.finditer(text)]
    for rule, pattern, other in _rules(language):
        for found in pattern.finditer(text, start):
            made = other(found, turn, text)
            if made is not None and made != found[0]:
                value = _Value(found.span(), made)
                if not (any(map(value.overlaps, shut)) or _is_left(text, found)):
                    yield rule, value


def _is_left(text: str, found: re.Match[str]) -> bool:
    """Return whether a value is the first of a change, such as "from Monday to Friday"."""
    return bool(_FROM.search(text[: found.start()]) and _ONTO.match(text[found.end() :]))


def _put(text: str, values: Sequence[_Value]) -> str:
    """Return a text with other values, which are in order."""
    for value in reversed(values):
        text = f"{text[: value.span[0]]}{value.other}{text[value.span[1] :]}"
    return text


_VERB = re.compile(
    r"\b(?:is|are|was|were|be|been|will|has|have|had|can|may|must|costs?|arrives?|opens?|closes?|takes?|lasts?|"
    r"begins?|starts?|ends?|expires?|includes?|contains?|weighs|holds?|needs?|provides?|supports?|covers?|uses?|"
    r"receives?|gets?|pays?|departs?|leaves?|lands?|named|called)\b"
)
_LIMITS = (  # a value behind one is a limit: "not for 8 hours", "nicht mehr als zwei"
    r"(?:more|less|fewer|longer|later|earlier) than|before|after|until|within"
    r"|for (?=\w+ (?:minute|hour|day|week|month|year))|mehr als|weniger als|vor|nach|bis"
)
_SHUT = re.compile(
    r"\b(?:since|because|due to|given that|as (?=the |it |he |she |they |you |there |this |your |my ))[^.;]*"
    r"|\b(?:not|n't|never|without|rather than|instead of|neither|nicht|kein\w*)\b[^.;,]*?"
    rf"(?=\b(?:but|{_LIMITS})\b|[.;,]|$)"
    r"|\b[\w-]+ (?:short |brief )?(?:sentences?|words?|paragraphs?|questions?|bullets?|bullet points?|characters?"
    r"|lines?|Sätze\w*|frases?|phrases?)\b",
    re.IGNORECASE,
)


def _predicate(text: str) -> int:
    """Return where the predicate of an English statement begins; 0 if that is unclear."""
    found = _VERB.search(text)
    return found.end() if found else 0


@lru_cache(maxsize=16)
def _rules(language: str) -> Sequence[tuple[str, re.Pattern[str], Other]]:
    return tuple(_each_rule(language))


def _each_rule(language: str) -> Iterator[tuple[str, re.Pattern[str], Other]]:
    months = "|".join(sorted({month for names in MONTHS for month in names}, key=len, reverse=True))
    yield "time", re.compile(_SPAN, re.IGNORECASE), _other_span
    yield "time", re.compile(_CLOCK, re.IGNORECASE), _other_hour
    yield "time", re.compile(_HOUR), _other_hour
    yield "date", re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b"), _other_iso_date
    yield (
        "date",
        re.compile(rf"\b(?P<day>\d{{1,2}})(?P<th>st|nd|rd|th|º|\.)?(?= (?:of |de |d')?(?:{months})\b)"),
        _other_day,
    )
    yield "date", re.compile(rf"(?<=\b)(?P<month>{months}) (?P<day>\d{{1,2}})(?P<th>st|nd|rd|th)?\b(?!:)"), _other_day
    yield "date", re.compile(r"\b(?P<day>\d{1,2})(?P<th>[./])(?=\d{1,2}[./]\d{2,4}\b)"), _other_day
    yield "date", re.compile(r"(?<=月)(?P<day>\d{1,2})(?P<th>[日号])"), _other_day
    yield "weekday", _any_of(WEEKDAYS, plural=True), _next_of(WEEKDAYS, (2, 3))
    yield "amount", re.compile(_AMOUNT, re.IGNORECASE), _other_amount
    yield "number", re.compile(_NUMBER), _other_number
    if words := NUMBER_WORDS.get(language, ()):
        either = "|".join(word for each in words for word in each)
        yield "number", _any_of(words, then=rf"(?! {_OR} (?:{either})\b)"), _next_of(words, (3, 2))
    yield "month", re.compile(rf"\b(?:{months})\b"), _next_of(MONTHS, (2, 3))
    sets = [*(SETS if language == "en" else OTHER_SETS.get(language, ())), *CITIES]
    yield "of a set", _any_of(sets), _next_of(sets, (1, 2))
    yield from _names(language)
    yield "identifier", re.compile(_IDENTIFIER), _other_identifier
    if pairs := OPPOSITES if language == "en" else OTHER_OPPOSITES.get(language, ()):
        yield "opposite", _any_of(pairs), _next_of(pairs, (1, 1))


# --- members of lists --------------------------------------------------------------------------------------------


def _any_of(lists: Sequence[Sequence[str]], *, plural: bool = False, then: str = "") -> re.Pattern[str]:
    """Return a pattern of any member, and what may follow; those in scripts without spaces need no edges."""
    members = sorted({member for each in lists for member in each}, key=len, reverse=True)
    latin = "|".join(re.escape(member) for member in members if ord(member[0]) < 0x370)
    others = "|".join(re.escape(member) for member in members if ord(member[0]) >= 0x370)
    end = "(?=s?\\b)" if plural else "\\b"
    return re.compile(rf"(?<![\w-])(?:{latin}){end}(?!-){then}" + (f"|{others}" if others else ""), re.IGNORECASE)


def _next_of(lists: Sequence[Sequence[str]], steps: tuple[int, int]) -> Other:
    """Return how a member becomes another of its list, by so many steps, that the text does not name."""

    def other(found: re.Match[str], turn: int, text: str) -> str | None:
        said, here = text.casefold(), found[0].casefold()
        for members in lists:
            names = [member.casefold() for member in members]
            if here not in names:
                continue
            place = names.index(here)
            others = [*members[place + 1 :], *members[:place]]
            free = [each for each in others if each.casefold() not in said]
            step = steps[turn] if steps[turn] <= len(free) else 1
            return _cased(free[step - 1], found[0]) if free else None
        return None

    return other


def _cased(value: str, like: str) -> str:
    if like[0].isupper():
        return value[0].upper() + value[1:]
    return value[0].lower() + value[1:] if like.islower() else value


# --- times, dates, amounts, numbers --------------------------------------------------------------------------------

_TO = r"(?:to|until|till|and|bis|à|a|às|hasta|al|alle|y|und|-|–|から|到|至)"
_OR = rf"(?:{_TO}|or|oder|ou)"  # of a range such as "three to five" the second number is changed
_SPAN = (
    rf"(?<![A-Za-z0-9_.,:$€£/-])(?P<first>\d{{1,2}})(?P<a>(?::\d\d)?(?: ?[ap]\.?m\.?)?(?: Uhr)?) ?(?P<to>{_TO}) ?"
    r"(?P<second>\d{1,2})(?P<b>(?::\d\d)?(?: ?[ap]\.?m\b\.?)?)(?![\d.,/%]*\d|[^\W\d])"
)
_FROM = re.compile(r"\b(?:from|between|von|vom|zwischen|dalle|dal|da|de|del|do|das|desde|du|van) $", re.IGNORECASE)
_ONTO = re.compile(r" (?:to|onto|auf|bis|a|al|ao|au|à|para|naar|tot) ")
_CLOCK = (
    r"(?<![\d.,:$€£])(?P<hour>[01]?\d|2[0-3])(?P<rest>(?::| ?h ?)[0-5]\d(?!\d)(?: ?[ap]\.?m\b\.?)?"
    r"| ?[ap]\.?m\b\.?| o'clock| ?Uhr| ?uur| ?h\b| ?heures\b| ?ore\b| ?horas\b|時|点)"
)
_HOUR = r"(?:(?<=\ba las )|(?<=\bàs )|(?<=\balle ))(?P<hour>1?\d|2[0-3])(?P<rest>)(?![\d.,:h]*\d)"
_AMOUNT = (
    r"(?P<sign>[$€£¥￥] ?)(?P<n>\d[\d.,]*\d|\d)|(?<![A-Za-z0-9_.,])(?P<m>\d[\d.,]*\d|\d)"
    r"(?= ?(?:(?:€|euros?|dollars?|usd|eur|gbp|pounds?|francs?|reais|yen|cents?)(?!\w)|[千万億]?[円元]|ユーロ|ドル))"
)
_NUMBER = (
    r"(?:(?<![A-Za-z0-9_.,:$€£¥￥/-])|(?<=(?<![\w.,:/-])\d-)|(?<=(?<![\w.,:/-])\d\d-))(?:\d[\d.,]*\d|\d)"
    rf"(?![\d:/]|-\d|[A-Za-z_]*\d| ?{_OR} ?\d)"
)
_ORDINALS = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}


def _other_span(found: re.Match[str], turn: int, _: str) -> str | None:
    first, second = int(found["first"]), int(found["second"])
    is_clock = ":" in found["a"] + found["b"] or "m" in (found["a"] + found["b"]).lower() or "Uhr" in found["a"]
    if not (is_clock or _FROM.search(found.string[: found.start()])) or not max(first, second) <= 24:
        return None
    if second - first > 4:
        first, second = first + 2 - turn, second - 2 + turn
    else:
        first, second = (first + 2 + turn) % 24, (second + 2 + turn) % 24
    gap = " " if f" {found['to']}" in found[0] else ""
    after = " " if f"{found['to']} " in found[0] else ""
    return f"{first}{found['a']}{gap}{found['to']}{after}{second}{found['b']}"


def _other_hour(found: re.Match[str], turn: int, _: str) -> str | None:
    hour, ahead = int(found["hour"]), 2 + turn
    is_half = "m" in found["rest"].lower() or "clock" in found["rest"] or not found["rest"]
    later = (hour + ahead - 1) % 12 + 1 if is_half and hour <= 12 else (hour + ahead) % 24
    width = 2 if found["hour"].startswith("0") or (not is_half and len(found["hour"]) == 2) else 1
    return f"{later:0{width}d}{found['rest']}"


def _other_iso_date(found: re.Match[str], turn: int, _: str) -> str | None:
    try:
        return (date(int(found[1]), int(found[2]), int(found[3])) + timedelta(days=7 + 5 * turn)).isoformat()
    except (ValueError, OverflowError):
        return None


def _other_day(found: re.Match[str], turn: int, _: str) -> str | None:
    day, ahead = int(found["day"]), 7 + 5 * turn
    if not 1 <= day <= 31:
        return None
    later = day + ahead if day + ahead <= (12 if found["th"] in ("/",) and day <= 12 else 28) else max(1, day - ahead)
    later = later if later != day else day % 12 + 1
    end = found["th"] or ""
    end = _ORDINALS.get(later, "th") if end in ("st", "nd", "rd", "th") else end
    month = found.groupdict().get("month")
    return f"{month + ' ' if month else ''}{later}{end}"


def _other_amount(found: re.Match[str], turn: int, _: str) -> str | None:
    number = found["n"] or found["m"]
    return f"{found['sign'] or ''}{_other_digits(number, turn)}"


def _other_number(found: re.Match[str], turn: int, _: str) -> str | None:
    number = found[0]
    if not number.isdigit() or len(number) > 2:
        return _other_digits(number, turn)
    if len(number) == 1:
        return str(int(number) + 3 + 2 * turn)
    return _digit(number[0], 1 + turn) + number[1]


def _other_digits(number: str, turn: int) -> str:
    """Return a number with its first and its last digit changed; a first digit never becomes 0."""
    last = str((int(number[-1]) + 3 + 2 * turn) % 10)
    if len(number) == 1:
        return _digit(number, 3 + turn)
    if len(number) == 4 and number[:2] in ("19", "20"):
        return number[:-1] + last
    return _digit(number[0], 1 + turn) + number[1:-1] + last


def _digit(digit: str, ahead: int) -> str:
    return str((int(digit) - 1 + ahead) % 9 + 1)


# --- names and identifiers -----------------------------------------------------------------------------------------

_CAPITAL = r"[A-Z][a-zà-ÿ]+"
_IDENTIFIER = (
    r"(?<![A-Za-z0-9_@/À-ɏ])(?=[A-Za-z0-9_#-]*\d)(?=[A-Za-z0-9_#-]*[A-Za-z_#]|\d{3,}-\d{3,})"
    r"[A-Za-z0-9_#][A-Za-z0-9_-]+(?![A-Za-z0-9_@À-ɏ])"
)


def _names(language: str) -> Iterator[tuple[str, re.Pattern[str], Other]]:
    given = "|".join(GIVEN_NAMES)
    title = r"(?:Dr|Mr|Mrs|Ms|Prof|Herr|Frau|Herrn|Señora|Señor|Sra|Sr|Madame|Monsieur|Signora|Signor)"
    yield "name", re.compile(rf"\b(?:{given}|{title})\.?(?: [A-Z]\.)? (?P<last>{_CAPITAL})\b"), _other_surname
    yield "name", re.compile(rf"\b(?:{given})\b"), _next_of([GIVEN_NAMES], (1, 2))
    yield "name", re.compile(r"(?:(?<=\bfrom )|(?<=\bto )|(?<=\bat ))[A-Z]{3}\b"), _pick(AIRPORTS)
    if language in ("en", "es", "fr", "it", "nl", "pt"):  # in German any noun begins so
        yield "name", re.compile(rf"(?<=[a-zà-ÿ,:] )(?!I\b){_CAPITAL}(?: {_CAPITAL})*(?! ?[\w-]*\d)"), _pick(NAMES)


def _other_surname(found: re.Match[str], turn: int, text: str) -> str | None:
    return found[0][: -len(found["last"])] + str(_pick(SURNAMES)(found, turn, text))


def _pick(values: Sequence[str]) -> Other:
    def other(_: re.Match[str], turn: int, text: str) -> str | None:
        free = [value for value in values if value not in text]
        return free[turn % len(free)] if free else None

    return other


def _other_identifier(found: re.Match[str], turn: int, _: str) -> str | None:
    """Return an identifier with its last two digits changed."""
    name = found[0]
    places = [place for place, sign in enumerate(name) if sign.isdigit()][-2:]
    for ahead, place in enumerate(places, 3):
        name = f"{name[:place]}{(int(name[place]) + ahead + 2 * turn) % 10}{name[place + 1 :]}"
    return name
