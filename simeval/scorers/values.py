"""Helpers of scorers: values as texts, as JSON, when two are the same, and how good a ranking is."""

import json
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache, partial
from math import isinf
from typing import Any, TypeGuard

from simeval.core.serialization import nested, plain
from simeval.errors import DefinitionError


def text_of(value: object) -> str:
    """Return a value as text: a text as it is, nothing (None) as no text, any other value as JSON with sorted keys."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(plain(value, finite=False), ensure_ascii=False, sort_keys=True)


def normalised(value: object, *, ignore_case: bool = False, ignore_space: bool = False) -> str:
    """Return the text of a value in Unicode's form NFC, so that an accent is the same however it was written.

    Without case it is casefolded; without space, every run of spaces and line breaks is one space, and none is left
    at the ends.
    """
    text = text_of(value)
    text = unicodedata.normalize("NFC", text.casefold() if ignore_case else text)
    return " ".join(text.split()) if ignore_space else text


def folded(text: str) -> str:
    """Return a text as phrases are looked for in it: letters of one width, plain quotes, dashes, spaces and digits."""
    if text.isascii():
        return text
    plain_text = unicodedata.normalize("NFKC", text).translate(_TYPED)
    return "".join(str(unicodedata.decimal(each, each)) for each in plain_text)


def stands_in(phrase: str, text: str) -> bool:
    """Return whether a phrase is found in a text, both folded; its numbers are whole ones, and equal by value.

    1286 is found in "$1,286.00", "1.286 EUR" and "1 286", and 4 is not found in 1234. A number that begins with 0, such
    as 0012, is a code, and found as it is written.
    """
    if not _DIGIT.search(phrase):
        return phrase in text
    digits, plain_numbers = text.translate(_UNGROUPED), filter(str.isdigit, _NUMBER.findall(phrase))
    if not all(map(digits.__contains__, plain_numbers)) or not all(part in text for part in _NUMBER.split(phrase)):
        return False  # as most are, decided in a tenth of the time
    return any(wanted in found for wanted in by_value(phrase) for found in by_value(text))


@lru_cache(maxsize=500)
def by_value(text: str) -> frozenset[str]:
    """Return the readings of a text with its numbers in one form, each between marks; a comma may group or divide."""
    joined = {text, _SPACED.sub(lambda found: found[0].replace(" ", ""), text)}
    known = _WAYS if _EITHER.search(text) else _WAYS[:1]
    return frozenset(_NUMBER.sub(partial(_one_form, ways=ways), each) for each in joined for ways in known)


def _one_form(found: re.Match[str], ways: Sequence[re.Pattern[str]]) -> str:
    """Return a number in the one form, as the first way reads that can; of a list, a date or an address each part."""
    number = next((read for way in ways if (read := way.fullmatch(found[0]))), None)
    if number is None:
        return re.sub(r"\d+", rf"{_MARK}\g<0>{_MARK}", found[0])
    whole, decimals = re.sub(r"\D", "", number[1]), (number[2] or "").rstrip("0")
    return f"{_MARK}{whole}{'.' if decimals else ''}{decimals}{_MARK}"


_POINT = re.compile(r"(\d{1,3}(?:[,']\d{3})+|\d+)(?:\.(\d+))?")  # 1,286.00
_COMMA = re.compile(r"(\d{1,3}(?:[.']\d{3})+|\d+)(?:,(\d+))?")  # 1.286,00
_EITHER = re.compile(r"\d[.,']\d{3}(?!\d)")
_UNGROUPED = dict.fromkeys(map(ord, ".,' "))
_WAYS = ((_POINT, _COMMA), (_COMMA, _POINT))
_MARK = "\0"
_DIGIT = re.compile(r"\d")
_NUMBER = re.compile(r"\d+(?:[.,']\d+)*")
_SPACED = re.compile(r"(?<![\d.,'])\d{1,3}(?: \d{3})+(?![\d])")
_TYPED = str.maketrans(
    {
        **dict.fromkeys("’‘‛ʼ′`´", "'"),
        **dict.fromkeys("“”„‟«»″", '"'),
        **dict.fromkeys("‐‑‒–—―−﹣", "-"),
        **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", ""),
        "٫": ".",
        "٬": ",",
    }
)


def canonical(value: object) -> str:
    """Return the text that equal JSON values share: 1 and 1.0 are equal, True and 1 are not, an object has no order."""
    unified = nested(
        plain(value, finite=False), lambda leaf: int(leaf) if isinstance(leaf, float) and leaf.is_integer() else leaf
    )
    return json.dumps(unified, sort_keys=True)


def same(found: object, wanted: object) -> bool:
    """Return whether two JSON values are equal; NaN, which JSON does not have, is equal to nothing."""
    first, second = plain(found, finite=False), plain(wanted, finite=False)
    return first == second and canonical(first) == canonical(second)  # Python finds True and 1 equal


def is_array(value: object) -> TypeGuard[Sequence[Any]]:
    """Return whether a value is an array in JSON's sense."""
    return isinstance(value, (list, tuple))


def read_json(text: str) -> Any:
    """Return the value of a JSON text. Raises ValueError with the reason, also for NaN, Infinity and deep nesting.

    The standard library reads NaN and Infinity, which are no JSON, and 1e999 as the latter; it refuses long whole
    numbers, which are JSON.
    """
    try:
        return json.loads(text, parse_constant=_refuse, parse_int=_whole, parse_float=_finite)
    except RecursionError:
        raise ValueError("nested too deeply to be read") from None


def given(reference: object, scorer: str) -> Any:
    """Return the reference. Raises DefinitionError without one: nothing can be measured against nothing."""
    if reference is None:
        do = "give the example one, or name its column: column_map={'reference': ...}"
        raise DefinitionError(f"scorer {scorer}", found="no reference", do=do)
    return reference


def average_precision(relevant: Sequence[bool]) -> float:
    """Return the mean, over the relevant places of a ranking, of the precision down to each; 0 without any."""
    precisions = [sum(relevant[:place]) / place for place, hit in enumerate(relevant, 1) if hit]
    return sum(precisions) / len(precisions) if precisions else 0.0


def shown(value: object) -> str:
    """Return a value for a reason: as JSON, cut if it is long."""
    text = json.dumps(plain(value), ensure_ascii=False)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


_LONGEST_SHOWN = 80
_MOST_DIGITS = 4000  # of a whole number: beyond 4300 Python refuses to read one


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is no JSON")


def _finite(digits: str) -> float:
    if isinf(found := float(digits)):
        raise ValueError(f"{digits} is no number that a program could read (at most 1.8e308)")
    return found


def _whole(digits: str) -> float:
    return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)
