"""Literal facts in a text: identifiers, numbers, dates, addresses, quoted names."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

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
_IDENTIFIER = re.compile(
    rf"(?P<email>{_EMAIL})|(?<![{_LETTER}@.$€£:/-])#?(?P<code>[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)*)(?![{_LETTER}@%:]|[.,/]\d)"
)
_TIME_OR_ORDINAL = re.compile(r"\d+(?:am|pm|st|nd|rd|th|k|m|gb|mb|tb|kg|cm|mm|ml|h|hrs?|mins?|usd|eur)", re.IGNORECASE)
_GROUPS = "groups of digits"  # a shape
_GROUPED = re.compile(r"(?<![\w.,/:$€£-])\d{2,}(?:-\d{2,})+(?![\w/:%-]|[.,]\d)", re.ASCII)
_WHOLE_DATE = re.compile(r"\d{4}-\d\d-\d\d|\d\d-\d\d-\d{2,4}")
_BETWEEN = re.compile(r"[\W_]+")
_DIGIT_OR_AT = re.compile(r"[\d@]")
_RUN = re.compile(r"[a-z]+|\d+")
_DIGITS = {start + value: str(value) for start in (0x660, 0x6F0, 0x966, 0xFF10) for value in range(10)}
_OTHER_DIGIT = re.compile(f"[{''.join(map(chr, _DIGITS))}]")
LEAST_CHARACTERS = 5  # of an identifier: shorter ones are too often numbers of other things
LEAST_DIGITS = 2  # of it, but for codes such as JG7FMM


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
    for match in _IDENTIFIER.finditer(text):
        if match["email"]:
            yield Identifier(match[0], match["email"].casefold(), "e-mail")
        elif not match["code"].isalpha() and (shape := _shape(match["code"])):
            yield Identifier(match[0], squeezed(match["code"]), shape)


def _shape(code: str) -> str:
    """Return the common part of identifiers of one kind; "" if it is none."""
    digits = sum(letter.isdigit() for letter in code)
    is_code = digits >= LEAST_DIGITS or (code.isupper() and len(_RUN.findall(code.casefold())) > 2)
    if not is_code or len(code) < LEAST_CHARACTERS or _TIME_OR_ORDINAL.fullmatch(code):
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
    found = [match[0] for match in _GROUPED.finditer(plain_digits(text))]
    grouped = (each for each in found if not _WHOLE_DATE.fullmatch(each) and not _is_span(each.split("-")))
    return (*identifiers(text), *(Identifier(each, squeezed(each), _GROUPS) for each in grouped))


def _is_span(groups: Sequence[str]) -> bool:
    return len(groups) == 2 and len(groups[0]) == len(groups[1]) and groups[0] < groups[1]
